"""Rebuilds the shared desk's tables from the journal.

Rule: the result equals the state that the desk's own commits left. No node commits meanwhile: the journal's head
stays locked until the new tables are in place.
"""

from __future__ import annotations

from typing import Any

from postroad.adapters.desk.shared_effects import (
    ABOUT_DELIVERIES,
    SETTLING,
    find_touch,
    list_answered,
    list_queued_copies,
)
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_connections import LONG_WORK_S, Connection
from postroad.adapters.journal.postgres_group import group_records
from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import BatchesChanged, DeliveryResent, Entry, InvocationReturned, MessagePosted, decode
from postroad.core.projection.unique_keys import unique_keys

FactsPlace = tuple[int, int, int]  # group, offset, length
QUEUE = (
    "number", "mailbox", "message_seq", "copy", "hop", "expires_at_us", "attempts", "available_at_us",
    "message_group", "message_at", "message_bytes", "content_group", "content_at", "content_bytes", "body_at", "body_bytes",
    "content_seq", "journey", "origin", "retry_at_us",
)  # fmt: skip
ATTEMPTS, AVAILABLE, RETRY_AT = map(QUEUE.index, ("attempts", "available_at_us", "retry_at_us"))
FIRST_ROUND = (None, None, None, 0)  # content_seq, journey and origin, which only later rounds have; no failed push
NOWHERE = (0, 0, 0)  # until the database has looked up the position


class Replay:
    """The rows of ``desk_seen`` and ``desk_queue`` after the groups that were applied.

    The rows of resent messages lack the location of message and content, because the replay would
    have to remember both for every message.
    """

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.queue: dict[int, list[Any]] = {}
        self._itinerant: dict[int, FactsPlace] = {}  # messages with further hops

    def add(self, group: RecordGroup) -> None:
        facts_at = 0
        for seq, facts, body in group_records(group):
            place = (group.first_seq, facts_at, len(facts))
            self._apply(seq, decode(facts), place, (None, 0) if body is None else (body.offset, body.length))
            facts_at += len(facts)

    async def store(self, connection: Connection) -> None:
        """Replace the contents of the desk's tables, in the caller's transaction."""
        await connection.execute("TRUNCATE desk_seen, desk_queue")
        await connection.copy_records_to_table("desk_seen", records=self.seen.items(), timeout=LONG_WORK_S)
        waiting = self.queue.values()
        await connection.copy_records_to_table("desk_queue", records=waiting, columns=QUEUE, timeout=LONG_WORK_S)
        await connection.execute("SELECT desk_locate_resent()", timeout=LONG_WORK_S)

    def _apply(self, seq: int, entry: Entry, place: FactsPlace, body: tuple[int | None, int]) -> None:
        if isinstance(entry, MessagePosted):
            for ordinal, mailbox in list_queued_copies(entry):
                row = [delivery_number(seq, ordinal), mailbox, seq, ordinal, 0, entry.expires_at_us, 0, 0]
                self.queue[delivery_number(seq, ordinal)] = [*row, *place, *place, *body, *FIRST_ROUND]
            if any(len(copy.hops) > 1 for copy in entry.copies):
                self._itinerant[seq] = place
        elif isinstance(entry, InvocationReturned):
            number = delivery_number(seq, 0)
            row = [number, entry.next, entry.message, entry.copy, entry.hop, entry.expires_at_us, 0, 0]
            self.queue[number] = [*row, *self._itinerant[entry.message], *place, *body, *FIRST_ROUND]
        elif isinstance(entry, DeliveryResent):
            number = delivery_number(seq, 0)
            row = [number, entry.next, entry.message, entry.copy, entry.hop, entry.expires_at_us, 0, 0]
            journey = number if entry.followed else None
            self.queue[number] = [*row, *NOWHERE, *NOWHERE, None, 0, entry.content, journey, entry.origin, 0]
        elif isinstance(entry, ABOUT_DELIVERIES | BatchesChanged):
            self._apply_to_waiting(entry)
        self._remember(seq, entry)

    def _apply_to_waiting(self, entry: ABOUT_DELIVERIES | BatchesChanged) -> None:
        change = find_touch(entry)
        for number in entry.deliveries:
            if isinstance(entry, SETTLING):
                self.queue.pop(number, None)
            elif change is not None and (row := self.queue.get(number)) is not None:
                row[ATTEMPTS] += change.attempts
                if row[AVAILABLE] != IN_A_BATCH_US:  # else it stays in its batch
                    row[AVAILABLE] = change.available_at_us
                    row[RETRY_AT] = change.available_at_us if change.is_push_retry else row[RETRY_AT]

    def _remember(self, seq: int, entry: Entry) -> None:
        """Store the keys and answers of an entry."""
        for key in unique_keys(entry):
            self.seen.setdefault(key, seq)
        for number in list_answered(entry):
            self.queue.pop(number, None)


async def rebuild_desk(journal: PostgresJournal) -> None:
    """Replace the contents of the desk's tables, which must exist, with those derived from the journal."""
    replay = Replay()
    async with journal.connections.use() as connection, connection.transaction():
        await connection.execute("SELECT FROM journal_head FOR UPDATE")
        async for group in journal.facts():
            replay.add(group)
        await replay.store(connection)
