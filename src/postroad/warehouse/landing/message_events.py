"""Converts message events to rows: posts, refused posts, responses of in-transit services, and resent deliveries.

A table names each column once, with the function that returns its value. Rule: a value depends on nothing but the entry,
its number and the length of its body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from postroad.core.model.delivery import is_followed
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveryResent, InvocationReturned, MessagePosted, MessageRefused
from postroad.core.model.reason import Reason
from postroad.core.model.route import Copy, Hop

Row = tuple[Any, ...]
Rows = Iterator[Row]


class Recorded(NamedTuple):
    """An entry with its number, and the length of its body or 0."""

    seq: int
    entry: Any
    body_length: int


class PostedCopy(NamedTuple):
    """One copy of a posted message; ``copy`` is None for a post without copies."""

    seq: int
    entry: MessagePosted
    ordinal: int
    copy: Copy | None
    accepted: Copy | None  # the copy, if it has a route


Columns = dict[str, Callable[[Recorded], Any]]
CopyColumns = dict[str, Callable[[PostedCopy], Any]]


def code_of(why: Reason | None) -> str | None:
    return why.code if why is not None else None


def _bytes_on_the_wire(entry: MessagePosted | InvocationReturned | MessageRefused) -> int | None:
    return entry.wire_size if entry.wire_size >= 0 else None


def _bytes_behind_parts(entry: MessagePosted) -> int:
    """Bytes of the body that are no document: how the parts were wrapped, and how the message was routed."""
    return entry.explained + (entry.arrival.wrapper_bytes if entry.arrival is not None else 0)


def _route(hops: tuple[Hop, ...]) -> list[dict[str, Any]] | None:
    return [_hop(hop) for hop in hops] or None


def _hop(hop: Hop) -> dict[str, Any]:
    given: dict[str, Any] = {"service": hop.service, "invoker": hop.invoker or None}
    if hop.context is not None:
        given["payer"], given["rule"] = hop.context.payer or None, hop.context.rule or None
        given["context"], given["parent"] = hop.context.id, hop.context.parent
    return given


_POST: Columns = {
    "seq": lambda of: of.seq,
    "about": lambda of: "copy" if of.entry.copies else "post",
    "at_us": lambda of: of.entry.at_us,
    "session": lambda of: of.entry.session,
    "transaction": lambda of: of.entry.transaction,
    "message_seq": lambda of: of.seq,
    "sender": lambda of: of.entry.sender,
    "by": lambda of: of.entry.sender,
    "type": lambda of: of.entry.type._value_,
    "topic": lambda of: of.entry.topic or None,
    "form": lambda of: of.entry.form or None,
    "handle": lambda of: of.entry.handle or None,
    "possible_duplicate": lambda of: of.entry.possible_duplicate,
    "size": lambda of: of.entry.size,
    "body_bytes": lambda of: of.body_length - _bytes_behind_parts(of.entry),
    "parts": lambda of: len(of.entry.parts),
    "expires_at_us": lambda of: of.entry.expires_at_us or None,
    "directory": lambda of: of.entry.directory,
    "routing": lambda of: of.entry.routing or None,
    "shown_sender": lambda of: of.entry.shown_sender or None,
    "status_code": lambda of: of.entry.status and of.entry.status.code,
    "status_text": lambda of: of.entry.status and of.entry.status.text,
    "answers_delivery": lambda of: of.entry.answers and of.entry.answers.delivery,
    "answers_session": lambda of: of.entry.answers and of.entry.answers.session,
    "answers_journey": lambda of: (of.entry.answers and of.entry.answers.journey) or None,
    "ends_journey": lambda of: of.entry.ends and of.entry.ends.journey,
    "ends_delivery": lambda of: (of.entry.ends and of.entry.ends.delivery) or None,
    "ends_state": lambda of: of.entry.ends and of.entry.ends.state,
    "ends_reason": lambda of: of.entry.ends and of.entry.ends.reason,
    "wire_bytes": lambda of: _bytes_on_the_wire(of.entry),
    "reason_code": lambda of: of.entry.ends and code_of(of.entry.ends.why),
}

_COPY: CopyColumns = {
    "ordinal": lambda of: of.ordinal,
    "copy": lambda of: of.copy and of.ordinal,
    "hop": lambda of: of.accepted and 0,
    "delivery": lambda of: of.accepted and delivery_number(of.seq, of.ordinal),
    "journey": lambda of: of.accepted and _journey(of),
    "service": lambda of: of.accepted and of.accepted.hops[0].service,
    "recipient": lambda of: of.copy.hops[-1].service if of.copy and of.copy.hops else None,
    "named": lambda of: of.copy and of.copy.named,
    "code": lambda of: (of.copy and of.copy.code) or None,
    "detail": lambda of: None if of.accepted else (of.copy and of.copy.detail) or None,
    "hops": lambda of: of.copy and _route(of.copy.hops),
    "logical": lambda of: of.copy and _route(of.copy.logical),
}

POSTED_COLUMNS = (*_POST, *_COPY)


def _journey(of: PostedCopy) -> int | None:
    if is_followed(of.entry, of.ordinal):
        return delivery_number(of.seq, of.ordinal)
    return (of.entry.answers and of.entry.answers.journey) or None


def posted_rows(seq: int, entry: MessagePosted, body_length: int) -> Rows:
    """Return a row for each copy; one row if there is none."""
    recorded = Recorded(seq, entry, body_length)
    shared = _row(_POST, recorded)
    for ordinal, copy in enumerate(entry.copies or (None,)):
        of = PostedCopy(seq, entry, ordinal, copy, copy if copy is not None and copy.hops and not copy.code else None)
        yield (*shared, *[value(of) for value in _COPY.values()])


_REFUSED: Columns = {
    "seq": lambda of: of.seq,
    "ordinal": lambda of: 0,
    "about": lambda of: "post",
    "at_us": lambda of: of.entry.at_us,
    "session": lambda of: of.entry.session,
    "sender": lambda of: of.entry.sender or None,
    "by": lambda of: of.entry.sender or None,
    "code": lambda of: of.entry.code,
    "detail": lambda of: of.entry.detail or None,
    "size": lambda of: of.entry.size,
    "form": lambda of: of.entry.form or None,
    "handle": lambda of: of.entry.handle or None,
    "named": lambda of: ", ".join(of.entry.named) or None,
    "type": lambda of: of.entry.type or None,
    "topic": lambda of: of.entry.topic or None,
    "wire_bytes": lambda of: _bytes_on_the_wire(of.entry),
}

REFUSED_COLUMNS = (*_REFUSED,)


def refused_rows(seq: int, entry: MessageRefused, body_length: int) -> Rows:
    yield _row(_REFUSED, Recorded(seq, entry, body_length))


_COPY_EVENT: Columns = {
    "seq": lambda of: of.seq,
    "ordinal": lambda of: 0,
    "at_us": lambda of: of.entry.at_us,
    "session": lambda of: of.entry.session,
    "transaction": lambda of: of.entry.transaction,
    "message_seq": lambda of: of.entry.message,
    "copy": lambda of: of.entry.copy,
    "hop": lambda of: of.entry.hop,
    "delivery": lambda of: delivery_number(of.seq, 0),
}

_INVOCATION: Columns = {
    **_COPY_EVENT,
    "about": lambda of: "copy",
    "journey": lambda of: of.entry.journey or delivery_number(of.entry.message, of.entry.copy),
    "by": lambda of: of.entry.by,
    "service": lambda of: of.entry.next,
    "answers_delivery": lambda of: of.entry.delivery,
    "size": lambda of: of.entry.size,
    "body_bytes": lambda of: of.body_length - of.entry.explained - of.entry.wrapper_bytes,
    "parts": lambda of: len(of.entry.parts),
    "expires_at_us": lambda of: of.entry.expires_at_us or None,
    "hops": lambda of: _route(of.entry.hops),
    "logical": lambda of: _route(of.entry.logical),
    "recipient": lambda of: of.entry.hops[-1].service if of.entry.hops else None,
    "directory": lambda of: of.entry.directory or None,
    "status_code": lambda of: of.entry.status and of.entry.status.code,
    "status_text": lambda of: of.entry.status and of.entry.status.text,
    "wire_bytes": lambda of: _bytes_on_the_wire(of.entry),
}

INVOCATION_COLUMNS = (*_INVOCATION,)


def invocation_rows(seq: int, entry: InvocationReturned, body_length: int) -> Rows:
    yield _row(_INVOCATION, Recorded(seq, entry, body_length))


_RESENT: Columns = {
    **_COPY_EVENT,
    "about": lambda of: "round",
    "journey": lambda of: delivery_number(of.seq, 0) if of.entry.followed else None,
    "by": lambda of: of.entry.by,
    "sender": lambda of: of.entry.sender,
    "service": lambda of: of.entry.next,
    "expires_at_us": lambda of: of.entry.expires_at_us or None,
    "reason": lambda of: of.entry.reason or None,
}

RESENT_COLUMNS = (*_RESENT,)


def resent_rows(seq: int, entry: DeliveryResent, body_length: int) -> Rows:
    yield _row(_RESENT, Recorded(seq, entry, body_length))


def _row(columns: Columns, recorded: Recorded) -> Row:
    return tuple([value(recorded) for value in columns.values()])
