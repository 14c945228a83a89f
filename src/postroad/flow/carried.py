"""What deliveries carry, read for those who hand them out.

Kept rule: one that cannot be read back is left to its lease, and holds up no other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from postroad.core.model.delivery import Queued
from postroad.errors import Unavailable
from postroad.ports import Desk

NO_LONGER_KEPT = "body.dropped: its documents are no longer kept"

log = logging.getLogger(__name__)


async def carried(desk: Desk, who: str, claimed: Sequence[Queued]) -> list[tuple[Queued, bytes | None]]:
    """The deliveries with their bodies, None where retention has dropped one; raises Unavailable when none can be read."""
    try:
        return list(zip(claimed, await desk.bodies(claimed), strict=True))
    except Unavailable as trouble:
        found: list[tuple[Queued, bytes | None]] = []
        for queued in claimed:
            with suppress(Unavailable):
                found.append((queued, await desk.body(queued)))
        if not found:
            raise
        log.warning("%s leaves %d messages to their lease: %s", who, len(claimed) - len(found), trouble)
        return found
