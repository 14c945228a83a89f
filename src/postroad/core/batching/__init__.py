"""Batching: decides which messages are sent together, and when.

    arrival_of      Subject → ArrivingMessage: the values of a message that the policy needs, read once
    add_to_batch    ArrivingMessage → its batch, and the batch that was closed before it
    find_due        Batch → when it will be closed, by which criterion, and why it is still open
    close_if_due    Batch → the batch, closed if it is due
    order_members   members → the order in which they are assembled

A batch's lifecycle is the table ``BATCH_MOVES`` in ``core.model.batch``; ``moves`` has a function for each move.

Rules: with a fixed policy and fixed arrivals, a batch closes at the same moment whenever it is checked: a batch that is
overdue when a message arrives is closed before it, as of its due time. The first criterion wins. Time and ids are
arguments.
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
