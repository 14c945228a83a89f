"""The hourly check of what expires: its metrics and log, and that no error ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest

from postroad.bootstrap import expiry_warnings
from postroad.bootstrap.expiry_warnings import warn_of_expiry
from postroad.bootstrap.settings import Settings
from postroad.core.identity.expiry import DAY_US
from postroad.core.model.directory import Credential, CredentialKind, Service
from postroad.testing import Scenario
from postroad.testing.clocks import EPOCH_US, ManualClock
from postroad.testing.push_receivers import MemorySecrets
from tests.waiting import eventually_async

METRIC = "certificate_expires_timestamp_seconds"


class DefectiveSecrets(MemorySecrets):
    """Secrets that fail in a way that no one expects, for the first few times."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def prepare(self, service: Service, *references: str) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("an error that no one expects")


@asynccontextmanager
async def checking(days: Sequence[int], folder: Path, secrets: MemorySecrets) -> AsyncIterator[Scenario]:
    """Check a network in which keys expire in so many days, until the end of the block."""
    async with Scenario(clock=ManualClock()) as scenario:
        await scenario.service("Acme/Supply")
        for number, left in enumerate(days):
            await scenario.save(
                Credential(
                    id=f"k{number}", kind=CredentialKind.KEY, secret=f"{number}", service=scenario.gcid("Acme/Supply"),
                    label=f"key {number}", expires_at_us=EPOCH_US + left * DAY_US,
                )
            )  # fmt: skip
        task = asyncio.create_task(warn_of_expiry(scenario.network, Settings(data=folder), secrets))
        yield scenario
        assert not task.done(), "the check has ended"
        task.cancel()


@pytest.mark.parametrize(
    ("days", "expected"),
    [([-400, 5, 20], EPOCH_US / 1e6 + 5 * 86_400), ([-400, -1], inf), ([], inf)],
    ids=["the next one", "expired", "none"],
)
async def test_expired_credentials_are_not_in_the_metric(tmp_path: Path, days: list[int], expected: float) -> None:
    async with checking(days, tmp_path, MemorySecrets()) as scenario:
        metrics = scenario.network.metrics
        await eventually_async(lambda: metrics.value(METRIC, "credential") == expected, why="the metric is not set")


async def test_an_unexpected_error_is_logged_and_the_check_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry_warnings, "EVERY_S", 0.0)
    with caplog.at_level(logging.WARNING):
        async with checking([5], tmp_path, DefectiveSecrets(2)):
            await eventually_async(lambda: "credential.expires: key 'key 0'" in caplog.text, why="it does not continue")
    assert caplog.text.count("credential.check_failed: ") == 2
