"""A whole server in memory for acceptance tests: the real application and message endpoints on a real loopback socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from postroad.api.application import build_application
from postroad.api.as2 import As2Endpoint
from postroad.api.error_responses import front_refusal
from postroad.api.http import HttpLimits, HttpServer
from postroad.api.messages import MessageEndpoints
from postroad.bootstrap.settings import Settings
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.model import Attachment, Node, Side
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Visibility
from postroad.core.model.exchange import Binding
from postroad.flow.access import throttle
from postroad.flow.administration.base import Administration
from postroad.flow.administration.bindings import bind
from postroad.flow.administration.models import change
from postroad.flow.registries.as2_partners import As2Partners
from postroad.ports import ItemValue, QueryVerdict
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.as2_scenario import OneKey, Posts, reception_for


@dataclass(slots=True, kw_only=True)
class Served:
    """Where the server listens, and keys of those who may ask."""

    url: str = ""
    keys: dict[str, str] = field(default_factory=dict)

    def headers(self, who: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[who]}"} if who != "anonymous" else {}


class Agreeing:
    """In the place of those who run queries and scripts: takes everything, and says yes."""

    async def check(self, query: str) -> None: ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        return [QueryVerdict(goes=True) for _ in queries]


async def populate(running: MemoryNetwork) -> dict[str, str]:
    """Two organizations with a public and a private service each, people of every role, and an operator."""
    callers: dict[str, Caller] = {
        "service of A": await running.register("Aster/Private"),
        "service of B": await running.register("Birch/Private"),
    }
    await running.register("Aster/Public", visibility=Visibility.PUBLIC)
    await running.register("Birch/Public", visibility=Visibility.PUBLIC)
    callers |= {
        "owner of A": await running.enroll("owner@aster.example", organization="Aster"),
        "developer of A": await running.enroll("developer@aster.example", organization="Aster", role=Role.DEVELOPER),
        "viewer of A": await running.enroll("viewer@aster.example", organization="Aster", role=Role.VIEWER),
        "owner of B": await running.enroll("owner@birch.example", organization="Birch"),
        "operator": await running.enroll("operator@network.example", operator=True),
    }
    return {who: await running.key_for(caller) for who, caller in callers.items()}


async def furnish(running: MemoryNetwork) -> None:
    """An exchange with a binding, and a model with a tree to which a service is attached."""
    exchange = await running.register("Aster/Exchange", hosted=Hosting.EXCHANGE)
    await running.register("Aster/Model", hosted=Hosting.MODEL)
    administration = Administration(running.network, running.passwords)
    owner = Caller(person=running.network.directory.people["owner@aster.example"])
    binding = Binding(exchange=exchange.name, name="orders", queue="Aster/Public", routing_key="order")
    await bind(administration, owner, binding)
    piece = ModelChange(
        nodes=(Node(tag="world", topics=("news",)), Node(tag="europe", under="world", topics=("news",))),
        attachments=(Attachment(id="reader", service="Aster/Public", side=Side.CONSUMER, node="europe"),),
    )
    await change(administration, owner, "Aster/Model", piece, "for the tests")


@contextmanager
def served_network() -> Iterator[Served]:
    """A server in a thread of its own, populated; it limits no rates and slows nobody down who fails to authenticate."""
    free = throttle.FREE_FAILURES, throttle.ACCOUNT_FREE_FAILURES
    throttle.FREE_FAILURES = throttle.ACCOUNT_FREE_FAILURES = 1 << 30
    served, started, loop = Served(), threading.Event(), asyncio.new_event_loop()
    ended = asyncio.Event()

    async def run() -> None:
        async with memory_network() as running:
            served.keys = await populate(running)
            await furnish(running)
            app = build_application(
                running.network,
                running.authenticator,
                running.passwords,
                Settings(),
                requests_per_s=0,
                judges=dict.fromkeys(DeciderLanguage, Agreeing()),
            )
            endpoints = MessageEndpoints(
                running.network, running.authenticator, message_bytes=1 << 20, bulk_bytes=1 << 20
            )
            reception = reception_for(running.network, As2Partners(OneKey(), lambda service: served.url), Posts())
            as2 = As2Endpoint(reception, running.authenticator, endpoints.rate, message_bytes=1 << 20)
            server = HttpServer(app, endpoints.routes() | as2.routes(), HttpLimits(), front_refusal)
            served.url = f"http://127.0.0.1:{await server.start('127.0.0.1', 0)}"
            started.set()
            await ended.wait()
            await server.stop(1.0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), name="served network")
    thread.start()
    try:
        assert started.wait(20), "the server did not start"
        yield served
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(20)
        loop.close()
        throttle.FREE_FAILURES, throttle.ACCOUNT_FREE_FAILURES = free
