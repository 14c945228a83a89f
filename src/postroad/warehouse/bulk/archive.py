"""Archives of messages: which files there are, and how they are cut into pieces that workers read on their own.

    lines       NDJSON, one message in the JSON form a line
    messages    a folder of files, each one message: JSON, SOAP 1.1 or 1.2, or an envelope
    envelopes   bodies of bulk posts in msgpack, one array of envelopes behind the other
    journal     the journal of a network, its data folder or a copy of it

Kept rule: nothing is read here but names and sizes. Files are named by URI or path, so an archive may lie wherever Arrow's file
systems reach: a folder that all machines see, HDFS, an object store.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pyarrow import fs

from postroad.adapters.journal.segments import RealFiles, SegmentReader
from postroad.adapters.journal.segments.catalog import list_segments
from postroad.errors import Misconfigured

PIECE_BYTES = 8 << 20
PIECE_ENTRIES = 25_000  # of a journal
LINES = (".ndjson", ".jsonl")
ENVELOPES = (".msgpack", ".envelopes")
MESSAGES = (".json", ".xml", ".soap", ".envelope")
JOURNAL_FOLDER = "journal"


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
    journal = journal_folder(archive)
    if form is Form.JOURNAL or (form is None and journal is not None):
        if journal is None:
            raise Misconfigured([f"{archive}: there is no journal; name a network's data folder"])
        return list(_entries(journal))
    found = [piece for file in _files(archive) for piece in _file_pieces(file, form)]
    if not found:
        known = ", ".join((*LINES, *MESSAGES, *ENVELOPES))
        raise Misconfigured([f"{archive}: there is nothing to read; files of an archive end in {known}"])
    return found


def journal_folder(archive: str) -> Path | None:
    """Where the journal's files lie, given them or the data folder around them; None where there is no journal."""
    for folder in (Path(archive), Path(archive) / JOURNAL_FOLDER):
        if folder.is_dir() and list_segments(RealFiles().names(folder)):
            return folder
    return None


def _entries(journal: Path) -> Iterator[Piece]:
    """A piece never reaches over a segment's end, so that each worker opens one file; large segments give several."""
    reader = SegmentReader(journal)
    try:
        last = reader.durable_seq()
    finally:
        reader.close()
    begins = [segment.first_seq for segment in list_segments(RealFiles().names(journal))]
    for begin, following in zip(begins, [*begins[1:], last + 1], strict=True):
        for start in range(begin - 1, following - 1, PIECE_ENTRIES):
            yield Piece(Form.JOURNAL, str(journal), start, min(start + PIECE_ENTRIES, following - 1))


def _files(archive: str) -> list[_Named]:
    system, path = file_system(archive)
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
