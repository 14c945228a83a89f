"""The three stores of cursors behave alike; in files and PostgreSQL, cursors survive a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from postroad.adapters.followers.cursors import FileCursors, MemoryCursors, PostgresCursors
from postroad.errors import Misconfigured
from postroad.ports import FollowerCursors, JournalHead

HEAD = JournalHead(7, bytes(range(32)))
LATER = JournalHead(1 << 40, bytes(32))


@pytest.fixture(params=["file", "postgres"])
async def reopen(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], Awaitable[FollowerCursors]]]:
    opened: list[FollowerCursors] = []
    dsn = request.getfixturevalue("postgres_database") if request.param == "postgres" else ""

    async def open_again() -> FollowerCursors:
        opened.append(await PostgresCursors.open(dsn) if dsn else FileCursors(tmp_path / "followers"))
        return opened[-1]

    yield open_again
    for cursors in opened:
        await cursors.close()


async def check_contract(cursors: FollowerCursors) -> None:
    assert await cursors.load("traces") is None
    assert await cursors.load_all() == {}
    await cursors.save("traces", HEAD)
    await cursors.save("notices", HEAD)
    await cursors.save("traces", LATER)
    assert await cursors.load("traces") == LATER
    assert await cursors.load_all() == {"notices": HEAD, "traces": LATER}


async def test_cursors_are_saved_and_survive_a_restart(reopen: Callable[[], Awaitable[FollowerCursors]]) -> None:
    await check_contract(await reopen())
    assert await (await reopen()).load("traces") == LATER


async def test_cursors_in_memory() -> None:
    await check_contract(MemoryCursors())


@pytest.mark.parametrize("text", ["", "seven:00", "7:xyz"])
async def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    (tmp_path / "traces.cursor").write_text(text)
    with pytest.raises(Misconfigured, match="postroad followers reset traces"):
        await FileCursors(tmp_path).load("traces")
