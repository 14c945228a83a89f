"""The bench: try a rule, a binding, a stylesheet, a translation or a send port on a message, before anything is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import bench_messages, port_form, rule_form
from postroad.console.bench_trials import TRIALS
from postroad.console.context import caller_of, console_of
from postroad.console.editing import Faulty, beside_fields, of_refusal, to_text
from postroad.console.guarding import Form, form_of, member_form, member_page, show
from postroad.console.naming import offered
from postroad.core.configuration.batching_profile import batching_entry
from postroad.core.configuration.bindings import binding_entry
from postroad.core.configuration.document import Fault
from postroad.core.configuration.rules import entry_of
from postroad.core.model.directory import Role
from postroad.core.model.formats import Format
from postroad.errors import Refused
from postroad.flow.administration import not_found, service_for
from postroad.flow.administration_bindings import binding_named, queue_shown
from postroad.flow.administration_rules import rule_named

TITLES = {
    "rule": "A rule",
    "binding": "A binding",
    "stylesheet": "A stylesheet",
    "translation": "A translation",
    "batches": "A send port",
}
FIELDS = (
    "service", "text", "name", "parameters", "format", "contentType", "session", "kind", "document", "from", "to",
    "topic", "count", "seconds",
)  # fmt: skip
ASKED = ("service", "session", "format")  # that a link to the bench may bring
PLACES = {f"/{name}": name for name in FIELDS}
USUAL = {"format": Format.MIME.value, "kind": bench_messages.DOCUMENT, "count": "1", "seconds": "60"}


class Brought(NamedTuple):
    """What comes to the bench out of a form of its own."""

    mark: str  # a field that only that form has
    entry_in: Callable[[Form], dict[str, Any]]


BROUGHT = {"rule": Brought("operator", rule_form.entry_in), "batches": Brought("sendsTo", port_form.entry_in)}


async def open_bench(request: Request) -> Response:
    asked = request.query_params
    what = asked.get("what", "rule")
    if what not in TRIALS:
        raise not_found()
    values = USUAL | {name: asked[name][:200] for name in ASKED if asked.get(name)}
    return _shown(request, what, values | _from_what_is_saved(request, what))


async def try_it(request: Request) -> Response:
    what, form = request.path_params["what"], await form_of(request)
    if what not in TRIALS:
        raise not_found()
    if what in BROUGHT and BROUGHT[what].mark in form:
        return _brought(request, what, form)
    try:
        result = await TRIALS[what](console_of(request), caller_of(request), form)
    except Faulty as faulty:
        return _shown(request, what, form, faulty.faults)
    except Refused as refusal:
        # What is not there is a slip in what was written; the rest of it must not be lost.
        missing = [Fault("", refusal.detail)] if refusal.code == "not-found" else []
        return _shown(request, what, form, missing or of_refusal(refusal))
    return _shown(request, what, form, result=result)


def _brought(request: Request, what: str, form: Mapping[str, str]) -> Response:
    """A rule or a port out of its form, to be tried before it is saved."""
    values = USUAL | {"service": request.query_params.get("service", "")}
    try:
        text = to_text(BROUGHT[what].entry_in(dict(form)))
    except Faulty as faulty:
        return _shown(request, what, values | {"text": form.get("more", "")}, faulty.faults)
    return _shown(request, what, values | {"text": text})


def _from_what_is_saved(request: Request, what: str) -> dict[str, str]:
    """The text of a rule, a binding or a send port that a link names."""
    console, caller, asked = console_of(request), caller_of(request), request.query_params
    service = asked.get("service", "")
    if what == "rule" and service and asked.get("rule"):
        return {"text": to_text(entry_of(rule_named(caller, console.directory, service, asked["rule"])))}
    if what == "binding" and service and asked.get("binding"):
        binding = binding_named(caller, console.network, service, asked["binding"])
        return {"text": to_text(binding_entry(binding, queue_shown(caller, binding, console.directory)))}
    if what == "batches" and service:
        owner = service_for(caller, console.directory, service, Role.VIEWER)
        return {"text": to_text(batching_entry(owner.batching)) if owner.batching is not None else ""}
    return {}


def _shown(
    request: Request,
    what: str,
    given: Mapping[str, str],
    faults: Sequence[Fault] = (),
    result: Mapping[str, Any] | None = None,
) -> Response:
    console, caller = console_of(request), caller_of(request)
    named = given.get("service", "")
    known = console.directory.service(named) if named else None
    values = {name: given.get(name, "") for name in FIELDS}
    if known is not None and (caller.operator or console.directory.visible(known, caller.organization)):
        values["service"] = known.address
    facts = {
        "what": what,
        "titles": TITLES,
        "values": values,
        "faults": faults,
        "wrong": beside_fields(faults, PLACES),
        "result": result,
        "kinds": bench_messages.KINDS,
        "formats": [(one.value, one.value) for one in Format],
        "services": offered(caller, console.directory),
        "may_save": caller.has_role(caller.organization, Role.DEVELOPER),
    }
    return show(request, "bench.html", facts, 422 if faults else 200)


ROUTES = (
    member_page("/bench", open_bench),
    member_form("/bench/{what}", try_it),
)
