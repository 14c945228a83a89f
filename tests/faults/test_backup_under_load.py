"""Backups of a server under full load: each one is whole, contains what was answered before it began, and can be opened.

``POSTROAD_TEST_BACKUPS`` is the number of backups of each kind of store, and ``POSTROAD_TEST_RESTORES`` that of entries to
restore to.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.secret_files import read_secrets
from postroad.adapters.journal.backup.to_segments import write_segments
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.segments import JournalDefect, SegmentReader
from postroad.adapters.master_keys import read_master_keys
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.system import SystemClock
from postroad.bootstrap.backup_trial import try_backup
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.projection.project import project
from postroad.core.projection.tables import TABLES
from postroad.flow.indexing import rebuild
from postroad.ports import JournalHead
from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess
from tests.preloaded import PROGRAM, Preloaded
from tests.samples.enrolled_parties import enroll
from tests.samples.index_tables import tables
from tests.samples.served_network import clean_environment, succeeded
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually_async

BACKUPS = int(os.environ.get("POSTROAD_TEST_BACKUPS", "1"))
RESTORES = int(os.environ.get("POSTROAD_TEST_RESTORES", "20"))
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
MASTER_KEY = "0d" * 32
HOOK = "push-secrets/Acme/hook"
EMBEDDED = {"segment_bytes": 1 << 20, "attempts_most": 10_000, "master_key": MASTER_KEY}
SHARED = {**EMBEDDED, "acceptance": "shared", "index": "postgres", "secret": "5e" * 32}
BY_COMMAND = max(2, RESTORES // 10)  # restores by the program, which take longer
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WAIT_S = 120.0
BEHIND_S = 5.0  # five times what is promised, for a machine that is busy

pytestmark = pytest.mark.timeout(600 + 60 * BACKUPS)


@pytest.fixture
def chance() -> Random:
    print(f"seed {SEED}: repeat with POSTROAD_TEST_SEED={SEED}")
    return Random(SEED)


@asynccontextmanager
async def loaded(server: ServerProcess, chance: Random) -> AsyncIterator[Load]:
    """A server under load until the end of the block."""
    keys = await enroll(server, SENDER, RECEIVER)
    load = Load(port=server.port, keys=keys, chance=chance)
    try:
        await asyncio.to_thread(server.start)
        await load.run(0.0, accepted=200)
        yield load
        await load.ended()
        assert load.ledger.faults[:5] == []
    finally:
        server.kill()


def environment(settings: Mapping[str, Any]) -> dict[str, str]:
    return clean_environment() | {f"POSTROAD_{name.upper()}": str(value) for name, value in settings.items()}


def start_backup(server: ServerProcess, target: Path, *words: str) -> subprocess.Popen[str]:
    return Preloaded(
        [*PROGRAM, "backup", *words, str(target), "--json"],
        env=environment(server.settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def back_up(server: ServerProcess, target: Path) -> dict[str, Any]:
    """Run the program to its end and return what it prints."""
    process = start_backup(server, target)
    out, err = await asyncio.to_thread(process.communicate)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


async def kill_one(server: ServerProcess, target: Path, chance: Random) -> None:
    """Change a secret, start a backup and kill it at a random moment; what was a backup before stays one, with its secrets."""
    before = BackupContents(target).manifest.entries if (target / "backup.json").exists() else 0
    secrets = {read_secret(target)} if before else set()
    secrets.add(change_secret(server, chance))
    process = start_backup(server, target)
    await asyncio.sleep(chance.uniform(0.1, 0.8))  # sleeps: the kill comes at a random moment
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)
    if before:
        assert BackupContents(target).manifest.entries >= before
        require_whole(target)
        assert read_secret(target) in secrets


def change_secret(server: ServerProcess, chance: Random) -> str:
    """Replace a secret in the data folder, and return it."""
    path, text = server.data / HOOK, chance.randbytes(16).hex()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return text


def read_secret(target: Path) -> str:
    """Return the secret as a restore of the backup has it."""
    keys = read_master_keys(MASTER_KEY, "", "")
    return read_secrets(target, BackupContents(target).manifest, keys)[HOOK].decode()


def require_whole(target: Path) -> None:
    assert [found for found in verify_backup(target) if isinstance(found, JournalDefect)][:3] == []


async def require_opens(target: Path, scratch: Path, sessions: set[str]) -> None:
    """Index and desk open over it, and it has all these messages."""
    scratch.mkdir()
    trial = await try_backup(target, scratch, None, SystemClock(), lambda seq: None)
    assert trial.differences == []
    reader = SegmentReader(scratch / "journal")
    found, seq = set[str](), 0
    while records := reader.read_sync(seq).records:
        seq = records[-1].seq
        entries = (decode(record.facts) for record in records)
        found |= {entry.session for entry in entries if isinstance(entry, MessagePosted)}
    reader.close()
    assert sessions <= found, (
        f"{len(sessions - found)} messages were accepted before the backup began, and are not in it"
    )


@pytest.mark.req("O6")
@pytest.mark.parametrize("kind", ["embedded", "shared"])
async def test_backups_under_load(kind: str, postgres_database: str, tmp_path: Path, chance: Random) -> None:
    settings = EMBEDDED if kind == "embedded" else {**SHARED, "postgres": postgres_database}
    server, target = ServerProcess(tmp_path / "data", settings), tmp_path / "backup"
    sizes = []
    async with loaded(server, chance) as load:
        for number in range(BACKUPS):
            await load.run(0.0, accepted=len(load.ledger.sessions) + 200)
            if number == 0:
                await kill_one(server, target, chance)  # there is no backup yet
                await back_up(server, target)
            if number == 0 or chance.random() < 0.5:
                await kill_one(server, target, chance)
            secret = change_secret(server, chance)
            accepted = {str(session) for session in load.ledger.sessions.values()}
            result = await back_up(server, target)
            sizes.append(result["new_entries"])
            await load.ended()
            require_whole(target)
            assert read_secret(target) == secret
            await require_opens(target, tmp_path / f"opened{number}", accepted)
    print(f"{kind}: entries copied by each backup: {sizes}")
    assert sizes[0] > 0


@pytest.mark.req("O6")
async def test_a_follower_is_close_behind_and_survives_its_death(tmp_path: Path, chance: Random) -> None:
    server, target = ServerProcess(tmp_path / "data", EMBEDDED), tmp_path / "backup"
    async with loaded(server, chance) as load:
        journal = SegmentReader(server.data / "journal")
        behind: list[float] = []
        for _ in range(2):
            follower = start_backup(server, target, "follow")
            try:
                for _ in range(3):
                    accepted = len(load.ledger.sessions) + 100
                    await eventually_async(_has_accepted(load, accepted), WAIT_S)
                    behind.append(await _seconds_behind(target, journal.durable_seq()))
            finally:
                follower.kill()
                follower.communicate()
            require_whole(target)
        journal.close()
    print(f"seconds behind: median {median(behind):.2f}, maximum {max(behind):.2f}")
    assert median(behind) < BEHIND_S
    status = json.loads((server.data / "backup-status.json").read_text())
    assert status["backup"]["entry"] <= BackupContents(target).manifest.entries


def _has_accepted(load: Load, count: int) -> Any:
    async def has_accepted() -> bool:
        return len(load.ledger.sessions) >= count

    return has_accepted


async def _seconds_behind(target: Path, durable_seq: int) -> float:
    """Return how long it takes until the backup has what is durable now."""
    started = time.monotonic()

    async def is_copied() -> bool:
        return (target / "backup.json").exists() and BackupContents(target).manifest.entries >= durable_seq

    await eventually_async(is_copied, WAIT_S)
    return time.monotonic() - started


@pytest.mark.req("O6")
async def test_a_restore_at_any_entry_equals_an_index_built_to_it(tmp_path: Path, chance: Random) -> None:
    server, target = ServerProcess(tmp_path / "data", EMBEDDED), tmp_path / "backup"
    async with loaded(server, chance) as load:
        await load.run(0.3, accepted=500, acknowledged=100)
    server.kill()
    await back_up(server, target)
    reader = SegmentReader(server.data / "journal")
    expected, reached = MemoryIndex(), JournalHead(0, bytes(32))
    entries = BackupContents(target).manifest.entries
    for cut in sorted(chance.sample(range(1, entries + 1), min(RESTORES, entries))):
        reached = await _extend(reader, expected, reached, cut)
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        write_segments(BackupContents(target), folder, cut, lambda seq: None)
        restored, index = SegmentReader(folder), MemoryIndex()
        assert (await rebuild(restored, index)).seq == cut
        for table in TABLES:
            assert _rows(await index.rows(table), table) == _rows(await expected.rows(table), table), (
                f"{table} at {cut}"
            )
        restored.close()
    await require_restored_by_command(target, reader, chance, tmp_path)
    reader.close()


async def require_restored_by_command(target: Path, journal: SegmentReader, chance: Random, folder: Path) -> None:
    """Restore to some entries and to the time of one, with the program, and compare with an index built from the journal."""
    times = [decode(record.facts).at_us for record in journal.read_sync(0, 1 << 30).records]
    times = times[: BackupContents(target).manifest.entries]
    moment_us = times[len(times) // 2]
    at_moment = next((seq for seq, at_us in enumerate(times) if at_us > moment_us), len(times))
    moment = EPOCH + timedelta(microseconds=moment_us)
    cuts = {str(cut): cut for cut in chance.sample(range(1, len(times) + 1), BY_COMMAND)}
    for until, cut in {**cuts, moment.isoformat(): at_moment}.items():
        data = folder / f"until{cut}"
        given = ("restore", target, "--to", data, "--until", until, "--json")
        told = await asyncio.to_thread(succeeded, *given, environment={"POSTROAD_MASTER_KEY": MASTER_KEY})
        assert json.loads(told)["entries"] == cut
        await asyncio.to_thread(succeeded, "index", "rebuild", "--data", data)
        restored, expected = SegmentReader(data / "journal"), SqliteIndex(folder / f"expected{cut}.sqlite")
        reached = await _extend(journal, expected, JournalHead(0, bytes(32)), cut)
        await _extend(restored, expected, reached, restored.durable_seq())  # the entries about the restore
        found = await tables(data)
        assert len(found["message"]) <= cut
        for table in TABLES:
            assert _rows(found[table], table) == _rows(await expected.rows(table), table), f"{table} until {until}"
        restored.close()
        await expected.close()


async def _extend(reader: SegmentReader, index: MemoryIndex | SqliteIndex, head: JournalHead, cut: int) -> JournalHead:
    """Apply the journal's entries up to ``cut`` to the index; the chain of a cut group is of no interest here."""
    while head.seq < cut:
        records = [record for record in reader.read_sync(head.seq).records if record.seq <= cut]
        reached = JournalHead(records[-1].seq, bytes(32))
        await index.apply(project(records), reached, head.seq)
        head = reached
    return head


def _rows(rows: list[tuple[Any, ...]], table: str) -> list[tuple[Any, ...]]:
    """Return rows without the offsets of bodies, which differ in a group that was cut; their digests are compared."""
    if "body_offset" not in TABLES[table]:
        return rows
    at = TABLES[table].index("body_offset")
    return [(*row[:at], *row[at + 1 :]) for row in rows]


@pytest.mark.req("O6")
async def test_a_disk_that_is_full_is_named_and_leaves_the_backup(tmp_path: Path, chance: Random) -> None:
    """The limit of file sizes is the real full disk that every machine has."""
    server, target = ServerProcess(tmp_path / "data", {**EMBEDDED, "segment_bytes": 16 << 20}), tmp_path / "backup"
    async with loaded(server, chance) as load:
        secret = change_secret(server, chance)
        first = await back_up(server, target)
        await load.run(0.2, accepted=1_000)
    server.kill()
    changed = change_secret(server, chance)
    limited = [*PROGRAM, "backup", str(target), "--json"]
    done = await asyncio.to_thread(
        subprocess.run,
        ["/bin/sh", "-c", f'ulimit -f {1 + (os.path.getsize(_last(target)) >> 9)}; exec "$@"', "sh", *limited],
        env=environment(server.settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    error = json.loads(done.stderr.splitlines()[-1])
    assert error["code"] == "storage.full"
    assert f"the backup up to entry {first['entries']} is intact; free space there" in error["detail"]
    require_whole(target)
    assert (BackupContents(target).manifest.entries, read_secret(target)) == (first["entries"], secret)
    assert (await back_up(server, target))["entries"] > first["entries"]
    require_whole(target)
    assert read_secret(target) == changed


def _last(target: Path) -> Path:
    return target / "journal" / BackupContents(target).manifest.segments[-1].name


@pytest.mark.req("O6")
async def test_backups_of_a_database_that_goes_away(tmp_path: Path, chance: Random) -> None:
    """A follower waits until the database is back, and continues."""
    with PostgresServer() as postgres:
        settings = {**SHARED, "postgres": postgres.create_database("orders")}
        server, target = ServerProcess(tmp_path / "data", settings), tmp_path / "backup"
        await enroll(server, SENDER, RECEIVER)
        follower = start_backup(server, target, "follow")
        try:
            await _seconds_behind(target, 1)
            postgres.stop(immediate=True)
            postgres.start()
            await enroll(server, "New/Service")
            contents = BackupContents(target).manifest.entries
            await _seconds_behind(target, contents + 1)
        finally:
            follower.kill()
            follower.communicate()
        require_whole(target)
