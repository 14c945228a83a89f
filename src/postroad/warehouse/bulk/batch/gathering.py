"""The gather operation: one row per message that reaches a send port, with everything its policy needs.

Rules: a message is treated as if it had been sent to the port. The journal contains forwards of a port, an exchange
or a model as well as their originals, so a forward counts only if it was sent to this port. Its document is stored as
it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pyarrow as pa

from postroad.core.batching import ArrivingMessage
from postroad.core.batching.interchange_contents import document_of
from postroad.core.interchange.document_options import read_declared_options
from postroad.core.model.batch import BatchMember
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.batch.send_ports import BulkSendPort, batch_arrival
from postroad.warehouse.bulk.batch.stored_documents import DocumentWriter, StoredDocument
from postroad.warehouse.bulk.operation import ResultRow, Work
from postroad.warehouse.bulk.output import WRITING, attempt_name
from postroad.warehouse.bulk.read.archive import ArchivedMessage

INTERCHANGE = "interchange"  # form of what other ports have made of messages that are in the journal too
SORT = pa.list_(pa.struct([pa.field("place", pa.string()), pa.field("text", pa.string())]))

_options_text = msgspec.json.Encoder().encode
_key_text = msgspec.json.Encoder().encode
_key_of = msgspec.json.Decoder(tuple[str, ...]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherOperation:
    """The operation ``batch``, as far as messages are handled one by one."""

    port: BulkSendPort
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
        return GatherWork(self, directory)


class GatherWork:
    """The operation's work in one task."""

    def __init__(self, operation: GatherOperation, directory: Directory) -> None:
        self._operation, self._directory = operation, directory
        self._aside = DocumentWriter(f"{operation.folder}/{WRITING}/documents/{attempt_name()}")

    def __call__(self, archived: ArchivedMessage) -> list[ResultRow]:
        if not self._comes(archived):
            return []
        parts = archived.message.parts
        arrival = batch_arrival(archived, parts, 0, self._operation.port, self._directory)
        if not arrival.taken:
            return [ResultRow((None, arrival.member.bytes, arrival.member.kind, *(None,) * 8))]
        document = document_of(parts)
        options = read_declared_options(
            self._operation.port.batching.standard, document.content_type, archived.message.properties
        )
        declared = _options_text(options).decode() if options else ""
        return [ResultRow((*_values(arrival, self._aside.put(document.data)), declared))]

    def end(self) -> None:
        self._aside.close()

    def _comes(self, archived: ArchivedMessage) -> bool:
        port, message = self._operation.port, archived.message
        if port.gcid and archived.sender in (port.gcid, port.address):
            return False  # its own interchanges
        if not self._operation.sent_to_it and not archived.forwarded and archived.form != INTERCHANGE:
            return True
        found = self._directory.service(port.address)
        return any(self._directory.service(one.service) is found for one in message.to)


def _values(arrival: ArrivingMessage, aside: StoredDocument) -> tuple[Any, ...]:
    member = arrival.member
    sort = [{"place": place, "text": text} for place, text in member.sort]
    return (
        *(_key_text(arrival.key).decode(), member.bytes, member.kind, sort),
        *(arrival.last, arrival.controlled, arrival.starts, arrival.ends, aside.file, aside.offset),
    )


def read_arrival(row: dict[str, Any], number: int) -> ArrivingMessage:
    """Return the arrival that a row was made of; ``number`` is its position among the arrivals of its key."""
    sort = tuple([(one["place"], one["text"]) for one in row["sort"] or ()])
    return ArrivingMessage(
        member=BatchMember(number=number, bytes=row["bytes"], kind=row["kind"], sort=sort),
        key=_key_of(row["key"]),
        last=row["last"],
        controlled=row["controlled"],
        starts=row["starts"],
        ends=row["ends"],
    )
