"""A real server that is offered several times what its slow disk can store: it slows and refuses posts, and does all else.

The small form of ``python -m benchmarks.overload``. The disk determines the capacity, so the ratios hold on a busy machine too.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection, ClientResponse
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import require_whole
from tests.samples.enrolled_parties import enroll
from tests.samples.flood import Flood, post_request, require_clear
from tests.waiting import eventually_async

MIB = 1 << 20
SLOW_DISK = (sys.executable, str(Path(__file__).with_name("broken_server.py")), "slow-disk", "serve")
FLOODER, SUPPLY = "Flooder/Orders", "Acme/Supply"
SHOP, KITCHEN = "Village/Shop", "Village/Kitchen"
BODY_BYTES = 32 << 10  # a group has eight of these, and is synced in 20 ms: some 300 a second
FLOOD_RATE, FLOOD_S = 1_500.0, 2.0
CONNECTIONS = 16
LEAST_SHARE = 0.7  # of the posts accepted at about the capacity; the benchmark wants 0.9
MOST_GROWTH = 0.75  # of the bytes offered: up to 64 MiB wait to be stored


def message(to: str, text: bytes = b"hello") -> Message:
    return Message(to=(Recipient(to),), parts=(Part(id="d1", content_type="application/octet-stream", data=text),))


def most_memory(server: ServerProcess) -> int:
    """Return the most resident memory that the server had so far, in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


class Neighbour:
    """Another organization, which posts now and then, and fetches and acknowledges its messages."""

    def __init__(self, server: ServerProcess, keys: dict[str, str]) -> None:
        self._posting = ClientConnection(server.port, keys[SHOP])
        self._receiving = ClientConnection(server.port, keys[KITCHEN])
        self.accepted: list[str] = []
        self.received: list[str] = []

    async def post(self) -> ClientResponse:
        answer = await self._posting.post("/v1/messages", JSON_FORM.encode_post(message(KITCHEN)))
        if answer.status == 202:
            self.accepted.append(JSON_FORM.decode_result(answer.body).session)
        return answer

    async def receive(self) -> int:
        """Fetch and acknowledge what waits."""
        polled = await self._receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=100)))
        assert polled.status == 200, polled.body
        messages = JSON_FORM.decode_delivered(polled.body)
        if messages:
            settlement = Settlement(tokens=tuple(one.token for one in messages))
            settled = await self._receiving.post("/v1/ack", JSON_FORM.encode_settlement(settlement))
            assert settled.status == 200, settled.body
        self.received += [one.session for one in messages]
        return len(messages)

    async def post_until(self, status: int) -> ClientResponse:
        async def answered() -> ClientResponse | None:
            answer = await self.post()
            return answer if answer.status == status else None

        return await eventually_async(answered, every_s=0.02)

    async def live(self, ended: asyncio.Event) -> None:
        """Post, fetch and acknowledge until the event; every post must be accepted."""
        while not ended.is_set():
            answer = await self.post()
            assert answer.status == 202, answer.body
            await self.receive()

    def close(self) -> None:
        self._posting.close()
        self._receiving.close()


@asynccontextmanager
async def overloaded(
    tmp_path: Path, **settings: object
) -> AsyncIterator[tuple[ServerProcess, dict[str, str], Neighbour]]:
    """A server on a slow disk; at the end, its journal is verified."""
    server = ServerProcess(tmp_path / "data", {"segment_bytes": 4 * MIB, **settings}, command=SLOW_DISK)
    keys = await enroll(server, FLOODER, SUPPLY, SHOP, KITCHEN)
    with server:
        neighbour = Neighbour(server, keys)
        try:
            yield server, keys, neighbour
        finally:
            neighbour.close()
        assert server.stop() == 0
    await require_whole(server.data)


@pytest.mark.req("O5")
async def test_a_flood_is_refused_clearly_and_delays_no_neighbour(tmp_path: Path) -> None:
    async with overloaded(tmp_path) as (server, keys, neighbour):
        request = post_request(keys[FLOODER], SUPPLY, BODY_BYTES)
        usual = Flood(server.port, request, CONNECTIONS)
        await usual.offer(FLOOD_RATE / 5, FLOOD_S)  # about the capacity
        memory = most_memory(server)
        flood, ended = Flood(server.port, request, CONNECTIONS), asyncio.Event()
        living = asyncio.create_task(neighbour.live(ended))
        await flood.offer(FLOOD_RATE, FLOOD_S)
        ended.set()
        await living
        await neighbour.receive()
        assert neighbour.received == neighbour.accepted
        assert len(neighbour.accepted) > 10
        assert flood.answered == flood.sent
        assert flood.refused.total() > flood.sent / 10
        assert len(flood.accepted) > LEAST_SHARE * len(usual.accepted)  # overload does not stop useful work
        assert most_memory(server) - memory < MOST_GROWTH * flood.sent * len(request)
        require_clear(list(flood.refused), {"network.busy"})
        assert len({refusal.retry_after_s for refusal in flood.refused}) > 1  # spread, so that not all return together


@pytest.mark.req("O5")
async def test_a_disk_that_fills_up_under_load_and_is_freed_again(tmp_path: Path) -> None:
    settings = {"segment_bytes": MIB, "least_free_bytes": 128 * MIB}
    async with overloaded(tmp_path, **settings) as (server, keys, neighbour):
        filler = tmp_path / "filler"
        await neighbour.post_until(202)
        flood = Flood(server.port, post_request(keys[FLOODER], SUPPLY, BODY_BYTES), CONNECTIONS)
        flooding = asyncio.create_task(flood.offer(FLOOD_RATE, 2.0))
        filler.write_bytes(bytes(192 * MIB))
        refused = await neighbour.post_until(507)
        assert JSON_FORM.decode_refusal(refused.body).code == "storage.full"
        await neighbour.receive()  # goes on
        await flooding
        require_clear(list(flood.refused), {"network.busy", "storage.full"})
        filler.unlink()
        await neighbour.post_until(202)
        while await neighbour.receive():
            pass
        assert neighbour.received == neighbour.accepted


@pytest.mark.req("O5")
async def test_above_the_memory_watermark_posts_wait_while_polls_and_acknowledgements_pass(tmp_path: Path) -> None:
    async with overloaded(tmp_path) as (server, keys, neighbour):
        used = server.data.parent / "memory-used"
        assert (await neighbour.post()).status == 202
        used.write_text("0.7")
        await eventually_async(lambda: "new posts wait" in server.log)
        waiting = asyncio.create_task(neighbour.post())
        assert await neighbour.receive() == 1
        soap = ClientConnection(server.port, keys[KITCHEN])
        polled = await soap.post("/soap", SOAP11.encode_poll(PollRequest(max=1)), "text/xml; charset=utf-8")
        soap.close()
        assert polled.status == 200, polled.body
        assert not waiting.done()
        used.write_text("0.1")
        assert (await waiting).status == 202


@pytest.mark.req("O5")
async def test_a_full_recipient_is_refused_in_every_format_and_others_are_not(tmp_path: Path) -> None:
    async with overloaded(tmp_path, waiting_most=2) as (server, keys, neighbour):
        posting = ClientConnection(server.port, keys[FLOODER])
        for _ in range(2):
            assert (await posting.post("/v1/messages", JSON_FORM.encode_post(message(SUPPLY)))).status == 202
        for codec in (JSON_FORM, SOAP11, SOAP12):
            refused = await posting.post("/v1/messages", codec.encode_post(message(SUPPLY)), codec.media_type)
            assert refused.status == 503
            assert codec.decode_refusal(refused.body).code == "recipient.full"
            assert int(refused.headers["retry-after"]) >= 5
        both = Message(to=(Recipient(SUPPLY), Recipient(KITCHEN)), parts=message(SUPPLY).parts)
        answer = await posting.post("/v1/messages", JSON_FORM.encode_post(both))
        assert [one.code for one in JSON_FORM.decode_result(answer.body).recipients] == ["recipient.full", ""]
        lines = b"\n".join([JSON_FORM.encode_post(message(to)) for to in (SUPPLY, KITCHEN)])
        bulk = await posting.post("/v1/messages/bulk", lines, "application/x-ndjson")
        assert bulk.body.count(b'"code":"recipient.full"') == 1, bulk.body
        assert JSON_FORM.decode_refusal((await neighbour.post()).body).code == "recipient.full"
        assert await neighbour.receive() == 2
        assert (await neighbour.post()).status == 202  # there is room again
        posting.close()
