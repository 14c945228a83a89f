"""Decode request bodies: posts, bulks and JSON documents, large ones in a separate process.

Rule: these are pure functions of bytes. A body is read by the same codecs in every process, and an invalid body is an
answer. Each post of a bulk is decoded on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.core.codecs.bulk import BulkPart, bulk_parts, decode_bulk
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import MULTIPART, media_type_of
from postroad.core.codecs.native_formats import (
    FORMS,
    NativeForm,
    decode_native_post,
    detect_native_form,
    find_operation,
    form_of,
)
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.mediation.header_fields import has_fields
from postroad.core.mediation.model import Headers, Wire
from postroad.core.model.message import Message
from postroad.core.model.part_facts import MessageArrival
from postroad.core.telemetry.trace_context import TRACEPARENT, TRACESTATE
from postroad.errors import Refused
from postroad.flow.stages.mediate import read_external_post
from postroad.flow.stages.posting import Posting, check_idempotency_key, compute_fingerprint

LARGE_BYTES = 64 << 10  # decoding a larger body may take several milliseconds


class LargeBody(Struct, frozen=True, array_like=True, kw_only=True):
    """A request to decode a body: a post, a bulk, or a JSON document."""

    kind: Literal["post", "bulk", "json"]
    body: bytes
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    is_plain: bool = False
    idempotency: str | None = None
    message_bytes: int = 0  # of one message
    bulk_bytes: int = 0


class RefusalFrame(Struct, frozen=True, array_like=True):
    """A refusal as it is sent between processes."""

    code: str
    detail: str
    pointer: str = ""

    @classmethod
    def of(cls, refused: Refused) -> RefusalFrame:
        return cls(refused.code, refused.detail, refused.pointer)

    def build_refusal(self) -> Refused:
        return Refused(self.code, self.detail, pointer=self.pointer)


class ReadBody(Struct, frozen=True, array_like=True, kw_only=True):
    """The result of decoding: the native format and the post, or the refusal."""

    form: str = ""  # name of the native format; empty: an external format, or unknown
    note: str = ""
    operation: str = ""  # of a SOAP envelope
    posting: Posting | None = None
    refusal: RefusalFrame | None = None
    formless: bool = False  # the refusal is about the format itself
    postings: tuple[Posting | None, ...] = ()  # of a bulk; None: refused
    refusals: dict[int, RefusalFrame] = {}  # of a bulk, by place
    widest: int = 0  # members of the largest object or array

    @property
    def bulk(self) -> list[Posting | Refused] | Refused:
        """Return the posts of a bulk; raises its refusal."""
        if self.refusal is not None:
            return self.refusal.build_refusal()
        places = enumerate(self.postings)
        return [self.refusals[place].build_refusal() if post is None else post for place, post in places]

    @property
    def own(self) -> NativeForm | Refused | None:
        """Return the native format or the refusal; None if the post has no native format."""
        if self.formless and self.refusal is not None:
            return self.refusal.build_refusal()
        return NativeForm(FORMS[self.form], self.note) if self.form else None


class BodyReader(Protocol):
    """Decodes large bodies off the event loop, with the results of ``read_body``."""

    async def read(self, large: LargeBody) -> ReadBody: ...


def read_body(large: LargeBody) -> ReadBody:
    """Decode a large body; raises nothing but MemoryError."""
    match large.kind:
        case "post":
            return _post(large)
        case "bulk":
            return _bulk(large)
        case "json":
            return _screened(large.body)


def read_post(
    own: NativeForm | None,
    body: bytes,
    wire: Callable[[], Wire],
    limits: WireLimits,
    content_type: str,
    idempotency: str | None,
    trace: bytes = b"",
) -> Posting:
    """Return the post in a body in a native or external format; raises Refused.

    ``trace`` is the trace context of the call; it counts for messages that have none of their own.
    """
    message = decode_native_post(own, body, limits, content_type)
    if idempotency is not None:
        check_idempotency_key(idempotency)
    if own is None or message is None:
        return read_external_post(wire(), limits, idempotency or "", trace)
    came = MessageArrival(notes=(own.note,)) if own.note else None
    mark = compute_fingerprint(body) if idempotency else ""
    return Posting(
        message=message,
        size=len(body),
        form=form_of(own.codec),
        idempotency=idempotency or "",
        fingerprint=mark,
        arrival=came,
        trace=trace,
    )


def _post(large: LargeBody) -> ReadBody:
    try:
        own = None if large.is_plain else detect_native_form(large.content_type, large.body)
    except Refused as refused:
        return ReadBody(refusal=RefusalFrame.of(refused), formless=True)
    form, note = (form_of(own.codec), own.note) if own is not None else ("", "")
    operation = find_operation(large.body) if own is not None and _is_soap(own.codec) else ""
    try:
        if operation in ("Poll", "Acknowledge"):
            return ReadBody(form=form, note=note, operation=operation)
        limits = WireLimits(body_bytes=large.message_bytes)
        posting = read_post(
            own,
            large.body,
            lambda: Wire(list(large.headers), large.body),
            limits,
            large.content_type,
            large.idempotency,
        )
    except Refused as refused:
        return ReadBody(form=form, note=note, operation=operation, refusal=RefusalFrame.of(refused))
    return ReadBody(form=form, note=note, operation=operation, posting=posting)


def _bulk(large: LargeBody) -> ReadBody:
    try:
        limits = WireLimits(body_bytes=large.bulk_bytes)
        posts = read_bulk(large.content_type, large.body, limits, large.message_bytes)
    except Refused as refused:
        return ReadBody(refusal=RefusalFrame.of(refused))
    return ReadBody(
        postings=tuple([None if isinstance(post, Refused) else post for post in posts]),
        refusals={place: RefusalFrame.of(post) for place, post in enumerate(posts) if isinstance(post, Refused)},
    )


def _is_soap(codec: Codec) -> bool:
    return codec in (SOAP11, SOAP12)


def _screened(body: bytes) -> ReadBody:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return ReadBody(refusal=RefusalFrame("request.malformed", f"The body is not JSON: {str(error)[:200]}"))
    return ReadBody(widest=_widest([value]))


def _widest(waiting: list[Any]) -> int:
    widest = 0
    while waiting:
        value = waiting.pop()
        members: Iterable[Any] = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list):
            widest = max(widest, len(value))
            waiting += [member for member in members if isinstance(member, dict | list)]
    return widest


FORM = "bulk"  # in place of a native format


def read_bulk(content_type: str, body: bytes, limits: WireLimits, message_bytes: int) -> list[Posting | Refused]:
    """Return each post of a bulk or its refusal; the size limit applies to each message, not to the bulk."""
    posts = _posts(content_type, body, limits)
    return posts if len(body) <= message_bytes else [_within(post, message_bytes) for post in posts]


def _within(post: Posting | Refused, message_bytes: int) -> Posting | Refused:
    if isinstance(post, Refused) or post.size <= message_bytes:
        return post
    return Refused("wire.too-large", f"the message has {post.size} bytes; at most {message_bytes} are allowed in each")


def _posts(content_type: str, body: bytes, limits: WireLimits) -> list[Posting | Refused]:
    """Return the posts of a bulk; the parts of a multipart may be in external formats."""
    if media_type_of(content_type) == MULTIPART:
        return [_read(part, limits) for part in bulk_parts(content_type, body, limits)]
    posts = decode_bulk(content_type, body, limits)
    return [post if isinstance(post, Refused) else make_bulk_posting(post) for post in posts]


def make_bulk_posting(message: Message, note: str = "") -> Posting:
    """Build the posting for one message of a bulk."""
    parts = message.parts
    size = len(parts[0].data) if len(parts) == 1 else sum([len(part.data) for part in parts])
    return Posting(message, size, FORM, arrival=MessageArrival(notes=(note,)) if note else None)


def _read(part: BulkPart | Refused, limits: WireLimits) -> Posting | Refused:
    if isinstance(part, Refused):
        return part
    (headers, content_type), content = part
    try:
        own = None if _has_fields(headers) else detect_native_form(content_type, content)
        message = decode_native_post(own, content, limits, content_type)
        if own is None or message is None:
            return read_external_post(Wire(headers, content), limits)
        return make_bulk_posting(_with_part_context(message, headers), own.note)
    except Refused as refused:
        return refused


def _with_part_context(message: Message, headers: Headers) -> Message:
    """Return the message with the trace context that the header of its part has, if the message has none."""
    context = Wire(headers, b"")
    if message.traceparent or not (parent := context.header(TRACEPARENT)):
        return message
    return replace(message, traceparent=parent, tracestate=context.header(TRACESTATE))


_has_fields = lru_cache(maxsize=64)(has_fields)  # parts of one body mostly have the same header
