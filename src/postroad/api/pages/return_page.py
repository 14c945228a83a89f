"""The page to which a provider's site returns people: shows members whether the provider is connected.

Everyone else sees the same text, whatever id they pass. The provider confirms by a message, which may arrive before
or after the person; nothing that this page receives can confirm anything.
"""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import Response

from postroad.api.pages.page import authenticate_person, page
from postroad.core.model.directory import is_same_organization
from postroad.core.model.snapshot import Directory
from postroad.core.model.trust import Provisioning
from postroad.errors import Refused
from postroad.flow.administration.provisioning import STATE_TEXTS

NEUTRAL = "<p>You can close this window. Members of the organization see after logging in whether the provider has confirmed.</p>"


async def show_return_page(request: Request) -> Response:
    network = request.app.state.api.network
    found = await _concerning(request, network.directory)
    if found is None:
        return page("Welcome back", NEUTRAL)
    title, words = STATE_TEXTS[found.state(network.clock.now_us())]
    provider = network.directory.services.get(found.provider)
    body = f"<p>{escape(provider.address if provider is not None else 'The provider')} {words}.</p>"
    if found.return_path:
        body += f'<p><a href="{escape(found.return_path)}">Continue</a></p>'
    return page(title, body)


async def _concerning(request: Request, directory: Directory) -> Provisioning | None:
    """The provisioning, when a member of its enterprise asks."""
    try:
        caller = await authenticate_person(request)
    except Refused as refusal:
        if refusal.code not in ("authentication.required", "permission.denied"):
            raise
        return None
    found = directory.provisionings.get(request.path_params["gcid"])
    service = directory.services.get(found.service) if found is not None else None
    is_member = service is not None and is_same_organization(service.organization, caller.organization)
    return found if is_member else None
