"""The index is made from the journal: rebuilt it is the same, lost it comes back, and another journal's is refused."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from postroad.testing.server import COMMAND, ServerDidNotStart, ServerProcess
from tests.samples.enrolled_parties import enroll
from tests.samples.index_tables import tables
from tests.samples.server_load import RECEIVER, SENDER, Load


def postroad(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND[:-1], *arguments], capture_output=True, text=True, timeout=120, check=False)


async def work(server: ServerProcess, load: Load, seconds: float) -> None:
    """Posts, bulk posts, polls, acknowledgements and returns; then an orderly end."""
    await asyncio.to_thread(server.start)
    await load.run(seconds)
    await load.ended()
    assert await asyncio.to_thread(server.stop) == 0


@pytest.fixture
async def worked(tmp_path: Path) -> tuple[ServerProcess, Load]:
    """A network that has seen some traffic and is stopped, with messages still waiting."""
    server = ServerProcess(tmp_path / "data", {"segment_bytes": 1 << 20})
    load = Load(port=server.port, keys=await enroll(server, SENDER, RECEIVER), chance=Random(4), lease_s=0.5)
    await work(server, load, 1.0)
    return server, load


@pytest.mark.req("A1", "A3")
async def test_a_rebuilt_index_equals_the_live_one(worked: tuple[ServerProcess, Load]) -> None:
    server, load = worked
    live = await tables(server.data)
    assert len(live["message"]) >= len(load.ledger.sessions) > 100
    rebuilt = postroad("index", "rebuild", "--data", str(server.data))
    assert rebuilt.returncode == 0, rebuilt.stdout + rebuilt.stderr
    assert await tables(server.data) == live
    verified = postroad("verify", "--data", str(server.data))
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.req("A1", "A3")
async def test_a_lost_index_is_made_anew_at_the_start(worked: tuple[ServerProcess, Load]) -> None:
    server, load = worked
    live = await tables(server.data)
    for file in server.data.glob("index.sqlite*"):
        file.unlink()
    with server:
        assert server.stop() == 0
        assert await tables(server.data) == live
        server.start()
        await load.drain(1.0)
        assert server.stop() == 0
    assert load.ledger.close()[:5] == []


@pytest.mark.req("A3")
async def test_an_index_that_knows_more_than_the_journal_stops_the_start(worked: tuple[ServerProcess, Load]) -> None:
    """As after a restore of an older journal: nothing is mixed, and the words say what to do."""
    server, load = worked
    journal, older = server.data / "journal", server.data.with_name("older")
    shutil.copytree(journal, older)
    await work(server, load, 0.3)
    shutil.rmtree(journal)
    shutil.copytree(older, journal)
    with pytest.raises(ServerDidNotStart):
        server.start()
    assert "restore the right journal, or run `postroad index rebuild`" in server.log
    assert postroad("index", "rebuild", "--data", str(server.data)).returncode == 0
    with server:
        assert server.stop() == 0


@pytest.mark.req("A3")
async def test_a_journal_cut_short_stops_the_start(worked: tuple[ServerProcess, Load]) -> None:
    """What was answered and cannot be read any more is a fault that a person must see."""
    server, _ = worked
    last = max((server.data / "journal").glob("*.seg"))
    content = last.read_bytes()
    used = len(content.rstrip(b"\0"))
    last.write_bytes(content[: used - 100] + bytes(len(content) - used + 100))
    with pytest.raises(ServerDidNotStart):
        server.start()
    assert "were made durable and cannot be read any more" in server.log
    assert "postroad verify" in server.log
    last.write_bytes(content)
    with server:
        assert server.stop() == 0
