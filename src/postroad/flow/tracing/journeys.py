"""Finds the deliveries of a journey, from its end back to the first post of its transaction.

Rule: a delivery is exported once, with the journey that it belongs to; what caused the journey, such as an exchange's
delivery or a dead letter, has been exported before and is only read for the trace ID.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.model.delivery import is_followed
from postroad.core.model.ids import delivery_number, delivery_origin
from postroad.core.model.journal import DeliveryResent, InvocationReturned, MessagePosted
from postroad.core.telemetry.spans import TracedStop
from postroad.flow.tracing.records import RecentRecords, StopRecord, stop_of

MAX_STEPS = 1_000


class JourneySegment(NamedTuple):
    """A message on a journey and its deliveries, the last first; ``has_post``: its post is exported with them."""

    seq: int
    message: MessagePosted
    stops: Sequence[TracedStop]
    has_post: bool


class EndedJourneyRecord(NamedTuple):
    """The segments of a journey, the last first; ``is_complete``: no entry about its deliveries is missing."""

    segments: Sequence[JourneySegment]
    first: MessagePosted  # of the transaction, as far as it is known
    is_complete: bool


def is_plain(record: StopRecord, ordinal: int) -> bool:
    """Return True for a copy that goes straight from its poster to its recipient: no other entry is needed."""
    entry = record.entry
    return (
        record.is_complete
        and isinstance(entry, MessagePosted)
        and entry.transaction == entry.session
        and entry.answers is None
        and ordinal < len(entry.copies)
        and len(entry.copies[ordinal].hops) == 1
    )


def ends_journey(number: int, record: StopRecord, journeys: Sequence[int]) -> bool:
    """Return True if the acknowledgment of a delivery, which ended these journeys, ends its own."""
    entry = record.entry
    match entry:
        case MessagePosted():
            if entry.answers is not None or not is_followed(entry, delivery_origin(number)[1]):
                return True
            return number in journeys
        case InvocationReturned():
            return (entry.journey or delivery_number(entry.message, entry.copy)) in journeys
        case DeliveryResent():
            return not entry.followed or number in journeys


async def find_journey(number: int, records: RecentRecords) -> EndedJourneyRecord | None:
    """Return the journey that ended with a delivery; None if the delivery is not known."""
    segments: list[JourneySegment] = []
    stops: list[TracedStop] = []
    is_complete, exports, first = True, True, None
    for _ in range(MAX_STEPS):
        seq = delivery_origin(number)[0]
        record = await records.find(seq)
        if record is None:
            break
        is_complete = is_complete and (record.is_complete or not exports)
        if exports:
            stops.append(stop_of(number, record))
        entry, has_post = record.entry, True
        if isinstance(entry, InvocationReturned):
            number = entry.delivery
            continue
        if isinstance(entry, DeliveryResent):
            seq, has_post = entry.message, False
            message = await records.find(seq)
            if message is None or not isinstance(message.entry, MessagePosted):
                break
            entry = message.entry
        first = entry
        if exports:
            segments.append(JourneySegment(seq, entry, stops, has_post))
            stops = []
        exports = exports and has_post and _answers(entry)
        if not (cause := _cause_of(entry)):
            break
        number = cause
    return EndedJourneyRecord(segments, first, is_complete) if first is not None and segments else None


def _answers(entry: MessagePosted) -> bool:
    return entry.ends is None and entry.answers is not None and entry.answers.delivery > 0


def _cause_of(entry: MessagePosted) -> int:
    """Return the delivery that caused a post of the same transaction; 0 for the first post."""
    if entry.transaction == entry.session:
        return 0
    if entry.ends is not None:
        return entry.ends.delivery or entry.ends.journey
    if entry.answers is not None:
        return entry.answers.delivery
    return entry.forwarded.delivery if entry.forwarded is not None else 0
