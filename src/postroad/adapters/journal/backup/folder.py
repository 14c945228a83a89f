"""The folder of a backup: locked by one program at a time, and changed so that it is a backup at every moment.

Rules: files are synced before the manifest that lists them, and removed after the manifest that does not. The manifest lists
every segment (2 MB for 10,000 of them), so it is replaced about once a second at most while there is more to copy. The server
is not involved: no file of its folder is locked or changed.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from postroad.adapters.journal.backup.manifest import (
    MANIFEST,
    BackupManifest,
    decode_manifest,
    encode_manifest,
)
from postroad.adapters.journal.segments.catalog import BODILESS, DURABLE_NAME, LOCK_NAME, WHOLE
from postroad.adapters.journal.segments.files import COUNTER_BYTES, FileSystem, RealFiles, write_all
from postroad.adapters.journal.segments.space import FULL_ERRORS
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead

JOURNAL = "journal"
PART = ".part"  # of a file that is not complete
BACKUP_LOCK = "backup.lock"
PIECE = 1 << 20
COMMIT_EVERY_S = 0.75


class BackupFolder:
    """A backup that is open for writing; ``close`` releases its lock."""

    def __init__(self, path: Path, files: FileSystem, lock: int) -> None:
        self.path = path
        self.journal = path / JOURNAL
        self.files = files
        self._lock = lock
        self.manifest = read_manifest(path, files) or BackupManifest()
        self.is_new = not self.manifest.segments
        self._committed_at = time.monotonic()

    @classmethod
    def open(cls, path: Path, files: FileSystem | None = None) -> BackupFolder:
        """Create the folder if necessary and lock it; raises Misconfigured if it is another program's, or a data folder."""
        files = files or RealFiles()
        if (path / JOURNAL / LOCK_NAME).exists() and not (path / MANIFEST).exists():
            raise data_folder_error(path)
        files.make_directory(path / JOURNAL)
        try:
            lock = files.lock(path / BACKUP_LOCK)
        except BlockingIOError:
            raise Misconfigured([f"backup: another program is writing to {path}; wait until it ends"]) from None
        try:
            return cls(path, files, lock)
        except BaseException:
            files.close(lock)
            raise

    @property
    def is_commit_due(self) -> bool:
        """Whether the last commit is long enough ago for one that could also wait."""
        return time.monotonic() - self._committed_at >= COMMIT_EVERY_S

    def commit(self, manifest: BackupManifest) -> None:
        """Make ``manifest`` the backup's; all its files must be synced."""
        self.files.sync_directory(self.journal)
        write_file(self.files, self.path / MANIFEST, encode_manifest(manifest))
        write_durable_mark(self.files, self.journal, manifest.entries)
        self.manifest = manifest
        self._committed_at = time.monotonic()
        self._remove_superseded()

    def close(self) -> None:
        self.files.close(self._lock)

    def remove_unfinished(self) -> None:
        """Remove files that an interrupted run has left."""
        for name in self.files.names(self.journal):
            if name.endswith(PART):
                self.files.unlink(self.journal / name)
        self._remove_superseded()

    def _remove_superseded(self) -> None:
        listed = {segment.name for segment in self.manifest.segments}
        for name in self.files.names(self.journal):
            if name.endswith((WHOLE, BODILESS)) and name not in listed:
                self.files.unlink(self.journal / name)


def data_folder_error(path: Path) -> Misconfigured:
    return Misconfigured([f"backup: {path} is the data folder of a network; choose another folder for the backup"])


def require_same_history(folder: BackupFolder, network: str, found: JournalHead) -> None:
    """Raise Misconfigured unless the journal is the backup's; ``found`` is its head at the backup's last entry."""
    manifest = folder.manifest
    if manifest.entries and (manifest.network, manifest.head) != (network, found):
        raise other_history_error(folder)


def other_history_error(folder: BackupFolder) -> Misconfigured:
    entries = folder.manifest.entries
    detail = f"{folder.path} has {entries} entries of another journal, or of this one before a restore; choose another folder"
    return Misconfigured([f"backup: {detail}"])


def read_manifest(path: Path, files: FileSystem) -> BackupManifest | None:
    """Return the manifest of a backup, or None if the folder has none."""
    try:
        fd = files.open(path / MANIFEST, writable=False)
    except FileNotFoundError:
        return None
    try:
        return decode_manifest(files.pread(fd, files.size(fd), 0), str(path / MANIFEST))
    finally:
        files.close(fd)


def write_file(files: FileSystem, path: Path, data: bytes, part: Path | None = None) -> None:
    """Replace a file, completely or not at all, and durably; ``part``: its name until it is complete."""
    part = part or path.with_name(path.name + PART)
    fd = files.create(part)
    try:
        write_all(files, fd, data, 0)
        files.fdatasync(fd)
    except OSError:
        with suppress(OSError):
            files.unlink(part)  # frees the space that the attempt used
        raise
    finally:
        files.close(fd)
    files.rename(part, path)
    files.sync_directory(path.parent)


def write_durable_mark(files: FileSystem, journal: Path, seq: int) -> None:
    """Write the mark up to which readers read, in the form of a mapped counter, but without mapping it."""
    write_file(files, journal / DURABLE_NAME, seq.to_bytes(8, sys.byteorder).ljust(COUNTER_BYTES, b"\0"))


@contextmanager
def explain_disk_errors(path: Path, kept: str) -> Iterator[None]:
    """Convert errors of the target disk to Unavailable; ``kept`` tells what is still intact."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL_ERRORS:
            detail = f"the disk of {path} is full; {kept}; free space there, then run the command again"
            raise Unavailable("storage.full", detail) from error
        if error.errno in (errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR):
            detail = f"the disk of {path} or of the journal fails: {error.strerror}; {kept}; check the disk and its permissions"
            raise Unavailable("storage.failed", detail) from error
        raise
