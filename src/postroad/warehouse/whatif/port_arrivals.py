"""The arrivals of a logged message at send ports, under one directory, with what their policies need.

Rules: arrivals are computed by the functions of a batcher, and include messages that exchanges and models forward. If a
policy needs a body that is no longer stored, the arrival is counted as undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from zlib import crc32

import msgspec
import pyarrow as pa

from postroad.core.batching import ArrivingMessage
from postroad.core.model.batch import BatchMember
from postroad.core.model.message import Message
from postroad.core.model.route import Copy
from postroad.core.model.snapshot import Directory
from postroad.core.routing.forward import with_content
from postroad.errors import Refused
from postroad.warehouse.bulk.batch.send_ports import BulkSendPort, batch_arrival, find_send_port
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePlace
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif.forwards import ForwardedCopies

GATHERED, ALONE, UNDECIDED = "gathered", "alone", "undecided"
FORWARDED = 10_000_000  # copies from here on are forwarded by exchanges and models
ARRIVAL = pa.struct(
    [
        pa.field("side", pa.string()),  # before or after
        pa.field("port", pa.string()),  # GCID
        pa.field("copy", pa.int32()),
        pa.field("outcome", pa.string()),  # gathered; alone: sent individually; undecided
        pa.field("key", pa.string()),  # of its batch, as JSON
        pa.field("bytes", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("last", pa.bool_()),
        pa.field("controlled", pa.bool_()),
        pa.field("starts", pa.bool_()),
        pa.field("ends", pa.bool_()),
    ]
)

_key_text = msgspec.json.Encoder().encode
_key_of = msgspec.json.Decoder(tuple[str, ...]).decode


def arrival_rows(
    side: str,
    logged: LoggedPost,
    message: Message,
    copies: Sequence[Copy],
    onwards: ForwardedCopies,
    directory: Directory,
) -> list[dict[str, Any]]:
    """Return the arrivals of one side, without requests, which batchers refuse."""
    rows = []
    for number, copy, archived in _copies(logged, message, copies, onwards):
        service = directory.services.get(copy.hops[-1].service) if copy.hops and not copy.code else None
        port = find_send_port(service) if service is not None else None
        told = _arrival_row(archived, port, directory, logged) if port is not None else None
        if port is not None and told is not None:
            rows.append({"side": side, "port": port.gcid, "copy": number} | told)
    return rows


def _copies(
    logged: LoggedPost, message: Message, copies: Sequence[Copy], onwards: ForwardedCopies
) -> Iterator[tuple[int, Copy, ArchivedMessage]]:
    posted = logged.posted
    own = ArchivedMessage(ArchivePlace("", logged.seq), posted.sender, posted.at_us, posted.form, posted.size, message)
    for number, copy in enumerate(copies):
        yield number, copy, own
    for key, onward in onwards.sent.items():
        parts = message.parts if onward.made is None else with_content(message.parts, onward.made)
        given = msgspec.structs.replace(message, parts=parts)
        archived = msgspec.structs.replace(own, sender=onward.through[-1], message=given, shown_sender=posted.sender)
        yield FORWARDED + crc32(repr(key).encode()) % FORWARDED, onward.copy, archived  # the same on both sides


def _arrival_row(
    archived: ArchivedMessage, port: BulkSendPort, directory: Directory, logged: LoggedPost
) -> dict[str, Any] | None:
    parts = archived.message.parts
    if not logged.is_whole:
        return {"outcome": UNDECIDED, "bytes": sum(len(part.data) for part in parts)}
    try:
        arrival = batch_arrival(archived, parts, 0, port, directory)
    except Refused:
        return None
    if not arrival.taken:
        return {"outcome": ALONE, "bytes": archived.size}
    return {
        "outcome": GATHERED,
        "key": _key_text(arrival.key).decode(),
        "bytes": arrival.member.bytes,
        "kind": arrival.member.kind,
        "last": arrival.last,
        "controlled": arrival.controlled,
        "starts": arrival.starts,
        "ends": arrival.ends,
    }


def read_port_arrival(row: dict[str, Any], number: int) -> ArrivingMessage:
    """Return the arrival of a row; the sort values are left out, since they do not affect the batch."""
    return ArrivingMessage(
        member=BatchMember(number=number, bytes=row["bytes"], kind=row["kind"]),
        key=_key_of(row["key"]),
        last=row["last"],
        controlled=row["controlled"],
        starts=row["starts"],
        ends=row["ends"],
    )
