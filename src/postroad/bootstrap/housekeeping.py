"""What a running network does for itself from time to time.

- On a shared network, notice what other nodes changed in the directory.
- Where the settings say so, drop the bodies of messages that are old and settled. Their facts stay, so the audit trail,
  ``verify`` and ``index rebuild`` stay whole.

Kept rule: whatever goes wrong once is told, and tried again at the next turn.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from postroad.errors import Misconfigured, Unavailable
from postroad.flow.network import Network
from postroad.flow.retention import droppable_before

log = logging.getLogger(__name__)

DIRECTORY_EVERY_S = 1.0
RETENTION_EVERY_S = 3_600.0
DAY_US = 86_400_000_000


class DropsBodies(Protocol):
    async def drop_bodies(self, before_seq: int) -> object: ...


async def follow_directory(network: Network) -> None:
    """Take over what other nodes changed, for as long as we run."""
    while True:
        await asyncio.sleep(DIRECTORY_EVERY_S)
        try:
            await network.configuration.load()
        except Unavailable as error:
            log.warning("the directory could not be read: %s", error)
        except Exception:
            log.exception("the directory could not be read; trying again")


async def retain(network: Network, journal: DropsBodies, keep_days: int) -> None:
    """Drop bodies older than the retention time, for as long as we run."""
    while True:
        try:
            await network.indexed()  # a dead letter that waits once more needs a body of long ago
            before_seq = await droppable_before(network.index, network.clock.now_us() - keep_days * DAY_US)
            await journal.drop_bodies(before_seq)
        except (Unavailable, Misconfigured) as error:
            log.warning("retention could not run: %s", error)
        except Exception:
            log.exception("retention could not run; trying again")
        await asyncio.sleep(RETENTION_EVERY_S)
