"""Batcher and splitter on both sides: what one house gathers, the other takes apart, and its answer comes back to the batch."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy, Splitting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import InterchangeAnswered, decode
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.batching.stage import BatchStage
from postroad.services.engines import Engines
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.service_tools import UpperCase
from tests.waiting import WITHIN_S, eventually_async

ENVELOPES = {"x12": (("acknowledgment", "1"),), "edifact": (("acknowledgment", "1"),), "hl7": ()}


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with (
        memory_network() as running,
        run_hosted_services(running.network, Engines(transformer=UpperCase(), judges={})),
    ):
        stage = BatchStage(running.network)
        stage.start()
        try:
            yield running
        finally:
            await stage.close()


async def connect(running: MemoryNetwork, standard: str) -> tuple[Caller, Caller]:
    """MyBiz gathers for Acme, who takes apart; Acme's answers go to a splitter of MyBiz. Returns who sends and who receives."""
    sender = await running.register("MyBiz/erp")
    receiver = await running.register("Acme/orders")
    batching = Batching(
        sends_to="Acme/edi", standard=standard, sender="MYBIZ", receiver="ACME", envelope=ENVELOPES[standard],
        policy=BatchPolicy(count=2),
    )  # fmt: skip
    await running.register("MyBiz/to-acme", hosted=Hosting.BATCHER, batching=batching)
    await running.register(
        "MyBiz/from-acme", visibility=Visibility.PUBLIC, hosted=Hosting.SPLITTER,
        splitting=Splitting(sends_to="MyBiz/erp"),
    )  # fmt: skip
    await running.register(
        "Acme/edi", visibility=Visibility.PUBLIC, hosted=Hosting.SPLITTER,
        splitting=Splitting(sends_to="Acme/orders", answers_to="MyBiz/from-acme"),
    )  # fmt: skip
    return sender, receiver


async def post(running: MemoryNetwork, sender: Caller, data: bytes) -> None:
    part = Part(id="1", content_type="text/plain", data=data)
    await running.network.post(sender, Message(to=(Recipient("MyBiz/to-acme"),), parts=(part,)))


async def got(running: MemoryNetwork, receiver: Caller, count: int) -> list[Delivered]:
    found: list[Delivered] = []
    while len(found) < count:
        some = await running.network.poll(receiver, PollRequest(max=count, wait_s=WITHIN_S))
        assert some, f"{len(found)} of {count} came"
        await running.network.settle(receiver, Settlement(tokens=tuple(one.token for one in some)))
        found += some
    return found


async def answered(running: MemoryNetwork, count: int) -> list[InterchangeAnswered]:
    """What was said of all batches, once so much was said."""

    async def so_many() -> list[InterchangeAnswered]:
        await running.network.indexed()
        rows = await running.network.index.rows("batch_answer")
        found = [one for one in (decode(row[-1]) for row in rows) if isinstance(one, InterchangeAnswered)]
        return found if len(found) >= count else []

    return await eventually_async(so_many)


@pytest.mark.req("B6", "B7", "B10")
@pytest.mark.parametrize("standard", ["x12", "edifact", "hl7"])
async def test_a_batch_is_split_by_the_partner_and_its_acknowledgment_finds_the_batch(
    running: MemoryNetwork, standard: str
) -> None:
    sender, receiver = await connect(running, standard)
    others = [one.replace(b"|1|", b"|3|").replace(b"|2|", b"|4|") for one in TWO_MEMBERS[standard]]
    members = [*TWO_MEMBERS[standard], *others]  # so that an answer has two batches to choose from
    for member in members:
        await post(running, sender, member)
    documents = await got(running, receiver, 4)
    assert [one.parts[0].data for one in documents] == members
    names = [one.name for one in documents[0].properties]
    assert len(names) == len(set(names)), "what the interchange said of itself is told twice"
    answers = await answered(running, 2)
    batches = [await running.network.batches.find(one.batch) for one in answers]
    assert [(one.verdict, one.members) for one in answers] == [("accepted", ())] * 2
    assert [batch.state for batch in batches if batch is not None] == [BatchState.SENT] * 2
    assert len({one.batch for one in answers}) == 2


@pytest.mark.req("B10")
async def test_documents_of_an_interchange_can_be_gathered_again_in_other_delimiters(running: MemoryNetwork) -> None:
    """An interchange is taken apart, and its documents join a batch of their own."""
    sender = await running.register("MyBiz/erp")
    receiver = await running.register("Acme/edi", visibility=Visibility.PUBLIC)
    batching = Batching(
        sends_to="Acme/edi", standard="x12", sender="MYBIZ", receiver="ACME",
        envelope=(("element", "|"), ("terminator", "!")), policy=BatchPolicy(count=2),
    )  # fmt: skip
    await running.register("MyBiz/to-acme", hosted=Hosting.BATCHER, batching=batching)
    await running.register("MyBiz/in", hosted=Hosting.SPLITTER, splitting=Splitting(sends_to="MyBiz/to-acme"))
    head = b"ISA*00*          *00*          *ZZ*BUYER          *ZZ*MYBIZ          *261116*1200*U*00401*000000009*0*P*:~"
    body = b"GS*PO*BUYER*MYBIZ*20261116*1200*1*X*004010~" + b"".join(TWO_MEMBERS["x12"]) + b"GE*2*1~IEA*1*000000009~"
    part = Part(id="1", content_type="application/edi-x12", data=head + body)
    await running.network.post(sender, Message(to=(Recipient("MyBiz/in"),), parts=(part,)))
    [interchange] = await got(running, receiver, 1)
    assert interchange.parts[0].data.startswith(b"ISA|")
    assert TWO_MEMBERS["x12"][0].replace(b"*", b"|").replace(b"~", b"!") in interchange.parts[0].data
