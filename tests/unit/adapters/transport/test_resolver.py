"""The machine's resolver, asked once for each name at a time."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from postroad.adapters.transport.resolver import SystemResolver
from tests.waiting import eventually_async


def test_addresses_come_once_each_and_a_name_without_any_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(host: str, *_: Any, **__: Any) -> list[Any]:
        if host != "a.test":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(0, 0, 0, "", (address, 0)) for address in ("10.0.0.2", "10.0.0.1", "10.0.0.2")]

    async def scenario() -> None:
        resolver = SystemResolver()
        assert await resolver.addresses("a.test") == ["10.0.0.2", "10.0.0.1"]
        assert await resolver.addresses("b.test") == []
        resolver.close()

    monkeypatch.setattr(socket, "getaddrinfo", fake)
    asyncio.run(scenario())


@pytest.mark.req("D8")
def test_those_who_wait_for_one_name_hold_one_thread_and_one_who_leaves_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    answered = threading.Event()

    def slow(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        if host == "slow.test":
            answered.wait(5)
        return [(0, 0, 0, "", ("10.0.0.1", 0))]

    async def scenario() -> None:
        resolver = SystemResolver()
        waiting = [asyncio.create_task(resolver.addresses("slow.test")) for _ in range(100)]
        await eventually_async(lambda: asked == ["slow.test"])
        waiting[0].cancel()
        assert await resolver.addresses("quick.test") == ["10.0.0.1"]
        answered.set()
        assert await asyncio.gather(*waiting[1:]) == [["10.0.0.1"]] * 99
        assert sorted(asked) == ["quick.test", "slow.test"]
        await resolver.addresses("slow.test")
        assert asked.count("slow.test") == 2, "an answer is not kept"
        resolver.close()

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    asyncio.run(scenario())
