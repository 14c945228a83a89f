"""The last successful backup and verification, in a small file beside the journal, for metrics and ``doctor``.

{"backup": {"at": 1763582400.0, "entry": 4711, "folder": "/backup"}, "verify": {"at": …, …},
"first_backup_at": 1763582400.0}

Rule: a backup and a verification may note their success at the same time; both are kept.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from postroad.adapters.journal.backup.folder import PART, write_file
from postroad.adapters.journal.segments.files import RealFiles

STATUS_FILE = "backup-status.json"


class Success(Struct, frozen=True, kw_only=True):
    """A success: its time in seconds since 1970, the last entry of the backup, and its folder."""

    at: float
    entry: int
    folder: str


class BackupStatus(Struct, frozen=True, kw_only=True):
    """The contents of ``backup-status.json``."""

    backup: Success | None = None
    verify: Success | None = None
    first_backup_at: float | None = None  # in seconds since 1970; None before the first backup

    @property
    def first_at(self) -> float | None:
        """Return the time of the first backup; of the last one, if a version noted it that did not keep the first."""
        return self.first_backup_at or _at(self.backup)

    @property
    def unverified_since(self) -> float | None:
        """Return the time of the last verification, or that of the first backup if none ever succeeded."""
        return self.first_at if self.verify is None else self.verify.at


def read_status(data: Path) -> BackupStatus:
    """Return the status in a data folder; empty if there is none, or the file cannot be read."""
    try:
        return msgspec.json.decode((data / STATUS_FILE).read_bytes(), type=BackupStatus)
    except (OSError, msgspec.DecodeError):
        return BackupStatus()


def note_success(data: Path, *, backup: Success | None = None, verify: Success | None = None) -> None:
    """Replace what is known of the last backup or verification; the other one stays. Raises OSError if the disk is full."""
    path, files = data / STATUS_FILE, RealFiles()
    with _locked(data):
        known = read_status(data)
        first = known.first_at or _at(backup)
        now = BackupStatus(backup=backup or known.backup, verify=verify or known.verify, first_backup_at=first)
        for left in data.glob(f"{STATUS_FILE}.*{PART}"):  # by a program that was killed
            left.unlink(missing_ok=True)
        part = path.with_name(f"{STATUS_FILE}.{os.getpid()}{PART}")
        write_file(files, path, msgspec.json.encode(now) + b"\n", part)


def _at(success: Success | None) -> float | None:
    return None if success is None else success.at


@contextmanager
def _locked(data: Path) -> Iterator[None]:
    """Hold the lock of the status in a data folder; it is the folder's own, so no file is left."""
    fd = os.open(data, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
