"""One's own organization: its people and their roles, and what it may take up."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import form_of, go, member_form, member_page, show
from postroad.core.model.directory import Person, Role
from postroad.errors import Refused
from postroad.flow import administration_confirming as confirming
from postroad.flow import administration_members as membership
from postroad.flow.administration import organization_for
from postroad.flow.administration_accounts import has_password

HERE = "/organization"
OF_THE_FORM = ("name.taken", "value.invalid", "configuration.conflict")


async def show_organization(request: Request) -> Response:
    return _shown(request)


async def invite(request: Request) -> Response:
    """The link is on this very page and never again."""
    console, caller, form = console_of(request), caller_of(request), await form_of(request)
    email = form.get("email", "").strip()
    try:
        member = Person(email=email, role=_role(form.get("role", "")))
        with console.running.authenticator.registering.adding(caller.organization):
            key = await membership.add(console.administration, caller, caller.organization, member)
    except Refused as refusal:
        return _refused(request, refusal, email)
    return _invited(request, email, key)


async def invite_again(request: Request) -> Response:
    """For whoever has lost the link, or came too late; the one before is over with that."""
    console, caller, email = console_of(request), caller_of(request), request.path_params["email"]
    key = await membership.invite_again(console.administration, caller, caller.organization, email)
    return _invited(request, email, key)


def _invited(request: Request, email: str, key: str) -> Response:
    return _shown(request, link=f"{console_of(request).running.own_address.url}/welcome?key={key}", invited=email)


async def change_role(request: Request) -> Response:
    console, caller, form = console_of(request), caller_of(request), await form_of(request)
    email = request.path_params["email"]
    try:
        role = _role(form.get("role", ""))
        await membership.change_role(console.administration, caller, caller.organization, email, role, None)
    except Refused as refusal:
        return _refused(request, refusal)
    return go(HERE, f"{email} is {role.value} now.")


async def remove(request: Request) -> Response:
    console, caller, email = console_of(request), caller_of(request), request.path_params["email"]
    try:
        await membership.remove(console.administration, caller, caller.organization, email, None)
    except Refused as refusal:
        return _refused(request, refusal)
    return go(HERE, f"{email} is no member any more, and every key of theirs has ended.")


async def confirm(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    await confirming.confirm(console.administration, caller, caller.organization, request.path_params["pending"])
    return go(HERE, "Confirmed.")


def _refused(request: Request, refusal: Refused, email: str = "") -> Response:
    if refusal.code not in OF_THE_FORM:
        raise refusal
    return _shown(request, fault=refusal.detail, email=email)


def _shown(request: Request, **more: str) -> Response:
    console, caller = console_of(request), caller_of(request)
    house = organization_for(caller, console.directory, caller.organization, Role.VIEWER)
    people = membership.members(caller, console.directory, house.name)
    values = {
        "house": house,
        "people": [(one, has_password(console.directory, one)) for one in people],
        "roles": [role.value for role in Role],
        "may_change": caller.has_role(house.name, Role.OWNER),
        "pending": confirming.pending(caller, console.directory, house.name),
        "may_confirm": confirming.is_owner(caller, house.name),
        "fault": "",
        "link": "",
        "invited": "",
        "email": "",
    }
    return show(request, "organization.html", values | more, 422 if more.get("fault") else 200)


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
