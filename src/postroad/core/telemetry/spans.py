"""Derives the spans of an ended journey from its journal entries: pure, so the same entries give the same spans.

    post ─┬─ deliver or invoke (one for each stop; events: leased, returned, attempted, translated …)
          │      ├─ push (one for each attempt)        ├─ settle, or expire
          │      └─ the next stop, the response's post, or the next round of a dead letter
          └─ refuse (a recipient that was refused)

Rule: an attribute contains ids, addresses, sizes, times and codes, never content, handles, properties or texts that
parties wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    Entry,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
)
from postroad.core.model.route import Hop
from postroad.core.telemetry.span import (
    Attributes,
    Span,
    SpanEvent,
    SpanKind,
    SpanLink,
    delivery_span_id,
    make_span_id,
    post_span_id,
)
from postroad.core.telemetry.trace_context import unpack_context

MAX_CHILDREN = 1_000  # copies of one message that get spans
MAX_LINKS = 128
MAX_EVENTS = 128  # of one delivery, the latest
PARENT, LINK = "parent", "link"  # how a trace continues that of the poster

FAILED = frozenset({"failed", "expired"})
NumberedEntry = tuple[int, Entry]
AddressOf = Callable[[str], str]
StopEntry = MessagePosted | InvocationReturned | DeliveryResent


class TracedStop(NamedTuple):
    """A delivery of a journey: its number, the entry that created it, and the entries about it, oldest first."""

    number: int
    entry: StopEntry
    events: Sequence[NumberedEntry]


class TraceRoot(NamedTuple):
    """What all spans of a transaction share, from its first post."""

    trace_id: bytes
    is_requested: bool  # the poster has sampled it


def find_root(first: MessagePosted, join: str = PARENT) -> TraceRoot:
    """Return the trace of a transaction: that of its poster if sampled, otherwise the transaction's own."""
    context = unpack_context(first.trace)
    is_requested = context is not None and context.sampled
    if context is not None and is_requested and join == PARENT:
        return TraceRoot(context.trace_id, is_requested)
    return TraceRoot(bytes.fromhex(first.transaction), is_requested)


class SpanBuilder:
    """Builds spans with the names of services as they are now."""

    def __init__(self, address_of: AddressOf, join: str = PARENT) -> None:
        self._address_of = address_of
        self._join = join

    def build_post(self, seq: int, entry: MessagePosted, root: TraceRoot, links: Sequence[SpanLink] = ()) -> Span:
        """Return the span of a post; ``links`` lead to the members of the batch that it was assembled from."""
        context = unpack_context(entry.trace)
        sampled = context if context is not None and context.sampled else None
        parent_id = _cause_of(entry)
        own = [SpanLink(sampled.trace_id, sampled.span_id)] if sampled is not None else []
        if not parent_id and sampled is not None and self._join == PARENT:
            parent_id, own = sampled.span_id, []
        alone = entry.copies[0].hops if len(entry.copies) == 1 else ()
        destination = self._address_of(alone[-1].service) if alone else f"{len(entry.copies)} recipients"
        hidden = len(entry.copies) - MAX_CHILDREN
        return Span(
            trace_id=root.trace_id,
            span_id=post_span_id(seq),
            parent_id=parent_id,
            name=f"post {destination}",
            kind=SpanKind.PRODUCER,
            start_us=entry.at_us,
            end_us=entry.at_us,
            operation=_operation("post", "send", destination),
            attributes=(
                *_ids(entry.session, entry.transaction),
                ("messaging.message.body.size", entry.size),
                ("postroad.sender", self._address_of(entry.shown_sender or entry.sender)),
                ("postroad.type", entry.type.value),
                ("postroad.form", entry.form),
                ("postroad.recipients", len(entry.copies)),
                *((("postroad.recipients_left_out", hidden),) if hidden > 0 else ()),
                *((("postroad.links_left_out", len(links) - MAX_LINKS),) if len(links) > MAX_LINKS else ()),
            ),
            links=(*own, *links[:MAX_LINKS]),
            state=sampled.tracestate if sampled is not None and parent_id == sampled.span_id else "",
        )

    def build_stop(self, stop: TracedStop, message: MessagePosted, root: TraceRoot) -> list[Span]:
        """Return the span of a delivery, and those of its pushes and its end."""
        hops, place = _route_of(stop, message)
        address = self._address_of(hops[place].service)
        what = "invoke" if place < len(hops) - 1 else "deliver"
        parent_id = delivery_span_id(stop.number)
        end = _find_end(stop)
        children = [self._build_push(seq, entry, stop, address, root) for seq, entry in stop.events if _is_push(entry)]
        if (child := self._build_end(stop, end, address, message, root)) is not None:
            children.append(child)
        delivery = Span(
            trace_id=root.trace_id,
            span_id=parent_id,
            parent_id=_parent_of(stop),
            name=f"{what} {address}",
            kind=SpanKind.INTERNAL,
            start_us=stop.entry.at_us,
            end_us=max(stop.entry.at_us, end.at_us),
            operation=_operation(what, "receive", address),
            attributes=(
                *_ids(message.session, message.transaction),
                ("postroad.state", end.state),
                ("postroad.attempts", len([1 for _, entry in stop.events if isinstance(entry, DeliveriesLeased)])),
                *((("error.type", end.error),) if end.error else ()),
            ),
            events=tuple([event for _, entry in stop.events for event in _describe(entry)][-MAX_EVENTS:]),
            error=end.error,
        )
        return [delivery, *children]

    def _build_push(self, seq: int, entry: Entry, stop: TracedStop, address: str, root: TraceRoot) -> Span:
        if not isinstance(entry, DeliveryAttempted):
            raise TypeError("only an attempt is a push")
        error = _code_of(entry) if entry.is_put_off else ""
        return Span(
            trace_id=root.trace_id,
            span_id=make_span_id(seq, "push", stop.number),
            parent_id=delivery_span_id(stop.number),
            name=f"push {address}",
            kind=SpanKind.CLIENT,
            start_us=entry.at_us - entry.duration_ms * 1_000,
            end_us=entry.at_us,
            operation=_operation("push", "process", address),
            attributes=(
                *((("http.response.status_code", entry.status),) if entry.status else ()),
                *((("error.type", error),) if error else ()),
            ),
            error=error,
        )

    def _build_end(
        self, stop: TracedStop, end: StopEnd, address: str, message: MessagePosted, root: TraceRoot
    ) -> Span | None:
        if end.what not in ("settle", "expire"):
            return None
        return Span(
            trace_id=root.trace_id,
            span_id=make_span_id(end.seq, end.what, stop.number),
            parent_id=delivery_span_id(stop.number),
            name=f"{end.what} {address}",
            kind=SpanKind.CLIENT if end.what == "settle" else SpanKind.INTERNAL,
            start_us=end.at_us,
            end_us=end.at_us,
            operation=_operation(end.what, "settle", address),
            attributes=_ids(message.session, message.transaction),
        )

    def build_batch(self, seq: int, entry: MessagePosted, root: TraceRoot) -> list[Span]:
        """Return the span of the batch that a message was assembled from: from its opening to the post."""
        batch = entry.assembled.batch if entry.assembled is not None else None
        if batch is None:
            return []
        address = self._address_of(batch.service or entry.sender)
        return [
            Span(
                trace_id=root.trace_id,
                span_id=make_span_id(seq, "batch"),
                parent_id=post_span_id(seq),
                name=f"batch {address}",
                kind=SpanKind.INTERNAL,
                start_us=min(batch.opened_at_us, entry.at_us),
                end_us=entry.at_us,
                operation=_operation("batch", "create", address),
                attributes=(
                    *_ids(entry.session, entry.transaction),
                    ("messaging.batch.message_count", batch.count),
                    ("postroad.batch", batch.id),
                ),
            )
        ]

    def build_refused_copies(self, seq: int, entry: MessagePosted, root: TraceRoot) -> list[Span]:
        """Return a span for each recipient that was refused while others were accepted."""
        refused = [(place, copy.code) for place, copy in enumerate(entry.copies[:MAX_CHILDREN]) if copy.code]
        return [
            Span(
                trace_id=root.trace_id,
                span_id=make_span_id(seq, "refuse", place),
                parent_id=post_span_id(seq),
                name="refuse",
                kind=SpanKind.INTERNAL,
                start_us=entry.at_us,
                end_us=entry.at_us,
                operation=_operation("refuse", "send"),
                attributes=(
                    *_ids(entry.session, entry.transaction),
                    ("error.type", code),
                ),
                error=code,
            )
            for place, code in refused
        ]

    def build_refusal(self, seq: int, entry: MessageRefused) -> Span:
        """Return the span of a post that was refused as a whole."""
        context = unpack_context(entry.trace)
        sampled = context if context is not None and context.sampled else None
        joined = sampled if self._join == PARENT else None
        return Span(
            trace_id=joined.trace_id if joined is not None else bytes.fromhex(entry.session),
            span_id=make_span_id(seq, "refuse"),
            parent_id=joined.span_id if joined is not None else b"",
            name="refuse",
            kind=SpanKind.PRODUCER,
            start_us=entry.at_us,
            end_us=entry.at_us,
            operation=_operation("refuse", "send"),
            attributes=(
                *_ids(entry.session, entry.session),
                ("messaging.message.body.size", entry.size),
                ("error.type", entry.code),
            ),
            links=(SpanLink(sampled.trace_id, sampled.span_id),) if sampled is not None and joined is None else (),
            error=entry.code,
            state=joined.tracestate if joined is not None else "",
        )


class StopEnd(NamedTuple):
    """The end of a delivery: its entry, its state, the error if it failed, and which span records it."""

    seq: int
    at_us: int
    state: str
    error: str = ""
    what: str = ""  # settle, expire; empty: the span of another entry does


def _find_end(stop: TracedStop) -> StopEnd:
    for seq, entry in reversed(stop.events):
        match entry:
            case DeliveriesAcknowledged():
                return StopEnd(seq, entry.at_us, "delivered", "", "settle")
            case DeliveriesEnded():
                error = entry.why.code if entry.why is not None else entry.state
                what = "expire" if entry.state == "expired" else ""
                return StopEnd(seq, entry.at_us, entry.state, error if entry.state in FAILED else "", what)
            case MessagePosted() if entry.ends is not None:
                ends = entry.ends
                error = ends.why.code if ends.why is not None else ends.state
                return StopEnd(seq, entry.at_us, ends.state, error if ends.state in FAILED else "")
            case MessagePosted() | InvocationReturned():
                return StopEnd(seq, entry.at_us, "answered")
            case _:
                pass
    last_us = stop.events[-1][1].at_us if stop.events else stop.entry.at_us
    return StopEnd(0, last_us, "waiting")


@lru_cache(maxsize=4_096)
def _operation(what: str, type: str, destination: str = "") -> Attributes:
    named: Attributes = (("messaging.destination.name", destination),) if destination else ()
    return (
        ("messaging.system", "postroad"),
        ("messaging.operation.name", what),
        ("messaging.operation.type", type),
        *named,
    )


def _ids(session: str, transaction: str) -> Attributes:
    return ("messaging.message.id", session), ("messaging.message.conversation_id", transaction)


def _cause_of(entry: MessagePosted) -> bytes:
    """Return the span that caused a post inside the network: the answered, ended or forwarded delivery."""
    if entry.ends is not None:
        return delivery_span_id(entry.ends.delivery or entry.ends.journey)
    if entry.answers is not None:
        return delivery_span_id(entry.answers.delivery) if entry.answers.delivery else b""
    if entry.forwarded is not None and entry.transaction != entry.session:
        return delivery_span_id(entry.forwarded.delivery)
    return b""


def _parent_of(stop: TracedStop) -> bytes:
    if isinstance(stop.entry, MessagePosted):
        return post_span_id(delivery_origin(stop.number)[0])
    return delivery_span_id(stop.entry.delivery)


def _route_of(stop: TracedStop, message: MessagePosted) -> tuple[tuple[Hop, ...], int]:
    """Return the route of the delivery's copy, and the delivery's place on it."""
    entry = stop.entry
    if isinstance(entry, MessagePosted):
        return entry.copies[delivery_origin(stop.number)[1]].hops, 0
    if isinstance(entry, InvocationReturned):
        hops = entry.hops or message.copies[entry.copy].hops
        return (hops, entry.hop) if entry.hop < len(hops) else ((Hop(entry.next),), 0)
    hops = message.copies[entry.copy].hops
    is_there = entry.hop < len(hops) and hops[entry.hop].service == entry.next
    return (hops, entry.hop) if is_there else ((Hop(entry.next),), 0)


def _is_push(entry: Entry) -> bool:
    return isinstance(entry, DeliveryAttempted)


def _code_of(entry: DeliveryAttempted) -> str:
    return entry.why.code if entry.why is not None else f"status {entry.status}" if entry.status else "push.failed"


def _describe(entry: Entry) -> list[SpanEvent]:
    """Return the event of an entry about a delivery; none if a span of its own says the same."""
    match entry:
        case DeliveriesLeased():
            return [SpanEvent(entry.at_us, "leased", (("postroad.lease_ms", int(entry.lease_s * 1_000)),))]
        case DeliveriesReturned():
            return [SpanEvent(entry.at_us, "returned", (("postroad.delay_ms", int(entry.delay_s * 1_000)),))]
        case DeliveryAttempted():
            wait = ("postroad.delay_ms", int(entry.delay_s * 1_000))
            return [SpanEvent(entry.at_us, "attempted", (("http.response.status_code", entry.status), wait))]
        case DeliveryTranslated():
            lost = ("postroad.dropped", len(entry.dropped))
            return [SpanEvent(entry.at_us, "translated", (("postroad.format", entry.format), lost))]
        case BatchesChanged():
            return [SpanEvent(entry.at_us, "joined batch", (("postroad.batch", entry.batch),))]
        case DeliveriesReleased():
            return [SpanEvent(entry.at_us, "released")]
        case DeliveriesDropped():
            return [SpanEvent(entry.at_us, "dropped")]
        case _:
            return []
