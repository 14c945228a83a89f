"""A network in memory with exchanges, the real engine for queries and scripts, and services that the test plays.

Services are called by one word; whoever is named is made on first use. An exchange's answer to a request says how many copies it
has sent on, and comes when they are durable: whatever ``send`` has returned for is waiting at its queues.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.adapters.scripts.scripts import ScriptWorkers, StarlarkScripts
from postroad.core.exchange.exchange import BindingTally, DeciderLanguage
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Delivered, Message, MessageType, Part, Property, PropertyType, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.ports import QueryEngine
from postroad.services.engines import Engines
from postroad.services.exchange.callables import Callables
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.network import MemoryNetwork, memory_network
from tests.waiting import eventually_async

SOON_S = 30.0
COPIES = "exchange.copies"
PUBLISHER = "Publisher"
TYPES = {bool: PropertyType.BOOLEAN, int: PropertyType.NUMBER, float: PropertyType.NUMBER, str: PropertyType.STRING}


class Hall:
    def __init__(self, running: MemoryNetwork, judges: dict[DeciderLanguage, QueryEngine]) -> None:
        self.network = running.network
        self._running, self._judges = running, judges
        self._callers: dict[str, Caller] = {}

    # ---- who is there

    async def service(self, name: str, **profile: Any) -> Caller:
        if name not in self._callers:
            profile.setdefault("visibility", Visibility.PUBLIC)
            address = name if "/" in name else f"Hall/{name}"
            self._callers[name] = await self._running.register(address, **profile)
        return self._callers[name]

    async def exchange(self, name: str) -> Caller:
        return await self.service(name, hosted=Hosting.EXCHANGE)

    async def gcid(self, name: str) -> str:
        service = (await self.service(name)).service
        assert service is not None
        return service.gcid

    async def bind(
        self, queue: str, query: str = "", *, exchange: str = "Exchange", name: str = "", **how: Any
    ) -> Binding:
        """As an owner of the queue binds it: what the engine does not take is refused."""
        await self.exchange(exchange)
        for language, text in ((DeciderLanguage.QUERY, query), (DeciderLanguage.SCRIPT, how.get("script", ""))):
            if text:
                await self._judges[language].check(text)
        binding = Binding(
            exchange=await self.gcid(exchange), name=name or queue, queue=await self.gcid(queue), query=query, **how
        )
        await self.network.configuration.change("test", [build_save(binding)])
        return binding

    async def unbind(self, binding: Binding) -> None:
        change = build_save(binding)
        await self.network.configuration.change("test", [DirectoryChange(kind=change.kind, key=change.key, value=None)])

    # ---- what they do

    async def send(self, content: str | bytes, *, to: str = "Exchange", topic: str = "", **items: Any) -> int:
        """Ask an exchange to send this on, with header items; returns how many copies it says it has sent."""
        answer = await self.answer(content, to=to, topic=topic, **items)
        assert answer.status is None, answer.status
        return int(next(given.value for given in answer.properties if given.name == COPIES))

    async def answer(self, content: str | bytes, *, to: str = "Exchange", topic: str = "", **items: Any) -> Delivered:
        """What the exchange answers."""
        await self.exchange(to)
        await self._post(content, to, MessageType.REQUEST, topic, items)
        return await self.next(PUBLISHER)

    async def tell(self, content: str | bytes, *, to: str = "Exchange", topic: str = "", **items: Any) -> str:
        """Like ``send``, without waiting for an answer."""
        return await self._post(content, to, MessageType.NOTIFICATION, topic, items)

    async def _post(self, content: str | bytes, to: str, type: MessageType, topic: str, items: dict[str, Any]) -> str:
        message = Message(
            to=(Recipient(f"Hall/{to}"),),
            type=type,
            topic=topic,
            properties=tuple(as_property(name, value) for name, value in items.items()),
            parts=(document(content),),
        )
        return (await self.network.post(await self.service(PUBLISHER), message)).session

    async def next(self, name: str) -> Delivered:
        """What the service gets next, for good; waits for it."""
        caller = await self.service(name)
        [one] = await self.network.poll(caller, PollRequest(max=1, wait_s=SOON_S))
        await self.network.settle(caller, Settlement(tokens=(one.token,)))
        return one

    async def settled(self) -> None:
        """Wait until nothing waits at an exchange: each settles what it has when all that it makes of it is on its way."""
        await eventually_async(self._nothing_waits, why="they go on and on")

    async def _nothing_waits(self) -> bool:
        head = await self._head()
        await self.network.wait_until_indexed()
        services = [one.service for one in self._callers.values() if one.service]
        for exchange in (one.gcid for one in services if one.hosted is Hosting.EXCHANGE):
            if await self.network.index.query("waiting_at", exchange, 0, 1):
                return False
        return await self._head() == head

    async def _head(self) -> int:
        return (await self.network.journal.head()).seq

    async def taken(self, name: str) -> list[str]:
        """The contents of all that waits for it, for good."""
        caller = await self.service(name)
        waiting = await self.network.poll(caller, PollRequest(max=100))
        await self.network.settle(caller, Settlement(tokens=tuple(one.token for one in waiting)))
        return [content(one) for one in waiting]

    async def tally(self, binding: Binding) -> BindingTally:
        return (await self.network.exchanges.load(binding.exchange)).tally(binding)


def content(delivered: Delivered) -> str:
    return b"".join(part.data for part in delivered.parts).decode()


def document(content: str | bytes) -> Part:
    data = content.encode() if isinstance(content, str) else content
    kind = "json" if data.startswith((b"{", b"[")) else "xml"
    return Part(id="1", content_type=f"application/{kind}", data=data)


def as_property(name: str, value: object) -> Property:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Property(name, text, TYPES[type(value)])


@asynccontextmanager
async def open_hall(*, deadline_s: float = SOON_S) -> AsyncIterator[Hall]:
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(memory_network())
        queries, scripts = SaxonWorkers(deadline_s=deadline_s), ScriptWorkers()
        stack.push_async_callback(queries.close)
        stack.push_async_callback(scripts.close)
        judges: dict[DeciderLanguage, QueryEngine] = {
            DeciderLanguage.QUERY: SaxonQueries(queries),
            DeciderLanguage.SCRIPT: StarlarkScripts(scripts),
            DeciderLanguage.CALLABLE: Callables({}),
        }
        await stack.enter_async_context(
            run_hosted_services(running.network, Engines(transformer=queries, judges=judges))
        )
        yield Hall(running, judges)
