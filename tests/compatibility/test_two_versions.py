"""The previous version and this one on the same data: side by side, one after the other, and back.

The previous version is the real program (``tests/samples/earlier_program.py``).
``POSTROAD_TEST_SERVER_KILLS=4`` makes four times as many rounds.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random

import pytest

from postroad.client import Client, PostResult, message, text_of
from postroad.errors import PostroadError, Refused
from postroad.testing.http_client import ClientConnection
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import require_whole, require_whole_in_postgres
from tests.samples.earlier_program import EarlierProgram
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually, eventually_async

SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "attempts_most": 10_000}
ROUNDS = 2 * int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))  # each kills both nodes once
LEVEL = "/v1/level"
OLD_CLIENT = """
import sys, postroad
from postroad.client import Client
url, sender, receiver = sys.argv[1:]
assert "earlier" in postroad.__file__, postroad.__file__
with Client(url, sender) as posting, Client(url, receiver) as receiving:
    session = posting.post(to="Acme/Supply", document="<order/>", type="request", handle="H-1").session
    [request] = receiving.poll(1, wait_s=30)
    receiving.reply(request, "<confirmation/>")
    [response] = posting.poll(1, wait_s=30)
    posting.acknowledge(response)
    trace = posting.trace(session)
    print(response.parts[0].data.decode(), [copy.state for copy in trace.messages[0].copies])
"""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def earlier(tmp_path: Path) -> EarlierProgram:
    return EarlierProgram.unpack(tmp_path / "earlier")


def operator(server: ServerProcess, key: str) -> Client:
    return Client(server.url, key)


def level_of(server: ServerProcess, key: str) -> dict[str, object]:
    with operator(server, key) as client:
        found: dict[str, object] = client.get(LEVEL)
        return found


def accepts(server: ServerProcess, key: str) -> bool:
    """Whether the node knows the key yet; it reads what another node has enrolled about once a second."""
    try:
        with Client(server.url, key) as client:
            client.get("/v1/status")
    except PostroadError:
        return False
    return True


@pytest.mark.req("O7", "A3", "M6")
async def test_nodes_of_two_versions_keep_every_promise(
    tmp_path: Path, earlier: EarlierProgram, postgres_database: str
) -> None:
    settings = {**SHARED, "postgres": postgres_database}
    old = earlier.server(tmp_path / "one", settings)
    old.start()  # the previous version makes the network
    keys = await enroll(old, SENDER, RECEIVER)
    upgraded = ServerProcess(old.data, settings)
    upgraded.port = upgraded.settings["port"] = old.port
    new = ServerProcess(tmp_path / "two", settings)
    loads = loads_on(old, new, keys)
    key = old.operator_key
    try:
        new.start()
        await eventually_async(lambda: all(accepts(node, one) for node in (old, new) for one in keys.values()))
        with operator(old, key) as client, pytest.raises(PostroadError, match="not-found"):
            client.get(LEVEL)  # it is the previous version, which has no levels
        for _ in range(ROUNDS):
            for node in (old, new):
                await kill_under_load(node, loads)
        refused_because_of(new, key, "before 0.2")
        await asyncio.to_thread(old.stop)
        upgraded.start()  # the rolling upgrade: the same node with the new version
        await kill_under_load(upgraded, loads)
        await eventually_async(lambda: not level_of(new, key)["obstacles"])
        with operator(new, key) as client:
            assert client.change("POST", LEVEL, {"level": None})["level"] == 2
        await eventually_async(lambda: level_of(upgraded, key)["level"] == 2)
        await kill_under_load(new, loads)
        await loads[1].drain(2.0)
        await loads[0].post_again(100)
        async with ClientConnection(new.port, keys[RECEIVER]) as receiving:
            assert await loads[0].polled(receiving, 10, wait_s=1.5) == []
        assert [await asyncio.to_thread(node.stop) for node in (upgraded, new)] == [0, 0]
    finally:
        for node in (old, upgraded, new):
            node.kill()
    assert loads[0].ledger.close()[:5] == []
    assert len(loads[0].ledger.sessions) > 100
    await require_whole_in_postgres(postgres_database)


def loads_on(first: ServerProcess, second: ServerProcess, keys: dict[str, str]) -> tuple[Load, Load]:
    """Clients of both nodes that write into one ledger."""
    chance = Random(9)
    one, two = (Load(port=node.port, keys=keys, chance=chance, lease_s=1.0) for node in (first, second))
    two.ledger, two.unanswered, two.numbers = one.ledger, one.unanswered, one.numbers
    return one, two


async def kill_under_load(node: ServerProcess, loads: tuple[Load, Load]) -> None:
    """Kill the node while both nodes have clients, see that the other continues, and start it again."""
    await asyncio.gather(*[load.run(0.3, bulks=1) for load in loads])
    node.kill()
    before = len(loads[0].ledger.sessions)
    await eventually_async(lambda: len(loads[0].ledger.sessions) > before)
    await asyncio.gather(*[load.ended() for load in loads])
    await asyncio.to_thread(node.start)


def refused_because_of(server: ServerProcess, key: str, version: str) -> None:
    with operator(server, key) as client, pytest.raises(PostroadError, match=version):
        client.change("POST", LEVEL, {"level": None})
    assert level_of(server, key)["level"] == 1


@pytest.mark.req("O7")
async def test_the_previous_version_opens_what_this_one_has_written_before_the_level_is_raised(
    tmp_path: Path, earlier: EarlierProgram
) -> None:
    settings = {"segment_bytes": 4 << 20, "attempts_most": 1_000}
    old = earlier.server(tmp_path / "data", settings)
    with old:
        pass
    keys = await enroll(old, SENDER, RECEIVER)
    new = ServerProcess(old.data, settings)
    new.port = new.settings["port"] = old.port
    load = Load(port=old.port, keys=keys, chance=Random(3))
    for server in (old, new, old, new):
        with server:
            await load.run(0.3, bulks=1)
            assert await asyncio.to_thread(server.stop) == 0
            await load.ended()
    with new:
        await load.drain(0.5)
        assert level_of(new, new.operator_key)["level"] == 1
        assert await asyncio.to_thread(new.stop) == 0
    assert load.ledger.close()[:5] == []
    await require_whole(new.data)


@pytest.mark.req("O7")
async def test_the_previous_sdk_works_with_this_server(tmp_path: Path, earlier: EarlierProgram) -> None:
    server = ServerProcess(tmp_path / "data")
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        printed = await asyncio.to_thread(earlier.run_python, OLD_CLIENT, server.url, keys[SENDER], keys[RECEIVER])
    assert printed.strip() == "<confirmation/> ['delivered']"


@pytest.mark.req("O7")
async def test_this_sdk_works_with_the_previous_server(tmp_path: Path, earlier: EarlierProgram) -> None:
    """Clients are upgraded when their owners wish, also before the network."""
    server = earlier.server(tmp_path / "data", {})
    with server:
        pass  # the previous version makes the network
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        await asyncio.to_thread(exchange_with, server.url, keys[SENDER], keys[RECEIVER])
        await asyncio.to_thread(list_batches_with, server.url, server.operator_key)


def exchange_with(url: str, sender: str, receiver: str) -> None:
    """Post in one call and in bulk, poll, reply, acknowledge, find and trace."""
    with Client(url, sender) as posting, Client(url, receiver) as receiving:
        session = posting.post(to=RECEIVER, document="<order/>", type="request", handle="H-1").session
        [request] = receiving.poll(1, wait_s=30)
        receiving.reply(request, "<confirmation/>")
        [response] = posting.poll(1, wait_s=30)
        assert response.parts[0].data == b"<confirmation/>"
        posting.acknowledge(response)
        answers = posting.post_many(message(to=RECEIVER, document=f"order {number}") for number in range(10))
        assert all(isinstance(answer, PostResult) for answer in answers)
        received = receiving.poll(10, wait_s=30)
        assert [text_of(one) for one in received] == [f"order {number}" for number in range(10)]
        receiving.acknowledge(*received)
        eventually(lambda: [found["session"] for found in posting.find("H-1")] == [session])
        [original, *_] = posting.trace(session).messages
        assert [copy.state for copy in original.copies] == ["delivered"]
        with pytest.raises(Refused, match=r"recipient\.unknown"):
            posting.post(to="Acme/Suply", document="<order/>")


def list_batches_with(url: str, key: str) -> None:
    with Client(url, key) as network:
        assert list(network.batches.listed()) == []
