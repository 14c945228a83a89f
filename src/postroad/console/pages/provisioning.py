"""The account-linking pages (provisioning): consent, the redirect to the provider, and the return.

Rules: nothing happens before the person agrees. They are sent only to the provider that the page named. Nothing that
the return page receives can confirm anything.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.console.rendering import POLICY
from postroad.core.identity.page_origin import page_origin
from postroad.core.model.directory import Role, is_same_organization
from postroad.errors import Refused
from postroad.flow.administration import provisioning as trusting
from postroad.flow.administration.base import not_found, require_organization
from postroad.flow.administration.provisioning import STATE_TEXTS, check_form_proof, make_form_proof


async def agree_page(request: Request) -> Response:
    return _shown(request, request.query_params.get("provider", ""), request.query_params.get("service", ""))


async def agree(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    provider = trusting.find_offering(caller, console.directory, form.get("provider", ""))
    check_form_proof(console.network, caller, provider, form)
    wish = trusting.ProvisioningRequest(
        organization=caller.organization, provider=provider.gcid, service=form.get("service", "").strip()
    )
    try:
        begun = await trusting.begin_provisioning(console.administration, caller, wish, console.running.own_address.url)
    except Refused as refusal:
        if refusal.code not in ("name.taken", "name.invalid"):
            raise
        return _shown(request, provider.gcid, wish.service, refusal.detail)
    return redirect(begun.redirect)


async def come_back(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    found = console.directory.provisionings.get(request.path_params["gcid"])
    service = console.directory.services.get(found.service) if found is not None else None
    if found is None or service is None or not is_same_organization(service.organization, caller.organization):
        raise not_found()
    title, words = STATE_TEXTS[found.state(console.now_us)]
    provider = console.directory.services.get(found.provider)
    values = {"title": title, "words": words, "provider": provider, "service": service, "path": found.return_path}
    return render_page(request, "connected.html", values)


def _shown(request: Request, named: str, service: str, fault: str = "") -> Response:
    console, caller = console_of(request), caller_of(request)
    provider = trusting.find_offering(caller, console.directory, named)
    organization = require_organization(caller, console.directory, caller.organization, Role.DEVELOPER)
    values = {
        "provider": provider,
        "organization": organization.name,
        "site": urlsplit(provider.provisioning_url).netloc,
        "service_name": service or provider.name,
        "proof": make_form_proof(console.network, caller, provider),
        "fault": fault,
    }
    # The form leads to the provider's site, by a redirect that the browser checks as well.
    policy = " ".join(text for text in (POLICY, page_origin(provider.provisioning_url)) if text)
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return render_page(request, "connect.html", values, 422 if fault else 200, headers)


ROUTES = (
    member_page("/connect", agree_page),
    member_form("/connect", agree),
    member_page("/connected/{gcid}", come_back),
)
