"""Two nodes of one shared network: what one has answered the other knows, also when the first is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from postroad.testing.http_client import ClientConnection
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import require_whole_in_postgres
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually_async

SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "attempts_most": 10_000}
ROUNDS = 4


@pytest.mark.req("A3", "M6", "D2")
async def test_a_node_may_die_while_another_serves(tmp_path: Path, postgres_database: str) -> None:
    settings = {**SHARED, "postgres": postgres_database}
    nodes = [ServerProcess(tmp_path / name, settings) for name in ("one", "two")]
    keys = await enroll(nodes[0], SENDER, RECEIVER)
    chance = Random(2)
    first = Load(port=nodes[0].port, keys=keys, chance=chance, lease_s=1.0)
    second = Load(port=nodes[1].port, keys=keys, chance=chance, lease_s=1.0)
    # Both write into one ledger: what one node accepted the other may hand out, and neither what the other was told is done.
    second.ledger, second.unanswered, second.numbers = first.ledger, first.unanswered, first.numbers
    with nodes[0], nodes[1]:
        for number in range(ROUNDS):
            await asyncio.gather(first.run(0.5, bulks=1), second.run(0.5, bulks=1))
            nodes[number % 2].kill()
            before = len(first.ledger.sessions)
            await eventually_async(lambda before=before: len(first.ledger.sessions) > before)  # type: ignore[misc]
            await asyncio.gather(first.ended(), second.ended())
            await asyncio.to_thread(nodes[number % 2].start)
        await second.drain(2.0)
        await first.post_again(100)
        async with ClientConnection(nodes[0].port, keys[RECEIVER]) as receiving:
            assert await first.polled(receiving, 10, wait_s=1.5) == []
        assert [await asyncio.to_thread(node.stop) for node in nodes] == [0, 0]
    assert first.ledger.close()[:5] == []
    assert len(first.ledger.sessions) > 100
    await require_whole_in_postgres(postgres_database)
