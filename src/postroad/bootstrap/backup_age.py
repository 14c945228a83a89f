"""Conditions of backups and verifications that are too old, from the file in which they note their last success.

Rule: nothing is reported where there has never been a backup; operators may copy the data folder in other ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from postroad.adapters.journal.backup.status import BackupStatus, read_status
from postroad.core.codecs.lexical import write_time
from postroad.core.notifications.conditions import Condition

HOUR_S = 3_600
BACKUP_S = 26 * HOUR_S
VERIFY_S = 8 * 24 * HOUR_S


def find_old_backups(data: Path, now_us: int) -> list[Condition]:
    """Return the conditions of a data folder; a file that cannot be read counts as none."""
    return list(_list_old(read_status(data), now_us))


def _list_old(found: BackupStatus, now_us: int) -> Iterator[Condition]:
    pairs = (("backup.old", "backup", found.backup, BACKUP_S), ("verify.old", "verification", found.verify, VERIFY_S))
    for name, what, success, most_s in pairs:
        if success is not None and now_us / 1_000_000 - success.at > most_s:
            yield Condition(name, "", what, f"the latest success was at {write_time(int(success.at) * 1_000_000)}")
