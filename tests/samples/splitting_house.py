"""A house with a splitter and a partner, for the tests of both ways: what is taken apart, and what is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from postroad.core.interchange.model import Envelope
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Splitting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.journal import InterchangeAnswered, decode
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.registries.configuration import build_save
from postroad.services.engines import Engines
from postroad.services.hosting import runner
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.workbench import UpperCase
from tests.samples.x12 import NOON, Counting
from tests.waiting import eventually_async

SOON_S = 30.0
ASKS = {"x12": {"acknowledgment": "1"}, "edifact": {"acknowledgment": "1"}}


def interchange(name: str, members: list[bytes] | None = None, **facts: str) -> bytes:
    """As Acme writes it to MyBiz."""
    standard = BUILT_IN.standard(name)
    assert standard.assemble is not None
    envelope = Envelope(sender="ACME", receiver="MYBIZ", at_us=NOON, options={**ASKS.get(name, {}), **facts})
    return b"".join(standard.assemble(TWO_MEMBERS[name] if members is None else members, envelope, Counting()))


class House:
    """MyBiz, which takes apart what Acme sends."""

    def __init__(self, running: MemoryNetwork, callers: dict[str, Caller]) -> None:
        self.network, self.running, self.callers = running.network, running, callers

    async def agree(self, **changed: object) -> None:
        service = self.callers["splitter"].service
        assert service is not None
        assert service.splitting is not None
        agreed = replace(service, splitting=replace(service.splitting, **changed))  # type: ignore[arg-type]
        self.callers["splitter"] = replace(self.callers["splitter"], service=agreed)
        await self.network.configuration.change("test", [build_save(agreed)])

    async def send(self, *data: bytes, **more: object) -> str:
        parts = tuple(Part(id=str(place), content_type="text/plain", data=one) for place, one in enumerate(data))
        message = Message(to=(Recipient("MyBiz/from-acme"),), parts=parts, **more)  # type: ignore[arg-type]
        return (await self.network.post(self.callers["acme"], message)).session

    async def got(self, name: str, count: int = 1) -> list[Delivered]:
        found: list[Delivered] = []
        while len(found) < count:
            some = await self.network.poll(self.callers[name], PollRequest(max=count - len(found), wait_s=SOON_S))
            assert some, f"{len(found)} of {count} came"
            await self.network.settle(self.callers[name], Settlement(tokens=tuple(one.token for one in some)))
            found += some
        return found

    async def settled(self) -> None:
        """Until nothing waits at the splitter."""

        async def nothing_waits() -> bool:
            await self.network.wait_until_indexed()
            return not await self.network.index.query("waiting_at", self.gcid("splitter"), 0, 1)

        await eventually_async(nothing_waits, why="the splitter does not come to an end")

    async def has_nothing(self, name: str) -> bool:
        await self.settled()
        return not await self.network.poll(self.callers[name], PollRequest())

    async def letters(self) -> list[str]:
        """Why what came to the splitter failed."""
        await self.settled()
        rows = await self.network.index.query("dead_letters_at", self.gcid("splitter"), 0, 1_000)
        return [str(row[1]) for row in rows]

    async def answers(self, batch: str = "") -> list[InterchangeAnswered]:
        await self.settled()
        rows = await self.network.index.query("batch_answers", batch)
        found = [decode(row[-1]) for row in rows]
        return [one for one in found if isinstance(one, InterchangeAnswered)]

    def gcid(self, name: str) -> str:
        service = self.callers[name].service
        assert service is not None
        return service.gcid


@pytest.fixture
async def house(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[House]:
    monkeypatch.setattr(runner, "RETRY_S", 0.001)
    async with (
        memory_network() as running,
        run_hosted_services(running.network, Engines(transformer=UpperCase(), judges={})),
    ):
        splitting = Splitting(sends_to="MyBiz/inbox", answers_to="Acme/edi")
        yield House(
            running,
            {
                "acme": await running.register("Acme/edi", visibility=Visibility.PUBLIC),
                "inbox": await running.register("MyBiz/inbox"),
                "splitter": await running.register(
                    "MyBiz/from-acme", visibility=Visibility.PUBLIC, hosted=Hosting.SPLITTER, splitting=splitting
                ),
            },
        )


def told(delivered: Delivered) -> dict[str, str]:
    return {one.name: one.value for one in delivered.properties}
