"""Idle connections: bounded in number and time."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from postroad.adapters.transport import push
from postroad.adapters.transport.connections import IdleConnections, PushConnection
from tests.samples.receivers import Wire, answering, pusher, receiving, to
from tests.waiting import eventually_async


class Stub(asyncio.Transport):
    aborted = False

    def abort(self) -> None:
        self.aborted = True


def connection() -> PushConnection:
    made = PushConnection()
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
        idle.shed()
        assert not any(each.open for each in kept)
        assert len(idle) == 0

    asyncio.run(scenario())


def test_none_rests_for_long() -> None:
    async def scenario() -> None:
        idle = IdleConnections(idle_s=0.02)
        first = connection()
        idle.keep("here", first)
        taken = idle.take("here")
        assert taken is first
        later = connection()
        idle.keep("there", later)
        await eventually_async(lambda: not later.open)
        assert first.open, "a connection in use has no timer"
        idle.keep("here", first)
        await eventually_async(lambda: not first.open)
        assert len(idle) == 0

    asyncio.run(scenario())


@pytest.mark.req("D8")
def test_when_files_run_out_those_that_only_wait_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = push._connect

    async def scenario() -> None:
        idle = IdleConnections()
        first = connection()
        idle.keep("elsewhere", first)

        async def out_of_files(*arguments: Any) -> PushConnection:
            if first.open:
                raise OSError(errno.EMFILE, "Too many open files")
            return await connect(*arguments)

        monkeypatch.setattr(push, "_connect", out_of_files)
        async with receiving(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as receiver:
            sender = pusher(idle=idle)
            assert (await sender.push(to(receiver))).status == 204
            await sender.close()

    asyncio.run(scenario())


@pytest.mark.req("D8")
def test_when_files_run_out_and_nobody_waits_the_push_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def out_of_files(*arguments: Any) -> PushConnection:
        raise OSError(errno.EMFILE, "Too many open files")

    async def scenario() -> None:
        monkeypatch.setattr(push, "_connect", out_of_files)
        async with receiving(answering(b"")) as receiver:
            answer = await pusher().push(to(receiver))
            assert answer.status is None
            assert "Too many open files" in answer.fault_text

    asyncio.run(scenario())


def test_a_pusher_uses_the_idle_connections_that_it_is_given() -> None:
    async def scenario() -> None:
        async def stay(wire: Wire) -> None:
            await wire.request()
            await wire.send(b"HTTP/1.1 204 No Content\r\n\r\n")
            await wire.reader.read()

        async with receiving(stay) as receiver:
            idle = IdleConnections()
            out = pusher(idle=idle)
            assert (await out.push(to(receiver))).status == 204
            assert len(idle) == 1
            await out.close()

    asyncio.run(scenario())
