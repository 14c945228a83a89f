"""The lane that gathers: one row for each message that comes to a send port, with all that its policy wants to know of it.

Kept rules: a message is taken as if it had been sent to the port; what a port, an exchange or a model has sent on is in the
journal as well as what it was made of, so it counts only where it was sent to this one. Its document is put aside as it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pyarrow as pa

from postroad.core.batching import Arrival
from postroad.core.batching.contents import document_of
from postroad.core.interchange.declared import declared_options
from postroad.core.model.batch import BatchMember
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.archived import Archived
from postroad.warehouse.bulk.lane import Done, Work
from postroad.warehouse.bulk.output import WRITING, attempt
from postroad.warehouse.bulk.put_aside import Aside, PuttingAside
from postroad.warehouse.bulk.send_ports import SendPort, come

INTERCHANGE = "interchange"  # form of what other ports have made of messages that are in the journal too
SORT = pa.list_(pa.struct([pa.field("place", pa.string()), pa.field("text", pa.string())]))

_options_text = msgspec.json.Encoder().encode
_key_text = msgspec.json.Encoder().encode
_key_of = msgspec.json.Decoder(tuple[str, ...]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherLane:
    """The lane ``batch``, as far as messages go by themselves through it."""

    port: SendPort
    folder: str  # of the results, in which documents are put aside
    sent_to_it: bool = False  # only messages that name the port
    name: ClassVar[str] = "batch"
    columns: ClassVar[Sequence[pa.Field]] = (
        pa.field("key", pa.string()),  # of the batch that it belongs to, as JSON; null: it goes by itself
        pa.field("bytes", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("sort", SORT),
        pa.field("last", pa.bool_()),
        pa.field("controlled", pa.bool_()),
        pa.field("starts", pa.bool_()),
        pa.field("ends", pa.bool_()),
        pa.field("aside", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("declared", pa.string()),  # how the document is written, as JSON; empty: nothing is declared
    )

    def prepare(self, directory: Directory) -> Work:
        return Gathering(self, directory)


class Gathering:
    """The lane's work in one task."""

    def __init__(self, lane: GatherLane, directory: Directory) -> None:
        self._lane, self._directory = lane, directory
        self._aside = PuttingAside(f"{lane.folder}/{WRITING}/documents/{attempt()}")

    def __call__(self, archived: Archived) -> list[Done]:
        if not self._comes(archived):
            return []
        parts = archived.message.parts
        arrival = come(archived, parts, 0, self._lane.port, self._directory)
        if not arrival.taken:
            return [Done((None, arrival.member.bytes, arrival.member.kind, *(None,) * 8))]
        document = document_of(parts)
        options = declared_options(
            self._lane.port.batching.standard, document.content_type, archived.message.properties
        )
        declared = _options_text(options).decode() if options else ""
        return [Done((*_values(arrival, self._aside.put(document.data)), declared))]

    def end(self) -> None:
        self._aside.close()

    def _comes(self, archived: Archived) -> bool:
        port, message = self._lane.port, archived.message
        if port.gcid and archived.sender in (port.gcid, port.address):
            return False  # its own interchanges
        if not self._lane.sent_to_it and not archived.forwarded and archived.form != INTERCHANGE:
            return True
        found = self._directory.service(port.address)
        return any(self._directory.service(one.service) is found for one in message.to)


def _values(arrival: Arrival, aside: Aside) -> tuple[Any, ...]:
    member = arrival.member
    sort = [{"place": place, "text": text} for place, text in member.sort]
    return (
        *(_key_text(arrival.key).decode(), member.bytes, member.kind, sort),
        *(arrival.last, arrival.controlled, arrival.starts, arrival.ends, aside.file, aside.offset),
    )


def arrival_in(row: dict[str, Any], number: int) -> Arrival:
    """The arrival that a row was made of; ``number`` is its place among those of its key."""
    sort = tuple([(one["place"], one["text"]) for one in row["sort"] or ()])
    return Arrival(
        member=BatchMember(number=number, bytes=row["bytes"], kind=row["kind"], sort=sort),
        key=_key_of(row["key"]),
        last=row["last"],
        controlled=row["controlled"],
        starts=row["starts"],
        ends=row["ends"],
    )
