"""Until when what waits is held back, for the page of a message."""

from __future__ import annotations

from postroad.core.audit.story import MessageHistory, Stop
from postroad.core.delivery.release import next_release
from postroad.flow.network import Network


async def held_until(network: Network, message: MessageHistory) -> dict[int, int]:
    """The deliveries among the message's stops that are held back, and until when; 0: until more come, or somebody asks."""
    waiting = [copy.stops[-1] for copy in message.copies if copy.stops and copy.stops[-1].state == "queued"]
    found = [(stop.delivery, await _until_us(network, stop)) for stop in waiting]
    return {delivery: until_us for delivery, until_us in found if until_us is not None}


async def _until_us(network: Network, stop: Stop) -> int | None:
    service = network.directory.services.get(stop.gcid)
    release = service.release if service is not None else None
    if release is None or not release.holds:
        return None
    up_to = await network.releases.released_to(stop.gcid)
    if network.tokens.veil.real_number(stop.delivery) <= up_to:
        return None
    held = await network.releases.held(stop.gcid, up_to, release.when_waiting or 1)
    due = next_release(release, held, network.clock.now_us())
    return due.at_us if due is not None else 0
