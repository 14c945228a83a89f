"""Nodes of one network that start together, or one close behind the other, agree on its first operator."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.system import SystemClock, SystemRandomness
from postroad.bootstrap.first_start import (
    OPERATOR,
    OPERATOR_KEY_FILE,
    SECRET_FILE,
    ensure_operator,
    ensure_own_service,
    load_token_key,
)
from postroad.flow.indexing import catch_up
from postroad.flow.network import Network


@asynccontextmanager
async def two_nodes() -> AsyncIterator[tuple[Network, Network]]:
    """Two nodes that share a desk, a journal, and an index that knows nothing new until somebody waits for it."""
    journal, index, clock = MemoryJournal(), MemoryIndex(), SystemClock()

    async def catch_up_index(seq: int = 0) -> None:
        await catch_up(journal, index)

    def node() -> Network:
        return Network(
            desk=desk,
            journal=journal,
            index=index,
            clock=clock,
            randomness=SystemRandomness(),
            token_key=bytes(32),
            wait_until_indexed=catch_up_index,
        )

    desk = LocalDesk(journal, index, clock, wait_for_entry=catch_up_index)
    await desk.open()
    yield node(), node()
    await desk.close()


async def test_a_node_that_starts_before_the_index_knows_the_operator_waits_for_it(tmp_path: Path) -> None:
    async with two_nodes() as (first, second):
        assert await ensure_operator(first, tmp_path / "first")
        await second.configuration.load()
        assert OPERATOR not in second.directory.people
        assert await ensure_operator(second, tmp_path / "second") is None
        assert second.directory.people[OPERATOR].operator
        assert not (tmp_path / "second" / OPERATOR_KEY_FILE).exists()


async def test_of_nodes_that_start_at_once_one_makes_the_operator_and_has_its_key(tmp_path: Path) -> None:
    async with two_nodes() as nodes:
        folders = [tmp_path / "first", tmp_path / "second"]
        keys = await asyncio.gather(*map(ensure_operator, nodes, folders))
        assert sorted(key is None for key in keys) == [False, True]
        files = [folder / OPERATOR_KEY_FILE for folder in folders]
        assert [file.read_text().strip() if file.exists() else None for file in files] == keys
        assert nodes[0].directory.people == nodes[1].directory.people


async def test_a_node_that_is_late_with_the_networks_own_service_knows_the_one_there_is(tmp_path: Path) -> None:
    async with two_nodes() as (first, second):
        await ensure_own_service(first)
        await ensure_own_service(second)
        assert first.directory.services
        assert first.directory.services == second.directory.services


def test_the_key_of_tokens_outlasts_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, synced = tmp_path / "data", list[int]()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    key = load_token_key(data, "")
    written = data / SECRET_FILE
    assert synced[-2:] == [written.stat().st_ino, data.stat().st_ino], "first the file, then its name"
    assert (written.stat().st_mode & 0o777, data.stat().st_mode & 0o777) == (0o600, 0o750)
    assert load_token_key(data, "") == key
