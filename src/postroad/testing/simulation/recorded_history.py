"""The history in a journal, by a simple reader: one pass over the entries, without other state.

It is independent of the projection and of the desk, so that comparing them finds bugs in either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from postroad.core.model.delivery import FINAL, DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    Entry,
    InvocationReturned,
    MessagePosted,
    decode,
)
from postroad.core.model.message import MessageType
from postroad.core.model.route import Hop
from postroad.ports import Journal, JournalRecord


class RecordedEnd(NamedTuple):
    """An entry that puts a delivery or a journey into a final state."""

    seq: int
    at_us: int
    state: DeliveryState
    with_journey: bool  # it ends the whole journey of the copy, at whichever service it is


class RecordedLease(NamedTuple):
    """A hand-out, and the end of its lease."""

    seq: int
    at_us: int
    until_us: int


@dataclass(slots=True, kw_only=True)
class RecordedLeg:
    """One delivery: a copy at one service."""

    number: int
    message_seq: int
    copy: int
    hop: int
    recipient: str
    queued_at_us: int
    expires_at_us: int
    is_last: bool  # the recipient itself, not a service in transit
    state: DeliveryState = DeliveryState.QUEUED
    ends: list[RecordedEnd] = field(default_factory=list)  # the first one counts
    leases: list[RecordedLease] = field(default_factory=list)
    available_at_us: int = 0  # end of the delay after a return
    in_hand: bool = False  # last event is a hand-out, not a return
    answers: list[int] = field(default_factory=list)  # entries
    round: int = 0  # first delivery of its round; 0 in the first round
    dealt: list[tuple[str, int]] = field(default_factory=list)  # how the dead letter was handled, and the entry


@dataclass(slots=True, kw_only=True)
class RecordedJourney:
    """One round of a copy with a journey: a request until its response has arrived, other messages to the recipient."""

    id: int
    message_seq: int
    copy: int
    is_request: bool
    expires_at_us: int
    ends: list[RecordedEnd] = field(default_factory=list)
    responses: list[int] = field(default_factory=list)  # entries: the recipient's responses
    errors: list[int] = field(default_factory=list)  # entries: error responses of the network


class RecordedHistory:
    """Everything that a journal records, by delivery and by journey."""

    def __init__(self, records: Iterable[JournalRecord]) -> None:
        self.legs: dict[int, RecordedLeg] = {}
        self.journeys: dict[int, RecordedJourney] = {}
        self.posted: dict[int, MessagePosted] = {}
        self.entries = 0
        self._routes: dict[tuple[int, int], tuple[Hop, ...]] = {}  # current legs of each copy
        self._newest: dict[tuple[int, int], int] = {}  # first delivery of each copy's last round
        for record in records:
            self._enter(record.seq, decode(record.facts))
            self.entries += 1

    def ended(self, number: int) -> DeliveryState:
        """Return the final state of the last round of the copy with this first delivery."""
        leg = self.legs[number]
        number = self._newest.get((leg.message_seq, leg.copy), number)
        journey = self.journeys.get(number)
        if journey is None:
            return self.legs[number].state
        return journey.ends[0].state if journey.ends else DeliveryState.QUEUED

    def copies(self) -> dict[tuple[int, int, int], list[RecordedLeg]]:
        """Return the legs of each copy and round, in the order in which they began."""
        copies: defaultdict[tuple[int, int, int], list[RecordedLeg]] = defaultdict(list)
        for leg in self.legs.values():
            copies[leg.message_seq, leg.copy, leg.round].append(leg)
        return copies

    def _enter(self, seq: int, entry: Entry) -> None:
        match entry:
            case MessagePosted():
                self._post(seq, entry)
            case InvocationReturned():
                self._end(RecordedEnd(seq, entry.at_us, DeliveryState.DELIVERED, False), (entry.delivery,))
                self.legs[entry.delivery].answers.append(seq)
                if entry.hops:
                    self._routes[entry.message, entry.copy] = entry.hops
                self._begin(delivery_number(seq, 0), entry.message, entry.copy, entry.hop, entry)
                self.legs[delivery_number(seq, 0)].round = self.legs[entry.delivery].round
            case DeliveriesAcknowledged():
                self._finish(RecordedEnd(seq, entry.at_us, DeliveryState.DELIVERED, bool(entry.journeys)), entry)
            case DeliveriesEnded():
                self._finish(RecordedEnd(seq, entry.at_us, FINAL[entry.state], bool(entry.journeys)), entry)
            case DeliveriesLeased():
                self._lease(seq, entry)
            case DeliveriesReturned() | DeliveryAttempted():
                for number in entry.deliveries:
                    self.legs[number].available_at_us = entry.at_us + int(entry.delay_s * 1_000_000)
                    self.legs[number].in_hand = False
            case DeliveryResent():
                self._resend(seq, entry)
            case DeliveriesDropped():
                for number in entry.deliveries:
                    self.legs[number].dealt.append(("dropped", seq))

    def _lease(self, seq: int, entry: DeliveriesLeased) -> None:
        for number in entry.deliveries:
            leg = self.legs[number]
            leg.leases.append(RecordedLease(seq, entry.at_us, entry.at_us + int(entry.lease_s * 1_000_000)))
            leg.available_at_us, leg.in_hand = 0, True

    def _post(self, seq: int, entry: MessagePosted) -> None:
        self.posted[seq] = entry
        for ordinal, copy in enumerate(entry.copies):
            if not copy.code:
                self._routes[seq, ordinal] = copy.hops
                self._begin(delivery_number(seq, ordinal), seq, ordinal, 0, entry)
                self._set_out(seq, ordinal, entry)
        if entry.ends is not None:
            end = RecordedEnd(seq, entry.at_us, FINAL[entry.ends.state], True)
            self._end(end, (entry.ends.delivery,) if entry.ends.delivery else ())
            self.journeys[entry.ends.journey].ends.append(end)
            self.journeys[entry.ends.journey].errors.append(seq)
        elif entry.answers is not None:
            self._end(RecordedEnd(seq, entry.at_us, DeliveryState.DELIVERED, False), (entry.answers.delivery,))
            self.legs[entry.answers.delivery].answers.append(seq)
            if entry.answers.journey:
                self.journeys[entry.answers.journey].responses.append(seq)

    def _set_out(self, seq: int, copy: int, entry: MessagePosted) -> None:
        is_request = entry.type is MessageType.REQUEST
        if entry.answers is None and (is_request or len(entry.copies[copy].hops) > 1):
            number = delivery_number(seq, copy)
            self.journeys[number] = RecordedJourney(
                id=number, message_seq=seq, copy=copy, is_request=is_request, expires_at_us=entry.expires_at_us
            )

    def _resend(self, seq: int, entry: DeliveryResent) -> None:
        """Begin a new round at the failed delivery."""
        number, post = delivery_number(seq, 0), self.posted[entry.message]
        self.legs[entry.delivery].dealt.append(("resent", seq))
        self._begin(number, entry.message, entry.copy, entry.hop, entry)
        self.legs[number].round = number
        self._newest[entry.message, entry.copy] = number
        if entry.followed:
            is_response = post.answers is not None
            self.journeys[number] = RecordedJourney(
                id=number,
                message_seq=entry.message,
                copy=entry.copy,
                is_request=is_response or post.type is MessageType.REQUEST,
                expires_at_us=entry.expires_at_us,
                responses=[entry.message] if is_response else [],
            )

    def _finish(self, end: RecordedEnd, entry: DeliveriesAcknowledged | DeliveriesEnded) -> None:
        self._end(end, entry.deliveries)
        for journey in entry.journeys:
            self.journeys[journey].ends.append(end)

    def _begin(
        self,
        number: int,
        message_seq: int,
        copy: int,
        hop: int,
        entry: MessagePosted | InvocationReturned | DeliveryResent,
    ) -> None:
        hops = self._routes[message_seq, copy]
        self.legs[number] = RecordedLeg(
            number=number,
            message_seq=message_seq,
            copy=copy,
            hop=hop,
            recipient=hops[hop].service,
            queued_at_us=entry.at_us,
            expires_at_us=entry.expires_at_us,
            is_last=hop == len(hops) - 1,
        )

    def _end(self, end: RecordedEnd, numbers: Iterable[int]) -> None:
        for number in numbers:
            leg = self.legs[number]
            leg.ends.append(end)
            if leg.state is DeliveryState.QUEUED:
                leg.state = end.state


async def read_all_records(journal: Journal) -> list[JournalRecord]:
    """Return every record of the journal."""
    records: list[JournalRecord] = []
    while (batch := await journal.read(len(records))).records:
        records += batch.records
    return records
