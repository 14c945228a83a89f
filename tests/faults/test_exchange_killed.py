"""kill -9 on a server whose exchange is at work: what it accepted reaches every queue that wants it, and none twice."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from postroad.client import Access, Client
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.asset import Hosting
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.testing.http_client import ClientConnection
from postroad.testing.server import COMMAND, ServerProcess
from tests.samples.aftermath import require_whole, require_whole_in_postgres
from tests.samples.enrolled_parties import Party, enroll
from tests.samples.server_ledger import Ledger
from tests.samples.server_load import RECEIVER, SENDER, Load

KILLS = int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1"))  # multiplies the lives
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
SETTINGS = {"segment_bytes": 4 << 20, "attempts_most": 10_000}
SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "attempts_most": 10_000}
HURRIED = (  # a lease in PostgreSQL outlives the node that has it, and an exchange's are two minutes long
    sys.executable,
    "-c",
    "from postroad.services.hosting import mailbox_worker; mailbox_worker.LEASE_S = 3.0; "
    "from postroad.cli.main import main; main()",
    "serve",
)
EXCHANGE, NEXT, SECOND, NOBODY = "Acme/Orders", "Acme/Next", "Acme/Second", "Acme/Nobody"
LIVES = 2 * KILLS
SOON_S = 90.0
BY_TREE, BY_ENGINE = (
    "/order/id",
    "if (starts-with(/order/id, 'h')) then $msg[string-length(string(/order/id)) gt 0] else ()",
)
MADE = "<seen>{ string(/order/id) }</seen>"


class Forwards(Ledger):
    """Of what goes through an exchange: it is handed out under one session, which is not that of the post."""

    def close(self) -> list[str]:
        return self.faults + [f"{handle} was accepted and never handed out" for handle in self.lost]


class Orders(Load):
    """Posters who send orders to the exchange."""

    def _new_handle(self) -> str:
        handle = f"h{next(self.numbers)}"
        self.ledger.send(handle, order(handle))
        return handle

    def _message(self, handle: str) -> Message:
        part = Part(id="d1", content_type="application/xml", data=order(handle))
        return Message(to=(Recipient(EXCHANGE),), handle=handle, possible_duplicate=True, parts=(part,))


def order(handle: str) -> bytes:
    return f"<order><id>{handle}</id></order>".encode()


async def enrolled(server: ServerProcess) -> dict[str, str]:
    exchanges = [
        Party(address=name, profile={"hosted": Hosting.EXCHANGE, "open_to": ("*",)}) for name in (EXCHANGE, NEXT)
    ]
    return await enroll(server, SENDER, RECEIVER, SECOND, NOBODY, *exchanges)


def bind_all(server: ServerProcess, keys: dict[str, str]) -> None:
    wanted = [
        (RECEIVER, EXCHANGE, RECEIVER, "exists(/order)"),
        (RECEIVER, EXCHANGE, RECEIVER, BY_ENGINE),
        (NEXT, EXCHANGE, NEXT, f"exists({BY_TREE})"),
        (SECOND, NEXT, SECOND, MADE),
        (NOBODY, NEXT, NOBODY, "/order/id = 'nobody'"),
    ]
    for owner, exchange, queue, query in wanted:
        with Client(access=Access.with_key(server.url, keys[owner])) as client:
            client.bindings.bind(exchange, queue, query=query)


async def polled(port: int, key: str, wait_s: float) -> list[Delivered]:
    async with ClientConnection(port, key) as receiving:
        request = PollRequest(max=500, wait_s=wait_s)
        answer = await receiving.post("/v1/poll", ENVELOPE_FORM.encode_poll(request), ENVELOPE_FORM.media_type)
        messages = ENVELOPE_FORM.decode_delivered(answer.body)
        settled = Settlement(tokens=tuple(message.token for message in messages))
        answer = await receiving.post("/v1/ack", JSON_FORM.encode_settlement(settled))
        assert not messages or answer.status == 200, answer.body
        return messages


async def drained(load: Orders, second: list[Delivered]) -> None:
    """Until both queues have all that was accepted, and a little longer, for what should not come."""
    deadline, quiet = time.monotonic() + SOON_S, 0
    async with ClientConnection(load.port, load.keys[RECEIVER]) as receiving:
        while quiet < 3 and time.monotonic() < deadline:
            first = await load.polled(receiving, 300, wait_s=0.3)
            await load.acknowledge(receiving, first)
            more = await polled(load.port, load.keys[SECOND], wait_s=0.3)
            second += more
            complete = not load.ledger.lost and len(second) >= len(load.ledger.sessions)
            quiet = quiet + 1 if complete and not first and not more else 0


@pytest.mark.req("X1", "X7", "A3", "M6")
@pytest.mark.parametrize("acceptance", ["local", "shared"])
async def test_a_killed_server_forwards_everything_to_everybody_once(
    tmp_path: Path, acceptance: str, request: pytest.FixtureRequest
) -> None:
    chance = Random(SEED)
    print(f"seed {SEED}: repeat with POSTROAD_TEST_SEED={SEED}")
    dsn = request.getfixturevalue("postgres_database") if acceptance == "shared" else ""
    settings = {**SHARED, "postgres": dsn} if dsn else SETTINGS
    server = ServerProcess(tmp_path / "data", settings, command=HURRIED if dsn else COMMAND)
    load = Orders(port=server.port, keys=await enrolled(server), chance=chance, ledger=Forwards(), lease_s=1.0)
    await asyncio.to_thread(server.start)
    await asyncio.to_thread(bind_all, server, load.keys)
    for _ in range(LIVES):
        await load.run(chance.uniform(0.3, 1.0), singles=4, bulks=0, receivers=1)
        server.kill()
        await load.ended()
        await asyncio.to_thread(server.start)
    second: list[Delivered] = []
    await drained(load, second)
    nobody = await polled(server.port, load.keys[NOBODY], wait_s=0.0)
    assert await asyncio.to_thread(server.stop) == 0
    print(f"{len(load.ledger.sessions)} accepted, {load.ledger.hand_outs} hand-outs, {len(second)} rebuilt")
    assert load.ledger.close()[:5] == []
    assert len(load.ledger.sessions) > 20
    times = Counter(message.handle for message in second)
    assert [handle for handle, count in times.items() if count > 1] == []
    assert set(load.ledger.sessions) <= set(times)
    assert {message.parts[0].data for message in second} == {f"<seen>{handle}</seen>".encode() for handle in times}
    assert nobody == []
    await (require_whole_in_postgres(dsn) if dsn else require_whole(tmp_path / "data"))
