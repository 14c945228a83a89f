"""The age of the last backup and verification, from the file in which they note their last success.

Rule: no condition is reported where there has never been a backup; operators may copy the data folder in other ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from postroad.adapters.journal.backup.status import BackupStatus, Success, read_status
from postroad.core.codecs.lexical import write_time
from postroad.core.notifications.conditions import Condition

HOUR_S = 3_600
BACKUP_S = 26 * HOUR_S
VERIFY_S = 8 * 24 * HOUR_S


class BackupAge(NamedTuple):
    """Whether a backup or verification is too old, and the ages of both in words."""

    is_old: bool
    text: str


def describe_backups(data: Path, now_us: int) -> BackupAge:
    """Return the ages for an operator; a backup that was never verified is reported, too."""
    found = read_status(data)
    if found.backup is None:
        return BackupAge(False, "no backup by `postroad backup` on this machine; another node or tool may make them")
    verified = f"verified {_describe(found.verify, now_us)}" if found.verify else "never verified"
    folder, old = f"in {found.backup.folder}", any(list_old(found, now_us))
    more = "; run `postroad backup verify`" if found.verify is None else ""
    if old:
        more = f"; a backup is too old after {BACKUP_S // HOUR_S} hours, a verification after {VERIFY_S // HOUR_S // 24} days"
    return BackupAge(old, f"last backup {_describe(found.backup, now_us)} {folder}, {verified}{more}")


def _describe(success: Success, now_us: int) -> str:
    """Return a success as an age in words, with its entry."""
    return f"{_age(now_us / 1_000_000 - success.at)} ago up to entry {success.entry}"


def _age(seconds: float) -> str:
    """Return an age in words, in the largest unit of which there are at least two."""
    for unit, name in ((24 * HOUR_S, "days"), (HOUR_S, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{int(seconds // unit)} {name}"
    return "less than 2 minutes"


def find_old_backups(data: Path, now_us: int) -> list[Condition]:
    """Return the conditions of a data folder; a file that cannot be read counts as none."""
    return list(list_old(read_status(data), now_us))


def list_old(found: BackupStatus, now_us: int) -> Iterator[Condition]:
    """Yield the conditions of a status."""
    backed_up_at = found.backup.at if found.backup is not None else None
    if _is_older(backed_up_at, BACKUP_S, now_us):
        yield Condition("backup.old", "", "backup", f"the latest success was at {_write(backed_up_at)}")
    if _is_older(found.unverified_since, VERIFY_S, now_us):
        since = "the latest success was at" if found.verify else "none has succeeded since the first backup at"
        yield Condition("verify.old", "", "verification", f"{since} {_write(found.unverified_since)}")


def _is_older(at: float | None, most_s: int, now_us: int) -> bool:
    return at is not None and now_us / 1_000_000 - at > most_s


def _write(at: float | None) -> str:
    return write_time(int(at or 0) * 1_000_000)
