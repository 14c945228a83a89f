"""Try out a send port: which batches a policy would make of messages, before it is saved.

Rules: nothing is stored or sent, except that a person's use of stored messages is recorded as access to them.
Settings that could not be saved are refused here too, with all errors. Messages are gathered by the code that gathers
them in production.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_field

from postroad.core.batching import ArrivingMessage, BatchDue, arrival_of, find_due
from postroad.core.batching.interchange_contents import member_of
from postroad.core.batching.policy_trial import try_policy
from postroad.core.configuration.send_port_check import find_port_errors
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import Batch
from postroad.core.model.batch_policy import Batching
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Message, MessageType
from postroad.errors import Refused
from postroad.flow.administration.base import InvalidChange
from postroad.flow.administration.batches import build_port
from postroad.flow.administration.try_out.rules import build_subject, find_own_service
from postroad.flow.network import Network

MAX_MESSAGES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialMessage:
    """A message for the trial, with its arrival time and label."""

    message: Message
    at_us: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedBatch:
    """A batch that the policy would make."""

    batch: Batch
    due: BatchDue  # when it goes, or why it has gone
    members: tuple[str, ...]  # by their names, in the order of the interchange


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPortTrial:
    """The batches of a trial, and the messages passed on or refused."""

    batches: tuple[PreviewedBatch, ...]
    aside: tuple[str, ...]  # what would go on by itself
    refused: tuple[str, ...]  # what expects an answer, which a batcher does not give


async def try_batching(
    network: Network, caller: Caller, service: str, batching: Batching, coming: Sequence[TrialMessage]
) -> SendPortTrial:
    """Return the batches that a send port would make of messages arriving in this order."""
    owner = replace(find_own_service(caller, network.directory, service), batching=batching, hosted=Hosting.BATCHER)
    if len(coming) > MAX_MESSAGES:
        raise Refused("value.invalid", f"Use at most {MAX_MESSAGES} messages")
    return await network.heavy_requests.run(
        caller.organization or caller.name, lambda: _tried(network, caller, owner, batching, coming)
    )


def _tried(
    network: Network, caller: Caller, owner: Service, batching: Batching, coming: Sequence[TrialMessage]
) -> SendPortTrial:
    """Run the trial in a thread, since patterns are compiled and documents parsed."""
    faults = find_port_errors(owner, network.directory, network.standards)
    if faults:
        raise InvalidChange("batching.invalid", f"{faults[0].pointer}: {faults[0].detail}", faults)
    ordered = sorted(coming, key=lambda one: one.at_us)
    found = try_policy(
        batching.policy, build_port(network, owner), _arrivals(network, caller, owner, batching, ordered)
    )
    refused = [one.name for one in ordered if not _is_notification(one)]
    apart = [one.name for one in ordered if _is_notification(one) and not _is_one_document(one)]
    return SendPortTrial(
        batches=tuple(
            PreviewedBatch(
                batch=one.batch,
                due=find_due(batching.policy, build_port(network, owner), one.batch),
                members=tuple(ordered[member.number].name for member in one.members),
            )
            for one in found.batches
        ),
        aside=(*apart, *(ordered[number].name for number in found.aside)),
        refused=tuple(refused),
    )


def _arrivals(
    network: Network, caller: Caller, owner: Service, batching: Batching, ordered: Sequence[TrialMessage]
) -> Iterator[tuple[ArrivingMessage, int]]:
    """Yield the arrivals; a message that repeats is parsed once."""
    known: dict[int, ArrivingMessage] = {}
    for number, one in enumerate(ordered):
        if not (_is_notification(one) and _is_one_document(one)):
            continue
        arrival = known.get(id(one.message))
        if arrival is None:
            subject = build_subject(network, caller, owner, one.message)
            arrival = known[id(one.message)] = arrival_of(
                batching.policy, subject, member_of(number, one.message.parts)
            )
        yield replace_field(arrival, member=replace_field(arrival.member, number=number)), one.at_us


def _is_notification(one: TrialMessage) -> bool:
    return one.message.type is MessageType.NOTIFICATION


def _is_one_document(one: TrialMessage) -> bool:
    """Whether the message has exactly one document; others are passed on unbatched."""
    return len(one.message.parts) == 1
