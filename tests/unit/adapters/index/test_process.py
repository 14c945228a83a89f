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

import apsw
import pytest

from postroad.adapters.index import process_main
from postroad.adapters.index.process import IndexProcess
from postroad.adapters.index.sqlite import SqliteIndex, SqliteReader
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.adapters.memory.index import MemoryIndex
from postroad.core.projection.tables import TABLES
from postroad.errors import Misconfigured, Unavailable
from postroad.flow.indexing import catch_up
from postroad.testing.journals import new_records, plain_posts

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
    return (await journal.append(new_records(list(plain_posts(count, first_seq))))).head.seq


async def test_it_follows_what_is_appended(journal: SegmentJournal, process: IndexProcess, tmp_path: Path) -> None:
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
    async with asyncio.timeout(60):
        while process.position < seq:  # noqa: ASYNC110 - waiting otherwise would ask the process, which is not wanted here
            await asyncio.sleep(0.02)


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
        await asyncio.sleep(life * 0.04)
        if process.pid is not None:
            os.kill(process.pid, signal.SIGKILL)
    await process.wait_for(seq, timeout=120)
    reader, expected = SqliteReader(tmp_path / "index.sqlite"), MemoryIndex()
    await catch_up(journal, expected)
    for table in TABLES:
        assert await reader.rows(table) == await expected.rows(table)
    await reader.close()


async def test_one_that_hangs_is_killed_and_another_goes_on(
    journal: SegmentJournal, process: IndexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.adapters.index.process.SILENCE_MOST_S", 0.2)
    hung = process.pid
    assert hung is not None
    os.kill(hung, signal.SIGSTOP)
    await process.wait_for(await append(journal, 5), timeout=120)
    assert process.pid not in (None, hung)


async def test_one_that_cannot_be_started_is_tried_again(
    journal: SegmentJournal, process: IndexProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = iter([OSError(errno.EMFILE, "too many open files")])
    start = asyncio.create_subprocess_exec

    async def sometimes(*command: str, **streams: int) -> asyncio.subprocess.Process:
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


async def test_it_leaves_when_its_server_is_gone(journal: SegmentJournal, tmp_path: Path) -> None:
    await append(journal, 10)
    command = ["-m", "postroad.adapters.index.process", "--journal", tmp_path / "journal", "--index", tmp_path / "i"]
    run = partial(subprocess.run, input=b"", capture_output=True, timeout=120, check=False)
    answer = await asyncio.to_thread(run, [sys.executable, *command])
    assert answer.returncode == 0, answer.stderr
    assert b'{"seq":10}' in answer.stdout.splitlines()


async def test_an_index_of_another_journal_is_refused(journal: SegmentJournal, tmp_path: Path) -> None:
    await append(journal, 3)
    other = SegmentJournal.open(tmp_path / "other", SMALL)
    await other.append(new_records(list(plain_posts(5, 77))))
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


async def test_a_missing_journal_is_said_plainly(tmp_path: Path) -> None:
    process = IndexProcess(tmp_path / "nothing", tmp_path / "index.sqlite")
    with pytest.raises(Misconfigured, match="journal: there is none"):
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
