"""An orderly end and a quick beginning: SIGTERM answers what was accepted, and a long queue does not delay a start."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest
from postroad.testing.http_client import ClientConnection, ClientResponse, ConnectionGone
from postroad.testing.server import COMMAND, ServerProcess
from tests.samples.aftermath import require_whole
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER, Load
from tests.waiting import eventually_async

BROKEN = Path(__file__).with_name("broken_server.py")
DRAIN_LIMIT_S = 60.0
QUEUED = 20_000


async def post(server: ServerProcess, keys: dict[str, str], handle: str) -> ClientResponse | ConnectionGone:
    part = Part(id="d1", content_type="text/plain", data=b"order")
    body = JSON_FORM.encode_post(Message(to=(Recipient(RECEIVER),), handle=handle, parts=(part,)))
    async with ClientConnection(server.port, keys[SENDER]) as posting:
        try:
            return await posting.post("/v1/messages", body)
        except ConnectionGone as gone:
            return gone


def held(tmp_path: Path) -> ServerProcess:
    """A server whose disk ``hold-disk`` stops, and which notes in ``requests-read`` what it has read."""
    return ServerProcess(tmp_path / "data", command=(sys.executable, str(BROKEN), "held-disk", "serve"))


def requests_read(tmp_path: Path) -> int:
    return len((tmp_path / "requests-read").read_bytes())


def refuses_connections(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) != 0


async def test_sigterm_answers_what_was_accepted(tmp_path: Path) -> None:
    """The disk is held, so that every post is still waiting for its sync when the signal is handled."""
    server = held(tmp_path)
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        await post(server, keys, "first")  # so that its key is known, and nothing but the disk is waited for
        before = requests_read(tmp_path)
        (tmp_path / "hold-disk").touch()
        posts = [asyncio.create_task(post(server, keys, f"late-{number}")) for number in range(30)]
        await eventually_async(lambda: requests_read(tmp_path) == before + 30)
        stopping = asyncio.create_task(asyncio.to_thread(server.stop, DRAIN_LIMIT_S))
        await eventually_async(lambda: refuses_connections(server.port))
        assert not any(one.done() for one in posts)
        (tmp_path / "hold-disk").unlink()
        code = await stopping
        answers = await asyncio.gather(*posts)
        assert code == 0
        accepted = [answer for answer in answers if isinstance(answer, ClientResponse) and answer.status == 202]
        assert len(accepted) == 30
        server.start()
        async with ClientConnection(server.port, keys[RECEIVER]) as receiving:
            answer = await receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=100)))
        assert len(JSON_FORM.decode_delivered(answer.body)) == 31


async def test_a_long_poll_does_not_hold_up_the_end(tmp_path: Path) -> None:
    server = held(tmp_path)
    keys = await enroll(server, SENDER, RECEIVER)
    with server:
        receiving = ClientConnection(server.port, keys[RECEIVER])
        body = JSON_FORM.encode_poll(PollRequest(wait_s=60.0))
        (tmp_path / "requests-read").write_bytes(b"")
        polling = asyncio.create_task(receiving.post("/v1/poll", body))
        await eventually_async(lambda: requests_read(tmp_path) == 1)
        assert await asyncio.to_thread(server.stop, 40.0) == 0
        answer = await polling
        assert (answer.status, JSON_FORM.decode_delivered(answer.body)) == (200, [])
        receiving.close()


@pytest.mark.req("A3")
async def test_sigterm_under_load_loses_nothing(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", {"segment_bytes": 4 << 20, "attempts_most": 1000})
    load = Load(port=server.port, keys=await enroll(server, SENDER, RECEIVER), chance=Random(15))
    with server:
        for _ in range(3):
            server.start()
            await load.run(0.5)
            assert await asyncio.to_thread(server.stop, DRAIN_LIMIT_S) == 0
            await load.ended()
        server.start()
        await load.drain(0.5)
        assert server.stop() == 0
    assert load.ledger.close()[:5] == []
    await require_whole(server.data)


@pytest.mark.req("D6")
async def test_a_start_with_many_messages_queued_is_quick(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data")
    load = Load(port=server.port, keys=await enroll(server, SENDER, RECEIVER), chance=Random(20))
    with server:
        empty_s = server.restart()
        async with ClientConnection(server.port, load.keys[SENDER]) as posting:
            while len(load.ledger.sessions) < QUEUED:
                await load.bulk_poster(posting, posting)
        server.kill()
        full_s = server.start()
        asked_at = time.monotonic()
        async with ClientConnection(server.port, load.keys[RECEIVER]) as receiving:
            messages = await load.polled(receiving, 100)
        first_s = time.monotonic() - asked_at
        print(
            f"start: {empty_s:.2f} s empty, {full_s:.2f} s after a kill with {QUEUED} queued; first poll {first_s:.2f} s"
        )
        assert [message.handle for message in messages] == [f"h{number}" for number in range(100)]
        assert full_s < 30.0
    assert load.ledger.faults == []


def test_a_second_server_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        second = subprocess.run(
            [*COMMAND, "--data", str(server.data), "--set", "port=0"], capture_output=True, text=True, timeout=60
        )
        assert second.returncode == 1
        assert "another process is writing" in second.stderr + second.stdout
