"""The page where account linking begins: the provider's site links to it, and the customer agrees and is sent back.

The person logs in to this network first; the form is bound to them and to the provider named on it. Afterwards they
are sent to the address that the provider has registered.
"""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from postroad.api.pages.page import POLICY, authenticate_person, form_of, page, query_of
from postroad.api.resources.context import ApiContext
from postroad.core.identity.page_origin import page_origin
from postroad.core.model.directory import Role, Service
from postroad.flow.administration import provisioning as trusting
from postroad.flow.administration.base import require_organization
from postroad.flow.administration.provisioning import check_form_proof, make_form_proof


async def show_form(request: Request) -> Response:
    """Shows the two accounts to be linked, and the consequences; the person must agree first."""
    api: ApiContext = request.app.state.api
    caller = await authenticate_person(request)
    asked = query_of(request, "provider", "organization", "service")
    provider = trusting.find_offering(caller, api.network.directory, asked.get("provider", ""))
    named = asked.get("organization") or caller.organization
    organization = require_organization(caller, api.network.directory, named, Role.DEVELOPER)
    proof = make_form_proof(api.network, caller, provider)
    body = _form(provider, organization.name, asked.get("service") or provider.name, proof)
    policy = " ".join(text for text in (POLICY, page_origin(provider.provisioning_url)) if text)
    return page(
        f"Connect {organization.name} with {provider.address}", body, headers={"Content-Security-Policy": policy}
    )


def _form(provider: Service, organization: str, service: str, proof: str) -> str:
    name, address = escape(organization), escape(provider.address)
    description = f"<p>{escape(provider.description)}</p>" if provider.description else ""
    return (
        f"{description}<p>You will be redirected to <b>{escape(urlsplit(provider.provisioning_url).netloc)}</b> to log in as a "
        f"customer. Once {address} has confirmed you, a new service of {name} stands for your account there; {address} may then "
        f"send messages to every service of {name} until either side revokes this.</p>"
        '<form method="post" action="/provision">'
        f"{_hidden('provider', provider.gcid)}{_hidden('organization', organization)}{_hidden('proof', proof)}"
        '<p><label for="service">Name of the new service</label> '
        f'<input id="service" name="service" value="{escape(service)}" required maxlength="64"></p>'
        '<p><button type="submit">Agree and continue</button></p></form>'
    )


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


async def provision(request: Request) -> Response:
    """Begin it, and send the person to the provider's page."""
    api: ApiContext = request.app.state.api
    caller = await authenticate_person(request)
    form = await form_of(request, "provider", "organization", "service", "proof")
    wish = trusting.ProvisioningRequest(
        organization=form.get("organization", ""), provider=form.get("provider", ""), service=form.get("service", "")
    )
    provider = trusting.find_offering(caller, api.network.directory, wish.provider)
    check_form_proof(api.network, caller, provider, form)
    begun = await trusting.begin_provisioning(api.administration, caller, wish, api.own_address.url)
    return Response(status_code=303, headers={"Location": begun.redirect, "Referrer-Policy": "no-referrer"})
