"""A backup run that is interrupted at any moment: journal and secrets of the backup before it stay usable."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.manifest import SecretFile
from postroad.adapters.journal.backup.secret_files import SEALED_FILE, read_secrets
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.segments import JournalDefect
from postroad.adapters.journal.segments.files import FileSystem
from postroad.adapters.secret_store.sqlite import FILE, SqliteSecretStore
from postroad.adapters.system import SystemClock
from postroad.bootstrap.backups import load_master_keys, open_backup
from postroad.bootstrap.settings import Settings
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, InjectedFailure, ProcessDied, UnsyncedFiles
from tests.samples.segment_runs import open_small

MASTER_KEY = "0d" * 32
HOOK = "push-secrets/Acme/hook"
MODES = ("sealed", "plain")
PRIVATE = 0o600

pytestmark = pytest.mark.req("O6", "O9")


async def small_network(folder: Path) -> Settings:
    """A data folder with a journal, two files with secrets and a store of sealed secrets."""
    settings = Settings(data=folder, master_key=MASTER_KEY)
    await append(settings)
    set_secret(settings, "first")
    (folder / "token.secret").write_text("5e" * 32)
    await SqliteSecretStore.open(folder / FILE).close()
    return settings


async def append(settings: Settings) -> None:
    journal = open_small(settings.data / "journal")
    await journal.append([NewRecord(b"entry", b"body" * 100)])
    await journal.close()


def set_secret(settings: Settings, text: str) -> None:
    path = settings.data / HOOK
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def back_up(settings: Settings, target: Path, mode: str, files: FileSystem | None = None) -> None:
    clock = SystemClock()
    async with open_backup(settings, target, clock=clock, secrets=mode, files=files or UnsyncedFiles()) as backup:
        await backup.run()


def secret_in(target: Path, settings: Settings) -> str:
    """Verify the backup, and return the secret that a restore of it has."""
    assert [found for found in verify_backup(target) if isinstance(found, JournalDefect)] == []
    found = read_secrets(target, BackupContents(target).manifest, load_master_keys(settings))
    assert set(found) == {HOOK, "token.secret", FILE}
    return found[HOOK].decode()


def unlisted(target: Path) -> set[str]:
    """Return the files with secrets that the manifest does not list."""
    manifest = BackupContents(target).manifest
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    known = {"backup.json", "backup.lock", *(one.path for one in manifest.secret_files)}
    return {name for name in files - known if not name.startswith("journal/")}


@pytest.mark.parametrize("mode", MODES)
async def test_a_run_that_dies_leaves_the_secrets_of_the_last_backup(tmp_path: Path, mode: str) -> None:
    settings, nth, died, found = await small_network(tmp_path / "data"), 0, True, []
    while died:
        nth += 1
        target = tmp_path / str(nth)
        set_secret(settings, "first")
        await back_up(settings, target, mode)
        await append(settings)
        set_secret(settings, "changed")
        files = FaultyFiles(InjectedFailure(call="", nth=nth, action="crash"))
        try:
            await back_up(settings, target, mode, files)
            died = False
        except ProcessDied:
            files.end_process()
        found.append(secret_in(target, settings))
        await back_up(settings, target, mode)
        assert (secret_in(target, settings), unlisted(target)) == ("changed", set())
    assert found == sorted(found, reverse=True), "first the old secret, then the new one"
    assert (found[0], found[-1], nth > 10) == ("first", "changed", True)


@pytest.mark.parametrize("mode", MODES)
async def test_runs_that_fail_leave_no_more_and_more_secrets(tmp_path: Path, mode: str) -> None:
    settings, target = await small_network(tmp_path / "data"), tmp_path / "backup"
    await back_up(settings, target, mode)
    await append(settings)
    for number in range(3):
        set_secret(settings, f"changed {number}")
        files = FaultyFiles(InjectedFailure(call="pwrite", nth=1, action="ENOSPC", lasting=True))
        with pytest.raises(Unavailable, match=r"storage\.full"):
            await back_up(settings, target, mode, files)
        files.end_process()
        assert secret_in(target, settings) == "first"
        assert len(unlisted(target)) == 1, "the next run removes it"


async def test_a_follower_removes_the_secrets_that_it_has_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, target = await small_network(tmp_path / "data"), tmp_path / "backup"
    monkeypatch.setattr("postroad.adapters.journal.backup.folder.COMMIT_EVERY_S", 0.0)
    monkeypatch.setattr("postroad.adapters.journal.backup.secret_files.COMPARE_EVERY_S", 0.0)
    async with open_backup(settings, target, clock=SystemClock(), files=UnsyncedFiles()) as backup:
        await backup.run()
        for text in ("second", "third"):
            set_secret(settings, text)
            await append(settings)  # the copy of the journal commits, too
            assert await backup.extend()
            assert (secret_in(target, settings), unlisted(target)) == (text, set())


async def test_a_backup_with_the_names_of_the_first_format_is_continued(tmp_path: Path) -> None:
    settings, target = await small_network(tmp_path / "data"), tmp_path / "backup"
    await back_up(settings, target, "sealed")
    manifest = BackupContents(target).manifest
    for one in manifest.secret_files:
        (target / one.path).rename(target / one.name)
    old = tuple(SecretFile(name=one.name, bytes=one.bytes, sha256=one.sha256) for one in manifest.secret_files)
    earlier = msgspec.structs.replace(manifest, format=1, secret_files=old)
    (target / "backup.json").write_bytes(msgspec.json.encode(earlier))
    assert secret_in(target, settings) == "first"
    set_secret(settings, "changed")
    await back_up(settings, target, "sealed")
    assert (secret_in(target, settings), unlisted(target)) == ("changed", set())
    assert BackupContents(target).manifest.format == 2
    assert not (target / SEALED_FILE).exists()


async def test_the_data_folder_of_a_shared_network_is_not_backed_up_into_itself(tmp_path: Path) -> None:
    (tmp_path / "token.secret").write_text("5e" * 32)
    settings = Settings(data=tmp_path, acceptance="shared", index="postgres", postgres="postgresql://127.0.0.1:1/none")
    with pytest.raises(Misconfigured, match="is the data folder of a network; choose another folder"):
        await back_up(settings, tmp_path, "plain")
    assert (tmp_path / "token.secret").exists()


@pytest.mark.parametrize("mode", MODES)
async def test_secrets_in_a_backup_are_private(tmp_path: Path, mode: str) -> None:
    settings, target = await small_network(tmp_path / "data"), tmp_path / "backup"
    await back_up(settings, target, mode)
    listed = BackupContents(target).manifest.secret_files
    assert {(target / one.path).stat().st_mode & 0o777 for one in listed} == {PRIVATE}
    assert {one.path.rpartition(".")[2] for one in listed} == {one.sha256[:16] for one in listed}
