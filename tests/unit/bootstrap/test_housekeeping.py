"""What a network does for itself from time to time goes on after it has failed once."""

from __future__ import annotations

import asyncio

import pytest

from postroad.bootstrap.housekeeping import drop_old_bodies
from postroad.errors import Misconfigured
from postroad.testing.network import memory_network


class SometimesDrops:
    """A journal whose bodies cannot be dropped at first."""

    def __init__(self) -> None:
        self.failures: list[Exception] = [Misconfigured(["journal: a segment is damaged"]), OSError("a disk")]
        self.dropped = asyncio.Event()

    async def drop_bodies(self, before_seq: int) -> None:
        if self.failures:
            raise self.failures.pop()
        self.dropped.set()


async def test_retention_is_tried_again_whatever_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.bootstrap.housekeeping.RETENTION_EVERY_S", 0.001)
    journal = SometimesDrops()
    async with memory_network() as running:
        chore = asyncio.create_task(drop_old_bodies(running.network, journal, keep_days=1))
        async with asyncio.timeout(30):
            await asyncio.wait({chore, asyncio.create_task(journal.dropped.wait())}, return_when="FIRST_COMPLETED")
        assert not chore.done()
        chore.cancel()
