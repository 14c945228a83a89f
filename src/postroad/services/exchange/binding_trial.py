"""Try out bindings: which of them match a message, and what would be sent.

Rules: nothing is stored, sent or counted. The bindings are evaluated by the code that evaluates them for deliveries,
and only those that the caller may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.admission.connection_rights import is_open_to
from postroad.core.configuration.entries.bindings import BindingEntry, binding_of
from postroad.core.configuration.shapes import Line
from postroad.core.delivery.reasons import reason_text
from postroad.core.exchange.exchange import SelectedBindings, describe_decision
from postroad.core.exchange.header_items import header_items
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Message, Part
from postroad.core.routing.forward import NOT_OPEN
from postroad.errors import Refused
from postroad.flow.administration import bindings
from postroad.flow.administration.base import Administration, can_know, permission_denied
from postroad.flow.network import Network
from postroad.flow.registries.open_exchange import OpenExchange
from postroad.services.exchange.binding_matches import BindingMatch, build_incoming, choose_content, find_matches

TRIED = "tried"


class TriedBinding(BindingEntry):
    """A binding that is not saved yet."""

    queue: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedBinding:
    """A binding that matches a message, or fails on it."""

    name: str
    queue: str  # as the caller may see it
    explanation: str
    part: Part | None  # the binding's result; None: the content is unchanged
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingTrialResult:
    """The result of a trial."""

    tried: int  # number of evaluated bindings
    met: Sequence[MatchedBinding] = ()  # by name


async def try_bindings(
    administration: Administration, caller: Caller, exchange: Service, wish: TriedBinding | None, message: Message
) -> BindingTrialResult:
    """Try one unsaved binding on a message, or all that the caller may see."""
    network = administration.network
    if wish is not None:
        binding = await _checked(administration, caller, exchange, wish)
        opened, seen = OpenExchange(network.exchanges.callables), [binding]
        opened.save(binding, network.directory)
    else:
        seen = bindings.list_visible_bindings(caller, network, exchange)
        if not seen:
            return BindingTrialResult(tried=0)
        opened = await network.exchanges.load(exchange.gcid)
    found = await _matches(administration, caller, opened, message, {binding.name for binding in seen})
    found = [_unless_closed(network, exchange, one) for one in found]
    met = [_met(network, caller, opened, one) for one in sorted(found, key=lambda one: one.binding.name.casefold())]
    return BindingTrialResult(tried=len(seen), met=met)


async def _checked(administration: Administration, caller: Caller, exchange: Service, wish: TriedBinding) -> Binding:
    if caller.service is None and not caller.has_role(caller.organization, Role.DEVELOPER):
        raise permission_denied("Only a person with the role developer, or a service, may test a new binding")
    binding = binding_of(wish, exchange.gcid, TRIED, exchange.gcid)
    decider = bindings.find_decider(binding, administration.network)
    await bindings.check_program(binding, decider, administration.judges)
    return binding


async def _matches(
    administration: Administration, caller: Caller, opened: OpenExchange, message: Message, names: set[str]
) -> list[BindingMatch]:
    items = header_items(
        message.properties,
        topic=message.topic,
        sender=_sender(administration.network, caller, message),
        type=message.type.value,
        handle=message.handle,
    )
    content = choose_content(message.parts)
    found = await opened.select_off_loop(build_incoming(content, items))
    asked = [(binding, decider) for binding, decider in found.asked if binding.name in names]
    lacking = {decider.language for _, decider in asked} - set(administration.judges)
    if lacking:
        raise Refused("request.not-implemented", f"This network does not support bindings by {min(lacking).value}")
    decided = [binding for binding in found.decided if binding.name in names]
    failed = [binding for binding in found.failed if binding.name in names]
    selected = SelectedBindings(decided, asked, failed, found.fault)
    return await find_matches(selected, content, items, administration.judges)


def _unless_closed(network: Network, exchange: Service, one: BindingMatch) -> BindingMatch:
    """Return the match; as failed if the exchange has been closed to the queue since."""
    queue = network.directory.services.get(one.binding.queue)
    if queue is not None and is_open_to(exchange, queue, network.directory):
        return one
    return BindingMatch(one.binding, error=reason_text(NOT_OPEN))


def _sender(network: Network, caller: Caller, message: Message) -> str:
    """Return the sender as deliveries name it: by address if the caller may know it."""
    if not message.sender:
        return caller.service.address if caller.service is not None else ""
    service = network.directory.service(message.sender)
    return service.address if service is not None and can_know(caller, service, network.directory) else message.sender


def _met(network: Network, caller: Caller, opened: OpenExchange, one: BindingMatch) -> MatchedBinding:
    return MatchedBinding(
        name=one.binding.name,
        queue=bindings.describe_queue(caller, one.binding, network.directory),
        explanation=describe_decision(one.binding, opened.explain(one.binding)),
        part=one.part,
        error=one.error,
    )
