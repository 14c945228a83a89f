"""A bench for bindings: which of them a message would meet, and what would go out.

Kept rules: nothing is stored, sent or counted; the bindings are asked by the very code that asks them about deliveries, and only
those that the one who tries may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroad.core.admission.openness import is_open_to
from postroad.core.configuration.bindings import BindingEntry, binding_of
from postroad.core.configuration.shapes import Line
from postroad.core.exchange.bound import Selected
from postroad.core.exchange.header_items import header_items
from postroad.core.exchange.wording import explained
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Message, Part
from postroad.core.routing.forwards import NOT_OPEN
from postroad.errors import Refused
from postroad.flow import administration_bindings as bindings
from postroad.flow.administration import Administration, denied
from postroad.flow.network import Network
from postroad.flow.open_exchange import OpenExchange
from postroad.services.matching import Match, content_of, incoming, matches

TRIED = "tried"


class TriedBinding(BindingEntry):
    """A binding that is not made yet."""

    queue: Line = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """A binding that says yes to a message, or fails over it."""

    name: str
    queue: str  # as the one who tries knows it
    explanation: str
    part: Part | None  # what the binding makes of the content; None: it goes as it came
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    tried: int  # bindings that there are to meet
    met: Sequence[Met] = ()  # by name


async def tried(
    administration: Administration, caller: Caller, exchange: Service, wish: TriedBinding | None, message: Message
) -> Trial:
    """A binding that is not made yet on a message; or without one, all that the caller may see."""
    network = administration.network
    if wish is not None:
        binding = await _checked(administration, caller, exchange, wish)
        opened, seen = OpenExchange(network.exchanges.callables), [binding]
        opened.save(binding, network.directory)
    else:
        seen = bindings.bindings_seen(caller, network, exchange)
        if not seen:
            return Trial(tried=0)
        opened = await network.exchanges.opened(exchange.gcid)
    found = await _matches(administration, caller, opened, message, {binding.name for binding in seen})
    found = [_unless_closed(network, exchange, one) for one in found]
    met = [_met(network, caller, opened, one) for one in sorted(found, key=lambda one: one.binding.name.casefold())]
    return Trial(tried=len(seen), met=met)


async def _checked(administration: Administration, caller: Caller, exchange: Service, wish: TriedBinding) -> Binding:
    if caller.service is None and not caller.has_role(caller.organization, Role.DEVELOPER):
        raise denied("Only a person with the role developer, or a service, may try a binding that is not made yet")
    binding = binding_of(wish, exchange.gcid, TRIED, exchange.gcid)
    decider = bindings.known_decider(binding, administration.network)
    await bindings.compiled(binding, decider, administration.judges)
    return binding


async def _matches(
    administration: Administration, caller: Caller, opened: OpenExchange, message: Message, names: set[str]
) -> list[Match]:
    items = header_items(
        message.properties,
        topic=message.topic,
        sender=_sender(administration.network, caller, message),
        type=message.type.value,
        handle=message.handle,
    )
    content = content_of(message.parts)
    found = await opened.selected(incoming(content, items))
    asked = [(binding, decider) for binding, decider in found.asked if binding.name in names]
    lacking = {decider.language for _, decider in asked} - set(administration.judges)
    if lacking:
        raise Refused("request.not-implemented", f"This network cannot run what is bound by {min(lacking).value}")
    decided = [binding for binding in found.decided if binding.name in names]
    failed = [binding for binding in found.failed if binding.name in names]
    selected = Selected(decided, asked, failed, found.fault)
    return await matches(selected, content, items, administration.judges)


def _unless_closed(network: Network, exchange: Service, one: Match) -> Match:
    """What is bound to an exchange that has been closed to it since does not go there."""
    queue = network.directory.services.get(one.binding.queue)
    if queue is not None and is_open_to(exchange, queue, network.directory):
        return one
    return Match(one.binding, error=NOT_OPEN)


def _sender(network: Network, caller: Caller, message: Message) -> str:
    """As deliveries name it: by address, where the caller may know it."""
    if not message.sender:
        return caller.service.address if caller.service is not None else ""
    directory = network.directory
    service = directory.service(message.sender)
    known = service is not None and (caller.operator or directory.visible(service, caller.organization))
    return service.address if service is not None and known else message.sender


def _met(network: Network, caller: Caller, opened: OpenExchange, one: Match) -> Met:
    return Met(
        name=one.binding.name,
        queue=bindings.queue_shown(caller, one.binding, network.directory),
        explanation=explained(one.binding, opened.explain(one.binding)),
        part=one.part,
        error=one.error,
    )
