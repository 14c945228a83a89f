"""Hands out deliveries from PostgreSQL: reserves rows, then records the hand-out with the next group.

Rules: a reservation skips rows that another node is reserving, so two pollers never have the same delivery at the same
time. Only deliveries that the group has recorded are handed out. An unused reservation ends like a lease.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from postroad.adapters.desk.group_commit import GroupCommit
from postroad.adapters.desk.searches import PAGE_ROWS, SEARCH_S, Searches
from postroad.adapters.desk.shared_effects import ABOUT_DELIVERIES
from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.core.delivery.reasons import make_reason, reason_text, stored_reason
from postroad.core.model.contexts import is_requester_hidden
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import (
    DeliveriesEnded,
    DeliveriesLeased,
    Entry,
    InvocationReturned,
    MessagePosted,
    decode,
)
from postroad.core.model.reason import Reason
from postroad.core.model.selector import EVERYTHING, Selector
from postroad.core.projection.delivery_rows import posted_content, returned_content
from postroad.errors import Unavailable
from postroad.ports import Clock, EndJourney, JournalStep


def read_queued_row(row: Sequence[Any], available_at: float, retry_at: float = 0.0) -> Queued:
    """Return the delivery in a row of the statements ``reserve`` or ``waiting``."""
    number, message_seq, copy, hop, mailbox, expires_at_us, attempts, group, body_at, body_bytes = row[:10]
    header, replaced, digest, data, content_seq, journey, origin = row[10:17]
    message = decode(header)
    returned = decode(replaced) if replaced is not None else None
    if not isinstance(message, MessagePosted) or not isinstance(returned, InvocationReturned | None):
        raise TypeError(f"delivery {number} does not belong to a posted message")
    body = None if body_at is None else (group, body_at, body_bytes, digest)
    return Queued(
        number=number,
        message_seq=message_seq,
        message=message,
        copy=copy,
        hop=hop,
        recipient=mailbox,
        content=returned_content(returned, body) if returned is not None else posted_content(message, body),
        expires_at_us=expires_at_us,
        attempt=attempts,
        available_at=available_at,
        retry_at=retry_at,
        data=data,
        round=journey or (returned.journey if returned is not None and content_seq is None else 0),
        origin=origin or 0,
    )


class SharedLease(NamedTuple):
    """The terms of one claim: its time, when reserved deliveries become available again, and the attempt limit."""

    mailbox: str
    at_us: int
    length_s: float
    until: float  # monotonic
    attempts_most: int
    up_to: int  # the highest requested number
    search_until: float  # monotonic; end of the time for a search with a selector
    early: bool = False  # include deliveries that wait for a push retry

    @property
    def until_us(self) -> int:
        return self.at_us + int(self.length_s * 1_000_000)


class SharedClaims:
    def __init__(
        self, connections: ConnectionPool, group: GroupCommit, clock: Clock, sql: dict[str, str], attempts_most: int
    ) -> None:
        self._connections = connections
        self._group = group
        self._clock = clock
        self._sql = sql
        self._attempts_most = attempts_most
        self._reserved: set[int] = set()  # by this node, while the hand-out is being recorded
        self.searches = Searches(
            again_s=0.0
        )  # deliveries that were skipped because they were leased are checked by the next search
        self.end_journey: EndJourney | None = None

    async def claim(
        self, mailbox: str, selector: Selector, most: int, lease_s: float, tries: int, up_to: int, early: bool
    ) -> list[Queued]:
        began, attempts_most = self._clock.monotonic(), max(self._attempts_most, tries)
        until, search_until = began + lease_s, began + SEARCH_S
        lease = SharedLease(
            mailbox=mailbox,
            at_us=self._clock.now_us(),
            length_s=lease_s,
            until=until,
            attempts_most=attempts_most,
            up_to=up_to,
            search_until=search_until,
            early=early,
        )
        leased: list[Queued] = []
        while (wanted := most - len(leased)) > 0:
            reserved = await self._reserve(lease, selector, wanted)
            if self._clock.now_us() >= lease.until_us:  # this node was paused: others may have leased them
                break
            if reserved:
                leased += await self._record(lease, reserved)
            if not reserved or (len(reserved) < wanted and selector == EVERYTHING):  # there are no more
                break
        return leased

    def forget(self, numbers: Collection[int]) -> None:
        """Forget deliveries that were settled before their hand-out could be recorded."""
        self._reserved.difference_update(numbers)

    # --- reserving -----------------------------------------------------------------------------------------------

    async def _reserve(self, lease: SharedLease, selector: Selector, most: int) -> list[Queued]:
        if selector == EVERYTHING:
            return await self._reserve_rows(lease, most, None)
        after, through = self.searches.begin(lease.mailbox, selector, self._clock.monotonic()), False
        reserved: list[Queued] = []
        while not reserved and not through and self._clock.monotonic() < lease.search_until:
            rows = await self._connections.fetch(
                self._sql["candidates"], lease.mailbox, lease.at_us, after, PAGE_ROWS, lease.early
            )
            through = not rows
            matching = [row[0] for row in rows if _matches(selector, row)][:most]
            if matching:
                reserved = await self._reserve_rows(lease, most, matching)
            after = matching[-1] if reserved else rows[-1][0] if rows else after
        self.searches.stop(lease.mailbox, selector, after, self._clock.monotonic(), through=through)
        return reserved

    async def _reserve_rows(self, lease: SharedLease, most: int, among: list[int] | None) -> list[Queued]:
        rows = await self._connections.fetch(
            self._sql["reserve"], lease.mailbox, lease.at_us, most, lease.until_us, among, lease.up_to, lease.early
        )
        return [read_queued_row(row, lease.until) for row in rows]

    # --- recording -----------------------------------------------------------------------------------------------

    async def _record(self, lease: SharedLease, reserved: list[Queued]) -> list[Queued]:
        """Make the hand-out durable, and end deliveries that may no longer be handed out."""
        expired = [queued for queued in reserved if 0 < queued.expires_at_us <= lease.at_us]
        living = [queued for queued in reserved if not 0 < queued.expires_at_us <= lease.at_us]
        exhausted = [queued for queued in living if queued.attempt >= lease.attempts_most]
        leased = [queued for queued in living if queued.attempt < lease.attempts_most]
        late, tries = (
            make_reason("delivery.expired"),
            make_reason("delivery.not-acknowledged", count=lease.attempts_most),
        )
        expired = await self._end_journeys(expired, "expired", late)
        exhausted = await self._end_journeys(exhausted, "failed", tries)
        entries: list[ABOUT_DELIVERIES] = [
            _ended(lease, "expired", late, expired),
            _ended(lease, "failed", tries, exhausted),
            DeliveriesLeased(at_us=lease.at_us, by=lease.mailbox, lease_s=lease.length_s, deliveries=_numbers(leased)),
        ]
        self._reserved.update(_numbers(leased))
        try:
            await self._write(lease, [entry for entry in entries if entry.deliveries], reserved)
            return [_handed_out(queued) for queued in leased if queued.number in self._reserved]
        finally:
            self._reserved.difference_update(_numbers(leased))

    async def _end_journeys(self, given_up: list[Queued], state: str, reason: Reason) -> list[Queued]:
        """End journeys through the stage responsible; returns those that are part of no journey."""
        if (end_journey := self.end_journey) is None:
            return given_up
        ends = [end_journey(queued, state, reason) for queued in given_up if queued.journey]
        for error in await asyncio.gather(*ends, return_exceptions=True):
            if error is not None:
                raise error
        return [queued for queued in given_up if not queued.journey]

    async def _write(self, lease: SharedLease, entries: Iterable[Entry], reserved: list[Queued]) -> None:
        for entry in entries:
            outcome = await self._group.commit(JournalStep(entry, reserve=True))
            if isinstance(outcome, Unavailable):
                await self._give_up(lease, reserved)
                raise outcome

    async def _give_up(self, lease: SharedLease, reserved: list[Queued]) -> None:
        """Make the deliveries available at once if the database is reachable, because the hand-out was not recorded."""
        try:
            await self._connections.fetch(self._sql["give_up_reservation"], _numbers(reserved), lease.until_us)
        except Unavailable:
            return  # they are available again when the reservation expires


def _handed_out(queued: Queued) -> Queued:
    queued.attempt += 1
    queued.leased = True
    return queued


def _numbers(deliveries: list[Queued]) -> tuple[int, ...]:
    return tuple(queued.number for queued in deliveries)


def _matches(selector: Selector, row: Sequence[Any]) -> bool:
    """Whether the selector matches the delivery in a row of ``candidates``."""
    _, copy, hop, header, replaced = row
    message = decode(header)
    returned = decode(replaced) if replaced is not None else None
    if not isinstance(message, MessagePosted):
        return False
    changed = returned if isinstance(returned, InvocationReturned) and returned.hops else message.copies[copy]
    context = changed.hops[hop].context
    is_hidden = bool(selector.transaction) and is_requester_hidden(message, hop, changed.hops, changed.logical)
    return selector.matches(message, context.shown_sender if context is not None else "", is_asker_hidden=is_hidden)


def _ended(lease: SharedLease, state: str, reason: Reason, ended: list[Queued]) -> DeliveriesEnded:
    numbers, text = _numbers(ended), reason_text(reason)
    return DeliveriesEnded(
        at_us=lease.at_us, by="network", state=state, reason=text, deliveries=numbers, why=stored_reason(reason)
    )
