"""What is told of each entry in what-if's one pass over the journal, as Arrow.

Grain: one row per entry that counts, ``record`` says which: a ``message`` that was accepted and is compared, a ``response`` whose
way is not compared, a ``return`` of an in-transit service, a post that was ``refused`` and is not kept. What exchanges and
models send on of a message makes further rows, ``forward`` (``onward_rows``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from postroad.core.model.journal import Copy, Hop, InvocationReturned, MessagePosted, MessageRefused
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.logged import Logged
from postroad.warehouse.whatif.comparing import Compared, CopyChange, Side, Verdict, beyond
from postroad.warehouse.whatif.port_arrivals import ARRIVAL
from postroad.warehouse.whatif.reasons import address_of, addresses_of, reasons_for

BATCH_ROWS = 4_096
RECIPIENT, IN_TRANSIT = "recipient", "in transit"

PARTY = pa.struct([pa.field("service", pa.string()), pa.field("payer", pa.string())])
STOP = pa.struct([pa.field("service", pa.string()), pa.field("role", pa.string())])
TEXTS = pa.list_(pa.string())
CHANGE = pa.struct(
    [
        pa.field("copy", pa.int32()),
        pa.field("named", pa.string()),
        pa.field("difference", pa.string()),
        pa.field("before", TEXTS),  # addresses in the order of delivery; none where it is refused
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
        pa.field("extra", pa.list_(PARTY)),  # in-transit services that the message did not pass in fact
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


def batches(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    waiting: list[dict[str, Any]] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) >= BATCH_ROWS:
            yield _batch(waiting)
            waiting = []
    if waiting:
        yield _batch(waiting)


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def message_row(logged: Logged, compared: Compared, before: Directory, after: Directory) -> dict[str, Any]:
    posted = logged.posted
    decided = compared.verdict is not Verdict.UNDECIDABLE
    recorded = Side(copies=posted.copies)
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
    ways = _ways(Side(copies=posted.copies), posted)
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


def _change(change: CopyChange, compared: Compared, before: Directory, after: Directory) -> dict[str, Any]:
    return {
        "copy": change.copy,
        "named": change.named,
        "difference": change.difference.value,
        "before": addresses_of(change.before.hops, before, after),
        "after": addresses_of(change.after.hops, after, before),
        "gained": stops(change.gained, _last(change.after), before, after),
        "lost": stops(change.lost, _last(change.before), before, after),
        "reasons": list(reasons_for(change, compared, before, after)),
        "detail": change.after.detail or change.before.detail,
    }


def _last(copy: Copy) -> Hop | None:
    return copy.hops[-1] if copy.hops else None


def stops(hops: tuple[Hop, ...], last: Hop | None, *directories: Directory) -> list[dict[str, str]]:
    """The services of these hops, with the part that each has; ``last`` is the recipient's."""
    return [
        {"service": address_of(hop.service, *directories), "role": RECIPIENT if hop is last else IN_TRANSIT}
        for hop in hops
    ]


def _ways(side: Side, posted: MessagePosted) -> list[dict[str, Any]]:
    return [way(place, copy, posted.copies[place].hops) for place, copy in enumerate(side.copies) if not copy.code]


def way(place: int, copy: Copy, passed: tuple[Hop, ...]) -> dict[str, Any]:
    """Who takes part in an accepted copy; ``passed`` is the way that it went in fact."""
    extra = [hop for hop in beyond(copy.hops, passed) if hop is not copy.hops[-1]]
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
