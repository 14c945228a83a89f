"""What is told of messages that exchanges and models send on, in what-if's one pass.

Grain: a change in the message's own row for each copy that is sent on by one side only, or otherwise; and for the bill one row,
``record`` "forward", per message, exchange and size, with the copies that each side sends on.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from postroad.core.model.message import MessageType
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.logged import Logged
from postroad.warehouse.whatif.onward import Key, Onward, Onwards
from postroad.warehouse.whatif.onward_changes import OnwardChange, onward_changes
from postroad.warehouse.whatif.onward_reasons import Sides
from postroad.warehouse.whatif.port_arrivals import FORWARDED
from postroad.warehouse.whatif.reasons import address_of, addresses_of
from postroad.warehouse.whatif.rows import posted_row, stops, way

NOTHING_PASSED = ()  # what has really happened to copies that were sent on is not looked at: both sides are played


def onward_change_rows(was: Onwards, is_now: Onwards, before: Directory, after: Directory) -> list[dict[str, Any]]:
    sides = Sides(before, after, was, is_now)
    changes = onward_changes(was, is_now)
    return [_change(place, change, sides, before, after) for place, change in enumerate(changes)]


def _change(place: int, change: OnwardChange, sides: Sides, before: Directory, after: Directory) -> dict[str, Any]:
    through = [address_of(gcid, after, before) for gcid in change.either.through]
    one, other = change.before, change.after
    return {
        "copy": FORWARDED + place,
        "named": through[-1],
        "difference": change.difference.value,
        "before": [*through, *(addresses_of(one.copy.hops, before, after) if one is not None else ())],
        "after": [*through, *(addresses_of(other.copy.hops, after, before) if other is not None else ())],
        "gained": stops(change.gained, other.copy.hops[-1], before, after) if other is not None else [],
        "lost": stops(change.lost, one.copy.hops[-1], before, after) if one is not None else [],
        "reasons": list(sides.reasons(change)),
        "detail": "",
    }


def forward_rows(logged: Logged, was: Onwards, is_now: Onwards) -> list[dict[str, Any]]:
    """The copies of both sides that somebody pays for: whoever sends them on is their sender."""
    numbers = {key: FORWARDED + place for place, key in enumerate(sorted({*was.sent, *is_now.sent}))}
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for side, onwards in (("before", was), ("after", is_now)):
        for (sender, size), ways in _ways(onwards, numbers).items():
            row = rows.setdefault((sender, size), _row(logged, sender, size))
            row[side] = ways
    return list(rows.values())


def _ways(onwards: Onwards, numbers: dict[Key, int]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for key, onward in onwards.sent.items():
        if not onward.copy.code:
            found[onward.through[-1], onward.size].append(_way(numbers[key], onward))
    return found


def _way(number: int, onward: Onward) -> dict[str, Any]:
    return way(number, onward.copy, NOTHING_PASSED)


def _row(logged: Logged, sender: str, size: int) -> dict[str, Any]:
    row = posted_row("forward", logged.seq, logged.posted)
    return row | {
        "sender": sender, "type": MessageType.NOTIFICATION.value, "size": size, "before": [], "after": [], "passed": [],
    }  # fmt: skip
