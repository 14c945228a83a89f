"""A batcher at work, seen over HTTP: what it gathers, why it is stuck, and what became of it once somebody has helped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.interchange import x12
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy, Splitting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service, Visibility
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.access.authenticate import Proof
from postroad.flow.batching.stage import BatchStage
from postroad.flow.registries.configuration import build_save
from postroad.services.engines import Engines
from postroad.services.hosting.hosted_services import run_hosted_services
from tests.acceptance.asking import Asked, asked_network
from tests.samples.service_tools import UpperCase
from tests.samples.x12 import NOON, Counting
from tests.waiting import eventually_async

BATCHES = "/v1/batches"
NO_ENGINES = Engines(transformer=UpperCase(), judges={})


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network, run_hosted_services(network.running.network, NO_ENGINES):
        stage = BatchStage(network.running.network)
        stage.start()
        yield network
        await stage.close()


async def batcher(asked: Asked, sends_to: str) -> Service:
    batching = Batching(
        sends_to=sends_to, standard="x12", sender="BIRCH", receiver="ACME", policy=BatchPolicy(count=2, age_s=3600)
    )
    made = await asked.running.register(
        "Birch/batched", hosted=Hosting.BATCHER, batching=batching, visibility=Visibility.PUBLIC
    )
    assert made.service is not None
    return made.service


async def post(asked: Asked, number: int) -> str:
    """An order of A's to the batcher of B's."""
    sender = await asked.running.authenticator.authenticate(
        Proof(f"Bearer {asked.keys['service of A']}".encode()), "test"
    )
    data = f"ST*850*{number:04}~BEG*00*SA*PO-{number}**20261116~SE*3*{number:04}~".encode()
    part = Part(id="1", content_type="application/edi-x12", data=data)
    message = Message(to=(Recipient("Birch/batched"),), type=MessageType.NOTIFICATION, parts=(part,))
    return (await asked.running.network.post(sender, message)).session


async def shown(asked: Asked, batch: str, state: str) -> dict[str, Any]:
    """The batch, once it is in this state."""

    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = (await asked.ask("owner of B", "GET", f"{BATCHES}/{batch}")).json()
        return found if found["state"] == state else None

    found: dict[str, Any] | None = await eventually_async(look, why=f"the batch is not {state}")
    assert found is not None
    return found


async def listed(asked: Asked, count: int) -> dict[str, Any]:
    """The only batch, once it has so many members."""

    async def look() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await asked.ask("owner of B", "GET", BATCHES)).json()["items"]
        return items if [item["members"] for item in items] == [count] else []

    batch: dict[str, Any]
    [batch] = await eventually_async(look, why=f"there is no batch of {count}")
    return batch


async def known_by(asked: Asked, who: str, text: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await asked.ask(who, "GET", f"/v1/find?q={text}")).json()["items"]
    return items


async def take(asked: Asked, partner: Caller) -> Delivered:
    """The interchange that the partner takes over."""
    network = asked.running.network
    [delivered] = await network.poll(partner, PollRequest(wait_s=10))
    await network.settle(partner, Settlement(tokens=(delivered.token,)))
    return delivered


def answer_to(stream: bytes, rejected: int) -> bytes:
    """The partner's 997: all are accepted but one."""
    found = x12.split(stream)
    return b"".join(x12.acknowledge(found, x12.answering(found, NOON), Counting(), rejected=(rejected,)))


@pytest.mark.req("B5", "B7")
async def test_a_stuck_batch_says_why_and_goes_when_somebody_has_helped(asked: Asked) -> None:
    service = await batcher(asked, "Birch/gone")
    sessions = [await post(asked, 1)]
    gathering = await listed(asked, 1)
    assert (gathering["state"], gathering["nearest"]["criterion"]) == ("open", "age")
    sessions.append(await post(asked, 2))
    stuck = await shown(asked, gathering["id"], "suspended")
    assert "Birch/gone" in stuck["nearest"]["told"]
    assert (stuck["closedBy"], stuck["interchange"], stuck["numbers"]) == ("count", "", [])
    status = (await asked.ask("owner of A", "GET", f"/v1/messages/{sessions[0]}")).json()
    assert status["recipients"][0]["inWords"].endswith("which is suspended")
    [found] = await known_by(asked, "owner of A", sessions[0])
    assert (found["whereabouts"][0]["state"], found["whereabouts"][0]["batch"]) == ("waiting", stuck["id"])
    assert await known_by(asked, "owner of A", stuck["id"]) == []
    [batch] = await known_by(asked, "owner of B", stuck["id"].upper())
    assert (batch["kind"], batch["service"], batch["state"]) == ("batch", "Birch/batched", "suspended")

    partner = await asked.running.register("Birch/partner")
    assert service.batching is not None
    mended = replace(service, batching=replace(service.batching, sends_to="Birch/partner"))
    await asked.running.network.configuration.change("test", [build_save(mended)])
    resumed = await asked.ask(
        "owner of B", "POST", f"{BATCHES}/{stuck['id']}/resume", {"reason": "mended"}, match=f'"{stuck["version"]}"'
    )
    assert resumed.status_code == 200
    on_its_way = await shown(asked, stuck["id"], "assembled")
    assert (on_its_way["sending"]["recipient"], on_its_way["sending"]["state"]) == ("Birch/partner", "queued")
    session = (await take(asked, partner)).session
    sent = await shown(asked, stuck["id"], "sent")
    assert (sent["interchange"], sent["sending"]["state"]) == (session, "delivered")
    batch, interchange = await known_by(asked, "owner of B", stuck["id"])
    assert (batch["state"], interchange["session"], interchange["by"]) == ("sent", session, ["batch"])
    assert [one["by"] for one in await known_by(asked, "owner of B", "000000001")] == [["control number"]]
    assert sent["numbers"][0] == {"scope": "interchange", "first": 1, "last": 1}
    happened = [(change["what"], change["messages"]) for change in sent["changes"]]
    assert happened == [("joined", 2), ("suspended", 0), ("resumed", 0), ("assembled", 0), ("sent", 2)]
    assert sent["changes"][0]["detail"] == "2 of 2 messages"
    assert (sent["changes"][2]["by"], sent["changes"][2]["detail"]) == ("owner@birch.example", "mended")
    for number, one in enumerate(sessions, 1):
        trace = (await asked.ask("owner of A", "GET", f"/v1/messages/{one}/trace")).json()
        [stop] = trace["messages"][0]["copies"][0]["stops"]
        assert (stop["state"], stop["gathered"]["interchange"]) == ("delivered", session)
        assert stop["gathered"]["document"] == f"{number:04}"


@pytest.mark.req("B5")
async def test_somebody_need_not_wait_for_the_criteria(asked: Asked) -> None:
    partner = await asked.running.register("Birch/partner")
    await batcher(asked, "Birch/partner")
    await post(asked, 1)
    batch = await listed(asked, 1)
    await asked.ask("owner of B", "POST", f"{BATCHES}/{batch['id']}/release", {"reason": "the truck leaves early"})
    session = (await take(asked, partner)).session
    sent = await shown(asked, batch["id"], "sent")
    assert (sent["interchange"], sent["closedBy"], sent["why"]) == (
        session,
        "request",
        "owner@birch.example asked for it",
    )


@pytest.mark.req("B7", "B10")
async def test_what_the_partner_answers_is_told_to_all_concerned(asked: Asked) -> None:
    partner = await asked.running.register("Birch/partner")
    await batcher(asked, "Birch/partner")
    splitting = Splitting(sends_to="Birch/Private", standard="x12")
    await asked.running.register("Birch/from-acme", hosted=Hosting.SPLITTER, splitting=splitting)
    sessions = [await post(asked, 1), await post(asked, 2)]
    interchange = await take(asked, partner)
    part = Part(id="1", content_type="application/edi-x12", data=answer_to(interchange.parts[0].data, rejected=1))
    told = await asked.running.network.post(
        partner, Message(to=(Recipient("Birch/from-acme"),), type=MessageType.NOTIFICATION, parts=(part,))
    )

    async def contained() -> dict[str, Any] | None:
        trace = (await asked.ask("owner of B", "GET", f"/v1/messages/{interchange.session}/trace")).json()
        found: dict[str, Any] = trace["messages"][0]["contained"]
        return found if found["answers"] else None

    found = await eventually_async(contained)
    assert found is not None
    [answer] = found["answers"]
    assert (answer["session"], answer["otherwise"]) == (told.session, 1)
    batch = found["batch"]
    members = (await asked.ask("owner of B", "GET", f"{BATCHES}/{batch}/members")).json()["items"]
    assert [(member["session"], member["verdict"]) for member in members] == [
        (sessions[0], "accepted"),
        (sessions[1], "rejected"),
    ]
    seen = (await asked.ask("owner of A", "GET", f"/v1/messages/{sessions[1]}/trace")).json()
    assert seen["messages"][0]["copies"][0]["stops"][0]["gathered"]["verdict"] == "rejected"
