"""Batcher and splitter on both sides: one organization gathers, the other splits and acknowledges to the batch."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy, Splitting
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import InterchangeAnswered
from postroad.testing import Scenario, make_part
from tests.samples.batch_and_split import ERP, TO_ACME, batch_and_split, got
from tests.samples.interchange_members import TWO_MEMBERS
from tests.waiting import eventually_async

ENVELOPES = {"x12": (("acknowledgment", "1"),), "edifact": (("acknowledgment", "1"),), "hl7": ()}


ORDERS = "Acme/orders"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with batch_and_split() as scenario:
        yield scenario


async def connect(scenario: Scenario, standard: str) -> None:
    """MyBiz gathers for Acme, which splits; the acknowledgments of Acme go to a splitter of MyBiz."""
    await scenario.service(ORDERS, visibility=Visibility.PRIVATE)
    batching = Batching(
        sends_to="Acme/edi", standard=standard, sender="MYBIZ", receiver="ACME", envelope=ENVELOPES[standard],
        policy=BatchPolicy(count=2),
    )  # fmt: skip
    await scenario.service(TO_ACME, visibility=Visibility.PRIVATE, hosted=Hosting.BATCHER, batching=batching)
    await scenario.service("MyBiz/from-acme", hosted=Hosting.SPLITTER, splitting=Splitting(sends_to=ERP))
    splitting = Splitting(sends_to=ORDERS, answers_to="MyBiz/from-acme")
    await scenario.service("Acme/edi", hosted=Hosting.SPLITTER, splitting=splitting)


async def acknowledgments(scenario: Scenario, count: int) -> list[InterchangeAnswered]:
    """Wait for that many acknowledgments of batches."""

    async def arrived() -> list[InterchangeAnswered]:
        await scenario.network.wait_until_indexed()
        found = await scenario.entries(InterchangeAnswered)
        return found if len(found) >= count else []

    return await eventually_async(arrived)


@pytest.mark.req("B6", "B7", "B10")
@pytest.mark.parametrize("standard", ["x12", "edifact", "hl7"])
async def test_a_batch_is_split_by_the_partner_and_its_acknowledgment_finds_the_batch(
    scenario: Scenario, standard: str
) -> None:
    await connect(scenario, standard)
    others = [one.replace(b"|1|", b"|3|").replace(b"|2|", b"|4|") for one in TWO_MEMBERS[standard]]
    members = [*TWO_MEMBERS[standard], *others]  # so that an acknowledgment has two batches to choose from
    for member in members:
        await scenario.post(ERP, TO_ACME, parts=(make_part(member, content_type="text/plain"),))
    documents = await got(scenario, ORDERS, 4)
    assert [one.parts[0].data for one in documents] == members
    names = [one.name for one in documents[0].properties]
    assert len(names) == len(set(names)), "what the interchange said of itself is told twice"
    answers = await acknowledgments(scenario, 2)
    batches = [await scenario.network.batches.find(one.batch) for one in answers]
    assert [(one.verdict, one.members) for one in answers] == [("accepted", ())] * 2
    assert [batch.state for batch in batches if batch is not None] == [BatchState.SENT] * 2
    assert len({one.batch for one in answers}) == 2


@pytest.mark.req("B10")
async def test_documents_of_an_interchange_can_be_gathered_again_in_other_delimiters(scenario: Scenario) -> None:
    """An interchange is taken apart, and its documents join a batch of their own."""
    await scenario.service("Acme/edi")
    batching = Batching(
        sends_to="Acme/edi", standard="x12", sender="MYBIZ", receiver="ACME",
        envelope=(("element", "|"), ("terminator", "!")), policy=BatchPolicy(count=2),
    )  # fmt: skip
    await scenario.service(TO_ACME, visibility=Visibility.PRIVATE, hosted=Hosting.BATCHER, batching=batching)
    splitting = Splitting(sends_to=TO_ACME)
    await scenario.service("MyBiz/in", visibility=Visibility.PRIVATE, hosted=Hosting.SPLITTER, splitting=splitting)
    head = b"ISA*00*          *00*          *ZZ*BUYER          *ZZ*MYBIZ          *261116*1200*U*00401*000000009*0*P*:~"
    body = b"GS*PO*BUYER*MYBIZ*20261116*1200*1*X*004010~" + b"".join(TWO_MEMBERS["x12"]) + b"GE*2*1~IEA*1*000000009~"
    await scenario.post(ERP, "MyBiz/in", parts=(make_part(head + body, content_type="application/edi-x12"),))
    [interchange] = await got(scenario, "Acme/edi", 1)
    assert interchange.parts[0].data.startswith(b"ISA|")
    assert TWO_MEMBERS["x12"][0].replace(b"*", b"|").replace(b"~", b"!") in interchange.parts[0].data
