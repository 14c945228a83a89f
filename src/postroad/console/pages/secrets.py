"""The page of stored secrets: names and versions, and a form to set one. A secret is never shown, not even after an error."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.errors import Refused
from postroad.flow.administration import secrets
from postroad.flow.administration.base import require_organization
from postroad.flow.administration.secrets import Place

HERE = "/secrets"
OF_THE_FORM = ("name.invalid", "value.invalid", "secrets.too-many", "secrets.unavailable", "version.conflict")


async def show_secrets(request: Request) -> Response:
    return await _shown(request)


async def set_secret(request: Request) -> Response:
    """Set a secret for all services or for one."""
    console, form = console_of(request), await read_form(request)
    value = form.get("value", "").replace("\r\n", "\n")
    try:
        listed = await secrets.set_secret(console.administration, caller_of(request), _place(request, form), value)
    except Refused as refusal:
        if refusal.code not in OF_THE_FORM:
            raise
        return await _shown(request, fault=refusal.detail, name=form.get("name", ""), chosen=form.get("service", ""))
    return redirect(HERE, f"secret:{listed.record.name} is set, version {listed.record.version}.")


async def remove_secret(request: Request) -> Response:
    console, form = console_of(request), await read_form(request)
    await secrets.remove_secret(
        console.administration, caller_of(request), _place(request, form, secrets.place_for_removal)
    )
    return redirect(HERE, f"secret:{form.get('name', '')} was removed.")


def _place(
    request: Request, form: Form, of_service: Callable[[Caller, str, str], Place] = secrets.place_for_service
) -> Place:
    caller, name, service = caller_of(request), form.get("name", "").strip(), form.get("service", "")
    if service:
        return of_service(caller, service, name)
    return secrets.place_for_organization(caller, caller.organization, name)


async def _shown(request: Request, *, fault: str = "", name: str = "", chosen: str = "") -> Response:
    console, caller = console_of(request), caller_of(request)
    organization = require_organization(caller, console.directory, caller.organization, Role.VIEWER)
    services = sorted(console.directory.services_of(organization.name), key=lambda one: one.address.casefold())
    values = {
        "secrets": await secrets.list_secrets(console.network, caller, organization.name),
        "services": services,
        "is_owner": caller.has_role(organization.name, Role.OWNER),
        "is_developer": caller.has_role(organization.name, Role.DEVELOPER),
        "is_possible": console.network.vault is not None,
        "no_master_key": secrets.NO_MASTER_KEY,
        "fault": fault,
        "name": name,
        "chosen": chosen,
    }
    return render_page(request, "secrets.html", values, 422 if fault else 200)


ROUTES = (
    member_page(HERE, show_secrets),
    member_form(HERE, set_secret),
    member_form(f"{HERE}/remove", remove_secret),
)
