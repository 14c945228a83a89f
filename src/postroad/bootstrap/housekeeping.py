"""Periodic tasks of a running network: follow directory changes, and drop old bodies.

- On a shared network, notice what other nodes changed in the directory.
- If the settings require it, drop the bodies of old, settled messages. Their facts stay, so the audit trail,
  ``verify`` and ``index rebuild`` remain complete.

Rule: an error is logged once, and the task is tried again in the next cycle.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from postroad.core.model.level import LevelTooHigh
from postroad.errors import Misconfigured, Unavailable
from postroad.flow.network import Network
from postroad.flow.retention import find_retention_limit

log = logging.getLogger(__name__)

DIRECTORY_EVERY_S = 1.0
RETENTION_EVERY_S = 3_600.0
DAY_US = 86_400_000_000


class BodyRetention(Protocol):
    async def drop_bodies(self, before_seq: int) -> object: ...


async def follow_directory(network: Network, stop: Callable[[Misconfigured], None]) -> None:
    """Apply the directory changes of other nodes, until cancelled; stops this node if it cannot read the network's level."""
    clock, metrics, loaded_at = network.clock, network.metrics, network.clock.monotonic()
    metrics.on_read(lambda: metrics.gauge("directory_age_seconds").set(max(0.0, clock.monotonic() - loaded_at)))
    while True:
        await asyncio.sleep(DIRECTORY_EVERY_S)
        try:
            await network.configuration.load()
            loaded_at = clock.monotonic()
        except Unavailable as error:
            log.warning("directory.waiting: the directory could not be read: %s", error)
        except LevelTooHigh as error:
            stop(error)
            return
        except Exception:
            log.exception("directory.failed: the directory could not be read; trying again")


async def drop_old_bodies(network: Network, journal: BodyRetention, keep_days: int) -> None:
    """Drop bodies older than the retention time, until cancelled."""
    while True:
        try:
            await network.wait_until_indexed()  # a resent dead letter needs an old body
            before_seq = await find_retention_limit(network.index, network.clock.now_us() - keep_days * DAY_US)
            await journal.drop_bodies(before_seq)
        except (Unavailable, Misconfigured) as error:
            log.warning("retention.waiting: retention could not run: %s", error)
        except Exception:
            log.exception("retention.failed: retention could not run; trying again")
        await asyncio.sleep(RETENTION_EVERY_S)
