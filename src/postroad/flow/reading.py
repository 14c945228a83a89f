"""Large bodies read away from the event loop: what is asked of the process that reads them, and what it answers.

Rule: pure functions of bytes. A body is read by the same codecs wherever that is done, and what is wrong with it is an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import FORMS, Own, form_of, message_in, operation_in, own_form
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.mediation.nouns import Wire
from postroad.core.model.part_facts import Came
from postroad.errors import Refused
from postroad.flow.bulk_reading import read_bulk
from postroad.flow.mediate import posting_of
from postroad.flow.posting import Posting, check_idempotency_key, fingerprint

LARGE_BYTES = 64 << 10  # reading a larger body may take more than some milliseconds


class LargeBody(Struct, frozen=True, array_like=True, kw_only=True):
    """A post as it came, or a JSON document that somebody else will read."""

    kind: Literal["post", "bulk", "json"]
    body: bytes
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    is_plain: bool = False
    idempotency: str | None = None
    message_bytes: int = 0  # of one message
    bulk_bytes: int = 0


class Refusal(Struct, frozen=True, array_like=True):
    """A refusal as it passes from process to process."""

    code: str
    detail: str
    pointer: str = ""

    @classmethod
    def of(cls, refused: Refused) -> Refusal:
        return cls(refused.code, refused.detail, refused.pointer)

    def refused(self) -> Refused:
        return Refused(self.code, self.detail, pointer=self.pointer)


class ReadBody(Struct, frozen=True, array_like=True, kw_only=True):
    """What a large body is: the native format it is in, the post, or why it is none."""

    form: str = ""  # name of the native format; empty: an external format, or none at all
    note: str = ""
    operation: str = ""  # of a SOAP envelope
    posting: Posting | None = None
    refusal: Refusal | None = None
    formless: bool = False  # the refusal is about the format itself
    postings: tuple[Posting | None, ...] = ()  # of a bulk; None: refused
    refusals: dict[int, Refusal] = {}  # of a bulk, by place
    widest: int = 0  # members of the object or array that has most

    @property
    def bulk(self) -> list[Posting | Refused] | Refused:
        """The posts of a bulk, or why there are none."""
        if self.refusal is not None:
            return self.refusal.refused()
        places = enumerate(self.postings)
        return [self.refusals[place].refused() if post is None else post for place, post in places]

    @property
    def own(self) -> Own | Refused | None:
        """The native format, as ``own_form`` would find it."""
        if self.formless and self.refusal is not None:
            return self.refusal.refused()
        return Own(FORMS[self.form], self.note) if self.form else None


class BodyReader(Protocol):
    """Reads large bodies where they delay nobody; answers what ``read_body`` would."""

    async def read(self, large: LargeBody) -> ReadBody: ...


def read_body(large: LargeBody) -> ReadBody:
    """What a large body is; raises nothing but MemoryError."""
    match large.kind:
        case "post":
            return _post(large)
        case "bulk":
            return _bulk(large)
        case "json":
            return _screened(large.body)


def read_post(
    own: Own | None,
    body: bytes,
    wire: Callable[[], Wire],
    limits: WireLimits,
    content_type: str,
    idempotency: str | None,
) -> Posting:
    """The post in a body that is in this native format, or in an external one; raises Refused."""
    message = message_in(own, body, limits, content_type)
    if idempotency is not None:
        check_idempotency_key(idempotency)
    if own is None or message is None:
        return posting_of(wire(), limits, idempotency or "")
    came = Came(notes=(own.note,)) if own.note else None
    mark = fingerprint(body) if idempotency else ""
    return Posting(message, len(body), form_of(own.codec), idempotency or "", mark, came)


def _post(large: LargeBody) -> ReadBody:
    try:
        own = None if large.is_plain else own_form(large.content_type, large.body)
    except Refused as refused:
        return ReadBody(refusal=Refusal.of(refused), formless=True)
    form, note = (form_of(own.codec), own.note) if own is not None else ("", "")
    operation = operation_in(large.body) if own is not None and _is_soap(own.codec) else ""
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
        return ReadBody(form=form, note=note, operation=operation, refusal=Refusal.of(refused))
    return ReadBody(form=form, note=note, operation=operation, posting=posting)


def _bulk(large: LargeBody) -> ReadBody:
    try:
        limits = WireLimits(body_bytes=large.bulk_bytes)
        posts = read_bulk(large.content_type, large.body, limits, large.message_bytes)
    except Refused as refused:
        return ReadBody(refusal=Refusal.of(refused))
    return ReadBody(
        postings=tuple([None if isinstance(post, Refused) else post for post in posts]),
        refusals={place: Refusal.of(post) for place, post in enumerate(posts) if isinstance(post, Refused)},
    )


def _is_soap(codec: Codec) -> bool:
    return codec in (SOAP11, SOAP12)


def _screened(body: bytes) -> ReadBody:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return ReadBody(refusal=Refusal("request.malformed", f"The body is not JSON: {str(error)[:200]}"))
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
