"""The people of an organization and their roles; owners decide."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from msgspec.structs import asdict

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import Email, Line, RoleName, StrictShape
from postroad.core.model.directory import Person, Role
from postroad.core.resources.accounts import InvitationKey, Invited, MemberPage, MemberView
from postroad.core.resources.base import build_resource
from postroad.flow.administration import members as membership
from postroad.flow.administration.base import require_organization

router = APIRouter(route_class=GuardedRoute, tags=["members"])


class NewMember(StrictShape):
    email: Email
    name: Line = ""
    role: RoleName = "viewer"


class MemberChange(StrictShape):
    role: RoleName


def member_view(api: ApiContext, person: Person) -> MemberView:
    version = api.network.directory.object_version("person", person.email.casefold())
    return build_resource(MemberView, person, role=person.role.value, version=version)


@router.get("/v1/organizations/{organization}/members", **returns(MemberPage))
async def list_members(request: Request, api: Api, caller: Asking, organization: str, query: Paging) -> Response:
    """The people of an organization."""
    found = membership.list_members(caller, api.network.directory, organization)
    page = make_page(request, api, caller, query, found, lambda person: person.email.casefold())
    return page_answer(request, page._replace(items=[member_view(api, person) for person in page.items]))


@router.post("/v1/organizations/{organization}/members", **returns(Invited, 201))
async def add_member(api: Api, caller: Asking, organization: str, wish: NewMember) -> Response:
    """Add a person. The answer holds a key, shown once, with which they set their password within 7 days."""
    person = Person(email=wish.email, name=wish.name, role=Role(wish.role))
    with api.authenticator.registering.adding(caller.organization or caller.name):
        key = await membership.add(api.administration, caller, organization, person)
    view = member_view(api, api.network.directory.people[wish.email.casefold()])
    return answer(Invited(**asdict(view), key=key), 201)


@router.get("/v1/organizations/{organization}/members/{email}", **returns(MemberView))
async def read_member(request: Request, api: Api, caller: Asking, organization: str, email: str) -> Response:
    """One person of an organization."""
    view = member_view(api, membership.find_member(caller, api.network.directory, organization, email))
    tag = tag_of(view.version)
    return not_modified(request, tag) or answer(view, tag=tag)


@router.put("/v1/organizations/{organization}/members/{email}", **returns(MemberView))
async def change_member(
    api: Api, caller: Asking, organization: str, email: str, wish: MemberChange, if_match: IfMatch = None
) -> Response:
    """Change a person's role; an organization keeps at least one owner."""
    seen = _seen(api, caller, organization, email, if_match)
    await membership.change_role(api.administration, caller, organization, email, Role(wish.role), seen)
    view = member_view(api, membership.find_member(caller, api.network.directory, organization, email))
    return answer(view, tag=tag_of(view.version))


@router.delete("/v1/organizations/{organization}/members/{email}", status_code=204)
async def remove_member(api: Api, caller: Asking, organization: str, email: str, if_match: IfMatch = None) -> Response:
    """Remove a person; their keys and logins end at once."""
    seen = _seen(api, caller, organization, email, if_match)
    await membership.remove(api.administration, caller, organization, email, seen)
    return empty_answer()


@router.post("/v1/organizations/{organization}/members/{email}/invitation", **returns(InvitationKey, 201))
async def invite_again(api: Api, caller: Asking, organization: str, email: str) -> Response:
    """Create a new key for a person who has not set a password yet; the old one ends."""
    return answer(
        InvitationKey(key=await membership.invite_again(api.administration, caller, organization, email)), 201
    )


def _seen(api: ApiContext, caller: Asking, organization: str, email: str, if_match: str | None) -> int:
    require_organization(caller, api.network.directory, organization, Role.OWNER)
    person = membership.find_member(caller, api.network.directory, organization, email)
    return check_if_match(if_match, api.network.directory.object_version("person", person.email.casefold()))
