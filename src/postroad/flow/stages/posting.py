"""Posting: a decoded post with its wire facts, the layout of its stored body, and its answers."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec
from msgspec import Struct

from postroad.core.model.delivery import DeliveryContent
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import Message, Part, PostResult, RecipientResult
from postroad.core.model.part_facts import MessageArrival, PartFacts
from postroad.core.model.route import Copy
from postroad.core.telemetry.trace_context import pack_context
from postroad.errors import Refused, Unavailable
from postroad.ports import Journal

Answer = PostResult | Refused | Unavailable
Answered = Callable[[Answer], None]
AnsweredAt = Callable[[int, Answer], None]  # called with the index of the post in its call

MAX_IDEMPOTENCY_KEY = 255
CONTEXT_FIELDS = frozenset(
    {"traceparent", "tracestate"}
)  # a client that repeats a message may send it in another trace
FINGERPRINTED = tuple([name for name in Message.__struct_fields__ if name not in CONTEXT_FIELDS])


class Posting(Struct, gc=False, frozen=True):
    """One decoded post with its wire facts."""

    message: Message
    size: int  # of the wire
    form: str
    idempotency: str = ""
    fingerprint: str = ""
    arrival: MessageArrival | None = None  # how it arrived, if in an external format
    wrapper: bytes = b""  # the wrapper of its parts, packed
    bulk: str = ""  # the Idempotency-Key of its call, if the call has several posts
    trace: bytes = b""  # the trace context of its call, packed; the message's own counts first

    @property
    def context(self) -> bytes:
        """Return the message's own trace context if it is valid, else that of the call."""
        message = self.message
        return (
            pack_context(message.traceparent, message.tracestate) or self.trace if message.traceparent else self.trace
        )


class ReplayedResult(PostResult, gc=False, frozen=True, kw_only=True):
    """The answer to the first post, returned again for its Idempotency-Key."""


def compute_fingerprint(wire: bytes) -> str:
    """Return a digest to check that an Idempotency-Key is repeated with the same post."""
    return blake2b(wire, digest_size=16).hexdigest()


def compute_message_fingerprint(message: Message) -> str:
    """Return the fingerprint of a message of a bulk, in any trace.

    It is compared with stored ones: a new field of ``Message`` must not change it for messages without that field.
    """
    fields = {name: getattr(message, name) for name in FINGERPRINTED}
    return compute_fingerprint(msgspec.msgpack.encode(fields))


def check_idempotency_key(key: str) -> str:
    if not key or len(key) > MAX_IDEMPOTENCY_KEY or not key.isprintable():
        raise Refused("idempotency.invalid", f"An Idempotency-Key has 1 to {MAX_IDEMPOTENCY_KEY} printable characters")
    return key


def describe_parts(parts: tuple[Part, ...]) -> tuple[PartFacts, ...]:
    if len(parts) == 1:
        return (_facts(parts[0]),)
    return tuple([_facts(part) for part in parts])


def _facts(part: Part) -> PartFacts:
    return PartFacts(part.id, part.content_type, len(part.data), part.expires_at_us, part.attachment, part.headers)


def encode_body(parts: tuple[Part, ...], explanation: bytes = b"", wrapper: bytes = b"") -> bytes | None:
    """Return the stored body: the bytes of all parts, followed by the wrapper and the explanation."""
    if explanation or wrapper:
        return b"".join([*[part.data for part in parts], wrapper, explanation])
    if len(parts) == 1:
        return parts[0].data
    return b"".join([part.data for part in parts]) if parts else None


def decode_parts(facts: tuple[PartFacts, ...], body: bytes) -> tuple[Part, ...]:
    """Return the parts, from their description and the stored body."""
    if len(facts) == 1 and facts[0].size == len(body):
        return (_part(facts[0], body),)
    parts = []
    offset = 0
    for fact in facts:
        parts.append(_part(fact, body[offset : offset + fact.size]))
        offset += fact.size
    return tuple(parts)


def decode_wrapper(content: DeliveryContent, body: bytes) -> bytes:
    """Return the wrapper from a stored body; empty if none was stored."""
    if not content.wrapper_bytes:
        return b""
    begins = sum([fact.size for fact in content.parts])
    return body[begins : begins + content.wrapper_bytes]


def _part(fact: PartFacts, data: bytes) -> Part:
    return Part(
        id=fact.id,
        content_type=fact.content_type,
        data=data,
        expires_at_us=fact.expires_at_us,
        attachment=fact.attachment,
        headers=fact.headers,
    )


def is_same_post(first: MessagePosted, again: MessagePosted | Posting) -> bool:
    """Whether both have the same Idempotency-Key and the same wire bytes."""
    return bool(again.idempotency) and (first.idempotency, first.fingerprint) == (again.idempotency, again.fingerprint)


def replay_result(first: MessagePosted) -> ReplayedResult:
    """Return the answer to a post that had been accepted before."""
    result = build_result(first)
    return ReplayedResult(session=result.session, transaction=result.transaction, recipients=result.recipients)


async def load_post(journal: Journal, seq: int) -> MessagePosted | None:
    """Return the post in entry ``seq``; None if the entry is not a post."""
    batch = await journal.read(seq - 1, 1)
    entry = decode(batch.records[0].facts) if batch.records else None
    return entry if isinstance(entry, MessagePosted) else None


def build_result(entry: MessagePosted) -> PostResult:
    """Return the answer to an accepted post."""
    return PostResult(session=entry.session, transaction=entry.transaction, recipients=_recipients(entry.copies))


def _recipients(copies: tuple[Copy, ...]) -> tuple[RecipientResult, ...]:
    if len(copies) == 1:
        return (_recipient(copies[0]),)
    return tuple([_recipient(copy) for copy in copies])


def _recipient(copy: Copy) -> RecipientResult:
    return RecipientResult(service=copy.named, code=copy.code, detail=copy.detail)


class ResultBuilder:
    """Builds the answers to posts of one call; posts to the same single recipient share a result."""

    __slots__ = ("_copy", "_recipients")

    def __init__(self) -> None:
        self._copy: Copy | None = None
        self._recipients: tuple[RecipientResult, ...] = ()

    def of(self, entry: MessagePosted) -> PostResult:
        copies = entry.copies
        if len(copies) != 1 or copies[0] is not self._copy:
            self._copy, self._recipients = copies[0] if len(copies) == 1 else None, _recipients(copies)
        return PostResult(session=entry.session, transaction=entry.transaction, recipients=self._recipients)
