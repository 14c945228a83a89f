"""The last successful backup and verification, in a small file beside the journal, for metrics and ``doctor``.

{"backup": {"at": 1763582400.0, "entry": 4711, "folder": "/backup"}, "verify": {"at": …, "entry": …, "folder": …}}
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from postroad.adapters.journal.backup.folder import write_file
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


def read_status(data: Path) -> BackupStatus:
    """Return the status in a data folder; empty if there is none, or the file cannot be read."""
    try:
        return msgspec.json.decode((data / STATUS_FILE).read_bytes(), type=BackupStatus)
    except (OSError, msgspec.DecodeError):
        return BackupStatus()


def note_success(data: Path, *, backup: Success | None = None, verify: Success | None = None) -> None:
    """Replace what is known of the last backup or verification; the other one stays."""
    known = read_status(data)
    now = BackupStatus(backup=backup or known.backup, verify=verify or known.verify)
    write_file(RealFiles(), data / STATUS_FILE, msgspec.json.encode(now) + b"\n")
