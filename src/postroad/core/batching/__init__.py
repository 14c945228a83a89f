"""Batching: which messages leave together, and when.

    arrival_of  Subject → Arrival: what the policy wants to know of a message, read once
    arrive      Arrival → the batch that it is in now, and the one that it closed by coming
    due         Batch → when it goes, by which criterion, and why it has not gone yet
    elapsed     Batch → the same, or closed, because it is time
    in_order    members → the order in which they are assembled

A batch's life is the table ``BATCH_MOVES`` in ``core.model.batch``; ``moves`` has a function for each of its moves.

Rules: a batch of a fixed policy and fixed arrivals is closed at the same moment whoever looks, however late: what is overdue
when a message comes is closed before it, as of the time at which it was due. The first criterion wins. Time and ids are given.
"""

from __future__ import annotations

from postroad.core.batching.arrival import ArrivalResult, ArrivingMessage, add_to_batch, arrival_of
from postroad.core.batching.close_criteria import BatchDue, close_if_due, find_due, list_criteria, next_empty_batch
from postroad.core.batching.member_order import order_members
from postroad.core.batching.policy_check import check_policy

__all__ = [
    "ArrivalResult",
    "ArrivingMessage",
    "BatchDue",
    "add_to_batch",
    "arrival_of",
    "check_policy",
    "close_if_due",
    "find_due",
    "list_criteria",
    "next_empty_batch",
    "order_members",
]
