"""Rules of one's own services: read in their order, written in a form, switched on and off, moved, removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import rule_form
from postroad.console.context import caller_of, console_of
from postroad.console.editing import Faulty, beside_fields, from_text, number_in, of_refusal, shaped, to_text
from postroad.console.guarding import Form, form_of, go, member_form, member_page, show
from postroad.console.naming import offered, with_actors
from postroad.core.configuration.document import Fault
from postroad.core.configuration.rules import ALWAYS, RuleEntry, entry_of, rule_of
from postroad.core.model.directory import Role, Service
from postroad.core.model.rule import Action, Rule, rule_key
from postroad.core.routing.telling import tell
from postroad.errors import Refused
from postroad.flow import administration_rules as changing
from postroad.flow.administration import service_for
from postroad.flow.administration_services import owned_services
from postroad.flow.object_versions import versions_of

PLACES = {
    "/name": "name", "/role": "role", "/positions": "positions", "/description": "description", "/then/0/arguments": "arguments",
    "/then": "service", "/when": "path",
}  # fmt: skip
UP, DOWN = "up", "down"
SHOWN_MOST = 200  # services with rules, and without


async def list_all(request: Request) -> Response:
    """The rules of all services that are the person's to look at."""
    console, caller = console_of(request), caller_of(request)
    owned = sorted(owned_services(caller, console.directory), key=lambda one: one.address.casefold())
    rows = [(one, [_row(rule) for rule in console.directory.rules_of(one.gcid)]) for one in owned]
    ruled, without = [row for row in rows if row[1]], [service for service, rules in rows if not rules]
    left_out = sum(max(0, len(found) - SHOWN_MOST) for found in (ruled, without))
    values = {"rows": ruled[:SHOWN_MOST], "without": without[:SHOWN_MOST], "left_out": left_out}
    return show(request, "rules_all.html", values)


async def list_rules(request: Request) -> Response:
    service = _service(request, Role.VIEWER)
    rules = changing.owned_rules(caller_of(request), console_of(request).directory, service.gcid)
    values = {"service": service, "rules": [_row(rule) for rule in rules], "may_change": _may_change(request, service)}
    return show(request, "rules.html", values)


async def show_rule(request: Request) -> Response:
    console, rule = console_of(request), _rule(request, Role.VIEWER)
    service = console.directory.services[rule.service]
    versions = await versions_of(console.network, "rule", rule_key(rule.service, rule.name))
    values = {
        "service": service,
        "rule": rule,
        "row": _row(rule),
        "text": to_text(entry_of(rule)),
        "version": _version(request, rule),
        "versions": with_actors(caller_of(request), console.directory, versions),
        "may_change": _may_change(request, service),
    }
    return show(request, "rule.html", values)


async def new_rule(request: Request) -> Response:
    return _form(request, _service(request, Role.DEVELOPER), rule_form.EMPTY, [])


async def write_out(request: Request) -> Response:
    """A rule that was tried on the bench, in the form in which it can be saved."""
    service, text = _service(request, Role.DEVELOPER), (await form_of(request)).get("text", "")
    try:
        entry = from_text(text)
        shaped(RuleEntry, {"name": "tried"} | entry)
    except Faulty as faulty:
        return _form(request, service, rule_form.EMPTY | {"more": text}, faulty.faults)
    return _form(request, service, rule_form.fields_of(entry), [])


async def make_rule(request: Request) -> Response:
    service, form = _service(request, Role.DEVELOPER), await form_of(request)
    try:
        rule = _rule_in(form, service)
        made = await changing.add(console_of(request).administration, caller_of(request), rule, changing.LAST)
    except Faulty as faulty:
        return _form(request, service, form, faulty.faults)
    except Refused as refusal:
        return _form(request, service, form, of_refusal(refusal))
    return go(_path(made), "The rule holds from the next message on." if made.enabled else "Saved, switched off.")


async def edit_rule(request: Request) -> Response:
    rule = _rule(request, Role.DEVELOPER)
    service = console_of(request).directory.services[rule.service]
    values = rule_form.fields_of(entry_of(rule)) | {"version": str(_version(request, rule))}
    return _form(request, service, values, [], rule)


async def change_rule(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await form_of(request)
    service = console_of(request).directory.services[rule.service]
    seen = number_in(form.get("version", "")) or _version(request, rule)
    try:
        wanted = _rule_in(form | {"name": rule.name}, service)
        await changing.replace_rule(console_of(request).administration, caller_of(request), wanted, seen)
    except Faulty as faulty:
        return _form(request, service, form, faulty.faults, rule)
    except Refused as refusal:
        return _form(request, service, form, of_refusal(refusal), rule)
    return go(_path(rule), "It holds from the next message on.")


async def check(request: Request) -> Response:
    """What would be said if the form were sent now; asked for while somebody types."""
    service, form = _service(request, Role.DEVELOPER), await form_of(request)
    faults: list[Fault] = []
    try:
        await changing.check_elsewhere(console_of(request).network, caller_of(request), _rule_in(form, service))
    except Faulty as faulty:
        faults = faulty.faults
    except Refused as refusal:
        faults = of_refusal(refusal)
    return show(request, "faults.html", {"faults": faults})


async def switch(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await form_of(request)
    enabled = form.get("enabled") == "true"
    await _adjusted(request, rule, form, enabled=enabled)
    return go(_path(rule), "It is switched on." if enabled else "It is switched off: nothing happens by it.")


async def move(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await form_of(request)
    position = console_of(request).directory.rules_of(rule.service).index(rule)
    step = {UP: -1, DOWN: 1}.get(form.get("to", ""), 0)
    await _adjusted(request, rule, form, position=max(0, position + step))
    return go(f"/rules/{rule.service}", f"{rule.name} has another place in the order.")


async def remove(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await form_of(request)
    seen = number_in(form.get("version", "")) or _version(request, rule)
    await changing.remove(console_of(request).administration, caller_of(request), rule, seen)
    return go(f"/rules/{rule.service}", f"{rule.name} is removed; its versions stay on record.")


async def _adjusted(
    request: Request, rule: Rule, form: Form, *, enabled: bool | None = None, position: int | None = None
) -> None:
    seen = number_in(form.get("version", "")) or _version(request, rule)
    await changing.adjust(
        console_of(request).administration,
        caller_of(request),
        rule,
        enabled=enabled,
        position=position,
        seen_version=seen,
    )


def _form(
    request: Request, service: Service, given: Mapping[str, str], faults: Sequence[Fault], rule: Rule | None = None
) -> Response:
    console = console_of(request)
    values = {name: given.get(name, "") for name in (*rule_form.FIELDS, "version")}
    facts: dict[str, Any] = {
        "service": service,
        "rule": rule,
        "values": values | ({"name": rule.name} if rule else {}),
        "faults": faults,
        "wrong": beside_fields(faults, PLACES),
        "choices": rule_form,
        "services": offered(caller_of(request), console.directory),
    }
    return show(request, "rule_form.html", facts, 422 if faults else 200)


def _rule_in(form: Form, service: Service) -> Rule:
    return rule_of(shaped(RuleEntry, rule_form.entry_in(form)), service.gcid, 0)


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule,
        "path": _path(rule),
        "when": None if entry_of(rule)["when"] == ALWAYS else tell(rule.when, {}),
        "role": dict(rule_form.ROLES)[rule.role],
        "then": [_told(action) for action in rule.then],
    }


def _told(action: Action) -> str:
    named = action.service or action.topic
    return f"{rule_form.IN_WORDS[action.kind]}{': ' if named else ''}{named}"


def _path(rule: Rule) -> str:
    return f"/rules/{rule.service}/of/{quote(rule.name)}"


def _version(request: Request, rule: Rule) -> int:
    return console_of(request).directory.object_version("rule", rule_key(rule.service, rule.name))


def _may_change(request: Request, service: Service) -> bool:
    return caller_of(request).has_role(service.organization, Role.DEVELOPER)


def _service(request: Request, least: Role) -> Service:
    return service_for(caller_of(request), console_of(request).directory, request.path_params["gcid"], least)


def _rule(request: Request, least: Role) -> Rule:
    asked = request.path_params
    return changing.rule_named(caller_of(request), console_of(request).directory, asked["gcid"], asked["name"], least)


ROUTES = (
    member_page("/rules", list_all),
    member_page("/rules/{gcid}", list_rules),
    member_page("/rules/{gcid}/new", new_rule),
    member_form("/rules/{gcid}/new", make_rule),
    member_form("/rules/{gcid}/check", check),
    member_form("/rules/{gcid}/write", write_out),
    member_page("/rules/{gcid}/of/{name}", show_rule),
    member_page("/rules/{gcid}/of/{name}/edit", edit_rule),
    member_form("/rules/{gcid}/of/{name}/edit", change_rule),
    member_form("/rules/{gcid}/of/{name}/switch", switch),
    member_form("/rules/{gcid}/of/{name}/move", move),
    member_form("/rules/{gcid}/of/{name}/remove", remove),
)
