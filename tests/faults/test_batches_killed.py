"""kill -9 on a server with a batch in every state of its life: each goes on from where it was, and every order goes once.

One network has six batches at a time, told apart by their topic, so that one death meets all of them. A standard batcher loses
nothing; one of high performance at most that messages were in a batch, and then they are in one again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Access, Client, Received
from postroad.client.retries import Retrying
from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.model.selector import Selector
from postroad.testing.server import ServerProcess
from tests.samples.aftermath import require_whole, require_whole_in_postgres
from tests.samples.enrolled_parties import Party, serving
from tests.waiting import eventually

SENDER, PORT, PARTNER = "MyBiz/Sales", "Acme/orders", "Acme/edi"
LEASE_S = 3.0
STATES = ("open", "closed", "assembled", "being sent", "suspended", "resumed")
EMBEDDED = {"segment_bytes": 4 << 20, "attempts_most": 2}
SHARED = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "attempts_most": 2}
HURRIED = (  # what a killed node had taken in PostgreSQL comes again when its lease is over, which is else a minute
    sys.executable,
    "-c",
    "from postroad.flow.batching import intake; intake.LEASE_S = 2.0; from postroad.cli.main import main; main()",
    "serve",
)
KINDS = [("embedded", "standard"), ("shared", "high performance")]
if int(os.environ.get("POSTROAD_TEST_SERVER_KILLS", "1")) > 1:
    KINDS += [("shared", "standard"), ("embedded", "high performance")]


def order(number: int) -> bytes:
    return f"ST*850*{number:04}~BEG*00*NE*{number}**20260105~SE*3*{number:04}~".encode()


def port(persist_at: int) -> Party:
    place = ValueLocation(where=MessageSection.HEADER, path="topic")
    batching = Batching(
        sends_to=PARTNER,
        standard="x12",
        sender="MYBIZ",
        receiver="ACME",
        envelope=(("version", "00401"),),
        policy=BatchPolicy(count=3, group_by=(place,)),
        persist_at=persist_at,
    )
    return Party(address=PORT, profile={"hosted": Hosting.BATCHER, "batching": batching})


@dataclass(slots=True, kw_only=True)
class BatchTraffic:
    """Those who speak to the server in all its lives, and what they have seen."""

    server: ServerProcess
    keys: dict[str, str]
    posted: dict[str, list[bytes]] = field(default_factory=dict)
    seen: dict[str, bytes] = field(default_factory=dict)  # streams by the session of the interchange
    taken: dict[str, bytes] = field(default_factory=dict)  # those that were acknowledged
    _clients: dict[str, Client] = field(default_factory=dict)

    def client(self, who: str = "") -> Client:
        if who not in self._clients:
            key = self.keys[who] if who else self.server.operator_key
            self._clients[who] = Client(access=Access.with_key(self.server.url, key), retrying=Retrying(tries=5))
        return self._clients[who]

    def close(self) -> None:
        while self._clients:
            self._clients.popitem()[1].close()

    def post(self, topic: str, count: int) -> None:
        for _ in range(count):
            document = order(1 + sum(map(len, self.posted.values())))
            self.posted.setdefault(topic, []).append(document)
            part = Part(id="1", content_type="application/edi-x12", data=document)
            self.client(SENDER).post_message(Message(to=(Recipient(PORT),), topic=topic, parts=(part,)))

    def batch(self, topic: str) -> dict[str, Any]:
        found = [one for one in self.client().batches.list(PORT, "all") if one["key"] == [topic]]
        assert len(found) <= 1, f"{topic} has several batches: {found}"
        return dict(found[0]) if found else {"state": "none", "count": 0, "id": ""}

    def until(self, topic: str, state: str, is_complete: Callable[[dict[str, Any]], bool] = bool) -> dict[str, Any]:
        batch: dict[str, Any] = {}

        def has_come_so_far() -> bool:
            batch.update(self.batch(topic))
            return batch["state"] in {state, "suspended"} and (batch["state"] != state or is_complete(batch))

        with suppress(AssertionError):
            eventually(has_come_so_far)
        assert batch["state"] == state, f"{topic} is {batch}, not {state}\n{self.server.log[-3000:]}"
        return batch

    def steer(self, topic: str, action: str) -> None:
        getattr(self.client().batches, action)(self.batch(topic)["id"], reason="a test")

    def poll(self, topic: str, wait_s: float = 20.0) -> list[Received]:
        found = self.client(PARTNER).poll(10, wait_s=wait_s, lease_s=LEASE_S, select=Selector(topic=topic))
        for interchange in found:
            stream = bytes(interchange.parts[0].data)
            assert self.seen.setdefault(interchange.session, stream) == stream, "the same interchange, other bytes"
        return found

    def fail(self, topic: str) -> None:
        """The partner gives the interchange back until the network gives it up."""
        for _ in range(2):
            self.client(PARTNER).give_back(*self.poll(topic), reason="no room")
        assert self.poll(topic, wait_s=0.0) == []
        self.until(topic, "suspended")

    def take(self, topic: str) -> None:
        [interchange] = self.poll(topic)
        self.client(PARTNER).acknowledge(interchange)
        self.taken[interchange.session] = self.seen[interchange.session]

    def die(self) -> None:
        self.close()
        self.server.kill()
        self.server.start()


def live(traffic: BatchTraffic, kind: str) -> None:
    """A batch in each state; the open one comes last, so that a death finds it while it is young."""
    traffic.post("closed", 1)
    traffic.until("closed", "open")
    traffic.steer("closed", "pause")
    for topic in STATES[1:]:
        traffic.post(topic, 2 if topic == "closed" else 3)
    for topic in STATES[2:]:
        traffic.until(topic, "assembled")
    [_] = traffic.poll("being sent")
    for topic in ("suspended", "resumed"):
        traffic.fail(topic)
    traffic.steer("resumed", "resume")
    traffic.until("closed", "closed", lambda batch: batch["held"])
    traffic.post("open", 2)
    if kind == "standard":
        traffic.until("open", "open", lambda batch: batch["members"] == 2)


def require_where_they_were(traffic: BatchTraffic, kind: str) -> None:
    found = {topic: traffic.batch(topic)["state"] for topic in STATES}
    assert found.pop("open") in (("open",) if kind == "standard" else ("open", "none"))
    assert found == {
        "closed": "closed",
        "assembled": "assembled",
        "being sent": "assembled",
        "suspended": "suspended",
        "resumed": "assembled",
    }


def go_on(traffic: BatchTraffic) -> None:
    """Each to its end, with one more death among the acknowledgements."""
    traffic.post("open", 1)
    traffic.steer("closed", "resume")
    traffic.steer("suspended", "resume")
    for topic in STATES[:3]:
        traffic.take(topic)
    traffic.die()
    for topic in STATES[3:]:
        traffic.take(topic)
    for topic in STATES:
        traffic.until(topic, "sent")


@pytest.mark.req("B4", "B5", "B6", "B7", "A3")
@pytest.mark.parametrize(("store", "kind"), KINDS)
def test_batches_go_on_from_where_a_death_met_them(
    tmp_path: Path, store: str, kind: str, request: pytest.FixtureRequest
) -> None:
    dsn = request.getfixturevalue("postgres_database") if store == "shared" else ""
    settings = {**SHARED, "postgres": dsn} if dsn else EMBEDDED
    parties = (SENDER, PARTNER, port(100 if kind == "high performance" else 0))
    with serving(tmp_path / "data", *parties, settings=settings, command=HURRIED) as (server, keys):
        traffic = BatchTraffic(server=server, keys=keys)
        live(traffic, kind)
        traffic.die()
        require_where_they_were(traffic, kind)
        go_on(traffic)
        traffic.close()
        assert server.stop() == 0
    split = [x12.split(stream, OnEnvelopeError.REFUSE) for stream in traffic.taken.values()]
    assert sorted([bytes(one.data) for one in found.members] for found in split) == sorted(traffic.posted.values())
    assert sorted(int(found.reference) for found in split) == list(range(1, len(STATES) + 1))
    assert traffic.seen == traffic.taken, "what failed or was cut off came again as it was"
    asyncio.run(require_whole_in_postgres(dsn) if dsn else require_whole(tmp_path / "data"))
