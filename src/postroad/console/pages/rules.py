"""The rule pages: list, create, edit, enable, disable, move and remove the rules of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import rule_form
from postroad.console.context import caller_of, console_of
from postroad.console.form_values import (
    InvalidForm,
    errors_by_field,
    parse_number,
    parse_yaml_text,
    refusal_errors,
    to_yaml_text,
    validate_values,
)
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.console.service_names import add_actor_addresses, list_offered_services
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.rules import ALWAYS, RuleEntry, rule_entry, rule_of
from postroad.core.model.directory import Role, Service
from postroad.core.model.rule import Rule, RuleAction, rule_key
from postroad.core.routing.explain.condition_text import explain_condition
from postroad.errors import Refused
from postroad.flow.administration import rules as changing
from postroad.flow.administration.base import require_service
from postroad.flow.administration.services import list_owned_services
from postroad.flow.administration.versions import list_versions

PLACES = {
    "/name": "name", "/role": "role", "/positions": "positions", "/description": "description", "/then/0/arguments": "arguments",
    "/then": "service", "/when": "path",
}  # fmt: skip
UP, DOWN = "up", "down"
MAX_SHOWN = 200  # services with rules, and without


async def list_all(request: Request) -> Response:
    """List the rules of all services that the person may see."""
    console, caller = console_of(request), caller_of(request)
    owned = sorted(list_owned_services(caller, console.directory), key=lambda one: one.address.casefold())
    rows = [(one, [_row(rule) for rule in console.directory.rules_of(one.gcid)]) for one in owned]
    ruled, without = [row for row in rows if row[1]], [service for service, rules in rows if not rules]
    left_out = sum(max(0, len(found) - MAX_SHOWN) for found in (ruled, without))
    values = {"rows": ruled[:MAX_SHOWN], "without": without[:MAX_SHOWN], "left_out": left_out}
    return render_page(request, "rules_all.html", values)


async def list_rules(request: Request) -> Response:
    service = _service(request, Role.VIEWER)
    rules = changing.list_owned_rules(caller_of(request), console_of(request).directory, service.gcid)
    values = {"service": service, "rules": [_row(rule) for rule in rules], "may_change": _may_change(request, service)}
    return render_page(request, "rules.html", values)


async def show_rule(request: Request) -> Response:
    console, rule = console_of(request), _rule(request, Role.VIEWER)
    service = console.directory.services[rule.service]
    versions = await list_versions(console.network, "rule", rule_key(rule.service, rule.name))
    values = {
        "service": service,
        "rule": rule,
        "row": _row(rule),
        "text": to_yaml_text(rule_entry(rule)),
        "version": _version(request, rule),
        "versions": add_actor_addresses(caller_of(request), console.directory, versions),
        "may_change": _may_change(request, service),
    }
    return render_page(request, "rule.html", values)


async def new_rule(request: Request) -> Response:
    return _form(request, _service(request, Role.DEVELOPER), rule_form.EMPTY, [])


async def fill_form_from_trial(request: Request) -> Response:
    """Open the form with a rule that was tried on the test page."""
    service, text = _service(request, Role.DEVELOPER), (await read_form(request)).get("text", "")
    try:
        entry = parse_yaml_text(text)
        validate_values(RuleEntry, {"name": "tried"} | entry)
    except InvalidForm as faulty:
        return _form(request, service, rule_form.EMPTY | {"more": text}, faulty.faults)
    return _form(request, service, rule_form.rule_fields(entry), [])


async def make_rule(request: Request) -> Response:
    service, form = _service(request, Role.DEVELOPER), await read_form(request)
    try:
        rule = _rule_in(form, service)
        made = await changing.add(console_of(request).administration, caller_of(request), rule, changing.LAST)
    except InvalidForm as faulty:
        return _form(request, service, form, faulty.faults)
    except Refused as refusal:
        return _form(request, service, form, refusal_errors(refusal))
    return redirect(
        _path(made), "Rule created. It applies from the next message on." if made.enabled else "Rule created, disabled."
    )


async def edit_rule(request: Request) -> Response:
    rule = _rule(request, Role.DEVELOPER)
    service = console_of(request).directory.services[rule.service]
    values = rule_form.rule_fields(rule_entry(rule)) | {"version": str(_version(request, rule))}
    return _form(request, service, values, [], rule)


async def change_rule(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await read_form(request)
    service = console_of(request).directory.services[rule.service]
    seen = parse_number(form.get("version", "")) or _version(request, rule)
    try:
        wanted = _rule_in(form | {"name": rule.name}, service)
        await changing.replace_rule(console_of(request).administration, caller_of(request), wanted, seen)
    except InvalidForm as faulty:
        return _form(request, service, form, faulty.faults, rule)
    except Refused as refusal:
        return _form(request, service, form, refusal_errors(refusal), rule)
    return redirect(_path(rule), "Saved. The rule applies from the next message on.")


async def check(request: Request) -> Response:
    """Return the errors of the form in its current state, while the person types."""
    service, form = _service(request, Role.DEVELOPER), await read_form(request)
    faults: list[DocumentError] = []
    try:
        await changing.check_in_thread(console_of(request).network, caller_of(request), _rule_in(form, service))
    except InvalidForm as faulty:
        faults = faulty.faults
    except Refused as refusal:
        faults = refusal_errors(refusal)
    return render_page(request, "errors.html", {"faults": faults})


async def switch(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await read_form(request)
    enabled = form.get("enabled") == "true"
    await _adjusted(request, rule, form, enabled=enabled)
    return redirect(_path(rule), "Rule enabled." if enabled else "Rule disabled.")


async def move(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await read_form(request)
    position = console_of(request).directory.rules_of(rule.service).index(rule)
    step = {UP: -1, DOWN: 1}.get(form.get("to", ""), 0)
    await _adjusted(request, rule, form, position=max(0, position + step))
    return redirect(f"/rules/{rule.service}", f"{rule.name} was moved.")


async def remove(request: Request) -> Response:
    rule, form = _rule(request, Role.DEVELOPER), await read_form(request)
    seen = parse_number(form.get("version", "")) or _version(request, rule)
    await changing.remove(console_of(request).administration, caller_of(request), rule, seen)
    return redirect(f"/rules/{rule.service}", f"{rule.name} was deleted; its versions stay stored.")


async def _adjusted(
    request: Request, rule: Rule, form: Form, *, enabled: bool | None = None, position: int | None = None
) -> None:
    seen = parse_number(form.get("version", "")) or _version(request, rule)
    await changing.adjust(
        console_of(request).administration,
        caller_of(request),
        rule,
        enabled=enabled,
        position=position,
        seen_version=seen,
    )


def _form(
    request: Request,
    service: Service,
    given: Mapping[str, str],
    faults: Sequence[DocumentError],
    rule: Rule | None = None,
) -> Response:
    console = console_of(request)
    values = {name: given.get(name, "") for name in (*rule_form.FIELDS, "version")}
    facts: dict[str, Any] = {
        "service": service,
        "rule": rule,
        "values": values | ({"name": rule.name} if rule else {}),
        "faults": faults,
        "wrong": errors_by_field(faults, PLACES),
        "choices": rule_form,
        "services": list_offered_services(caller_of(request), console.directory),
    }
    return render_page(request, "rule_form.html", facts, 422 if faults else 200)


def _rule_in(form: Form, service: Service) -> Rule:
    return rule_of(validate_values(RuleEntry, rule_form.rule_entry(form)), service.gcid, 0)


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule,
        "path": _path(rule),
        "when": None if rule_entry(rule)["when"] == ALWAYS else explain_condition(rule.when, {}),
        "role": dict(rule_form.ROLES)[rule.role],
        "then": [_describe_action(action) for action in rule.then],
    }


def _describe_action(action: RuleAction) -> str:
    named = action.service or action.topic
    return f"{rule_form.IN_WORDS[action.kind]}{': ' if named else ''}{named}"


def _path(rule: Rule) -> str:
    return f"/rules/{rule.service}/of/{quote(rule.name)}"


def _version(request: Request, rule: Rule) -> int:
    return console_of(request).directory.object_version("rule", rule_key(rule.service, rule.name))


def _may_change(request: Request, service: Service) -> bool:
    return caller_of(request).has_role(service.organization, Role.DEVELOPER)


def _service(request: Request, least: Role) -> Service:
    return require_service(caller_of(request), console_of(request).directory, request.path_params["gcid"], least)


def _rule(request: Request, least: Role) -> Rule:
    asked = request.path_params
    return changing.find_rule(caller_of(request), console_of(request).directory, asked["gcid"], asked["name"], least)


ROUTES = (
    member_page("/rules", list_all),
    member_page("/rules/{gcid}", list_rules),
    member_page("/rules/{gcid}/new", new_rule),
    member_form("/rules/{gcid}/new", make_rule),
    member_form("/rules/{gcid}/check", check),
    member_form("/rules/{gcid}/write", fill_form_from_trial),
    member_page("/rules/{gcid}/of/{name}", show_rule),
    member_page("/rules/{gcid}/of/{name}/edit", edit_rule),
    member_form("/rules/{gcid}/of/{name}/edit", change_rule),
    member_form("/rules/{gcid}/of/{name}/switch", switch),
    member_form("/rules/{gcid}/of/{name}/move", move),
    member_form("/rules/{gcid}/of/{name}/remove", remove),
)
