"""Turns each batch of journal entries into the spans of the journeys that ended in it.

    entries ─▶ RecentRecords ─▶ ended journeys ─▶ sampler ─▶ spans ─▶ exporter

Rule: a journey is judged when it has ended, so its outcome and duration are known. Most journeys are short, and their
entries are in memory; those of a chosen older journey are read by the index.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import (
    ConfigurationChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    Entry,
    MessagePosted,
    MessageRefused,
    decode,
)
from postroad.core.telemetry.sampling import EndedJourney, TraceSampler
from postroad.core.telemetry.span import Span, SpanLink, delivery_span_id
from postroad.core.telemetry.spans import (
    FAILED,
    MAX_CHILDREN,
    MAX_LINKS,
    PARENT,
    SpanBuilder,
    TraceRoot,
    find_root,
)
from postroad.core.telemetry.unsampled_post import build_unsampled_check
from postroad.flow.followers import FollowedJournal
from postroad.flow.tracing.journeys import (
    EndedJourneyRecord,
    JourneySegment,
    ends_journey,
    find_journey,
    is_plain,
)
from postroad.flow.tracing.names import ServiceNames
from postroad.flow.tracing.records import MAX_WEIGHT, RecentRecords, stop_of
from postroad.ports import IndexReader, JournalBatch

SPANS_AT_ONCE = 500

LoadTransaction = Callable[[str], Awaitable[dict[int, Entry]]]


class SpanExporter(Protocol):
    async def export(self, spans: Sequence[Span]) -> None:
        """Send spans; returns when they have arrived or were given up."""
        ...


class TracedEnd(NamedTuple):
    """The end of a journey at its last delivery."""

    number: int
    seq: int
    at_us: int
    has_failed: bool


class TraceFollower:
    """``handle`` is what a ``JournalFollower`` does with each batch."""

    def __init__(
        self,
        journal: FollowedJournal,
        index: IndexReader,
        *,
        sampler: TraceSampler,
        exporter: SpanExporter,
        load_transaction: LoadTransaction,
        wait_for_entry: Callable[[int], Awaitable[None]],
        join: str = PARENT,
        max_weight: int = MAX_WEIGHT,
    ) -> None:
        self._sampler = sampler
        self._is_unsampled = build_unsampled_check(sampler.share)
        self._exporter = exporter
        self._load_transaction = load_transaction
        self._wait_for_entry = wait_for_entry  # until the index has it
        self._join = join
        self._names = ServiceNames(index)
        self._builder = SpanBuilder(self._names.address_of, join)
        self._records = RecentRecords(journal, max_weight)
        self._posted: dict[int, None] = {}  # posts whose span was exported lately

    async def handle(self, batch: JournalBatch) -> None:
        await self._names.load()
        spans: list[Span] = []
        for record in batch.records:
            if self._is_unsampled(record.facts):
                self._records.keep(record.seq, record.facts)
                continue
            entry = decode(record.facts)
            self._records.read(record.seq, entry)
            if isinstance(entry, ConfigurationChanged):
                self._names.note(entry)
            elif isinstance(entry, MessageRefused):
                spans += self._trace_refusal(record.seq, entry)
            for end in self._list_ends(record.seq, entry):
                spans += await self._trace(end, entry)
            if len(spans) >= SPANS_AT_ONCE:
                await self._exporter.export(spans)
                spans = []
        if spans:
            await self._exporter.export(spans)

    def _list_ends(self, seq: int, entry: Entry) -> list[TracedEnd]:
        match entry:
            case DeliveriesLeased():  # the most frequent of those that end nothing
                return []
            case DeliveriesAcknowledged():
                return [
                    TracedEnd(number, seq, entry.at_us, False)
                    for number in self._leave_out_quick(entry.deliveries, entry.at_us)
                ]
            case DeliveriesEnded():
                has_failed = entry.state in FAILED
                ended = entry.deliveries or entry.journeys
                numbers = ended if has_failed else self._leave_out_quick(ended, entry.at_us)
                return [TracedEnd(number, seq, entry.at_us, has_failed) for number in numbers]
            case MessagePosted() if entry.ends is not None:
                number = entry.ends.delivery or entry.ends.journey
                return [TracedEnd(number, seq, entry.at_us, entry.ends.state in FAILED)]
            case _:
                return []

    def _leave_out_quick(self, numbers: Sequence[int], ended_us: int) -> Sequence[int]:
        """Return the deliveries without those whose undecoded post shows that a journey that has not failed is not chosen."""
        return self._records.without_undecoded(numbers, ended_us - self._sampler.slow_us)

    async def _trace(self, end: TracedEnd, entry: Entry) -> list[Span]:
        origin, ordinal = delivery_origin(end.number)
        record = self._records.find_stop(origin) or await self._records.find(origin)
        if record is None or ordinal >= MAX_CHILDREN:
            return []
        if isinstance(entry, DeliveriesAcknowledged) and not ends_journey(end.number, record, entry.journeys):
            return []
        if is_plain(record, ordinal) and isinstance(message := record.entry, MessagePosted):
            segment = JourneySegment(origin, message, (stop_of(end.number, record),), True)
            journey: EndedJourneyRecord | None = EndedJourneyRecord((segment,), message, True)
        else:
            journey = await find_journey(end.number, self._records)
        return await self._build_if_chosen(end, journey) if journey is not None else []

    async def _build_if_chosen(self, end: TracedEnd, journey: EndedJourneyRecord) -> list[Span]:
        root = find_root(journey.first, self._join)
        begun_us = journey.segments[-1].message.at_us
        if not self._sampler.chooses(
            EndedJourney(root.trace_id, root.is_requested, end.has_failed, begun_us, end.at_us)
        ):
            return []
        if not journey.is_complete:
            await self._wait_for_entry(end.seq)
            entries = await self._load_transaction(journey.first.transaction)
            whole = RecentRecords.of({seq: entry for seq, entry in entries.items() if seq <= end.seq})
            journey = await find_journey(end.number, whole) or journey
        spans: list[Span] = []
        for segment in journey.segments:
            spans += await self._build_segment(segment, root)
        return spans

    async def _build_segment(self, segment: JourneySegment, root: TraceRoot) -> list[Span]:
        seq, message = segment.seq, segment.message
        spans = [span for stop in segment.stops for span in self._builder.build_stop(stop, message, root)]
        if not segment.has_post or (len(message.copies) > 1 and seq in self._posted):
            return spans
        if len(message.copies) > 1:  # each copy is a journey, and all share the span of the post
            self._posted[seq] = None
            if len(self._posted) > MAX_CHILDREN:
                del self._posted[next(iter(self._posted))]
        links = await self._find_links(message) if message.assembled is not None else ()
        spans += self._builder.build_refused_copies(seq, message, root)
        spans += self._builder.build_batch(seq, message, root)
        return [self._builder.build_post(seq, message, root, links), *spans]

    async def _find_links(self, message: MessagePosted) -> list[SpanLink]:
        """Return links to the members of an interchange's batch; above the limit, they are only counted."""
        filed = message.assembled.filed if message.assembled is not None else ()
        links: list[SpanLink] = []
        for number in dict.fromkeys(one.delivery for one in filed):
            member = await find_journey(number, self._records) if len(links) < MAX_LINKS else None
            trace_id = find_root(member.first, self._join).trace_id if member is not None else b""
            links.append(SpanLink(trace_id, delivery_span_id(number)))
        return [link for place, link in enumerate(links) if link.trace_id or place >= MAX_LINKS]

    def _trace_refusal(self, seq: int, entry: MessageRefused) -> list[Span]:
        span = self._builder.build_refusal(seq, entry)
        asked = EndedJourney(span.trace_id, bool(span.parent_id or span.links), False, entry.at_us, entry.at_us)
        return [span] if self._sampler.chooses(asked) else []
