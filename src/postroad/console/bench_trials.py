"""What is tried on the bench, one function for each kind of thing: from a form to what its page shows.

Kept rules: nothing is stored, sent or switched on; each is tried by the flow's own bench, with the caller's own rights; what the
person wrote wrongly is Faulty, with its place in the form.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from postroad.console import rule_form
from postroad.console.bench_messages import LIMITS, content_type_of, message_in, posted
from postroad.console.context import Console
from postroad.console.editing import Faulty, from_text, number_in, shaped
from postroad.core.audit.drawing import explanation_svg
from postroad.core.audit.telling_routes import explanation_text
from postroad.core.configuration.batching_profile import BatchingProfile
from postroad.core.configuration.document import Fault
from postroad.core.configuration.rules import RuleEntry, rule_of
from postroad.core.mediation.trying import Read, read_any, written_in
from postroad.core.model.asset import AssetKind
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.message import Message
from postroad.core.routing.explanation import Explanation
from postroad.flow import administration_trying as trying
from postroad.flow.administration_assets import asset_named
from postroad.flow.administration_bindings import exchange_for
from postroad.flow.administration_port_trying import Coming, try_batching
from postroad.flow.network import Network
from postroad.services import binding_bench

SHOWN_CHARS = 40_000
COPIES_MOST = 500
SESSIONS_MOST = 50
SECOND_US = 1_000_000
APART_MOST_S = 7 * 86_400
PICTURE = "data:image/svg+xml;base64,"

Asked = Mapping[str, str]
Result = dict[str, Any]
Try = Callable[[Console, Caller, Asked], Awaitable[Result]]


async def try_rule(console: Console, caller: Caller, form: Asked) -> Result:
    network = console.network
    owner = _service(console, caller, form)
    entry = shaped(RuleEntry, {"name": "tried"} | from_text(form.get("text", "")))
    message = await message_in(network, caller, form, sender=owner.address)
    trial = await trying.try_rule(network, caller, rule_of(entry, owner.gcid, 0), message)
    shown = _explained(trial.explanation) if trial.explanation is not None else {"explanation": "", "picture": ""}
    return {"trial": trial, "role": dict(rule_form.ROLES)[trial.role], "service": owner} | shown


async def try_binding(console: Console, caller: Caller, form: Asked) -> Result:
    if not form.get("service", "").strip():
        raise Faulty([Fault("/service", "name the exchange")])
    exchange = exchange_for(caller, console.network, form["service"].strip())
    given = from_text(form.get("text", ""))
    wish = shaped(binding_bench.TriedBinding, given) if given else None
    message = await message_in(console.network, caller, form)
    trial = await binding_bench.tried(console.administration, caller, exchange, wish, message)
    made = [(one, one.part.data.decode(errors="replace")[:SHOWN_CHARS] if one.part else "") for one in trial.met]
    return {"trial": trial, "met": made, "service": exchange, "is_new": wish is not None}


async def try_stylesheet(console: Console, caller: Caller, form: Asked) -> Result:
    trying.check_may_transform(caller)
    message = await message_in(console.network, caller, form)
    parameters = rule_form.named_lines(form.get("parameters", ""), "/parameters")
    transform = console.running.trials.transformer.transform
    output = await trying.try_stylesheet(caller, transform, _sheet(console, caller, form), message, parameters)
    return {"output": output[:SHOWN_CHARS]}


async def try_translation(console: Console, caller: Caller, form: Asked) -> Result:
    if form.get("format") not in set(Format):
        raise Faulty([Fault("/format", "choose the format in which it is wanted")])
    read = await _read(console.network, caller, form)
    made = written_in(read, Format(form["format"]), console.now_us)
    return {"read": read, "made": made, "output": made.data.decode(errors="replace")[:SHOWN_CHARS]}


async def try_batches(console: Console, caller: Caller, form: Asked) -> Result:
    owner = _service(console, caller, form)
    batching = shaped(BatchingProfile, from_text(form.get("text", ""))).batching()
    coming = await _coming(console, caller, form, owner)
    trial = await try_batching(console.network, caller, owner.gcid, batching, coming)
    return {"trial": trial, "service": owner, "began_us": coming[0].at_us if coming else 0}


def _service(console: Console, caller: Caller, form: Asked) -> Service:
    named = form.get("service", "").strip()
    if not named:
        raise Faulty([Fault("/service", "name a service of yours")])
    return trying.own_service(caller, console.directory, named)


def _explained(explanation: Explanation) -> dict[str, str]:
    picture = PICTURE + b64encode(explanation_svg(explanation).encode()).decode()
    return {"explanation": explanation_text(explanation), "picture": picture}


def _sheet(console: Console, caller: Caller, form: Asked) -> str:
    """Its text, or the one that is saved under a name."""
    written, service, name = (form.get(field, "").strip() for field in ("text", "service", "name"))
    if written:
        return written
    if not (service and name):
        raise Faulty([Fault("/text", "paste a stylesheet, or name the service and the stylesheet that is saved there")])
    return asset_named(caller, console.directory, service, AssetKind.STYLESHEET, name).content


async def _read(network: Network, caller: Caller, form: Asked) -> Read:
    pasted = form.get("document", "")
    if form.get("session", "").strip() or not pasted.strip():
        return Read(await message_in(network, caller, form), "")
    return read_any(form.get("contentType", "").strip() or content_type_of(pasted), pasted.encode(), LIMITS)


async def _coming(console: Console, caller: Caller, form: Asked, owner: Service) -> list[Coming]:
    """The messages of a trial: sessions one in each line, or one document again and again; all so many seconds apart."""
    apart_us = SECOND_US * min(number_in(form.get("seconds", "") or "0") or 0, APART_MOST_S)
    sessions = form.get("session", "").split()[:SESSIONS_MOST]
    messages: list[tuple[str, Message]] = []
    if sessions and not form.get("document", "").strip():
        messages = [(one, await posted(console.network, caller, one)) for one in sessions]
    else:
        message = await message_in(console.network, caller, form, sender=owner.address)
        count = min(max(1, number_in(form.get("count", "") or "1") or 1), COPIES_MOST)
        messages = [(f"message {number}", message) for number in range(1, count + 1)]
    return [
        Coming(message=message, at_us=console.now_us + at * apart_us, name=name)
        for at, (name, message) in enumerate(messages)
    ]


TRIALS: dict[str, Try] = {
    "rule": try_rule,
    "binding": try_binding,
    "stylesheet": try_stylesheet,
    "translation": try_translation,
    "batches": try_batches,
}
