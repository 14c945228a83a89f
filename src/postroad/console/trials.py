"""The trials of the test page: one function for each kind of object, from a form to the values of its page.

Rules: nothing is stored, sent or enabled. Each trial runs in ``flow.administration.try_out``, with the caller's
permissions; errors in the input raise InvalidForm, with their location in the form.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from postroad.console import rule_form
from postroad.console.context import Console
from postroad.console.form_values import InvalidForm, parse_number, parse_yaml_text, validate_values
from postroad.console.trial_messages import LIMITS, guess_content_type, load_posted_message, read_message
from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import explanation_svg
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.core.configuration.profile.batching import BatchingProfile
from postroad.core.mediation.format_trial import DecodedTrial, convert_message, read_any_message
from postroad.core.model.asset import AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.message import Message
from postroad.core.routing.explain.explanation import RouteExplanation
from postroad.flow.administration.assets import find_asset
from postroad.flow.administration.bindings import find_exchange
from postroad.flow.administration.try_out import rules as trying
from postroad.flow.administration.try_out.send_ports import TrialMessage, try_batching
from postroad.flow.network import Network
from postroad.services.exchange import binding_trial

SHOWN_CHARS = 40_000
MAX_COPIES = 500
MAX_SESSIONS = 50
SECOND_US = 1_000_000
MAX_INTERVAL_S = 7 * 86_400
PICTURE = "data:image/svg+xml;base64,"

TrialForm = Mapping[str, str]
Result = dict[str, Any]
Try = Callable[[Console, Caller, TrialForm], Awaitable[Result]]


async def try_rule(console: Console, caller: Caller, form: TrialForm) -> Result:
    network = console.network
    owner = _service(console, caller, form)
    entry = validate_values(RuleEntry, {"name": "tried"} | parse_yaml_text(form.get("text", "")))
    message = await read_message(network, caller, form, sender=owner.address)
    trial = await trying.try_rule(network, caller, rule_of(entry, owner.gcid, 0), message)
    shown = _explained(trial.explanation) if trial.explanation is not None else {"explanation": "", "picture": ""}
    return {"trial": trial, "role": dict(rule_form.ROLES)[trial.role], "service": owner} | shown


async def try_binding(console: Console, caller: Caller, form: TrialForm) -> Result:
    if not form.get("service", "").strip():
        raise InvalidForm([DocumentError("/service", "enter the exchange")])
    exchange = find_exchange(caller, console.network, form["service"].strip())
    given = parse_yaml_text(form.get("text", ""))
    wish = validate_values(binding_trial.TriedBinding, given) if given else None
    message = await read_message(console.network, caller, form)
    trial = await binding_trial.try_bindings(console.administration, caller, exchange, wish, message)
    made = [(one, one.part.data.decode(errors="replace")[:SHOWN_CHARS] if one.part else "") for one in trial.met]
    return {"trial": trial, "met": made, "service": exchange, "is_new": wish is not None}


async def try_stylesheet(console: Console, caller: Caller, form: TrialForm) -> Result:
    trying.check_may_transform(caller)
    message = await read_message(console.network, caller, form)
    parameters = rule_form.named_lines(form.get("parameters", ""), "/parameters")
    transform = console.running.trials.transformer.transform
    output = await trying.try_stylesheet(caller, transform, _sheet(console, caller, form), message, parameters)
    return {"output": output[:SHOWN_CHARS]}


async def try_translation(console: Console, caller: Caller, form: TrialForm) -> Result:
    if form.get("format") not in set(Format):
        raise InvalidForm([DocumentError("/format", "choose the target format")])
    read = await _read(console.network, caller, form)
    made = convert_message(read, Format(form["format"]), console.now_us)
    return {"read": read, "made": made, "output": made.data.decode(errors="replace")[:SHOWN_CHARS]}


async def try_batches(console: Console, caller: Caller, form: TrialForm) -> Result:
    owner = _service(console, caller, form)
    batching = validate_values(BatchingProfile, parse_yaml_text(form.get("text", ""))).batching()
    coming = await _batch_arrivals(console, caller, form, owner)
    trial = await try_batching(console.network, caller, owner.gcid, batching, coming)
    return {"trial": trial, "service": owner, "began_us": coming[0].at_us if coming else 0}


def _service(console: Console, caller: Caller, form: TrialForm) -> Service:
    named = form.get("service", "").strip()
    if not named:
        raise InvalidForm([DocumentError("/service", "enter one of your services")])
    return trying.find_own_service(caller, console.directory, named)


def _explained(explanation: RouteExplanation) -> dict[str, str]:
    picture = PICTURE + b64encode(explanation_svg(explanation).encode()).decode()
    return {"explanation": explanation_text(explanation), "picture": picture}


def _sheet(console: Console, caller: Caller, form: TrialForm) -> str:
    """Return the stylesheet's text, or the saved stylesheet of that name."""
    written, service, name = (form.get(field, "").strip() for field in ("text", "service", "name"))
    if written:
        return written
    if not (service and name):
        raise InvalidForm(
            [DocumentError("/text", "paste a stylesheet, or enter a service and the name of its saved stylesheet")]
        )
    return find_asset(caller, console.directory, service, AssetKind.STYLESHEET, name).content


async def _read(network: Network, caller: Caller, form: TrialForm) -> DecodedTrial:
    pasted = form.get("document", "")
    if form.get("session", "").strip() or not pasted.strip():
        return DecodedTrial(await read_message(network, caller, form), "")
    return read_any_message(form.get("contentType", "").strip() or guess_content_type(pasted), pasted.encode(), LIMITS)


async def _batch_arrivals(console: Console, caller: Caller, form: TrialForm, owner: Service) -> list[TrialMessage]:
    """Return the messages of a batching trial: one session per line, or one document repeated at an interval."""
    apart_us = SECOND_US * min(parse_number(form.get("seconds", "") or "0") or 0, MAX_INTERVAL_S)
    sessions = form.get("session", "").split()[:MAX_SESSIONS]
    messages: list[tuple[str, Message]] = []
    if sessions and not form.get("document", "").strip():
        messages = [(one, await load_posted_message(console.network, caller, one)) for one in sessions]
    else:
        message = await read_message(console.network, caller, form, sender=owner.address)
        count = min(max(1, parse_number(form.get("count", "") or "1") or 1), MAX_COPIES)
        messages = [(f"message {number}", message) for number in range(1, count + 1)]
    return [
        TrialMessage(message=message, at_us=console.now_us + at * apart_us, name=name)
        for at, (name, message) in enumerate(messages)
    ]


TRIALS: dict[str, Try] = {
    "rule": try_rule,
    "binding": try_binding,
    "stylesheet": try_stylesheet,
    "translation": try_translation,
    "batches": try_batches,
}
