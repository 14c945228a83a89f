"""Restores a network from a backup: into a data folder, or into PostgreSQL.

Rule: nothing is overwritten. The journal continues with the entries about the restore, unless nothing was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from postroad.adapters.desk.shared import PACKAGE as DESK_PACKAGE
from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.secret_files import SecretContents, read_secrets, write_private
from postroad.adapters.journal.backup.to_segments import UNFINISHED_JOURNAL, restore_journal
from postroad.adapters.journal.backup.to_table import restore_table
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_schema import migrate
from postroad.adapters.journal.segments import RealFiles, SegmentSettings
from postroad.adapters.secret_store.postgres import PART as SECRETS_PART
from postroad.adapters.secret_store.statements import PACKAGE as SECRETS_PACKAGE
from postroad.bootstrap.backups import load_master_keys
from postroad.bootstrap.restore_entries import RestoreEntries
from postroad.bootstrap.secret_backups import RestoredTables, require_master_keys, rewind_store
from postroad.bootstrap.settings import FILE, Settings
from postroad.errors import Misconfigured
from postroad.ports import Clock, JournalHead

ALLOWED_BEFORE = frozenset({FILE, "lost+found"})  # in a folder that a network is restored into
SKIP_NUMBERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """What is restored, and what the entries about it contain."""

    contents: BackupContents
    cut: int  # the last entry that is restored
    skip_numbers: int = SKIP_NUMBERS
    reason: str = ""
    nothing_lost: bool = False  # the network has done nothing after the cut, so no entry is needed
    with_secrets: bool = True

    def recorder(self, clock: Clock) -> RestoreEntries | None:
        """Return what makes the entries about the restore; None if there is nothing to record."""
        if self.nothing_lost:
            return None
        return RestoreEntries(
            clock, reason=self.reason, skip_numbers=self.skip_numbers, backup=self.contents.manifest.entries
        )


async def restore_into_folder(
    plan: RestorePlan, settings: Settings, clock: Clock, on_progress: Callable[[int], None]
) -> JournalHead:
    """Restore journal and secrets into the data folder of the settings, which must be empty; returns the journal's head."""
    secrets = await open_secrets(plan, settings, clock)
    # First, so that an interrupted restore is recognised.
    RealFiles().make_directory(settings.data / UNFINISHED_JOURNAL)
    write_secrets(settings.data, secrets)
    return await restore_journal(
        plan.contents,
        settings.data,
        plan.cut,
        recorder=plan.recorder(clock),
        settings=SegmentSettings(segment_bytes=settings.segment_bytes, least_free_bytes=0),
        on_progress=on_progress,
    )


async def restore_into_postgres(
    plan: RestorePlan, dsn: str, clock: Clock, on_progress: Callable[[int], None], stored_secrets: bytes = b""
) -> JournalHead:
    """Restore the journal, the desk's tables and the secret store into an empty database; returns the journal's head."""
    journal = await PostgresJournal.open(dsn)
    try:
        async with journal.connections.use() as connection:
            await migrate(connection, "desk", DESK_PACKAGE)
            await migrate(connection, SECRETS_PART, SECRETS_PACKAGE)
        return await restore_table(
            plan.contents,
            journal,
            plan.cut,
            recorder=plan.recorder(clock),
            replay=RestoredTables(stored_secrets),
            on_progress=on_progress,
        )
    finally:
        await journal.close()


async def open_secrets(
    plan: RestorePlan, settings: Settings, clock: Clock, *, only_stores: bool = False
) -> SecretContents:
    """Return the backup's secrets as the restored network has them; none if the plan leaves them out.

    They are for the data folder of the settings, which must be empty; ``only_stores``: there is no data folder.
    """
    if not only_stores:
        require_empty_folder(settings.data)
    if not plan.with_secrets:
        return {}
    keys = load_master_keys(settings)
    secrets = read_secrets(plan.contents.path, plan.contents.manifest, keys, only_stores=only_stores)
    await require_master_keys(secrets, keys)
    return secrets if plan.nothing_lost else await rewind_store(secrets, plan.cut, clock.now_us())


def write_secrets(data: Path, secrets: SecretContents) -> None:
    RealFiles().make_directory(data)
    for name, text in secrets.items():
        write_private(data / name, text)


def require_empty_folder(data: Path) -> None:
    """Raise Misconfigured if the folder contains anything but settings, or what an interrupted restore has left."""
    if not data.exists():
        return
    names = {path.name for path in data.iterdir()} - ALLOWED_BEFORE
    if names and UNFINISHED_JOURNAL not in names:
        found = ", ".join(sorted(names)[:5])
        raise Misconfigured([f"restore: {data} is not empty (it contains {found}); choose an empty folder"])
