"""Rules of services: read in their order, made, replaced, moved, switched on and off, removed; in JSON and in XML."""

from __future__ import annotations

from typing import Annotated, Any, Self
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from pydantic import Field, StrictBool, StrictInt, model_validator

from postroad.api.pagination import Paging
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import XML, GuardedRoute, RuleRoute, prefers
from postroad.api.resources.versions import version_answer
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.configuration.object_fields import written_fields
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.directory import Role
from postroad.core.model.rule import Rule, rule_key
from postroad.core.resources.configuration import VersionPage
from postroad.errors import Refused
from postroad.flow.administration import rules as changing
from postroad.flow.administration.base import require_service

router = APIRouter(route_class=RuleRoute, tags=["rules"])
switching = APIRouter(route_class=GuardedRoute, tags=["rules"])

RULES = SERVICE + "/rules"
RULE = RULES + "/{name}"
AS_XML: dict[str, Any] = {XML: {"schema": {"type": "string"}}}
IN_XML = {"requestBody": {"content": AS_XML}}

Place = Annotated[
    StrictInt, Field(ge=1, le=changing.MAX_RULES, description="Position among the service's rules, starting at 1")
]


class NewRule(RuleEntry):
    place: Place | None = None


class RuleView(RuleEntry):
    place: Place
    version: int


class RulePage(StrictShape):
    items: list[RuleView]
    next: str | None = None


class RuleAdjustment(StrictShape):
    enabled: StrictBool | None = None
    place: Place | None = None

    @model_validator(mode="after")
    def check_not_empty(self) -> Self:
        if self.enabled is None and self.place is None:
            raise ValueError("use enabled or place, or both")
        return self


def rule_view(api: ApiContext, rule: Rule) -> dict[str, Any]:
    directory = api.network.directory
    place = 1 + directory.rules_of(rule.service).index(rule)
    return written_fields(rule) | {"place": place, "version": _version(api, rule)}


def _version(api: ApiContext, rule: Rule) -> int:
    return api.network.directory.object_version("rule", rule_key(rule.service, rule.name))


def _answer(request: Request, api: ApiContext, rule: Rule, status: int = 200, **headers: str) -> Response:
    tag = tag_of(_version(api, rule))
    if prefers(request, XML):
        return Response(encode_rules([rule]), status, {"ETag": tag, "Vary": "Accept"} | headers, media_type=XML)
    return answer(rule_view(api, rule), status, tag=tag, headers=headers)


@router.get(RULES, response_model=RulePage, responses={200: {"content": AS_XML}})
async def list_rules(request: Request, api: Api, caller: Asking, service: str, query: Paging) -> Response:
    """The rules of a service in their order; in XML all of them at once."""
    rules = changing.list_owned_rules(caller, api.network.directory, service)
    if prefers(request, XML):
        return Response(encode_rules(rules), media_type=XML)
    page = make_page(request, api, caller, query, list(rules), lambda rule: f"{rule.place:09d}/{rule.name}")
    return page_answer(request, page._replace(items=[rule_view(api, rule) for rule in page.items]))


@router.post(
    RULES, status_code=201, response_model=RuleView, responses={201: {"content": AS_XML}}, openapi_extra=IN_XML
)
async def create_rule(request: Request, api: Api, caller: Asking, service: str, wish: NewRule) -> Response:
    """Add a rule, after the others unless a position is given. It is checked first, and all errors are reported."""
    owner = require_service(caller, api.network.directory, service, Role.DEVELOPER)
    position = changing.LAST if wish.place is None else wish.place - 1
    rule = await changing.add(api.administration, caller, rule_of(wish, owner.gcid, 0), position)
    return _answer(request, api, rule, 201, Location=f"/v1/services/{owner.gcid}/rules/{quote(rule.name)}")


@router.get(RULE, response_model=RuleView, responses={200: {"content": AS_XML}})
async def read_rule(request: Request, api: Api, caller: Asking, service: str, name: str) -> Response:
    """One rule."""
    rule = changing.find_rule(caller, api.network.directory, service, name)
    return not_modified(request, tag_of(_version(api, rule))) or _answer(request, api, rule)


@router.put(RULE, response_model=RuleView, responses={200: {"content": AS_XML}}, openapi_extra=IN_XML)
async def replace_rule(
    request: Request, api: Api, caller: Asking, service: str, name: str, wish: RuleEntry, if_match: IfMatch = None
) -> Response:
    """Replace a rule at its position; omitted fields return to their defaults."""
    rule = changing.find_rule(caller, api.network.directory, service, name, Role.DEVELOPER)
    seen = check_if_match(if_match, _version(api, rule))
    if wish.name.casefold() != rule.name.casefold():
        raise Refused(
            "value.invalid", "A rule cannot be renamed; create a new one and remove this one", pointer="/name"
        )
    wanted = rule_of(wish, rule.service, 0)
    return _answer(request, api, await changing.replace_rule(api.administration, caller, wanted, seen))


@switching.patch(RULE, response_model=RuleView)
async def adjust_rule(
    request: Request, api: Api, caller: Asking, service: str, name: str, wish: RuleAdjustment, if_match: IfMatch = None
) -> Response:
    """Switch a rule on or off, or move it to another place in the order."""
    rule = changing.find_rule(caller, api.network.directory, service, name, Role.DEVELOPER)
    seen = check_if_match(if_match, _version(api, rule))
    position = None if wish.place is None else wish.place - 1
    changed = await changing.adjust(
        api.administration, caller, rule, enabled=wish.enabled, position=position, seen_version=seen
    )
    return _answer(request, api, changed)


@switching.delete(RULE, status_code=204)
async def remove_rule(api: Api, caller: Asking, service: str, name: str, if_match: IfMatch = None) -> Response:
    """Remove a rule; its versions stay stored."""
    rule = changing.find_rule(caller, api.network.directory, service, name, Role.DEVELOPER)
    await changing.remove(api.administration, caller, rule, check_if_match(if_match, _version(api, rule)))
    return empty_answer()


@switching.get(RULE + "/versions", **returns(VersionPage))
async def list_rule_versions(
    request: Request, api: Api, caller: Asking, service: str, name: str, query: Paging
) -> Response:
    """Every version of a rule, newest first: time, author and content."""
    owner = require_service(caller, api.network.directory, service, Role.VIEWER)
    return await version_answer(request, api, caller, query, "rule", rule_key(owner.gcid, name))
