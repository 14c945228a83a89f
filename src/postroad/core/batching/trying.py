"""A policy tried on messages: the batches that would come of them, and which messages each would have.

Kept rule: messages arrive by the very functions with which a batcher gathers them, so a trial and the batcher cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.batching.arriving import Arrival, arrive
from postroad.core.batching.order import in_order
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import Policy, Port
from postroad.core.model.ids import next_batch


class Gathered(NamedTuple):
    """A batch as it is after the last message, and its members in the order in which they would be assembled."""

    batch: Batch
    members: list[BatchMember]


class TriedPolicy(NamedTuple):
    batches: list[Gathered]  # in the order in which they were opened
    aside: list[int]  # numbers of messages that would go on by themselves


def tried_policy(policy: Policy, port: Port, coming: Iterable[tuple[Arrival, int]]) -> TriedPolicy:
    """``coming`` are arrivals with their times, in the order of these."""
    batches: dict[str, Batch] = {}
    members: dict[str, list[BatchMember]] = {}
    opened: dict[tuple[str, ...], str] = {}
    aside: list[int] = []
    batch_id = ""
    for arrival, at_us in coming:
        batch_id = next_batch(batch_id)
        arrived = arrive(policy, port, arrival, batches.get(opened.get(arrival.key, "")), batch_id, at_us)
        if arrived.before is not None:
            batches[arrived.before.id] = arrived.before
        if arrived.batch is None:
            aside.append(arrival.member.number)
            continue
        batches[arrived.batch.id] = arrived.batch
        members.setdefault(arrived.batch.id, []).append(arrival.member)
        if arrived.batch.state is BatchState.OPEN:
            opened[arrival.key] = arrived.batch.id
        else:
            opened.pop(arrival.key, None)
    return TriedPolicy([Gathered(batch, in_order(policy, members[batch.id])) for batch in batches.values()], aside)
