"""Tries a batch policy on messages: the batches it would make, and their members.

Rule: messages are gathered by the functions that a batcher uses, so a trial and the batcher cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from postroad.core.batching.arrival import ArrivingMessage, add_to_batch
from postroad.core.batching.member_order import order_members
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Port
from postroad.core.model.ids import next_batch


class TrialBatch(NamedTuple):
    """A batch after the last message, and its members in the order of the interchange."""

    batch: Batch
    members: list[BatchMember]


class PolicyTrial(NamedTuple):
    batches: list[TrialBatch]  # in the order of opening
    aside: list[int]  # numbers of messages that would be sent alone


def try_policy(policy: BatchPolicy, port: Port, coming: Iterable[tuple[ArrivingMessage, int]]) -> PolicyTrial:
    """Apply the policy to arrivals with their times, given in the order of time."""
    batches: dict[str, Batch] = {}
    members: dict[str, list[BatchMember]] = {}
    opened: dict[tuple[str, ...], str] = {}
    aside: list[int] = []
    batch_id = ""
    for arrival, at_us in coming:
        batch_id = next_batch(batch_id)
        arrived = add_to_batch(policy, port, arrival, batches.get(opened.get(arrival.key, "")), batch_id, at_us)
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
    return PolicyTrial(
        [TrialBatch(batch, order_members(policy, members[batch.id])) for batch in batches.values()], aside
    )
