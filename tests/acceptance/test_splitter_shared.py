"""Splitters in a shared network: both nodes take interchanges apart, none twice, and no control number is used twice."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.interchange import x12
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.registries.configuration import build_save
from tests.waiting import eventually_async

INTERCHANGES = 8
WAIT_S = 30.0
PARTNER, INBOX = (
    Service(gcid=digit * 16, organization="MyBiz", name=name) for digit, name in (("a", "edi"), ("b", "in"))
)
SPLITTER = Service(
    gcid="c" * 16,
    organization="MyBiz",
    name="from-acme",
    hosted=Hosting.SPLITTER,
    splitting=Splitting(sends_to="MyBiz/in", answers_to="MyBiz/edi"),
)


def interchange(number: int) -> bytes:
    head = "ISA*00*          *00*          *ZZ*ACME           *ZZ*MYBIZ          *261116*1200*U*00401"
    sets = "".join(f"ST*850*{place:04}~BEG*00*SA*{number}-{place}~SE*3*{place:04}~" for place in (1, 2, 3))
    group = f"GS*PO*ACME*MYBIZ*20261116*1200*{number}*X*004010~{sets}GE*3*{number}~"
    return f"{head}*{number:09}*0*P*:~{group}IEA*1*{number:09}~".encode()


async def taken(node: RunningNetwork, service: Service, most: int) -> list[Delivered]:
    caller, found = Caller(service=service, level=AuthenticationLevel.KEY), list[Delivered]()
    while len(found) < most:
        polled = await node.network.poll(caller, PollRequest(max=most - len(found), wait_s=WAIT_S))
        assert polled, f"only {len(found)} of {most} arrived"
        await node.network.settle(caller, Settlement(tokens=tuple(one.token for one in polled)))
        found += polled
    return found


async def post(node: RunningNetwork, number: int) -> None:
    part = Part(id="1", content_type="application/edi-x12", data=interchange(number))
    sender = Caller(service=PARTNER, level=AuthenticationLevel.KEY)
    await node.network.post(sender, Message(to=(Recipient("MyBiz/from-acme"),), parts=(part,)))


async def letters(node: RunningNetwork) -> list[str]:
    """Why interchanges were not taken."""
    await node.network.wait_until_indexed()
    return [row[1] for row in await node.network.index.query("dead_letters_at", SPLITTER.gcid, 0, 100)]


@pytest.mark.req("B10", "O3")
async def test_two_nodes_take_every_interchange_apart_once(tmp_path: Path, postgres_database: str) -> None:
    """Each comes to both nodes at the same moment: one of the two is taken, and the other is a dead letter."""
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    async with open_network(one) as first, open_network(two) as second:
        changes = [build_save(item) for item in (Organization(name="MyBiz"), PARTNER, INBOX, SPLITTER)]
        await first.network.configuration.change("test", changes)
        for node in (first, second):
            await node.network.wait_until_indexed()
            await node.network.configuration.load()
        numbers = range(1, INTERCHANGES + 1)
        await asyncio.gather(*(post(node, number) for number in numbers for node in (first, second)))
        documents = await taken(second, INBOX, 3 * INTERCHANGES)
        answers = [x12.split(one.parts[0].data) for one in await taken(first, PARTNER, 2 * INTERCHANGES)]
        assert len({one.parts[0].data for one in documents}) == 3 * INTERCHANGES
        assert sorted(int(one.reference) for one in answers) == list(range(1, 2 * INTERCHANGES + 1))
        told = Counter(bool(x12.read_answers(one).interchanges) for one in answers)
        assert told == {False: INTERCHANGES, True: INTERCHANGES}, "a TA1 says that it is a duplicate"

        async def all_duplicates() -> bool:
            return len(await letters(first)) >= INTERCHANGES

        await eventually_async(all_duplicates, WAIT_S)
        assert all(reason.startswith("interchange.duplicate: ") for reason in await letters(first))
