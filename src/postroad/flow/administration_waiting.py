"""Why something waits that is not yet pushed: held back by its service's ``release``, or in a pause of the pushes."""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.audit.story import HeldBack, MessageHistory, Stop
from postroad.core.delivery.release import next_release
from postroad.flow.network import Network


async def mark_waiting(network: Network, messages: Iterable[MessageHistory]) -> None:
    """Set ``held`` and ``paused`` of the stops at which a copy waits."""
    for message in messages:
        for copy in message.copies:
            if copy.stops and copy.stops[-1].state == "queued":
                copy.stops[-1].held = await _held(network, copy.stops[-1])
                copy.stops[-1].paused = network.pushes.pause(copy.stops[-1].gcid)


async def _held(network: Network, stop: Stop) -> HeldBack | None:
    service = network.directory.services.get(stop.gcid)
    release = service.release if service is not None else None
    if release is None or not release.holds:
        return None
    up_to = await network.releases.released_to(stop.gcid)
    if network.tokens.veil.real_number(stop.delivery) <= up_to:
        return None
    waiting = await network.releases.held(stop.gcid, up_to, release.when_waiting or 1)
    due = next_release(release, waiting, network.clock.now_us())
    return HeldBack(until_us=due.at_us if due is not None else 0)
