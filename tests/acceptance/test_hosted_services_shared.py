"""Hosted services in a shared network: every node attends to them, a message is worked on once, and maps are one."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service, Visibility
from postroad.core.model.message import Argument, Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.registries.configuration import build_save

MESSAGES = 40
WAIT_S = 60.0
MYBIZ, ACME, LOOKUP, XREF = (
    Service(gcid=digit * 16, organization=house, name="Service", visibility=Visibility.PUBLIC)
    for digit, house in zip("abcd", ("MyBiz", "Acme", "XpandiCo", "Transmatics"), strict=True)
)
TABLE = Asset(service=LOOKUP.gcid, kind=AssetKind.TABLE, name="zips", content="zip,plus4\n62701,62701-1234\n")
MAP = Asset(service=XREF.gcid, kind=AssetKind.MAP, name="customers", content='{"services": "*"}')


def caller(service: Service) -> Caller:
    return Caller(service=service, level=AuthenticationLevel.KEY)


def recipient(service: Service, **arguments: str) -> Recipient:
    return Recipient(service.address, tuple(Argument(name, value) for name, value in arguments.items()))


async def configured(node: RunningNetwork, other: RunningNetwork) -> None:
    hosted = (replace(LOOKUP, hosted=Hosting.LOOKUP), replace(XREF, hosted=Hosting.CROSSREFERENCE))
    services = (MYBIZ, ACME, *hosted)
    houses = [Organization(name=service.organization) for service in services]
    changed = await node.network.configuration.change(
        "test", [build_save(item) for item in (*houses, *services, TABLE, MAP)]
    )
    known = asyncio.Event()
    other.network.configuration.on_change(
        lambda directory: known.set() if directory.version >= changed.version else None
    )
    await asyncio.wait_for(known.wait(), WAIT_S)


async def taken(node: RunningNetwork, service: Service, most: int) -> list[Delivered]:
    found: list[Delivered] = []
    while len(found) < most:
        polled = await node.network.poll(caller(service), PollRequest(max=most - len(found), wait_s=WAIT_S))
        assert polled, f"only {len(found)} of {most} arrived"
        await node.network.settle(caller(service), Settlement(tokens=tuple(one.token for one in polled)))
        found += polled
    return found


def part(text: str) -> Part:
    return Part(id="1", content_type="application/xml", data=text.encode())


@pytest.mark.req("O3")
@pytest.mark.req("S2")
@pytest.mark.req("S3")
async def test_two_nodes_share_the_work_and_the_maps(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    async with open_network(one) as first, open_network(two) as second:
        await configured(first, second)
        for number in range(MESSAGES):
            message = Message(
                to=(recipient(ACME),),
                route=(recipient(LOOKUP, element="/Order/Zip"),),
                handle=str(number),
                parts=(part("<Order><Zip>62701</Zip></Order>"),),
            )
            await (first, second)[number % 2].network.post(caller(MYBIZ), message)
        arrived = await taken(second, ACME, MESSAGES)
        assert Counter(one.handle for one in arrived) == Counter(map(str, range(MESSAGES)))
        assert {one.parts[0].data for one in arrived} == {b"<Order><Zip>62701-1234</Zip></Order>"}

        relating = recipient(
            XREF, operation="relate", keyName="n", keyValue="3489", otherService=ACME.address, otherKeyName="n",
            otherKeyValue="BX0045012",
        )  # fmt: skip
        await first.network.post(caller(MYBIZ), Message(to=(relating,), type=MessageType.REQUEST))
        [response] = await taken(first, MYBIZ, 1)
        assert response.status is None
        order = Message(
            to=(recipient(ACME),),
            route=(recipient(XREF, operation="replaceElement", element="/Order", keyName="n"),),
            parts=(part("<Order>3489</Order>"),),
        )
        await second.network.post(caller(MYBIZ), order)
        [replaced] = await taken(second, ACME, 1)
        assert replaced.parts[0].data == b"<Order>BX0045012</Order>"
