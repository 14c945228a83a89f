"""The index process: follows, waits, survives being killed, leaves with its server, and says why it cannot go on."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from postroad.adapters.index import process_main
from postroad.adapters.index.process import IndexProcess
from postroad.adapters.index.sqlite import SqliteIndex, SqliteReader, SqliteWriter
from postroad.adapters.index.sqlite_file import UnusableIndex, open_reader
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.adapters.memory.index import MemoryIndex
from postroad.core.projection.tables import TABLES
from postroad.errors import Misconfigured, Unavailable
from postroad.flow.indexing import catch_up
from postroad.testing.random_journals.journals import make_plain_posts, to_new_records
from tests.waiting import eventually_async

SMALL = SegmentSettings(segment_bytes=1 << 20, reserve_bytes=1 << 16, least_free_bytes=0, least_free_share=0.0)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SegmentJournal]:
    journal = SegmentJournal.open(tmp_path / "journal", SMALL)
    yield journal
    await journal.close()


@pytest.fixture
async def process(journal: SegmentJournal, tmp_path: Path) -> AsyncIterator[IndexProcess]:
    process = IndexProcess(tmp_path / "journal", tmp_path / "index.sqlite")
    await process.start()
    yield process
    await process.stop()


async def append(journal: SegmentJournal, count: int) -> int:
    first_seq = (await journal.head()).seq + 1
    return (await journal.append(to_new_records(list(make_plain_posts(count, first_seq))))).head.seq


async def test_the_index_process_follows_appended_entries(
    journal: SegmentJournal, process: IndexProcess, tmp_path: Path
) -> None:
    reader = SqliteReader(tmp_path / "index.sqlite")
    for count in (1, 500, 3):
        seq = await append(journal, count)
        process.notify(seq)
        await process.wait_for(seq)
        assert (await reader.position()) == await journal.head()
    assert [row[0] for row in await reader.query("all_messages", 2**62, 2)] == [504, 503]
    await reader.close()


async def test_news_alone_is_enough(journal: SegmentJournal, process: IndexProcess) -> None:
    seq = 0
    for _ in range(20):
        seq = await append(journal, 1)
        process.notify(seq)
    await eventually_async(lambda: process.position >= seq)  # waiting otherwise would ask the process


async def test_waiting_needs_no_news(journal: SegmentJournal, process: IndexProcess) -> None:
    await process.wait_for(await append(journal, 5))
    assert process.position == 5


async def test_waiting_ends_with_the_time_out(process: IndexProcess) -> None:
    with pytest.raises(Unavailable, match="not caught up"):
        await process.wait_for(1, timeout=0.2)


async def test_killed_at_any_moment_it_comes_back_and_goes_on(
    journal: SegmentJournal, process: IndexProcess, tmp_path: Path
) -> None:
    for life in range(4):
        seq = await append(journal, 2000)
        process.notify(seq)
        await asyncio.sleep(life * 0.04)  # sleeps: the kill comes at various moments
        if process.pid is not None:
            os.kill(process.pid, signal.SIGKILL)
    await process.wait_for(seq, timeout=120)
    reader, expected = SqliteReader(tmp_path / "index.sqlite"), MemoryIndex()
    await catch_up(journal, expected)
    for table in TABLES:
        assert await reader.rows(table) == await expected.rows(table)
    await reader.close()


async def test_a_stopped_process_is_reported_killed_and_replaced(
    journal: SegmentJournal, process: IndexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when no one asks it anything: the heartbeat is missing."""
    monkeypatch.setattr("postroad.adapters.index.process.HEARTBEAT_S", 0.02)
    process.require_running()
    stopped = process.pid
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    reported = await eventually_async(lambda: report_of(process), every_s=0.005)
    assert "index process does not run" in reported
    monkeypatch.undo()
    await process.wait_for(await append(journal, 5), timeout=120)
    assert process.pid not in (None, stopped)
    process.require_running()


def report_of(process: IndexProcess) -> str:
    try:
        process.require_running()
    except Unavailable as unavailable:
        return unavailable.detail
    return ""


async def test_one_that_cannot_be_started_is_tried_again(
    journal: SegmentJournal, process: IndexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = iter([OSError(errno.EMFILE, "too many open files")])
    start = asyncio.create_subprocess_exec

    async def sometimes(*command: str, **streams: Any) -> asyncio.subprocess.Process:
        for error in starts:
            raise error
        return await start(*command, **streams)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sometimes)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    await process.wait_for(await append(journal, 5), timeout=120)


async def test_stopping_lets_it_finish(journal: SegmentJournal, tmp_path: Path) -> None:
    process = IndexProcess(tmp_path / "journal", tmp_path / "index.sqlite")
    await process.start()
    process.notify(await append(journal, 300))
    await process.stop()
    index = SqliteIndex(tmp_path / "index.sqlite")
    assert await index.position() == await journal.head()
    await index.close()


async def test_the_index_process_ends_when_its_server_is_gone(journal: SegmentJournal, tmp_path: Path) -> None:
    await append(journal, 10)
    command = ["-m", "postroad.adapters.index.process", "--journal", tmp_path / "journal", "--index", tmp_path / "i"]
    run = partial(subprocess.run, input="", text=True, capture_output=True, timeout=120, check=False)
    answer = await asyncio.to_thread(run, [sys.executable, *command])
    assert answer.returncode == 0, answer.stderr
    assert '{"seq":10}' in answer.stdout.splitlines()


async def test_an_index_of_another_journal_is_refused(journal: SegmentJournal, tmp_path: Path) -> None:
    await append(journal, 3)
    other = SegmentJournal.open(tmp_path / "other", SMALL)
    await other.append(to_new_records(list(make_plain_posts(5, 77))))
    index = SqliteIndex(tmp_path / "index.sqlite")
    await catch_up(other, index)
    await index.close()
    await other.close()
    process = IndexProcess(tmp_path / "journal", tmp_path / "index.sqlite")
    with pytest.raises(Misconfigured, match="postroad index rebuild"):
        await process.start()
    with pytest.raises(Misconfigured, match="postroad index rebuild"):
        await process.wait_for(3)
    await process.stop()


@pytest.mark.parametrize("kind", ["without checksums", "not a database", "a damaged page", "a lost write-ahead log"])
async def test_an_unusable_index_is_rebuilt_at_the_start(kind: str, journal: SegmentJournal, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    seq = await append(journal, 3_000)
    await make_unusable(path, kind, journal)
    process = IndexProcess(tmp_path / "journal", path)
    await process.start()
    await process.wait_for(seq, timeout=120)
    process.require_running()
    assert process.rebuilds == 1
    await require_complete_index(journal, SqliteReader(path, keeper=process))
    await process.stop()


async def test_damage_that_a_query_meets_is_rebuilt_while_it_runs(
    journal: SegmentJournal, process: IndexProcess, tmp_path: Path
) -> None:
    path = tmp_path / "index.sqlite"
    seq = await append(journal, 3_000)
    await process.wait_for(seq)
    reader = SqliteReader(path, keeper=process)
    await reader.position()
    await eventually_async(lambda: is_copied(path))  # by the idle process; in the file, pages have checksums
    spoil(path, 16_384)
    with pytest.raises(Unavailable, match="being rebuilt") as refused:
        await reader.rows("message")
    assert refused.value.code == "network.unavailable"
    with pytest.raises(Unavailable, match="being rebuilt"):
        await reader.position()
    await process.wait_for(await append(journal, 10), timeout=120)
    await require_complete_index(journal, reader)


async def test_a_damaged_write_ahead_log_is_not_copied_to_the_file(journal: SegmentJournal, tmp_path: Path) -> None:
    """A checksum is made when a page is copied, and would vouch for the damage."""
    path = tmp_path / "index.sqlite"
    await append(journal, 3_000)
    index = SqliteIndex(path)
    await catch_up(journal, index)
    before = path.read_bytes()
    spoil(path.with_name("index.sqlite-wal"), 1 << 20)
    with pytest.raises(UnusableIndex, match=r"index\.sqlite-wal differs from what was written"):
        index.settle()
    with pytest.raises(UnusableIndex):
        await index.close()
    assert path.read_bytes() == before


async def test_an_index_that_is_damaged_again_and_again_stops_the_start(
    journal: SegmentJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(journal, 3)
    process = IndexProcess(tmp_path / "journal", tmp_path / "index.sqlite")
    ended = [sys.executable, "-c", f"raise SystemExit({process_main.EXIT_DAMAGED})"]
    monkeypatch.setattr(process, "_command", ended)
    with pytest.raises(Misconfigured, match=f"ended with {process_main.EXIT_DAMAGED}"):
        await process.start()
    await process.stop()


async def make_unusable(path: Path, kind: str, journal: SegmentJournal) -> None:
    if kind == "without checksums":
        old = apsw.Connection(str(path))
        old.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        old.close()
    elif kind == "not a database":
        path.write_bytes(b"no database" * 2_000)
    else:
        index = SqliteIndex(path)
        await catch_up(journal, index)
        index._writer._checkpoints.take()
        files = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-checkpoint")]
        content = {file: file.read_bytes() for file in files}  # as a kill would leave them
        await index.close()
        if kind == "a damaged page":
            spoil(path, 50_000)
            return
        for file in files:
            file.write_bytes(content[file])
        spoil(files[1], 50_000)


def is_copied(path: Path) -> bool:
    """Whether all frames of the write-ahead log are in the file: SQLite notes the last one and the last copied one."""
    notes = path.with_name("index.sqlite-shm").read_bytes()
    last, copied = (int.from_bytes(notes[at : at + 4], sys.byteorder) for at in (16, 96))
    return path.stat().st_size >= 500_000 and last == copied


def spoil(path: Path, step: int) -> None:
    """Change some bytes of every page but the first."""
    with path.open("r+b") as file:
        for place in range(20_000, path.stat().st_size, step):
            file.seek(place)
            file.write(os.urandom(64))


async def require_complete_index(journal: SegmentJournal, reader: SqliteReader) -> None:
    expected = MemoryIndex()
    await catch_up(journal, expected)
    for table in TABLES:
        assert await reader.rows(table) == await expected.rows(table)
    await reader.close()


async def test_a_missing_journal_is_said_plainly(tmp_path: Path) -> None:
    process = IndexProcess(tmp_path / "nothing", tmp_path / "index.sqlite")
    with pytest.raises(Misconfigured, match="journal: not found"):
        await process.start()
    await process.stop()


def test_a_full_disk_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def no_room(*_: Path) -> None:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(process_main, "keep_up", no_room)
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # of the process that the tests run in
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["index", "--journal", "j", "--index", "index.sqlite"])
    assert process_main.main() == process_main.EXIT_TROUBLE
    [line] = capsys.readouterr().err.splitlines()
    assert line == "index index.sqlite: database or disk is full; check its disk, and how much of it is free"


def test_a_log_that_was_left_whole_is_not_taken_for_damaged(tmp_path: Path) -> None:
    """As after a stop at which another process still read the index, so that its log stays."""
    path = tmp_path / "index.sqlite"
    writer = SqliteWriter(path)
    reader = open_reader(path)
    writer.close()
    assert path.with_name("index.sqlite-wal").exists()
    SqliteWriter(path).close()
    reader.close()
