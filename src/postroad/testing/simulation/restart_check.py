"""Checks a restart during a run: a network started on a copy of the journal must have the same state.

Rule: the running network is not affected. The check compares the tables of the index, the deliveries that a new desk
hands out, and their states, each with a simple reading of the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.selector import EVERYTHING
from postroad.core.projection.tables import TABLES
from postroad.flow.indexing import catch_up, rebuild
from postroad.ports import Clock
from postroad.testing.simulation.network import NetworkBuild
from postroad.testing.simulation.recorded_history import RecordedHistory, read_all_records

MAX_ASKED = 100  # deliveries whose state is compared, drawn at random: the memory index is slow at finding one


async def check_restart(
    journal: MemoryJournal, live: MemoryIndex, clock: Clock, chance: Random, build: NetworkBuild
) -> list[str]:
    """Return the differences that a restart would cause now."""
    journal = deepcopy(journal)
    index = MemoryIndex()
    head = await rebuild(journal, index)
    faults = [*await _table_differences(index, live)] if await live.position() == head else []
    books = RecordedHistory(await read_all_records(journal))

    async def wait_for_entry(seq: int) -> None:
        """Wait until the index of the copy includes this entry."""
        await catch_up(journal, index)

    desk = build.desk(journal, index, clock, wait_for_entry=wait_for_entry, attempts_most=build.attempts_most)
    await desk.open()
    try:
        faults += await _state_differences(desk, books, chance)
        faults += await _mailbox_differences(desk, books, clock.now_us(), build.attempts_most)
    finally:
        await desk.close()
    return faults


async def _table_differences(rebuilt: MemoryIndex, live: MemoryIndex) -> list[str]:
    return [
        f"table {table}, rebuilt, is another" for table in TABLES if await rebuilt.rows(table) != await live.rows(table)
    ]


async def _state_differences(desk: LocalDesk, books: RecordedHistory, chance: Random) -> list[str]:
    faults = []
    for number in chance.sample(sorted(books.legs), min(MAX_ASKED, len(books.legs))):
        found, leg = await desk.find(number), books.legs[number]
        told = (found.state, found.queued.recipient, found.queued.hop, found.queued.attempt) if found else None
        if told != (leg.state, leg.recipient, leg.hop, len(leg.leases)):
            faults.append(f"after a restart delivery {number:x} is {told}, and should be {leg}")
    return faults


async def _mailbox_differences(desk: LocalDesk, books: RecordedHistory, now_us: int, attempts_most: int) -> list[str]:
    faults = []
    for recipient in sorted({leg.recipient for leg in books.legs.values()}):
        claimed = [queued.number for queued in await desk.claim(recipient, EVERYTHING, len(books.legs), 60.0)]
        expected = sorted(_waiting(books, recipient, now_us, attempts_most))
        if claimed != expected:
            faults.append(f"after a restart {recipient} is handed {claimed}, and should be {expected}")
    return faults


def _waiting(books: RecordedHistory, recipient: str, now_us: int, attempts_most: int) -> Iterator[int]:
    for leg in books.legs.values():
        ready = leg.available_at_us <= now_us < leg.expires_at_us and len(leg.leases) < attempts_most
        if leg.recipient == recipient and leg.state is DeliveryState.QUEUED and ready:
            yield leg.number
