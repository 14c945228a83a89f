"""A backup of the PostgreSQL journal has the same groups and chain, and is the way from one store to the other and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from postroad.adapters.journal.backup import from_table
from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.folder import BackupFolder
from postroad.adapters.journal.backup.from_segments import SegmentBackup
from postroad.adapters.journal.backup.from_table import TableBackup
from postroad.adapters.journal.backup.manifest import BackupManifest
from postroad.adapters.journal.backup.to_segments import restore_journal
from postroad.adapters.journal.backup.to_table import restore_table
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_connections import Connection
from postroad.adapters.journal.postgres_verification import verify
from postroad.adapters.journal.segments import JournalDefect, SegmentReader
from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, InjectedFailure, ProcessDied, UnsyncedFiles
from postroad.testing.postgres import PostgresServer
from tests.samples.restore_recorder import Recorder
from tests.samples.segment_runs import SMALL, faults_of, open_small, random_group

SEGMENT_BYTES = 8192


class NoDesk:
    """Records the groups that a desk would be rebuilt from."""

    def __init__(self) -> None:
        self.groups: list[RecordGroup] = []

    def add(self, group: RecordGroup) -> None:
        self.groups.append(group)

    async def store(self, connection: Connection) -> None:
        await connection.execute("SELECT 1")


@pytest.fixture
async def journal(postgres_database: str) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(postgres_database)
    yield journal
    await journal.close()


async def fill(journal: PostgresJournal, chance: Random, groups: int) -> None:
    for _ in range(groups):
        await journal.append(random_group(chance))


async def back_up(
    journal: PostgresJournal, target: Path, files: UnsyncedFiles | FaultyFiles | None = None
) -> BackupManifest:
    folder = BackupFolder.open(target, files or UnsyncedFiles())
    backup = TableBackup(journal, folder, SEGMENT_BYTES)
    try:
        network = await backup.open()
        async for _ in backup.copy(replace(folder.manifest, network=network)):
            pass
        return folder.manifest
    finally:
        backup.close()
        folder.close()


def back_up_segments(source: Path, target: Path) -> BackupManifest:
    folder = BackupFolder.open(target, UnsyncedFiles())
    backup = SegmentBackup(source, folder)
    network = backup.open()
    for _ in backup.copy(BackupManifest(network=network)):
        pass
    backup.close()
    folder.close()
    return folder.manifest


def faults(target: Path) -> list[JournalDefect]:
    return [found for found in verify_backup(target) if isinstance(found, JournalDefect)]


async def contents_of_table(journal: PostgresJournal) -> list[tuple[int, bytes, bytes | None]]:
    records = (await journal.read(0, 1 << 30)).records
    return [(one.seq, one.facts, await journal.body(one.body) if one.body else None) for one in records]


def contents_of_folder(path: Path) -> list[tuple[int, bytes, bytes | None]]:
    reader = SegmentReader(path)
    try:
        records = reader.read_sync(0, 1 << 30).records
        return [(one.seq, one.facts, reader.body_sync(one.body) if one.body else None) for one in records]
    finally:
        reader.close()


async def another_journal(postgres: PostgresServer, name: str) -> PostgresJournal:
    return await PostgresJournal.open(postgres.create_database(name))


async def test_each_run_copies_what_is_new(journal: PostgresJournal, tmp_path: Path) -> None:
    chance = Random(1)
    await fill(journal, chance, 20)
    for _ in range(4):
        manifest = await back_up(journal, tmp_path)
        assert manifest.head == await journal.head()
        assert faults(tmp_path) == []
        assert contents_of_folder(tmp_path / "journal") == await contents_of_table(journal)
        await fill(journal, chance, 15)
    assert len(manifest.segments) > 3


@pytest.mark.req("O6")
async def test_a_network_moves_from_files_to_postgres_and_back(postgres: PostgresServer, tmp_path: Path) -> None:
    """Chain, numbers, facts and bodies are the same at each step, also where retention has dropped bodies."""
    chance, original = Random(2), tmp_path / "one/journal"
    files = open_small(original)
    for _ in range(50):
        await files.append(random_group(chance))
    await files.drop_bodies([int(path.stem) for path in sorted(original.glob("*.seg"))][2])
    head = files.head_sync()
    await files.close()
    expected = contents_of_folder(original)
    assert back_up_segments(original, tmp_path / "backup one").head == head

    journal = await another_journal(postgres, "moved")
    desk = NoDesk()
    plan = BackupContents(tmp_path / "backup one")
    assert await restore_table(plan, journal, head.seq, recorder=None, replay=desk) == head
    assert [found async for found in verify(journal, head) if isinstance(found, JournalDefect)] == []
    assert await contents_of_table(journal) == expected
    assert desk.groups[-1].head == head

    await journal.append([NewRecord(b"in the database", b"body")])
    after = await journal.head()
    assert (await back_up(journal, tmp_path / "backup two")).head == after
    expected = await contents_of_table(journal)
    await journal.close()
    assert faults(tmp_path / "backup two") == []

    data = tmp_path / "two"
    data.mkdir()
    plan = BackupContents(tmp_path / "backup two")
    assert await restore_journal(plan, data, after.seq, recorder=None, settings=SMALL) == after
    assert contents_of_folder(data / "journal") == expected
    again = open_small(data / "journal")
    await again.append([NewRecord(b"in files again", b"body")])
    await again.close()
    assert faults_of(data / "journal", again.head_sync()) == []


@pytest.mark.req("O6")
async def test_a_restore_into_postgres_may_be_cut_anywhere(
    journal: PostgresJournal, postgres: PostgresServer, tmp_path: Path
) -> None:
    await fill(journal, Random(3), 12)
    await back_up(journal, tmp_path)
    expected = await contents_of_table(journal)
    for cut in range(1, len(expected) + 1, 4):
        target = await another_journal(postgres, f"cut_{cut}")
        recorder, desk = Recorder(), NoDesk()
        head = await restore_table(BackupContents(tmp_path), target, cut, recorder=recorder, replay=desk)
        assert (head.seq, [at.seq for at in recorder.heads], recorder.records) == (cut + 1, [cut], cut)
        assert desk.groups[-1].head == head
        assert await contents_of_table(target) == [*expected[:cut], (cut + 1, b"restored", None)]
        assert [found async for found in verify(target) if isinstance(found, JournalDefect)] == []
        await target.close()


async def test_a_database_with_a_journal_is_not_overwritten(journal: PostgresJournal, tmp_path: Path) -> None:
    await fill(journal, Random(4), 2)
    await back_up(journal, tmp_path)
    before = await contents_of_table(journal)
    with pytest.raises(Misconfigured, match=r"already has a journal with \d+ entries; restore into an empty database"):
        await restore_table(BackupContents(tmp_path), journal, 1, recorder=None, replay=NoDesk())
    assert await contents_of_table(journal) == before


@pytest.mark.req("O6")
async def test_bodies_that_the_journal_drops_are_dropped_from_the_backup(
    journal: PostgresJournal, tmp_path: Path
) -> None:
    chance = Random(5)
    await fill(journal, chance, 60)
    before = await back_up(journal, tmp_path)
    await journal.drop_bodies(before.segments[3].first)
    await fill(journal, chance, 5)
    now = await back_up(journal, tmp_path)
    assert [one.name.endswith(".facts") for one in now.segments[:5]] == [True] * 3 + [False] * 2
    assert len(list((tmp_path / "journal").glob("*.seg"))) == sum(one.name.endswith(".seg") for one in now.segments)
    assert faults(tmp_path) == []
    fresh = await back_up(journal, tmp_path / "fresh")
    assert (fresh.head, faults(tmp_path / "fresh")) == (now.head, [])
    assert contents_of_folder(tmp_path / "fresh/journal") == await contents_of_table(journal)


@pytest.mark.req("O6")
async def test_bodies_are_dropped_while_a_backup_stays_open(
    journal: PostgresJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of the last segment, although it is far from full."""
    monkeypatch.setattr(from_table, "DROP_EVERY_S", 0.0)
    chance, target = Random(9), tmp_path / "backup"
    folder = BackupFolder.open(target, UnsyncedFiles())
    await fill(journal, chance, 20)
    backup = TableBackup(journal, folder, 1 << 20)
    network = await backup.open()

    async def copy() -> list[str]:
        async for _ in backup.copy(replace(folder.manifest, network=network)):
            pass
        assert faults(target) == []
        assert folder.manifest.head == await journal.head()
        return [Path(one.name).suffix for one in folder.manifest.segments]

    assert await copy() == [".seg"]
    half = (await journal.head()).seq
    await journal.drop_bodies(half // 2)
    await fill(journal, chance, 10)
    assert await copy() == [".seg", ".seg"], "a segment has the bodies of all its groups or of none"
    await journal.drop_bodies((await journal.head()).seq)
    assert await copy() == [".facts", ".seg"], "there is nothing new, and the last group keeps its bodies"
    await fill(journal, chance, 1)
    await journal.drop_bodies((await journal.head()).seq + 1)
    assert (await copy())[:2] == [".facts", ".facts"]
    assert contents_of_folder(target / "journal") == await contents_of_table(journal)
    backup.close()
    folder.close()


@pytest.mark.req("O6")
async def test_a_run_may_end_at_any_call(journal: PostgresJournal, tmp_path: Path) -> None:
    chance, nth, killed = Random(6), 1, True
    await fill(journal, chance, 25)
    while killed:
        target = tmp_path / str(nth)
        files = FaultyFiles(InjectedFailure(call="", nth=nth, action="crash"))
        try:
            killed = False
            await back_up(journal, target, files)
        except ProcessDied:
            files.end_process()
            killed = True
        if (target / "backup.json").exists():
            assert faults(target) == []
        assert (await back_up(journal, target)).head == await journal.head()
        assert faults(target) == []
        nth += 1
    assert nth > 10


async def test_damage_in_the_table_is_not_copied(journal: PostgresJournal, tmp_path: Path) -> None:
    await fill(journal, Random(7), 10)
    before = await back_up(journal, tmp_path)
    await fill(journal, Random(8), 10)
    await journal.connections.fetch(
        "UPDATE journal_group SET facts = facts || 'x'::bytea WHERE first_seq = "
        "(SELECT max(first_seq) FROM journal_group WHERE first_seq > $1)",
        before.entries,
    )
    with pytest.raises(Unavailable, match=r"does not continue the chain after record \d+; run `postroad verify`"):
        await back_up(journal, tmp_path)
    assert faults(tmp_path) == []
    assert BackupContents(tmp_path).manifest.head == before.head
