"""Checkpoints of a SQLite index, and a record that shows at the next start whether its write-ahead log is complete.

SQLite reads a write-ahead log up to its first damaged frame and ignores the rest. That is right for frames that exist only in the
log: the index is then some entries behind. It is wrong for frames that a checkpoint has copied to the database file already: old
pages of the log would cover newer pages of the file. Rule: before each checkpoint, the log's salts and its number of frames are
noted beside the index and synced; an index whose log has lost any of them is refused, and is rebuilt from the journal.

Pages get their checksums when a checkpoint copies them to the database file. Rule: each commit's frames are read back at once and
their CRC is kept in memory; a checkpoint copies nothing before all CRCs match again, so no checksum ever vouches for a page that
was damaged in the log. Until then a damaged frame of a running server's log can reach a reader; the log is therefore copied
whenever the index is idle, not only when it is long.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import apsw

PAGES = 4_000  # pages of log between two checkpoints; more means fewer copies of pages that every batch changes
NOTE_SUFFIX = "-checkpoint"
MODE = 0o640

_NOTE = struct.Struct("<8sII")  # salts, frames, CRC-32 of both
_WAL_HEADER = struct.Struct(">IIII8sII")
_SALTS = slice(16, 24)
_FRAME_HEADER_BYTES = 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)  # the second one counts its checksums in big-endian words


class CheckpointNote(NamedTuple):
    """The log that was being copied to the database file, and the highest number of frames copied."""

    salts: bytes
    frames: int


NOTHING_COPIED = CheckpointNote(bytes(8), 0)


class CommittedFrames(NamedTuple):
    """The frames of one commit, and the CRC-32 of their bytes."""

    first: int
    frames: int
    crc: int


class DamagedLog(Exception):
    """The write-ahead log does not contain what was written to it."""


class Checkpoints:
    """Takes the checkpoints of the one connection that writes an index, in place of SQLite's automatic ones."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._connection = connection
        self._wal = path.with_name(path.name + "-wal")
        self._note = os.open(path.with_name(path.name + NOTE_SUFFIX), os.O_RDWR | os.O_CREAT, MODE)
        if not os.fstat(self._note).st_size:
            with suppress(OSError):
                _write_note(self._note, NOTHING_COPIED)  # allocates its disk block now
        self._frame_bytes = _FRAME_HEADER_BYTES + int(connection.pragma("page_size"))
        self._frames = 0  # in the log
        self._copied = 0  # number of these that the last checkpoint had to copy
        self._salts = b""
        self._written: list[CommittedFrames] = []
        connection.set_wal_hook(self._committed)

    def take_if_due(self, pages: int = PAGES) -> None:
        """Copy the log to the database file when it has grown by so many pages."""
        if self._frames - self._copied >= pages:
            self.take()

    def take(self) -> None:
        """Copy the log to the database file; raises DamagedLog when it is not as it was written."""
        if self._frames == self._copied:
            return
        self._require_undamaged()
        _write_note(self._note, CheckpointNote(self._salts, self._frames))
        self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        self._copied = self._frames

    def close(self) -> None:
        """Close the connection as well. SQLite then copies the rest of the log and removes it, unless others still read it."""
        try:
            self.take()
        except DamagedLog:
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise
        finally:
            self._connection.close()
            if not self._wal.exists():
                with suppress(OSError):
                    _write_note(self._note, NOTHING_COPIED)
            os.close(self._note)

    def _committed(self, connection: apsw.Connection, schema: str, pages: int) -> int:
        with self._wal.open("rb", buffering=0) as log:
            salts = log.read(_WAL_HEADER.size)[_SALTS]
            if salts != self._salts:  # the log began again
                self._salts, self._copied = salts, 0
                self._written.clear()
                self._frames = 0
            fresh = CommittedFrames(self._frames, pages - self._frames, 0)
            self._written.append(fresh._replace(crc=self._crc_of(log, fresh)))
        self._frames = pages
        return int(apsw.SQLITE_OK)

    def _require_undamaged(self) -> None:
        with self._wal.open("rb", buffering=0) as log:
            for written in self._written:
                if self._crc_of(log, written) != written.crc:
                    raise DamagedLog(f"{self._wal.name} differs from what was written, after frame {written.first}")

    def _crc_of(self, log: FileIO, written: CommittedFrames) -> int:
        crc, place = 0, _WAL_HEADER.size + written.first * self._frame_bytes
        for frame in range(written.frames):
            crc = zlib.crc32(os.pread(log.fileno(), self._frame_bytes, place + frame * self._frame_bytes), crc)
        return crc


def lost_frames(path: Path, connection: apsw.Connection) -> str:
    """Return a text about the frames that are missing of the last checkpoint's log; empty if none. Call before any write."""
    noted = path.with_name(path.name + NOTE_SUFFIX)
    content = noted.read_bytes() if noted.exists() else b""
    if not content or not path.stat().st_size:
        return ""
    note = _parse_note(content)
    if note is None:
        return f"{noted.name} is damaged"
    if not note.frames:
        return ""
    wal = path.with_name(path.name + "-wal")
    salts = valid_salts(wal)
    if salts is None:
        return f"{wal.name} is missing or its header is damaged, after a checkpoint that did not end"
    if salts != note.salts:  # the log began again, which it does only when all of it is in the database file
        return ""
    connection.pragma("user_version")  # a connection that has read nothing does not know that there is a log
    frames, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    if frames < note.frames:
        return f"{wal.name} can be read up to frame {frames} of {note.frames}"
    return ""


def valid_salts(wal: Path) -> bytes | None:
    """The salts in the log's header; None when there is no log or its header is damaged."""
    try:
        with wal.open("rb") as file:
            header = file.read(_WAL_HEADER.size)
    except FileNotFoundError:
        return None
    if len(header) < _WAL_HEADER.size:
        return None
    magic, _, _, _, salts, first, second = _WAL_HEADER.unpack(header)
    if magic not in _WAL_MAGIC or _wal_checksum(header[:24], big_endian=magic == _WAL_MAGIC[1]) != (first, second):
        return None
    return bytes(salts)


def _wal_checksum(data: bytes, *, big_endian: bool) -> tuple[int, int]:
    words = struct.unpack(f"{'>' if big_endian else '<'}{len(data) // 4}I", data)
    first = second = 0
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _write_note(fd: int, note: CheckpointNote) -> None:
    """Overwritten in place, so that a full disk does not prevent it."""
    os.pwrite(fd, _NOTE.pack(*note, _crc(note)), 0)
    os.fsync(fd)


def _parse_note(content: bytes) -> CheckpointNote | None:
    if len(content) != _NOTE.size:
        return None
    salts, frames, crc = _NOTE.unpack(content)
    note = CheckpointNote(salts, frames)
    return note if crc == _crc(note) else None


def _crc(note: CheckpointNote) -> int:
    return zlib.crc32(note.salts + note.frames.to_bytes(4, "little"))
