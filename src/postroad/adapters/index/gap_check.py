"""Checks before a batch is applied that no entry is missing between the index and the batch."""

from __future__ import annotations

from postroad.errors import Unavailable


def require_no_gap(position: int, after: int) -> None:
    if position < after:
        raise Unavailable(
            "network.unavailable",
            f"The index is at entry {position} although it was at {after} before, as after a crash of its database; "
            "it is being brought up again from the journal, try again in a moment",
        )
