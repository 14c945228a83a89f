"""Waking whoever waits, and leaving a failing database alone for a while."""

from __future__ import annotations

import asyncio
from typing import cast

import asyncpg
import pytest

from postroad.adapters.desk.shared_arrivals import CHANNEL, ArrivalListener
from postroad.adapters.journal.postgres_connections import LONGEST_PAUSE_S, ConnectionPool, ReconnectPause


@pytest.fixture
def told() -> list[int]:
    return []


@pytest.fixture
def arrivals(told: list[int]) -> ArrivalListener:
    return ArrivalListener(cast(ConnectionPool, None), told.append)


async def test_a_notification_wakes_its_mailboxes_and_no_other(arrivals: ArrivalListener, told: list[int]) -> None:
    waiting = [asyncio.ensure_future(arrivals.wait(mailbox, 30)) for mailbox in ("a", "a", "b", "c")]
    await asyncio.sleep(0)
    arrivals.handle_notification("17 a b")
    await asyncio.wait_for(asyncio.gather(*waiting[:3]), 20)
    assert not waiting[3].done()
    assert told == [17]
    waiting[3].cancel()


async def test_a_notification_for_everybody_wakes_everybody(arrivals: ArrivalListener) -> None:
    waiting = [asyncio.ensure_future(arrivals.wait(mailbox, 30)) for mailbox in ("a", "b")]
    before = arrivals.count("never asked")
    await asyncio.sleep(0)
    arrivals.handle_notification("17 *")
    await asyncio.wait_for(asyncio.gather(*waiting), 20)
    assert arrivals.count("never asked") > before


async def test_a_group_without_new_deliveries_is_heard_of_and_wakes_nobody(
    arrivals: ArrivalListener, told: list[int]
) -> None:
    before = arrivals.count("a")
    arrivals.handle_notification("17 ")
    assert arrivals.count("a") == before
    assert told == [17]


class ComingBack:
    """Connections to a database that lets nobody in at first."""

    def __init__(self) -> None:
        self.faults: list[Exception] = [OSError("away"), asyncpg.InvalidPasswordError("no"), asyncpg.PostgresError("?")]
        self.heard: list[str] = []

    async def open_dedicated(self) -> ComingBack:
        if len(self.faults) > 1:
            raise self.faults.pop(0)
        return self

    async def add_listener(self, channel: str, _: object) -> None:
        if self.faults:
            raise self.faults.pop()
        self.heard.append(channel)

    def add_termination_listener(self, _: object) -> None: ...

    def terminate(self) -> None: ...


async def test_who_listens_goes_on_trying_whatever_the_database_says(told: list[int]) -> None:
    connections = ComingBack()
    arrivals = ArrivalListener(cast(ConnectionPool, connections), told.append)
    await asyncio.wait_for(arrivals.open(), 30)
    assert connections.heard == [CHANNEL]
    await arrivals.close()


def test_a_pause_doubles_up_to_a_limit_and_ends_with_success() -> None:
    now = 100.0
    pause = ReconnectPause(lambda: now)
    lengths = []
    for _ in range(8):
        pause.record_failure()
        pause.record_failure()  # the same moment counts once
        lengths.append(round(pause.remaining_s, 3))
        now += pause.remaining_s
    assert lengths == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    pause.record_failure()
    pause.record_success()
    assert pause.remaining_s == 0
    pause.record_failure()
    assert round(pause.remaining_s, 3) == 0.05
