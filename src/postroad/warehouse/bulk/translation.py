"""The translate operation: one row per message and recipient, with the bytes that the server would deliver.

Rules: messages are encoded as for a delivery, so the bytes are the same, boundaries included. A message from a file
has neither session nor recipient; it gives one row, whose boundaries are derived from its position in the archive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from postroad.core.mediation.conversion_losses import LOSSY
from postroad.core.mediation.formats import encode_message, seed_of
from postroad.core.mediation.model import EncodedMessage, OutgoingMessage
from postroad.core.mediation.wrapper import unpack_wrapper
from postroad.core.model.formats import Format
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.operation import ResultRow, Work
from postroad.warehouse.bulk.read.archive import ArchivedMessage

HEADER = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateOperation:
    """The operation ``translate``."""

    format: Format
    whole_only: bool = False  # what would lose something is a fault
    name: ClassVar[str] = "translate"
    columns: ClassVar[Sequence[pa.Field]] = (
        pa.field("recipient", pa.string()),  # GCID; empty where no one is known by the name that the message gives
        pa.field("from_format", pa.string()),
        pa.field("format", pa.string()),
        pa.field("media_type", pa.string()),
        pa.field("headers", pa.list_(HEADER)),  # that belong to the format
        pa.field("dropped", pa.list_(pa.string())),  # what has no place in it
        pa.field("wire", pa.binary()),
    )

    def prepare(self, directory: Directory) -> Work:
        return lambda archived: [self._done(archived, gcid, directory) for gcid in _recipients(archived, directory)]

    def _done(self, archived: ArchivedMessage, recipient: str, directory: Directory) -> ResultRow:
        given = encode_message(_outgoing(archived, recipient, directory), self.format)
        if given.dropped and self.whole_only:
            return ResultRow((), LOSSY, "; ".join(given.dropped))
        return ResultRow((recipient, archived.form, self.format.value, *_output_values(given)))


def _recipients(archived: ArchivedMessage, directory: Directory) -> Iterator[str]:
    """Yield the message's recipients; one empty recipient if it names none."""
    named = [directory.service(recipient.service) for recipient in archived.message.to]
    yield from [service.gcid if service is not None else "" for service in named] or [""]


def _outgoing(archived: ArchivedMessage, recipient: str, directory: Directory) -> OutgoingMessage:
    message = archived.message
    session = archived.session or f"{archived.place.file}:{archived.place.position}"
    return OutgoingMessage(
        parts=message.parts,
        wrapper=unpack_wrapper(archived.wrapper) if archived.wrapper else None,
        seed=seed_of(session, recipient),
        sender=directory.address_named(archived.sender),
        topic=message.topic,
        handle=message.handle,
        session=archived.session,
        posted_at_us=archived.at_us,
        properties=message.properties,
    )


def _output_values(given: EncodedMessage) -> tuple[str, list[dict[str, str]], list[str], bytes]:
    headers = [{"name": name, "value": value} for name, value in given.headers]
    return given.media_type, headers, list(given.dropped), given.data
