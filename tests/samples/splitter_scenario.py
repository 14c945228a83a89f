"""A scenario with a splitter and a partner: what the partner sends is split, and what is split is acknowledged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.interchange.nouns import Envelope
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import InterchangeAnswered, decode
from postroad.core.model.message import Delivered
from postroad.services.engines import Engines
from postroad.services.hosting import runner
from postroad.testing import Scenario, make_part
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.service_tools import UpperCase
from tests.samples.x12 import NOON, Counting
from tests.waiting import eventually_async

SOON_S = 30.0
PARTNER, INBOX, SPLITTER = "Acme/edi", "MyBiz/inbox", "MyBiz/from-acme"
ASKS = {"x12": {"acknowledgment": "1"}, "edifact": {"acknowledgment": "1"}}


def interchange(name: str, members: list[bytes] | None = None, **options: str) -> bytes:
    """Return an interchange as Acme writes it to MyBiz."""
    standard = BUILT_IN.standard(name)
    assert standard.assemble is not None
    envelope = Envelope(sender="ACME", receiver="MYBIZ", at_us=NOON, options={**ASKS.get(name, {}), **options})
    return b"".join(standard.assemble(TWO_MEMBERS[name] if members is None else members, envelope, Counting()))


class SplitterScenario(Scenario):
    """MyBiz splits what Acme sends."""

    async def agree(self, **changed: Any) -> None:
        splitting = self.profile(SPLITTER).splitting
        assert splitting is not None
        await self.change(SPLITTER, splitting=replace(splitting, **changed))

    async def send(self, *documents: bytes, **header: Any) -> str:
        """Post documents to the splitter as the partner; returns the session."""
        parts = tuple(make_part(data, str(place), "text/plain") for place, data in enumerate(documents))
        return (await self.post(PARTNER, SPLITTER, parts=parts, **header)).session

    async def got(self, address: str, count: int = 1) -> list[Delivered]:
        """Wait for that many messages of a service, and acknowledge them."""
        found: list[Delivered] = []
        while len(found) < count:
            some = await self.take(address, max=count - len(found), wait_s=SOON_S)
            assert some, f"{len(found)} of {count} came"
            found += some
        return found

    async def until_idle(self) -> None:
        """Wait until nothing waits at the splitter."""

        async def nothing_waits() -> bool:
            await self.network.wait_until_indexed()
            return not await self.network.index.query("waiting_at", self.gcid(SPLITTER), 0, 1)

        await eventually_async(nothing_waits, why="the splitter does not come to an end")

    async def has_nothing(self, address: str) -> bool:
        await self.until_idle()
        return not await self.poll(address)

    async def failures(self) -> list[str]:
        """Return the reasons of the splitter's dead letters."""
        await self.until_idle()
        rows = await self.network.index.query("dead_letters_at", self.gcid(SPLITTER), 0, 1_000)
        return [str(row[1]) for row in rows]

    async def acknowledgments(self, batch: str = "") -> list[InterchangeAnswered]:
        """Return the acknowledgments that the partner sent for a batch."""
        await self.until_idle()
        rows = await self.network.index.query("batch_answers", batch)
        found = [decode(row[-1]) for row in rows]
        return [one for one in found if isinstance(one, InterchangeAnswered)]


@pytest.fixture
async def scenario(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SplitterScenario]:
    monkeypatch.setattr(runner, "RETRY_S", 0.001)
    async with SplitterScenario(engines=Engines(transformer=UpperCase(), judges={})) as scenario:
        await scenario.service(PARTNER)
        await scenario.service(INBOX, visibility=Visibility.PRIVATE)
        splitting = Splitting(sends_to=INBOX, answers_to=PARTNER)
        await scenario.service(SPLITTER, hosted=Hosting.SPLITTER, splitting=splitting)
        yield scenario


def properties_of(delivered: Delivered) -> dict[str, str]:
    return {one.name: one.value for one in delivered.properties}
