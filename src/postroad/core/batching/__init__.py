"""Batching: which messages leave together, and when.

    arrival_of  Subject → Arrival: what the policy wants to know of a message, read once
    arrive      Arrival → the batch that it is in now, and the one that it closed by coming
    due         Batch → when it goes, by which criterion, and why it has not gone yet
    elapsed     Batch → the same, or closed, because it is time
    in_order    members → the order in which they are assembled

A batch's life is the table ``BATCH_MOVES`` in ``core.model.batch``; ``moves`` has a function for each of its moves.

Kept rules: a batch of a fixed policy and fixed arrivals is closed at the same moment whoever looks, however late: what is overdue
when a message comes is closed before it, as of the time at which it was due. The first criterion wins. Time and ids are given.
"""

from __future__ import annotations

from postroad.core.batching.arriving import Arrival, Arrived, arrival_of, arrive
from postroad.core.batching.checking import check_policy
from postroad.core.batching.due import Due, due, elapsed, next_empty, readings
from postroad.core.batching.order import in_order

__all__ = [
    "Arrival",
    "Arrived",
    "Due",
    "arrival_of",
    "arrive",
    "check_policy",
    "due",
    "elapsed",
    "in_order",
    "next_empty",
    "readings",
]
