"""Restarts of a server whose listening socket another process holds: clients see no refused connection and lose no request.

``POSTROAD_TEST_SERVER_KILLS=4`` makes four times as many restarts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.testing.http_client import ClientConnection, ConnectionGone
from postroad.testing.server import COMMAND, ServerProcess
from tests.samples.aftermath import require_whole
from tests.samples.enrolled_parties import enroll
from tests.samples.server_load import RECEIVER, SENDER
from tests.waiting import eventually_async

RESTARTS = 4 * int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))
POSTERS = 4
ENOUGH = 20  # posts answered between two restarts
HOLDER = Path(__file__).with_name("socket_holder.py")

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="systemd exists on Linux only"),
    pytest.mark.timeout(600),
]


class Posters:
    """Clients that open a new connection for every post, and count what becomes of it."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self._key = port, key
        self.accepted: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.ending = False

    async def post_until_ended(self, name: str) -> None:
        number = 0
        while not self.ending:
            handle = f"{name}-{number}"
            number += 1
            part = Part(id="d1", content_type="text/plain", data=handle.encode())
            body = JSON_FORM.encode_post(Message(to=(Recipient(RECEIVER),), handle=handle, parts=(part,)))
            async with ClientConnection(self.port, self._key) as posting:
                try:
                    answer = await posting.post("/v1/messages", body)
                except ConnectionGone as gone:
                    self.failures[str(gone)] += 1
                    continue
            if answer.status == 202:
                self.accepted.add(handle)
            else:
                self.failures[f"{answer.status} {answer.body!r}"] += 1


def notices(server: ServerProcess) -> list[list[str]]:
    """What the server processes have reported: process ID and message."""
    file = server.data.with_name("notices")
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def ready(server: ServerProcess) -> int:
    return sum(line[1] == "READY=1" for line in notices(server))


@pytest.mark.req("O7")
async def test_restarts_refuse_no_connection_and_lose_no_request(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", command=(sys.executable, str(HOLDER), *COMMAND))
    keys = await enroll(server, SENDER, RECEIVER)
    posters = Posters(server.port, keys[SENDER])
    with server:
        working = [asyncio.create_task(posters.post_until_ended(f"p{number}")) for number in range(POSTERS)]
        for restart in range(RESTARTS):
            await eventually_async(lambda restart=restart: ready(server) == restart + 1)  # type: ignore[misc]
            before = len(posters.accepted)
            await eventually_async(lambda before=before: len(posters.accepted) >= before + ENOUGH)  # type: ignore[misc]
            os.kill(server.pid, signal.SIGHUP)
        await eventually_async(lambda: ready(server) == RESTARTS + 1)
        posters.ending = True
        await asyncio.gather(*working)
        assert posters.failures == {}
        assert sorted(await received(server.port, keys[RECEIVER])) == sorted(posters.accepted)
        assert server.stop() == 0
    await require_whole(server.data)


async def received(port: int, key: str) -> list[str]:
    """Poll and acknowledge everything."""
    found: list[str] = []
    async with ClientConnection(port, key) as receiving:
        while True:
            answer = await receiving.post("/v1/poll", JSON_FORM.encode_poll(PollRequest(max=1000)))
            messages = JSON_FORM.decode_delivered(answer.body)
            if not messages:
                return found
            found += [message.handle for message in messages]
            tokens = tuple(message.token for message in messages)
            await receiving.post("/v1/ack", JSON_FORM.encode_settlement(Settlement(tokens=tokens, outcome=Outcome.ACK)))


async def test_without_a_held_socket_connections_are_refused(tmp_path: Path) -> None:
    """The check above finds refused connections where there are some."""
    server = ServerProcess(tmp_path / "data")
    posters = Posters(server.port, (await enroll(server, SENDER, RECEIVER))[SENDER])
    with server:
        working = asyncio.create_task(posters.post_until_ended("p"))
        await eventually_async(lambda: posters.accepted)
        await asyncio.to_thread(server.stop)
        await eventually_async(lambda: any("Refused" in failure for failure in posters.failures))
        posters.ending = True
        await working


async def test_the_service_manager_is_told_what_the_server_does(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "data", command=(sys.executable, str(HOLDER), *COMMAND))
    with server:
        await eventually_async(lambda: sum(line[1] == "WATCHDOG=1" for line in notices(server)) >= 3)
        assert server.stop() == 0
    states = [line[1] for line in notices(server)]
    assert (states[0], states[-1]) == ("READY=1", "STOPPING=1")
    assert len({line[0] for line in notices(server)}) == 1
