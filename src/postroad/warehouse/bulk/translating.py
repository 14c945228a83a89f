"""The lane that translates: one row for each message and recipient, with the bytes that the server would hand out.

Kept rules: ``give`` is called as for a delivery, so the bytes are the same, boundaries included. A message from a
file has neither session nor recipient; it gives one row, whose boundaries are made of its place in the archive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from postroad.core.mediation.losses import LOSSY
from postroad.core.mediation.nouns import Given, Outgoing
from postroad.core.mediation.setting import unpacked
from postroad.core.mediation.translating import give, seed_of
from postroad.core.model.formats import Format
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.archived import Archived
from postroad.warehouse.bulk.lane import Done, Work

HEADER = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslateLane:
    """The lane ``translate``."""

    format: Format
    whole_only: bool = False  # what would lose something is a fault
    name: ClassVar[str] = "translate"
    columns: ClassVar[Sequence[pa.Field]] = (
        pa.field("recipient", pa.string()),  # GCID; empty where nobody is known by the name that the message gives
        pa.field("from_format", pa.string()),
        pa.field("format", pa.string()),
        pa.field("media_type", pa.string()),
        pa.field("headers", pa.list_(HEADER)),  # that belong to the format
        pa.field("dropped", pa.list_(pa.string())),  # what has no place in it
        pa.field("wire", pa.binary()),
    )

    def prepare(self, directory: Directory) -> Work:
        return lambda archived: [self._done(archived, gcid, directory) for gcid in _recipients(archived, directory)]

    def _done(self, archived: Archived, recipient: str, directory: Directory) -> Done:
        given = give(_outgoing(archived, recipient, directory), self.format)
        if given.dropped and self.whole_only:
            return Done((), LOSSY, "; ".join(given.dropped))
        return Done((recipient, archived.form, self.format.value, *_written(given)))


def _recipients(archived: Archived, directory: Directory) -> Iterator[str]:
    """Those whom the message names; one row is due also to one that names nobody."""
    named = [directory.service(recipient.service) for recipient in archived.message.to]
    yield from [service.gcid if service is not None else "" for service in named] or [""]


def _outgoing(archived: Archived, recipient: str, directory: Directory) -> Outgoing:
    message, sender = archived.message, directory.service(archived.sender)
    session = archived.session or f"{archived.place.file}:{archived.place.position}"
    return Outgoing(
        parts=message.parts,
        setting=unpacked(archived.setting) if archived.setting else None,
        seed=seed_of(session, recipient),
        sender=sender.address if sender is not None else archived.sender,
        topic=message.topic,
        handle=message.handle,
        session=archived.session,
        posted_at_us=archived.at_us,
        properties=message.properties,
    )


def _written(given: Given) -> tuple[str, list[dict[str, str]], list[str], bytes]:
    headers = [{"name": name, "value": value} for name, value in given.headers]
    return given.media_type, headers, list(given.dropped), given.data
