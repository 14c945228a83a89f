"""A bench for send ports: which batches a policy would make of messages, before anybody saves it.

Kept rules: nothing is stored or sent, except that a person who takes stored messages for it is on record as their reader; what
could not be saved is refused here too, with every fault; messages are gathered by the code that gathers them at the port.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_field

from postroad.core.batching import Arrival, Due, arrival_of, due
from postroad.core.batching.contents import member_of
from postroad.core.batching.trying import tried_policy
from postroad.core.configuration.port_faults import port_faults
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import Batch
from postroad.core.model.batch_policy import Batching
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Message, MessageType
from postroad.errors import Refused
from postroad.flow.administration import Contradictory
from postroad.flow.administration_batch_reading import port_of
from postroad.flow.administration_trying import own_service, subject_of
from postroad.flow.network import Network

MESSAGES_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """A message that comes to the port, when, and what the one who tries calls it."""

    message: Message
    at_us: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedBatch:
    batch: Batch
    due: Due  # when it goes, or why it has gone
    members: tuple[str, ...]  # by their names, in the order of the interchange


@dataclass(frozen=True, slots=True, kw_only=True)
class PortTrial:
    batches: tuple[TriedBatch, ...]
    aside: tuple[str, ...]  # what would go on by itself
    refused: tuple[str, ...]  # what expects an answer, which a batcher does not give


async def try_batching(
    network: Network, caller: Caller, service: str, batching: Batching, coming: Sequence[Coming]
) -> PortTrial:
    """Which batches a send port would make of messages that come in this order."""
    owner = replace(own_service(caller, network.directory, service), batching=batching, hosted=Hosting.BATCHER)
    if len(coming) > MESSAGES_MOST:
        raise Refused("value.invalid", f"Try it on {MESSAGES_MOST} messages at most")
    return await network.heavy_requests.run(
        caller.organization or caller.name, lambda: _tried(network, caller, owner, batching, coming)
    )


def _tried(network: Network, caller: Caller, owner: Service, batching: Batching, coming: Sequence[Coming]) -> PortTrial:
    """In a thread: patterns are compiled, and documents are parsed and searched."""
    faults = port_faults(owner, network.directory, network.standards)
    if faults:
        raise Contradictory("batching.invalid", f"{faults[0].pointer}: {faults[0].detail}", faults)
    ordered = sorted(coming, key=lambda one: one.at_us)
    found = tried_policy(batching.policy, port_of(network, owner), _arrivals(network, caller, owner, batching, ordered))
    refused = [one.name for one in ordered if not _is_notification(one)]
    apart = [one.name for one in ordered if _is_notification(one) and not _is_one_document(one)]
    return PortTrial(
        batches=tuple(
            TriedBatch(
                batch=one.batch,
                due=due(batching.policy, port_of(network, owner), one.batch),
                members=tuple(ordered[member.number].name for member in one.members),
            )
            for one in found.batches
        ),
        aside=(*apart, *(ordered[number].name for number in found.aside)),
        refused=tuple(refused),
    )


def _arrivals(
    network: Network, caller: Caller, owner: Service, batching: Batching, ordered: Sequence[Coming]
) -> Iterator[tuple[Arrival, int]]:
    """A message that comes again and again is looked into once."""
    known: dict[int, Arrival] = {}
    for number, one in enumerate(ordered):
        if not (_is_notification(one) and _is_one_document(one)):
            continue
        arrival = known.get(id(one.message))
        if arrival is None:
            subject = subject_of(network, caller, owner, one.message)
            arrival = known[id(one.message)] = arrival_of(
                batching.policy, subject, member_of(number, one.message.parts)
            )
        yield replace_field(arrival, member=replace_field(arrival.member, number=number)), one.at_us


def _is_notification(one: Coming) -> bool:
    return one.message.type is MessageType.NOTIFICATION


def _is_one_document(one: Coming) -> bool:
    """What has none or several goes on by itself, as at the port."""
    return len(one.message.parts) == 1
