"""Reads a batch of journal entries into events, and follows the pushes that fail.

Rule: only entries that can make events are decoded, and the event loop gets its turn between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from postroad.core.model.journal import Entry, decode
from postroad.core.notifications.entry_events import (
    FailedDelivery,
    find_failed_deliveries,
    find_own_deliveries,
    make_entry_events,
    makes_events,
)
from postroad.core.notifications.event import NotifiableEvent
from postroad.core.notifications.failing_pushes import follow_pushes
from postroad.core.notifications.state import NotificationState
from postroad.flow.network import Network
from postroad.flow.notifications.own_service import find_own_service
from postroad.ports import JournalRecord

TURN = 200  # entries between two turns of the event loop
FOUND_TOGETHER = 500  # deliveries
MAX_OWN = 5_000  # deliveries of notifications that are remembered


async def read_events(
    records: Sequence[JournalRecord], state: NotificationState, network: Network
) -> list[NotifiableEvent]:
    """Return the events of the records that the state does not contain yet, and note failing pushes in the state."""
    own_service = find_own_service(network.directory)
    sender = own_service.gcid if own_service is not None else ""
    entries = await _decode(records, state.seq, sender.encode())
    own = set(state.own)
    for seq, entry in entries:
        own.update(find_own_deliveries(seq, entry, sender) if sender else ())
        follow_pushes(state, entry, own)
    state.own = sorted(own)[-MAX_OWN:]
    failed = [number for _, entry in entries for number in find_failed_deliveries(entry) if number not in own]
    found = await _find_failed(failed, network)
    return [event for _, entry in entries for event in make_entry_events(entry, network.directory, found)]


async def _decode(records: Sequence[JournalRecord], after_seq: int, sender: bytes) -> list[tuple[int, Entry]]:
    entries = []
    for number, record in enumerate(records):
        if number % TURN == TURN - 1:
            await asyncio.sleep(0)
        if record.seq > after_seq and makes_events(record.facts, sender):
            entries.append((record.seq, decode(record.facts)))
    return entries


async def _find_failed(numbers: Sequence[int], network: Network) -> dict[int, FailedDelivery]:
    """Return the failed deliveries, as far as they are known."""
    failed: dict[int, FailedDelivery] = {}
    for start in range(0, len(numbers), FOUND_TOGETHER):
        found = await network.desk.find_all(numbers[start : start + FOUND_TOGETHER])
        failed |= {number: FailedDelivery.of(one.queued) for number, one in found.items()}
        await asyncio.sleep(0)
    return failed
