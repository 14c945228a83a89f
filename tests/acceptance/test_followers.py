"""`postroad followers` beside a running server and on its folder, and followers of a running network."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postroad.adapters.followers.cursors import FileCursors
from postroad.adapters.journal.segments import SegmentReader
from postroad.bootstrap import open_network, running_network
from postroad.bootstrap.followers import cursors_folder, start_follower
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import JOURNAL_FOLDER, Store, StoreTerms, open_store
from postroad.core.model.journal import AccessRecorded
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import JournalBatch, JournalStep
from tests.samples.served_network import json_lines, postroad, served, succeeded
from tests.waiting import eventually, eventually_async


def test_positions_are_listed_and_reset_beside_a_running_server(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        eventually(lambda: "notifications: at entry" in succeeded("followers", "list", "--data", network.data))
        reader = SegmentReader(network.data / JOURNAL_FOLDER)
        head = reader.head_sync()
        cursors = FileCursors(cursors_folder(Settings(data=network.data)))
        asyncio.run(cursors.save("traces", reader.read_sync(head.seq - 2, 1).head))
        reader.close()
        listed = json_lines(succeeded("followers", "list", "--json", "--data", network.data))
        found = next(one for one in listed if one["name"] == "traces")
        assert found["behind"] == head.seq - found["entry"] >= 0
        succeeded("followers", "reset", "traces", "--data", network.data)
        lines = succeeded("followers", "list", "--data", network.data).splitlines()
        assert "(0 behind)" in next(line for line in lines if line.startswith("traces: at entry"))
        unknown = postroad("followers", "reset", "trace", "--data", network.data)
        assert unknown.returncode == 1
        assert "'trace' does not exist" in unknown.stderr


async def test_a_follower_is_woken_by_the_commits_of_its_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    opened: list[Store] = []

    async def note(batch: JournalBatch) -> None:
        seen.extend(record.seq for record in batch.records)

    async def open_and_note(terms: StoreTerms) -> Store:
        opened.append(await open_store(terms))
        return opened[-1]

    monkeypatch.setattr(running_network, "open_store", open_and_note)
    settings = Settings(data=tmp_path / "data")
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(open_network(settings))
        start_follower("notes", note, settings, opened[0], stack)
        cursors = FileCursors(cursors_folder(settings))
        began = (await eventually_async(lambda: cursors.load("notes"))).seq
        for _ in range(3):
            entry = AccessRecorded(running.network.clock.now_us(), "network", "a test")
            await commit_step(running.network.desk, JournalStep(entry))
        await eventually_async(lambda: seen == [began + 1, began + 2, began + 3])
        await eventually_async(lambda: _is_saved(cursors, began + 3))


async def _is_saved(cursors: FileCursors, seq: int) -> bool:
    cursor = await cursors.load("notes")
    return cursor is not None and cursor.seq == seq
