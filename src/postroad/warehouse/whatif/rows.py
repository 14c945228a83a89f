"""The rows of what-if's single pass over the journal, as Arrow, including those of forwarded messages.

Grain: one row per billable entry, and ``record`` names its kind: a ``message`` that was accepted and is compared, a
``response`` whose route is not compared, a ``return`` of an in-transit service, a post that was ``refused`` and is not kept.
Messages that exchanges and models forward are ``forward`` rows for the bill (``forward_rows``), one per message, exchange and
size, with the copies that each side forwards. Their differences are in the message's own row (``forward_change_rows``): a
change for each copy that only one side forwards, or that the sides forward differently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from postroad.core.model.journal import InvocationReturned, MessagePosted, MessageRefused
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.operation import divide_into_batches
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif.comparison import CopyChange, RouteComparison, RouteVerdict, RoutingSide, extra_stops
from postroad.warehouse.whatif.forward_changes import ForwardChange, ForwardReasons, compare_forwards
from postroad.warehouse.whatif.forwards import ForwardedCopies, ForwardedCopy, Key
from postroad.warehouse.whatif.port_arrivals import ARRIVAL, FORWARDED
from postroad.warehouse.whatif.reasons import address_of, addresses_of, explain_change

RECIPIENT, IN_TRANSIT = "recipient", "in transit"

PARTY = pa.struct([pa.field("service", pa.string()), pa.field("payer", pa.string())])
STOP = pa.struct([pa.field("service", pa.string()), pa.field("role", pa.string())])
TEXTS = pa.list_(pa.string())
CHANGE = pa.struct(
    [
        pa.field("copy", pa.int32()),
        pa.field("named", pa.string()),
        pa.field("difference", pa.string()),
        pa.field("before", TEXTS),  # addresses in the order of delivery; empty if refused
        pa.field("after", TEXTS),
        pa.field("gained", pa.list_(STOP)),
        pa.field("lost", pa.list_(STOP)),
        pa.field("reasons", TEXTS),
        pa.field("detail", pa.string()),  # of a refusal
    ]
)
WAY = pa.struct(
    [
        pa.field("copy", pa.int32()),
        pa.field("transit", pa.list_(PARTY)),
        pa.field("recipient", PARTY),
        pa.field("extra", pa.list_(PARTY)),  # in-transit services that the message did not actually pass
    ]
)
SCHEMA = pa.schema(
    [
        pa.field("record", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("at_us", pa.int64()),
        pa.field("day", pa.date32()),
        pa.field("session", pa.string()),
        pa.field("sender", pa.string()),  # GCID
        pa.field("sender_address", pa.string()),
        pa.field("type", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("verdict", pa.string()),
        pa.field("changes", pa.list_(CHANGE)),
        pa.field("before", pa.list_(WAY)),  # accepted copies
        pa.field("after", pa.list_(WAY)),
        pa.field("passed", TEXTS),  # services that copies were sent through when it was posted, as "copy GCID"
        pa.field("message_seq", pa.int64()),  # of a return: the post it belongs to
        pa.field("copy", pa.int32()),
        pa.field("payer", pa.string()),
        pa.field("arrivals", pa.list_(ARRIVAL)),  # at send ports, of both sides
    ]
)


def record_batches(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    return divide_into_batches(rows, SCHEMA)


def message_row(logged: LoggedPost, compared: RouteComparison, before: Directory, after: Directory) -> dict[str, Any]:
    posted = logged.posted
    decided = compared.verdict is not RouteVerdict.UNDECIDABLE
    recorded = RoutingSide(copies=posted.copies)
    changes = [_change(change, compared, before, after) for change in compared.changes]
    return posted_row("message", logged.seq, posted) | {
        "sender_address": address_of(posted.sender, before, after),
        "verdict": compared.verdict.value,
        "changes": changes,
        "before": _ways(compared.before if decided else recorded, posted),
        "after": _ways(compared.after if decided else recorded, posted),
        "passed": _passed(posted),
    }


def response_row(seq: int, posted: MessagePosted) -> dict[str, Any]:
    ways = _ways(RoutingSide(copies=posted.copies), posted)
    return posted_row("response", seq, posted) | {"before": ways, "after": ways, "passed": _passed(posted)}


def return_row(seq: int, returned: InvocationReturned) -> dict[str, Any]:
    payer = None
    if returned.hops and (context := returned.hops[returned.hop - 1].context) is not None:
        payer = context.payer or None
    return {
        "record": "return", "seq": seq, "at_us": returned.at_us, "sender": returned.by, "size": returned.size,
        "message_seq": returned.message, "copy": returned.copy, "payer": payer,
    }  # fmt: skip


def refused_row(seq: int, refused: MessageRefused) -> dict[str, Any]:
    return {"record": "refused", "seq": seq, "at_us": refused.at_us, "day": _day(refused.at_us)}


def posted_row(record: str, seq: int, posted: MessagePosted) -> dict[str, Any]:
    return {
        "record": record, "seq": seq, "at_us": posted.at_us, "day": _day(posted.at_us), "session": posted.session,
        "sender": posted.sender, "type": posted.type.value, "topic": posted.topic, "size": posted.size,
    }  # fmt: skip


def _day(at_us: int) -> Any:
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).date()


def _change(change: CopyChange, compared: RouteComparison, before: Directory, after: Directory) -> dict[str, Any]:
    return {
        "copy": change.copy,
        "named": change.named,
        "difference": change.difference.value,
        "before": addresses_of(change.before.hops, before, after),
        "after": addresses_of(change.after.hops, after, before),
        "gained": stop_rows(change.gained, _last(change.after), before, after),
        "lost": stop_rows(change.lost, _last(change.before), before, after),
        "reasons": list(explain_change(change, compared, before, after)),
        "detail": change.after.detail or change.before.detail,
    }


def _last(copy: Copy) -> Hop | None:
    return copy.hops[-1] if copy.hops else None


def stop_rows(hops: tuple[Hop, ...], last: Hop | None, *directories: Directory) -> list[dict[str, str]]:
    """Return the services of these hops with their roles; ``last`` is the recipient's."""
    return [
        {"service": address_of(hop.service, *directories), "role": RECIPIENT if hop is last else IN_TRANSIT}
        for hop in hops
    ]


def _ways(side: RoutingSide, posted: MessagePosted) -> list[dict[str, Any]]:
    return [copy_way(place, copy, posted.copies[place].hops) for place, copy in enumerate(side.copies) if not copy.code]


def copy_way(place: int, copy: Copy, passed: tuple[Hop, ...]) -> dict[str, Any]:
    """Return the parties of an accepted copy; ``passed`` is the route it actually took."""
    extra = [hop for hop in extra_stops(copy.hops, passed) if hop is not copy.hops[-1]]
    return {
        "copy": place,
        "transit": [_party(hop) for hop in copy.hops[:-1]],
        "recipient": _party(copy.hops[-1]),
        "extra": [_party(hop) for hop in extra],
    }


def _party(hop: Hop) -> dict[str, str | None]:
    return {"service": hop.service, "payer": (hop.context.payer or None) if hop.context is not None else None}


def _passed(posted: MessagePosted) -> list[str]:
    return [f"{place} {hop.service}" for place, copy in enumerate(posted.copies) for hop in copy.hops[:-1]]


NOTHING_PASSED = ()  # the recorded fate of forwarded copies is ignored: both sides are replayed


def forward_change_rows(
    was: ForwardedCopies, is_now: ForwardedCopies, before: Directory, after: Directory
) -> list[dict[str, Any]]:
    sides = ForwardReasons(before, after, was, is_now)
    changes = compare_forwards(was, is_now)
    return [_forward_change(place, change, sides, before, after) for place, change in enumerate(changes)]


def _forward_change(
    place: int, change: ForwardChange, sides: ForwardReasons, before: Directory, after: Directory
) -> dict[str, Any]:
    through = [address_of(gcid, after, before) for gcid in change.either.through]
    one, other = change.before, change.after
    return {
        "copy": FORWARDED + place,
        "named": through[-1],
        "difference": change.difference.value,
        "before": [*through, *(addresses_of(one.copy.hops, before, after) if one is not None else ())],
        "after": [*through, *(addresses_of(other.copy.hops, after, before) if other is not None else ())],
        "gained": stop_rows(change.gained, other.copy.hops[-1], before, after) if other is not None else [],
        "lost": stop_rows(change.lost, one.copy.hops[-1], before, after) if one is not None else [],
        "reasons": list(sides.reasons(change)),
        "detail": "",
    }


def forward_rows(logged: LoggedPost, was: ForwardedCopies, is_now: ForwardedCopies) -> list[dict[str, Any]]:
    """Return the billable forwarded copies of both sides, by sender."""
    numbers = {key: FORWARDED + place for place, key in enumerate(sorted({*was.sent, *is_now.sent}))}
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    for side, onwards in (("before", was), ("after", is_now)):
        for (sender, size), ways in _forward_ways(onwards, numbers).items():
            row = rows.setdefault((sender, size), _forward_row(logged, sender, size))
            row[side] = ways
    return list(rows.values())


def _forward_ways(onwards: ForwardedCopies, numbers: dict[Key, int]) -> dict[tuple[str, int], list[dict[str, Any]]]:
    found: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for key, onward in onwards.sent.items():
        if not onward.copy.code:
            found[onward.through[-1], onward.size].append(_forward_way(numbers[key], onward))
    return found


def _forward_way(number: int, onward: ForwardedCopy) -> dict[str, Any]:
    return copy_way(number, onward.copy, NOTHING_PASSED)


def _forward_row(logged: LoggedPost, sender: str, size: int) -> dict[str, Any]:
    row = posted_row("forward", logged.seq, logged.posted)
    return row | {
        "sender": sender, "type": MessageType.NOTIFICATION.value, "size": size, "before": [], "after": [], "passed": [],
    }  # fmt: skip
