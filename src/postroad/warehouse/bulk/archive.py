"""Archives of messages: which files there are, and how they are cut into pieces that workers read on their own.

    lines       NDJSON, one message in the JSON form a line
    messages    a folder of files, each one message: JSON, SOAP 1.1 or 1.2, an envelope, or any plain format
    envelopes   bodies of bulk posts in msgpack, one array of envelopes behind the other
    journal     the journal of a network: its data folder, a copy of it, or the address of its database

Kept rule: nothing is read here but names and sizes. Files are named by URI or path, so an archive may lie wherever Arrow's file
systems reach: a folder that all machines see, HDFS, an object store.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pyarrow import fs

from postroad.errors import Misconfigured
from postroad.warehouse.bulk.journals import journal_named, spans

PIECE_BYTES = 8 << 20
PIECE_ENTRIES = 25_000  # of a journal
LINES = (".ndjson", ".jsonl")
ENVELOPES = (".msgpack", ".envelopes")
MESSAGES = (".json", ".xml", ".soap", ".envelope", ".dime", ".swa", ".mime", ".eml")


class Form(StrEnum):
    LINES = "lines"
    MESSAGES = "messages"
    ENVELOPES = "envelopes"
    JOURNAL = "journal"


class Piece(NamedTuple):
    """A part of an archive that is read as a whole: bytes of a file from ``start`` to ``end``, or entries after ``start``."""

    form: Form
    file: str
    start: int
    end: int

    @property
    def weight(self) -> int:
        return self.end - self.start


def pieces_of(archive: str, form: Form | None = None) -> list[Piece]:
    """The pieces of an archive; raises Misconfigured where there is nothing to read."""
    journal = journal_named(archive)
    if form is Form.JOURNAL or (form is None and journal is not None):
        if journal is None:
            raise Misconfigured([f"{archive}: there is no journal; name a network's data folder"])
        return [Piece(Form.JOURNAL, journal, *span) for span in spans(journal, PIECE_ENTRIES)]
    found = [piece for file in _files(archive) for piece in _file_pieces(file, form)]
    if not found:
        known = ", ".join((*LINES, *MESSAGES, *ENVELOPES))
        raise Misconfigured([f"{archive}: there is nothing to read; files of an archive end in {known}"])
    return found


def _files(archive: str) -> list[_Named]:
    """The files by names that mean the same on every machine."""
    system, path = file_system(archive)
    archive = archive if "://" in archive else path
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise Misconfigured([f"{archive}: there is no such file or folder"])
    if info.type == fs.FileType.File:
        return [_Named(archive, info.size)]
    listed = system.get_file_info(fs.FileSelector(path, recursive=True))
    inside = [one for one in listed if one.type == fs.FileType.File and not one.base_name.startswith((".", "_"))]
    root = archive.rstrip("/")
    return [
        _Named(root + one.path[len(path.rstrip("/")) :], one.size) for one in sorted(inside, key=lambda one: one.path)
    ]


class _Named(NamedTuple):
    name: str
    size: int


def file_system(name: str) -> tuple[fs.FileSystem, str]:
    """The file system that a URI or path names, and the path in it."""
    if "://" in name:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(name)
        return found
    return fs.LocalFileSystem(), str(Path(name).absolute())


def _file_pieces(file: _Named, form: Form | None) -> Iterator[Piece]:
    form = form or _form_of(file.name)
    if form is Form.LINES:
        for start in range(0, file.size, PIECE_BYTES):
            yield Piece(form, file.name, start, min(start + PIECE_BYTES, file.size))
    elif form is not None:
        yield Piece(form, file.name, 0, file.size)


def _form_of(name: str) -> Form | None:
    lower = name.lower()
    for endings, form in ((LINES, Form.LINES), (ENVELOPES, Form.ENVELOPES), (MESSAGES, Form.MESSAGES)):
        if lower.endswith(endings):
            return form
    return None
