"""One segment file of a backup while it is written: header and groups, without the zeros that a journal fills in advance.

Rule: a new file has another name until its first part is synced; a file that the manifest lists only grows, behind the
bytes that it lists.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from postroad.adapters.journal.backup.folder import PART, PIECE
from postroad.adapters.journal.backup.manifest import BackupSegment
from postroad.adapters.journal.segments.catalog import OpenSegment
from postroad.adapters.journal.segments.files import FileSystem, write_all
from postroad.adapters.journal.segments.frame import SEGMENT_HEADER, SegmentHeader, encode_segment_header
from postroad.ports import JournalHead


class SegmentWriter:
    """A segment file open for more groups."""

    def __init__(
        self, *, files: FileSystem, path: Path, fd: int, header: SegmentHeader, end: int, head: JournalHead, digest: Any
    ) -> None:
        self._files = files
        self._path = path
        self._fd = fd
        self._digest = digest
        self._published = end if end > SEGMENT_HEADER.size else 0  # bytes that are synced under the final name
        self.header = header
        self.end = end
        self.head = head

    @classmethod
    def create(cls, files: FileSystem, path: Path, header: SegmentHeader) -> SegmentWriter:
        """Begin a segment; ``publish`` gives the file its name."""
        data, part = encode_segment_header(header), path.with_name(path.name + PART)
        if files.size_of(part):
            files.unlink(part)  # never opened: it may be a link to a segment of the journal
        fd, end = files.create(part), len(data)
        writer = cls(files=files, path=path, fd=fd, header=header, end=end, head=header.before, digest=sha256(data))
        try:
            write_all(files, fd, data, 0)
        except BaseException:
            writer.abandon()
            raise
        return writer

    @classmethod
    def resume(cls, files: FileSystem, path: Path, known: BackupSegment) -> SegmentWriter | None:
        """Continue a segment after what the manifest lists of it; None if the file is not what the manifest lists."""
        try:
            segment = OpenSegment.open(files, path)
        except FileNotFoundError:
            return None
        if segment is None:
            return None
        header = segment.header
        segment.close()
        fd = files.open(path, writable=True)
        digest = digest_file(files, fd, known.bytes)
        if digest.hexdigest() != known.sha256:
            files.close(fd)
            return None
        files.truncate(fd, known.bytes)
        return cls(files=files, path=path, fd=fd, header=header, end=known.bytes, head=known.head, digest=digest)

    def append(self, data: bytes, head: JournalHead) -> None:
        write_all(self._files, self._fd, data, self.end)
        self._digest.update(data)
        self.end += len(data)
        self.head = head

    def publish(self) -> BackupSegment:
        """Sync the file, under its name, and return what the manifest lists of it."""
        self._files.fdatasync(self._fd)
        if not self._published:
            self._files.rename(self._path.with_name(self._path.name + PART), self._path)
        self._published = self.end
        return BackupSegment(
            name=self._path.name,
            bytes=self.end,
            sha256=self._digest.hexdigest(),
            first=self.header.first_seq,
            last=self.head.seq,
            chain=self.head.chain.hex(),
        )

    def abandon(self) -> None:
        """Close after an error, and free the space that was used since ``publish``."""
        with suppress(OSError):
            if self._published:
                self._files.truncate(self._fd, self._published)
            else:
                self._files.unlink(self._path.with_name(self._path.name + PART))
        self.close()

    def close(self) -> None:
        self._files.close(self._fd)


def digest_file(files: FileSystem, fd: int, length: int) -> Any:
    """Return the running SHA-256 of a file's first bytes; of a shorter file, that of all its bytes."""
    digest, offset = sha256(), 0
    while offset < length and (piece := files.pread(fd, min(PIECE, length - offset), offset)):
        digest.update(piece)
        offset += len(piece)
    return digest
