"""A scenario with an exchange; its queries say ``wrap``, ``fail`` or ``yes``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from postroad.core.exchange.exchange import BindingTally, DeciderLanguage
from postroad.core.model.asset import Hosting
from postroad.core.model.directory import Visibility
from postroad.core.model.exchange import ANYONE, Binding
from postroad.core.model.message import Delivered, Part
from postroad.ports import ItemValue, QueryVerdict
from postroad.services.engines import Engines
from postroad.services.exchange.callables import Callables
from postroad.testing import Scenario
from tests.samples.service_tools import UpperCase, document
from tests.waiting import eventually_async

ORDER = document("<order><total>1200</total><region>north</region></order>")
SOON_S = 30.0


class Wrapping:
    """An engine whose queries say ``wrap`` (new content), ``fail`` or yes."""

    async def check(self, query: str) -> None: ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        if b"slow" in content:
            await asyncio.sleep(0.05)  # sleeps: slow content
        return [self._verdict(query, content) for query in queries]

    def _verdict(self, query: str, content: bytes) -> QueryVerdict:
        if "fail" in query:
            return QueryVerdict(goes=False, error="it failed")
        if "wrap" in query:
            return QueryVerdict(goes=True, content=b"<wrap>" + content + b"</wrap>", media_type="application/xml")
        return QueryVerdict(goes="yes" in query or ("slow" in query and b"slow" in content))


def is_rush(content: bytes, media_type: str, items: Mapping[str, ItemValue]) -> bool:
    return items.get("rush") is True


EXCHANGE, NEXT = "Acme/Orders", "Acme/Next"
PUBLISHER, NORTH, LARGE = "MyBiz/Purchasing", "North/Desk", "Large/Desk"


class ExchangeScenario(Scenario):
    """An exchange of Acme's and a second one, a publisher and two queues."""

    async def add_binding(self, queue: str, name: str = "", *, exchange: str = EXCHANGE, **how: object) -> Binding:
        return await self.bind(exchange, queue, name or queue, **how)

    async def publish(self, part: Part = ORDER, **header: Any) -> str:
        return (await self.post(PUBLISHER, EXCHANGE, parts=(part,), **header)).session

    async def got(self, address: str) -> Delivered:
        """Wait for one message of a service, and acknowledge it."""
        [one] = await self.take(address, max=1, wait_s=SOON_S)
        return one

    async def has_nothing(self, address: str) -> bool:
        return not await self.poll(address)

    async def tally(self, binding: Binding) -> BindingTally:
        return (await self.network.exchanges.load(self.gcid(EXCHANGE))).tally(binding)

    async def eventually_acknowledged(self, session: str) -> None:
        """Wait for the exchange to settle its own delivery, which it does after all others are on their way."""

        async def is_acknowledged() -> bool:
            return "acknowledged" in await self.events_at_the_exchange(session, "Acme")

        await eventually_async(is_acknowledged)

    async def events_at_the_exchange(self, session: str, organization: str) -> list[str]:
        messages = (await self.history(session, organization)).messages
        stops = [stop for message in messages for copy in message.copies for stop in copy.stops]
        [stop] = [stop for stop in stops if stop.gcid == self.gcid(EXCHANGE)]
        return [
            f"{event.what}: {event.detail}" if event.what == "forwarded" and event.detail else event.what
            for event in stop.events
        ]


@asynccontextmanager
async def exchange_scenario() -> AsyncIterator[ExchangeScenario]:
    engines = Engines(
        transformer=UpperCase(),
        judges={
            DeciderLanguage.QUERY: Wrapping(),
            DeciderLanguage.SCRIPT: Wrapping(),
            DeciderLanguage.CALLABLE: Callables({"rush": is_rush}),
        },
    )
    async with ExchangeScenario(engines=engines) as scenario:
        scenario.network.exchanges.install(["rush"])
        for address in (PUBLISHER, NORTH, LARGE):
            await scenario.service(address, visibility=Visibility.PRIVATE)
        await scenario.service(EXCHANGE, hosted=Hosting.EXCHANGE, open_to=(ANYONE,))
        await scenario.service(NEXT, hosted=Hosting.EXCHANGE, open_to=("North",))
        yield scenario
