"""What a network does for itself from time to time goes on after it has failed once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from postroad.bootstrap import expiry_warnings
from postroad.bootstrap.housekeeping import drop_old_bodies
from postroad.bootstrap.running_network import open_network
from postroad.bootstrap.secrets import open_operator_secrets
from postroad.bootstrap.settings import Settings
from postroad.errors import Misconfigured
from postroad.testing.network import memory_network
from tests.waiting import eventually_async


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


async def test_warnings_of_expiry_are_tried_again_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    checks = 0

    async def fail(directory: object, secrets: object) -> None:
        nonlocal checks
        checks += 1
        raise OSError("a secret store that cannot be read")

    monkeypatch.setattr(expiry_warnings, "EVERY_S", 0.001)
    monkeypatch.setattr(expiry_warnings, "prepare_all", fail)
    settings = Settings(data=tmp_path, index="memory")
    async with memory_network() as running:
        chore = asyncio.create_task(
            expiry_warnings.warn_of_expiry(running.network, settings, open_operator_secrets(settings))
        )
        await eventually_async(lambda: checks > 1)
        assert "credential.check_failed" in caplog.text
        chore.cancel()
        await asyncio.gather(chore, return_exceptions=True)


async def test_a_task_that_fails_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(clock_steps: object) -> None:
        raise ValueError("a clock")

    monkeypatch.setattr("postroad.flow.concurrency.clock_steps.ClockSteps.run", fail)
    async with open_network(Settings(data=tmp_path, index="memory")):
        await eventually_async(lambda: "network.task_failed" in caplog.text)
