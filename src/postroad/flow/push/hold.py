"""Holds pushes back until they are released, by the service's ``release`` settings.

Rules: the state comes from the index, so it survives restarts and includes releases on other nodes and on request. No
message that arrives during a check is missed. A service that holds nothing back causes no queries.
"""

from __future__ import annotations

import asyncio

from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.release_schedule import next_release
from postroad.core.model.directory import Release, Service
from postroad.core.model.journal import BY_NETWORK
from postroad.flow.network import Network


class PushHold:
    """Computes how many waiting deliveries may be pushed, and when to check again."""

    def __init__(self, network: Network, service: Service) -> None:
        self._network = network
        self._gcid = service.gcid
        release = service.release
        self._release = release if release is not None and release.holds else None
        self.up_to = EVERY_NUMBER if self._release is None else 0  # the newest that may be pushed, as far as we know

    async def more(self, idle_s: float) -> None:
        """Wait for an arrival or a release, at most ``idle_s`` seconds."""
        if self._release is None:
            await self._network.desk.arrival(self._gcid, idle_s)
            return
        arrival = asyncio.get_running_loop().create_task(self._network.desk.arrival(self._gcid, idle_s))
        try:
            await asyncio.sleep(0)  # from here on it listens, so that nothing is missed while we look
            wait_s = await self._wait_s(self._release)
            await asyncio.wait({arrival}, timeout=wait_s)
            if arrival.done():
                arrival.result()
        finally:
            arrival.cancel()

    async def _wait_s(self, release: Release) -> float | None:
        """Return seconds until the next release; 0 if more may be pushed now, None if nothing is due."""
        releases, clock = self._network.releases, self._network.clock
        up_to = await releases.released_to(self._gcid)
        if up_to > self.up_to:
            self.up_to = up_to
            return 0.0
        held = await releases.find_held(self._gcid, up_to, release.when_waiting or 1)
        now_us = clock.now_us()
        due = next_release(release, held, now_us)
        if due is None:
            return None
        if due.at_us > now_us:
            return (due.at_us - now_us) / 1_000_000
        released = await releases.release(self._gcid, BY_NETWORK, due.reason)
        self.up_to = max(self.up_to, released.newest)
        return 0.0
