"""Backups of a network: of its journal, wherever that is, and of the secrets in its data folder.

Rule: the server is not involved and need not run. A backup works beside it and takes no lock of its.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from postroad import __version__
from postroad.adapters.journal.backup.folder import BackupFolder, data_folder_error, explain_disk_errors
from postroad.adapters.journal.backup.from_segments import BackupProgress, SegmentBackup
from postroad.adapters.journal.backup.from_table import TableBackup
from postroad.adapters.journal.backup.manifest import FORMAT, BackupManifest
from postroad.adapters.journal.backup.secret_files import (
    NONE,
    PLAIN,
    SEALED,
    SecretCopies,
    remove_unlisted_secrets,
)
from postroad.adapters.journal.backup.shared_status import SharedBackupStatus
from postroad.adapters.journal.backup.status import Success, note_success
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import FileSystem
from postroad.adapters.master_keys import read_master_keys
from postroad.bootstrap.backup_level import LevelReader
from postroad.bootstrap.secret_backups import open_store_reader, require_master_keys
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.core.identity.sealing import SealingKeys
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import Clock

log = logging.getLogger(__name__)

Progress = Callable[[BackupProgress], None]


def load_master_keys(settings: Settings) -> SealingKeys | None:
    return read_master_keys(settings.master_key, settings.master_key_file, settings.master_key_command)


def choose_secrets_mode(wanted: str, keys: SealingKeys | None) -> str:
    """Return how secrets are copied: as wanted, else sealed if there is a master key, else plain."""
    if wanted == SEALED and keys is None:
        raise Misconfigured(["backup: --secrets sealed needs a master key; set master_key_file"])
    return wanted or (SEALED if keys is not None else PLAIN)


class NetworkBackup:
    """A backup folder that is open, and the network that is copied into it."""

    def __init__(
        self,
        *,
        folder: BackupFolder,
        source: SegmentBackup | TableBackup,
        secrets: SecretCopies,
        shared: SharedBackupStatus | None,
        network: str,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._folder = folder
        self._source = source
        self._secrets = secrets
        self._shared = shared
        self._network = network
        self._settings = settings
        self._clock = clock
        self._level = LevelReader(settings, clock)
        self._is_noted = True  # false after an attempt that failed, so that a follower reports it once

    @property
    def manifest(self) -> BackupManifest:
        return self._folder.manifest

    async def run(self, on_progress: Progress = lambda progress: None) -> BackupManifest:
        """Bring the backup up to date, and note the success in the data folder."""
        with self._explain_errors():
            self._remove_unlisted()  # what interrupted runs have left
            described = await self._secrets.write(await self._describe())
            await self._copy(described, on_progress)
            described = await self._secrets.write(described)  # with what was set while the journal was copied
            self._folder.commit(self._stamped(described.with_segments(self.manifest.segments)))
            self._remove_unlisted()
        await self.note_success()
        return self.manifest

    async def extend(self) -> bool:
        """Copy what is new, unless the last commit is less than a second ago; returns whether the backup has changed."""
        if not self._folder.is_commit_due:
            return False
        before = self.manifest
        with self._explain_errors():
            described = await self._describe()
            if self._secrets.is_due:
                described = await self._secrets.write(described)
            await self._copy(described, lambda progress: None)
            if described.secret_files != self.manifest.secret_files:
                self._folder.commit(described.with_segments(self.manifest.segments))
            if before.secret_files != self.manifest.secret_files:
                self._remove_unlisted()
        return self.manifest is not before

    async def note_success(self) -> None:
        """Note that the backup is complete as of now, where it is read; if that fails, the backup is still complete."""
        folder = str(self._folder.path.resolve())
        made = Success(at=self._clock.now_us() / 1e6, entry=self.manifest.entries, folder=folder)
        try:
            if self._shared is not None:
                await self._shared.note(backup=made)
            if self._settings.data.is_dir():
                note_success(self._settings.data, backup=made)
        except (OSError, Unavailable) as error:
            if self._is_noted:
                log.warning("backup.not_noted: metrics, doctor and notifications show an earlier backup: %s", error)
            self._is_noted = False
        else:
            self._is_noted = True

    async def _copy(self, manifest: BackupManifest, on_progress: Progress) -> None:
        if isinstance(self._source, TableBackup):
            async for progress in self._source.copy(manifest):
                on_progress(progress)
        else:
            for progress in self._source.copy(manifest):
                on_progress(progress)
                await asyncio.sleep(0)  # a signal may end it between two segments

    def _remove_unlisted(self) -> None:
        if self.manifest.entries:
            remove_unlisted_secrets(self._folder.path, self.manifest)

    async def _describe(self) -> BackupManifest:
        """Return the manifest as the next commit has it, with the segments of the last one."""
        described = msgspec.structs.replace(
            self.manifest,
            format=FORMAT,
            network=self._network,
            acceptance=self._settings.acceptance,
            version=__version__,
            level=await self._level.read() or self.manifest.level,
        )
        return self._stamped(described)

    def _stamped(self, manifest: BackupManifest) -> BackupManifest:
        now = datetime.fromtimestamp(self._clock.now_us() // 1_000_000, UTC)
        return msgspec.structs.replace(manifest, made_at=now.isoformat().replace("+00:00", "Z"))

    def _explain_errors(self) -> AbstractContextManager[None]:
        entries = self.manifest.entries
        kept = f"the backup up to entry {entries} is intact" if entries else "there is no backup yet"
        return explain_disk_errors(self._folder.path, kept)


async def note_verification(settings: Settings, verified: Success) -> None:
    """Note a verification where it is read: in the data folder and, for a shared network, in PostgreSQL."""
    if settings.acceptance == "shared":
        shared = await SharedBackupStatus.open(settings.postgres)
        try:
            await shared.note(verify=verified)
        finally:
            await shared.close()
    if settings.data.is_dir():
        note_success(settings.data, verify=verified)


@asynccontextmanager
async def open_backup(
    settings: Settings, path: Path, *, clock: Clock, secrets: str = "", files: FileSystem | None = None
) -> AsyncIterator[NetworkBackup]:
    """Open a backup folder for the network of these settings; ``secrets``: sealed, plain or none."""
    keys = load_master_keys(settings)
    mode = choose_secrets_mode(secrets, keys)
    _require_another_folder(path, settings.data)
    async with AsyncExitStack() as stack:
        with explain_disk_errors(path, "nothing was copied"):
            folder = BackupFolder.open(path, files)
        stack.callback(folder.close)
        source: SegmentBackup | TableBackup
        shared: SharedBackupStatus | None = None
        if settings.acceptance == "shared":
            journal = await PostgresJournal.open(settings.postgres)
            stack.push_async_callback(journal.close)
            source = TableBackup(journal, folder, settings.segment_bytes)
            stack.callback(source.close)
            network = await source.open()
            shared = await SharedBackupStatus.open(settings.postgres)
            stack.push_async_callback(shared.close)
        else:
            source = SegmentBackup(_require_journal(settings), folder)
            stack.callback(source.close)
            network = source.open()
        read_stores = await open_store_reader(settings, stack)
        if mode != NONE:
            await require_master_keys(await read_stores(), keys)
        copies = SecretCopies(
            data=settings.data,
            target=path,
            keys=keys,
            mode=mode,
            read_stores=read_stores,
            token_secret=settings.secret,
        )
        yield NetworkBackup(
            folder=folder,
            source=source,
            secrets=copies,
            shared=shared,
            network=network,
            settings=settings,
            clock=clock,
        )


def _require_another_folder(path: Path, data: Path) -> None:
    if path.resolve() == data.resolve():
        raise data_folder_error(path)


def _require_journal(settings: Settings) -> Path:
    path = settings.data / JOURNAL_FOLDER
    if settings.index == "memory" or not path.is_dir():
        raise Misconfigured([f"there is no journal in {settings.data}; use --data for another folder"])
    return path
