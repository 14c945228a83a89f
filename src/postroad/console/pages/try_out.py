"""The test page: try a rule, a binding, a stylesheet, a translation or a send port on a message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from postroad.console import rule_form, send_port_form, trial_messages
from postroad.console.context import caller_of, console_of
from postroad.console.form_values import InvalidForm, errors_by_field, refusal_errors, to_yaml_text
from postroad.console.page_guards import Form, member_form, member_page, read_form, redirect, render_page
from postroad.console.service_names import list_offered_services
from postroad.console.trials import TRIALS
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.bindings import binding_entry
from postroad.core.configuration.entries.rules import rule_entry
from postroad.core.configuration.profile.batching import batching_entry
from postroad.core.model.directory import Role
from postroad.core.model.formats import Format
from postroad.errors import Refused
from postroad.flow.administration.base import not_found, require_service
from postroad.flow.administration.bindings import describe_queue, find_binding
from postroad.flow.administration.rules import find_rule

TITLES = {
    "rule": "Rule",
    "binding": "Binding",
    "stylesheet": "Stylesheet",
    "translation": "Format conversion",
    "batches": "Send port",
}
FIELDS = (
    "service", "text", "name", "parameters", "format", "contentType", "session", "kind", "document", "from", "to",
    "topic", "count", "seconds",
)  # fmt: skip
ASKED = ("service", "session", "format")  # parameters that a link to the test page may set
PLACES = {f"/{name}": name for name in FIELDS}
USUAL = {"format": Format.MIME.value, "kind": trial_messages.DOCUMENT, "count": "1", "seconds": "60"}


class ImportedForm(NamedTuple):
    """Defines how the test page imports values from another page's form."""

    mark: str  # a field that only that form has
    entry_in: Callable[[Form], dict[str, Any]]


IMPORTED_FORMS = {
    "rule": ImportedForm("operator", rule_form.rule_entry),
    "batches": ImportedForm("sendsTo", send_port_form.send_port_entry),
}


async def show_trials(request: Request) -> Response:
    asked = request.query_params
    what = asked.get("what", "rule")
    if what not in TRIALS:
        raise not_found()
    values = USUAL | {name: asked[name][:200] for name in ASKED if asked.get(name)}
    return _trials_page(request, what, values | _load_saved(request, what))


async def run_trial(request: Request) -> Response:
    what, form = request.path_params["what"], await read_form(request)
    if what not in TRIALS:
        raise not_found()
    if what in IMPORTED_FORMS and IMPORTED_FORMS[what].mark in form:
        return _import_form(request, what, form)
    try:
        result = await TRIALS[what](console_of(request), caller_of(request), form)
    except InvalidForm as faulty:
        return _trials_page(request, what, form, faulty.faults)
    except Refused as refusal:
        # A missing object is a mistake in the input; the rest of the input must not be lost.
        missing = [DocumentError("", refusal.detail)] if refusal.code == "not-found" else []
        return _trials_page(request, what, form, missing or refusal_errors(refusal))
    return _trials_page(request, what, form, result=result)


def _import_form(request: Request, what: str, form: Mapping[str, str]) -> Response:
    """Take over a rule or a send port from its form, to try it before it is saved."""
    values = USUAL | {"service": request.query_params.get("service", "")}
    try:
        text = to_yaml_text(IMPORTED_FORMS[what].entry_in(dict(form)))
    except InvalidForm as faulty:
        return _trials_page(request, what, values | {"text": form.get("more", "")}, faulty.faults)
    return _trials_page(request, what, values | {"text": text})


def _load_saved(request: Request, what: str) -> dict[str, str]:
    """Return the text of the saved rule, binding or send port that a link names."""
    console, caller, asked = console_of(request), caller_of(request), request.query_params
    service = asked.get("service", "")
    if what == "rule" and service and asked.get("rule"):
        return {"text": to_yaml_text(rule_entry(find_rule(caller, console.directory, service, asked["rule"])))}
    if what == "binding" and service and asked.get("binding"):
        binding = find_binding(caller, console.network, service, asked["binding"])
        return {"text": to_yaml_text(binding_entry(binding, describe_queue(caller, binding, console.directory)))}
    if what == "batches" and service:
        owner = require_service(caller, console.directory, service, Role.VIEWER)
        return {"text": to_yaml_text(batching_entry(owner.batching)) if owner.batching is not None else ""}
    return {}


def _trials_page(
    request: Request,
    what: str,
    given: Mapping[str, str],
    faults: Sequence[DocumentError] = (),
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
        "wrong": errors_by_field(faults, PLACES),
        "result": result,
        "kinds": trial_messages.KINDS,
        "formats": [(one.value, one.value) for one in Format],
        "services": list_offered_services(caller, console.directory),
        "may_save": caller.has_role(caller.organization, Role.DEVELOPER),
    }
    return render_page(request, "try_out.html", facts, 422 if faults else 200)


async def _redirect_to_test_page(request: Request) -> Response:
    return redirect(f"/test?{query}" if (query := request.url.query) else "/test")


ROUTES = (
    member_page("/test", show_trials),
    member_form("/test/{what}", run_trial),
    # the old addresses
    member_page("/bench", _redirect_to_test_page),
    member_form("/bench/{what}", run_trial),
)
