"""The exchange pages: list, create, change, enable, disable and remove bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import binding_form
from postroad.console.context import Console, caller_of, console_of
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
from postroad.console.pages.services import may_make_service
from postroad.console.service_names import add_actor_addresses, list_offered_services
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.bindings import BindingEntry, binding_entry, binding_of
from postroad.core.exchange.exchange import BoundExchange, describe_decision
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.exchange import Binding, binding_key
from postroad.errors import Refused
from postroad.flow.administration import bindings as changing
from postroad.flow.administration.base import permission_denied
from postroad.flow.administration.versions import list_versions
from postroad.services.exchange.binding_trial import TriedBinding

PAGE = 100
Row = dict[str, Any]


async def list_exchanges(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    hosted = [one for one in console.directory.services.values() if one.hosted is Hosting.EXCHANGE]
    seen = sorted([one for one in hosted if _sees(console, caller, one)], key=lambda one: one.address.casefold())
    rows = [(one, _count(console, caller, one)) for one in seen]
    return render_page(request, "exchanges.html", {"rows": rows, "may_make": may_make_service(caller)})


async def list_bindings(request: Request) -> Response:
    """The bindings at an exchange that the person may see, a page at a time."""
    console, caller, exchange = console_of(request), caller_of(request), _exchange(request)
    queue, after = (request.query_params.get(name, "")[:200] for name in ("queue", "after"))
    found = changing.list_visible_bindings(caller, console.network, exchange)
    if queue:
        found = [one for one in found if changing.describe_queue(caller, one, console.directory) == queue]
    page = [one for one in found if one.name.casefold() > after.casefold()][:PAGE]
    opened = await console.network.exchanges.load(exchange.gcid) if page else None
    has_more = bool(page) and page[-1] is not found[-1]
    values = {
        "exchange": exchange,
        "total": len(found),
        "queue": queue,
        "rows": [_row(request, opened, one) for one in page] if opened is not None else [],
        "following": f"?{urlencode({'queue': queue, 'after': page[-1].name})}" if has_more else "",
        "may_bind": _may_bind(caller),
    }
    return render_page(request, "bindings.html", values)


async def show_binding(request: Request) -> Response:
    console, binding = console_of(request), _binding(request)
    opened = await console.network.exchanges.load(binding.exchange)
    queue = changing.describe_queue(caller_of(request), binding, console.directory)
    versions = await list_versions(console.network, "binding", binding_key(binding.exchange, binding.name))
    values = {
        "exchange": console.directory.services[binding.exchange],
        "row": _row(request, opened, binding),
        "found": opened.explain(binding),
        "text": to_yaml_text(binding_entry(binding, queue)),
        "version": _version(console, binding),
        "versions": add_actor_addresses(caller_of(request), console.directory, versions),
        "may_change": _may_change(request, binding),
        "may_remove": _may_change(request, binding) or _looks_after(request, binding),
    }
    return render_page(request, "binding.html", values)


async def new_binding(request: Request) -> Response:
    if not _may_bind(caller_of(request)):
        raise permission_denied("Binding a queue requires the role developer in its organization")
    return _form(request, _exchange(request), binding_form.EMPTY, [])


async def fill_form_from_trial(request: Request) -> Response:
    """Open the form with a binding that was tried on the test page."""
    exchange, text = _exchange(request), (await read_form(request)).get("text", "")
    try:
        entry = parse_yaml_text(text)
        validate_values(TriedBinding, entry)
    except InvalidForm as faulty:
        return _form(request, exchange, binding_form.EMPTY | {"program": text}, faulty.faults)
    return _form(request, exchange, binding_form.binding_fields(entry), [])


async def make_binding(request: Request) -> Response:
    exchange, form = _exchange(request), await read_form(request)
    try:
        wish = _binding_in(form, exchange)
        made = await changing.bind(console_of(request).administration, caller_of(request), wish)
    except InvalidForm as faulty:
        return _form(request, exchange, form, faulty.faults)
    except Refused as refusal:
        return _form(request, exchange, form, refusal_errors(refusal))
    return redirect(
        _path(made), "Saved. The binding applies from the next message on." if made.enabled else "Saved, disabled."
    )


async def edit_binding(request: Request) -> Response:
    console, binding = console_of(request), _binding(request)
    if not _may_change(request, binding):
        raise permission_denied("Changing a binding requires the role developer in its queue's organization")
    queue = changing.describe_queue(caller_of(request), binding, console.directory)
    values = binding_form.binding_fields(binding_entry(binding, queue)) | {"version": str(_version(console, binding))}
    return _form(request, console.directory.services[binding.exchange], values, [], binding)


async def change_binding(request: Request) -> Response:
    console, binding, form = console_of(request), _binding(request), await read_form(request)
    exchange = console.directory.services[binding.exchange]
    try:
        wish = _binding_in(form | {"name": binding.name}, exchange)
        await _changed(request, binding, wish, form)
    except InvalidForm as faulty:
        return _form(request, exchange, form, faulty.faults, binding)
    except Refused as refusal:
        return _form(request, exchange, form, refusal_errors(refusal), binding)
    return redirect(_path(binding), "Saved. The binding applies from the next message on.")


async def check(request: Request) -> Response:
    """Return the errors of the form in its current state, while the person types."""
    console, exchange, form = console_of(request), _exchange(request), await read_form(request)
    faults: list[DocumentError] = []
    try:
        wish = changing.resolve_binding(caller_of(request), console.network, _binding_in(form, exchange))
        decider = changing.find_decider(wish, console.network)
        await changing.check_program(wish, decider, console.administration.judges)
    except InvalidForm as faulty:
        faults = faulty.faults
    except Refused as refusal:
        faults = [DocumentError(refusal.pointer, refusal.detail)]
    return render_page(request, "errors.html", {"faults": faults})


async def switch(request: Request) -> Response:
    binding, form = _binding(request), await read_form(request)
    enabled = form.get("enabled") == "true"
    await _changed(request, binding, replace(binding, enabled=enabled), form)
    return redirect(_path(binding), "Binding enabled." if enabled else "Binding disabled.")


async def remove(request: Request) -> Response:
    console, binding, form = console_of(request), _binding(request), await read_form(request)
    seen = parse_number(form.get("version", "")) or _version(console, binding)
    await changing.unbind(console.administration, caller_of(request), binding, seen)
    return redirect(f"/exchanges/{binding.exchange}", f"{binding.name} was deleted.")


async def _changed(request: Request, binding: Binding, wish: Binding, form: Form) -> None:
    console = console_of(request)
    seen = parse_number(form.get("version", "")) or _version(console, binding)
    await changing.replace_binding(console.administration, caller_of(request), wish, binding, seen)


def _form(
    request: Request,
    exchange: Service,
    given: Mapping[str, str],
    faults: Sequence[DocumentError],
    binding: Binding | None = None,
) -> Response:
    facts: dict[str, Any] = {
        "exchange": exchange,
        "binding": binding,
        "own_path": _path(binding) if binding is not None else "",
        "values": {name: given.get(name, "") for name in (*binding_form.FIELDS, "version")},
        "faults": faults,
        "wrong": errors_by_field(faults, binding_form.PLACES),
        "deciders": binding_form.DECIDERS,
        "services": list_offered_services(caller_of(request), console_of(request).directory),
    }
    return render_page(request, "binding_form.html", facts, 422 if faults else 200)


def _binding_in(form: Form, exchange: Service) -> Binding:
    entry = validate_values(BindingEntry, binding_form.binding_entry(form))
    return binding_of(entry, exchange.gcid, form.get("name", "").strip(), entry.queue)


def _row(request: Request, opened: BoundExchange, binding: Binding) -> Row:
    return {
        "binding": binding,
        "path": _path(binding),
        "queue": changing.describe_queue(caller_of(request), binding, console_of(request).directory),
        "explanation": describe_decision(binding, opened.explain(binding)),
        "tally": opened.tally(binding),
    }


def _path(binding: Binding) -> str:
    return f"/exchanges/{binding.exchange}/bindings/{quote(binding.name)}"


def _version(console: Console, binding: Binding) -> int:
    return console.directory.object_version("binding", binding_key(binding.exchange, binding.name))


def _sees(console: Console, caller: Caller, exchange: Service) -> bool:
    try:
        return changing.find_exchange(caller, console.network, exchange.gcid) is exchange
    except Refused:
        return False


def _count(console: Console, caller: Caller, exchange: Service) -> int:
    """Count the bindings that the person may see."""
    if caller.has_role(exchange.organization, Role.VIEWER):
        return console.network.bindings.count(exchange.gcid)
    return len(changing.list_visible_bindings(caller, console.network, exchange))


def _may_bind(caller: Caller) -> bool:
    return caller.has_role(caller.organization, Role.DEVELOPER)


def _may_change(request: Request, binding: Binding) -> bool:
    queue = console_of(request).directory.services.get(binding.queue)
    return queue is not None and caller_of(request).has_role(queue.organization, Role.DEVELOPER)


def _looks_after(request: Request, binding: Binding) -> bool:
    exchange = console_of(request).directory.services[binding.exchange]
    return caller_of(request).has_role(exchange.organization, Role.DEVELOPER)


def _exchange(request: Request) -> Service:
    return changing.find_exchange(caller_of(request), console_of(request).network, request.path_params["gcid"])


def _binding(request: Request) -> Binding:
    asked = request.path_params
    return changing.find_binding(caller_of(request), console_of(request).network, asked["gcid"], asked["name"])


ROUTES = (
    member_page("/exchanges", list_exchanges),
    member_page("/exchanges/{gcid}", list_bindings),
    member_page("/exchanges/{gcid}/new", new_binding),
    member_form("/exchanges/{gcid}/new", make_binding),
    member_form("/exchanges/{gcid}/check", check),
    member_form("/exchanges/{gcid}/write", fill_form_from_trial),
    member_page("/exchanges/{gcid}/bindings/{name}", show_binding),
    member_page("/exchanges/{gcid}/bindings/{name}/edit", edit_binding),
    member_form("/exchanges/{gcid}/bindings/{name}/edit", change_binding),
    member_form("/exchanges/{gcid}/bindings/{name}/switch", switch),
    member_form("/exchanges/{gcid}/bindings/{name}/remove", remove),
)
