"""Idle connections: bounded in number and time."""

from __future__ import annotations

import asyncio

from postroad.adapters.transport.connection import Connection
from postroad.adapters.transport.idle import IdleConnections


class Stub(asyncio.Transport):
    aborted = False

    def abort(self) -> None:
        self.aborted = True


def connection() -> Connection:
    made = Connection()
    made.connection_made(Stub())
    return made


def test_the_one_used_last_comes_first_and_closed_ones_never() -> None:
    async def scenario() -> None:
        idle = IdleConnections()
        one, two, three = connection(), connection(), connection()
        for each in (one, two, three):
            idle.keep("here", each)
        three.connection_lost(None)
        assert idle.take("there") is None
        assert [idle.take("here") for _ in range(3)] == [two, one, None]
        assert len(idle) == 0

    asyncio.run(scenario())


def test_the_oldest_give_way() -> None:
    async def scenario() -> None:
        idle = IdleConnections(per_destination=2, in_all=3)
        kept = [connection() for _ in range(5)]
        for place, each in zip("aaabb", kept, strict=True):
            idle.keep(place, each)
        assert [each.open for each in kept] == [False, False, True, True, True]
        idle.close()
        assert not any(each.open for each in kept)
        assert len(idle) == 0

    asyncio.run(scenario())


def test_none_rests_for_long() -> None:
    async def scenario() -> None:
        idle = IdleConnections(idle_s=0.02)
        first = connection()
        idle.keep("here", first)
        taken = idle.take("here")
        await asyncio.sleep(0.05)
        assert taken is first
        assert first.open, "a connection in use has no timer"
        idle.keep("here", first)
        await asyncio.sleep(0.05)
        assert (first.open, len(idle)) == (False, 0)

    asyncio.run(scenario())
