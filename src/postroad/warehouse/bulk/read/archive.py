"""Archives of messages: their files, the pieces that workers read on their own, and the messages in them.

    lines       NDJSON, one message in the JSON form a line
    messages    a folder of files, each one message: JSON, SOAP 1.1 or 1.2, an envelope, or any external format
    envelopes   bodies of bulk posts in msgpack, one array of envelopes behind the other
    journal     the journal of a network: its data folder, a copy of it, or the address of its database

Rule: only names and sizes are read here. Files are named by URI or path, so an archive may be wherever Arrow's file
systems reach: a folder that all machines see, HDFS, an object store.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from pyarrow import fs

from postroad.core.model.message import Message
from postroad.errors import Misconfigured
from postroad.warehouse.bulk.read.journals import entry_spans, find_journal_source


class ArchivePlace(Struct, gc=False, frozen=True):
    """The position of a message: byte offset in a file of lines or envelopes, entry number in a journal."""

    file: str
    position: int = 0


class ArchivedMessage(Struct, gc=False, frozen=True):
    """A message of an archive that was decoded."""

    place: ArchivePlace
    sender: str  # GCID or address
    at_us: int  # when it was posted, or is taken to be
    form: str
    size: int  # of the wire
    message: Message
    session: str = ""  # of a message that a network has accepted
    wrapper: bytes = b""  # how it was wrapped, where it came in an external format
    shown_sender: str = ""  # GCID, where receivers see another than the sender
    forwarded: bool = False  # by an exchange or a model: a copy of a message that was posted to it


class UnreadableMessage(Struct, gc=False, frozen=True):
    """An item of an archive that cannot be decoded, and the reason."""

    place: ArchivePlace
    code: str
    detail: str
    size: int = 0


PIECE_BYTES = 8 << 20
PIECE_ENTRIES = 25_000  # of a journal
LINES = (".ndjson", ".jsonl")
ENVELOPES = (".msgpack", ".envelopes")
MESSAGES = (".json", ".xml", ".soap", ".envelope", ".dime", ".swa", ".mime", ".eml")


class ArchiveForm(StrEnum):
    LINES = "lines"
    MESSAGES = "messages"
    ENVELOPES = "envelopes"
    JOURNAL = "journal"


class ArchivePiece(NamedTuple):
    """A part of an archive that is read as a whole: bytes of a file from ``start`` to ``end``, or journal entries."""

    form: ArchiveForm
    file: str
    start: int
    end: int

    @property
    def weight(self) -> int:
        return self.end - self.start


def list_pieces(archive: str, form: ArchiveForm | None = None) -> list[ArchivePiece]:
    """List the pieces of an archive; raises Misconfigured if there is nothing to read."""
    journal = find_journal_source(archive)
    if form is ArchiveForm.JOURNAL or (form is None and journal is not None):
        if journal is None:
            raise Misconfigured([f"{archive}: there is no journal; name a network's data folder"])
        return [ArchivePiece(ArchiveForm.JOURNAL, journal, *span) for span in entry_spans(journal, PIECE_ENTRIES)]
    found = [piece for file in _files(archive) for piece in _file_pieces(file, form)]
    if not found:
        known = ", ".join((*LINES, *MESSAGES, *ENVELOPES))
        raise Misconfigured([f"{archive}: there is nothing to read; files of an archive end in {known}"])
    return found


def _files(archive: str) -> list[_NamedFile]:
    """The files by names that mean the same on every machine."""
    system, path = open_file_system(archive)
    archive = archive if "://" in archive else path
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise Misconfigured([f"{archive}: there is no such file or folder"])
    if info.type == fs.FileType.File:
        return [_NamedFile(archive, info.size)]
    listed = system.get_file_info(fs.FileSelector(path, recursive=True))
    inside = [one for one in listed if one.type == fs.FileType.File and not one.base_name.startswith((".", "_"))]
    root = archive.rstrip("/")
    return [
        _NamedFile(root + one.path[len(path.rstrip("/")) :], one.size)
        for one in sorted(inside, key=lambda one: one.path)
    ]


class _NamedFile(NamedTuple):
    name: str
    size: int


def open_file_system(name: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a URI or path, and the path in it."""
    if "://" in name:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(name)
        return found
    return fs.LocalFileSystem(), str(Path(name).absolute())


def _file_pieces(file: _NamedFile, form: ArchiveForm | None) -> Iterator[ArchivePiece]:
    form = form or _form_of(file.name)
    if form is ArchiveForm.LINES:
        for start in range(0, file.size, PIECE_BYTES):
            yield ArchivePiece(form, file.name, start, min(start + PIECE_BYTES, file.size))
    elif form is not None:
        yield ArchivePiece(form, file.name, 0, file.size)


def _form_of(name: str) -> ArchiveForm | None:
    lower = name.lower()
    for endings, form in (
        (LINES, ArchiveForm.LINES),
        (ENVELOPES, ArchiveForm.ENVELOPES),
        (MESSAGES, ArchiveForm.MESSAGES),
    ):
        if lower.endswith(endings):
            return form
    return None
