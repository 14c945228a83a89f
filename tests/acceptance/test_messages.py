"""Many clients at once on a real server: long polls, pollers that leave, readers that do not read, and everybody together."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import require_whole
from tests.samples.enrolled_parties import enroll, serving
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually_async

GENEROUS = WireLimits(body_bytes=1 << 30)
PROMPTLY_S = 20.0  # far less than the lease of 60 s, far more than a busy machine needs
Served = tuple[ServerProcess, dict[str, str]]
TABLE = Path("/proc/net/tcp")
BROKEN = Path(__file__).parents[1] / "faults" / "broken_server.py"
CLOSE_WAIT = "08"  # in /proc/net/tcp: the client has closed, and this side has not yet


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    noting = (sys.executable, str(BROKEN), "none", "serve")
    with serving(tmp_path_factory.mktemp("messages") / "data", SENDER, RECEIVER, command=noting) as running:
        yield running


def requests_read(served: Served) -> int:
    noted = served[0].data.with_name("requests-read")
    return noted.stat().st_size if noted.exists() else 0


async def until_read(served: Served, count: int) -> None:
    """Wait until the server has read so many requests in all; what arrives later finds them waiting."""
    await eventually_async(lambda: requests_read(served) == count)


def message(handle: str, data: bytes = b"<order/>") -> bytes:
    part = Part(id="d1", content_type="application/octet-stream", data=data)
    return JSON_FORM.encode_post(Message(to=(Recipient(RECEIVER),), handle=handle, parts=(part,)))


async def post(served: Served, *handles: str, data: bytes = b"<order/>") -> None:
    server, keys = served
    async with ClientConnection(server.port, keys[SENDER]) as posting:
        for handle in handles:
            assert (await posting.post("/v1/messages", message(handle, data))).status == 202


async def poll(receiving: ClientConnection, most: int = 10, wait_s: float = 0.0) -> list[Delivered]:
    answer = await receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=most, wait_s=wait_s)))
    assert answer.status == 200
    return JSON_FORM.decode_delivered(answer.body, GENEROUS)


async def acknowledge(receiving: ClientConnection, messages: list[Delivered]) -> None:
    settlement = Settlement(tokens=tuple(delivered.token for delivered in messages))
    assert (await receiving.post("/v1/ack", JSON_FORM.encode_settlement(settlement))).status == 200


async def received(served: Served, count: int, within_s: float = PROMPTLY_S) -> list[str]:
    """The handles of so many messages, received and acknowledged by one patient client."""
    server, keys = served
    handles: list[str] = []
    deadline = time.monotonic() + within_s
    async with ClientConnection(server.port, keys[RECEIVER]) as receiving:
        while len(handles) < count and time.monotonic() < deadline:
            if messages := await poll(receiving, 100, wait_s=max(0.0, deadline - time.monotonic())):
                await acknowledge(receiving, messages)
                handles += [delivered.handle for delivered in messages]
    return handles


@pytest.mark.req("D2")
async def test_each_of_many_waiting_polls_gets_one_message_of_its_own(served: Served) -> None:
    server, keys = served
    before = requests_read(served)
    waiters = [ClientConnection(server.port, keys[RECEIVER]) for _ in range(60)]
    polls = [asyncio.create_task(poll(waiter, 1, wait_s=60.0)) for waiter in waiters]
    await until_read(served, before + 60)
    await post(served, *(f"waited-{number}" for number in range(60)))
    answers = await asyncio.wait_for(asyncio.gather(*polls), 50)
    assert sorted(delivered.handle for [delivered] in answers) == sorted(f"waited-{number}" for number in range(60))
    await acknowledge(waiters[0], [delivered for [delivered] in answers])
    for waiter in waiters:
        waiter.close()
    await asyncio.sleep(0)


@pytest.mark.req("D2")
async def test_a_long_poll_with_nothing_to_give_ends_in_time(served: Served) -> None:
    server, keys = served
    async with ClientConnection(server.port, keys[RECEIVER]) as receiving:
        asked_at = time.monotonic()
        assert await poll(receiving, wait_s=0.5) == []
        assert 0.4 < time.monotonic() - asked_at < PROMPTLY_S


async def until_seen_to_have_left(port: int) -> None:
    """Until the server has closed every connection that its client closed."""
    await eventually_async(
        lambda: not any(_is_left(connection.split(), port) for connection in TABLE.read_text().splitlines()[1:])
    )


def _is_left(connection: list[str], port: int) -> bool:
    _, here, _, state, *_ = connection
    return here.endswith(f":{port:04X}") and state == CLOSE_WAIT


@pytest.mark.req("D2")
@pytest.mark.skipif(not TABLE.exists(), reason="looks for connections in /proc")
async def test_a_poller_that_left_takes_nothing_with_it(served: Served) -> None:
    server, keys = served
    for _ in range(10):
        before = requests_read(served)
        gone = ClientConnection(server.port, keys[RECEIVER])
        waiting = asyncio.create_task(poll(gone, wait_s=30.0))
        await until_read(served, before + 1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await until_seen_to_have_left(server.port)
    await post(served, "after-they-left")
    assert await received(served, 1) == ["after-they-left"]


async def test_a_client_that_does_not_read_holds_nobody_up(served: Served) -> None:
    server, keys = served
    await post(served, *(f"large-{number}" for number in range(20)), data=os.urandom(500_000))
    body = JSON_FORM.encode_poll(PollRequest(max=20, lease_s=3.0))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    head = f"POST /v1/poll HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {keys[RECEIVER]}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    assert await reader.readexactly(1) == b"H"  # the answer has begun, and no more of it is read
    await post(served, "while-it-sleeps")
    assert "while-it-sleeps" in await received(served, 1)
    writer.transport.abort()
    await asyncio.sleep(0)
    assert len(await received(served, 20, within_s=60.0)) == 20


@pytest.mark.req("D1", "D2", "M6", "M7")
async def test_sixty_four_clients_at_once_agree_on_everything(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", {"segment_bytes": 4 << 20, "attempts_most": 10_000})
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        load = Load(port=server.port, keys=keys, chance=Random(64), lease_s=2.0)
        await load.run(4.0, singles=44, bulks=8, receivers=12)
        await load.ended()
        await load.drain(2.5)
        await load.post_again(100)
        assert server.stop() == 0
    assert load.ledger.close()[:5] == []
    assert len(load.ledger.sessions) > 500
    await require_whole(server.data)
