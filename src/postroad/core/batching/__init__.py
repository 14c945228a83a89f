"""Batching: decides which messages leave together, and when.

    arrival_of      Subject → ArrivingMessage: what the policy needs to know of a message, read once
    add_to_batch    ArrivingMessage → the batch that it is in now, and the one that it closed by arriving
    find_due        Batch → when it will be sent, by which criterion, and why it has not been sent yet
    close_if_due    Batch → the batch, closed if its time has come
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
