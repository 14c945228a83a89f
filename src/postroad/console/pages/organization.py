"""The organization page: members and their roles, and limits."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.core.model.directory import Person, Role
from postroad.errors import Refused
from postroad.flow.administration import confirmations as confirming
from postroad.flow.administration import members as membership
from postroad.flow.administration.accounts import has_password
from postroad.flow.administration.base import require_organization

HERE = "/organization"
OF_THE_FORM = ("name.taken", "value.invalid", "configuration.conflict")


async def show_organization(request: Request) -> Response:
    return _shown(request)


async def invite(request: Request) -> Response:
    """Show the invitation link on this page, once."""
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    email = form.get("email", "").strip()
    try:
        member = Person(email=email, role=_role(form.get("role", "")))
        with console.running.authenticator.registering.adding(caller.organization):
            key = await membership.add(console.administration, caller, caller.organization, member)
    except Refused as refusal:
        return _refused(request, refusal, email)
    return _invited(request, email, key)


async def invite_again(request: Request) -> Response:
    """Replace a lost or expired invitation link; the earlier link becomes invalid."""
    console, caller, email = console_of(request), caller_of(request), request.path_params["email"]
    key = await membership.invite_again(console.administration, caller, caller.organization, email)
    return _invited(request, email, key)


def _invited(request: Request, email: str, key: str) -> Response:
    return _shown(request, link=f"{console_of(request).running.own_address.url}/welcome?key={key}", invited=email)


async def change_role(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await read_form(request)
    email = request.path_params["email"]
    try:
        role = _role(form.get("role", ""))
        await membership.change_role(console.administration, caller, caller.organization, email, role, None)
    except Refused as refusal:
        return _refused(request, refusal)
    return redirect(HERE, f"{email} is {role.value} now.")


async def remove(request: Request) -> Response:
    console, caller, email = console_of(request), caller_of(request), request.path_params["email"]
    try:
        await membership.remove(console.administration, caller, caller.organization, email, None)
    except Refused as refusal:
        return _refused(request, refusal)
    return redirect(HERE, f"{email} was removed, and all their keys have ended.")


async def confirm(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    await confirming.confirm(console.administration, caller, caller.organization, request.path_params["pending"])
    return redirect(HERE, "Confirmed.")


def _refused(request: Request, refusal: Refused, email: str = "") -> Response:
    if refusal.code not in OF_THE_FORM:
        raise refusal
    return _shown(request, fault=refusal.detail, email=email)


def _shown(request: Request, **more: str) -> Response:
    console, caller = console_of(request), caller_of(request)
    organization = require_organization(caller, console.directory, caller.organization, Role.VIEWER)
    people = membership.list_members(caller, console.directory, organization.name)
    values = {
        "organization": organization,
        "people": [(one, has_password(console.directory, one)) for one in people],
        "roles": [role.value for role in Role],
        "may_change": caller.has_role(organization.name, Role.OWNER),
        "pending": confirming.list_pending(caller, console.directory, organization.name),
        "may_confirm": confirming.is_owner(caller, organization.name),
        "fault": "",
        "link": "",
        "invited": "",
        "email": "",
    }
    return render_page(request, "organization.html", values | more, 422 if more.get("fault") else 200)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise Refused("value.invalid", "Choose a role: owner, developer or viewer") from None


ROUTES = (
    member_page(HERE, show_organization),
    member_form(f"{HERE}/members", invite),
    member_form(HERE + "/members/{email}/invitation", invite_again),
    member_form(HERE + "/members/{email}/role", change_role),
    member_form(HERE + "/members/{email}/remove", remove),
    member_form(HERE + "/confirmations/{pending}", confirm),
)
