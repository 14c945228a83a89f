"""Many messages in one call: NDJSON, multipart/mixed, or an array of envelopes.

Rule: order is kept, and one invalid message never affects the others; its own refusal is returned at its position.
Only a body whose framing itself is broken is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM, read_result, write_recipients
from postroad.core.codecs.json_shapes import JsonProblem, JsonRecipient, JsonResult, make_problem
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import MULTIPART, NDJSON, media_type_of
from postroad.core.codecs.mime.fields import first_of, read_fields
from postroad.core.codecs.mime.multipart_type import read_multipart_type
from postroad.core.codecs.native_formats import codec_for
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.model.message import Message, PostResult, RecipientResult
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused

_CARRIAGE_RETURN = 13
_IDENTITY = ("", "binary", "8bit", "7bit")


class PartHead(NamedTuple):
    """The header of a part of a multipart body; names are in lower case."""

    headers: tuple[tuple[str, str], ...]
    content_type: str


class BulkPart(NamedTuple):
    head: PartHead
    content: bytes


def decode_bulk(content_type: str, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Message | Refused]:
    """Return the messages of a bulk body in order, each as a message or as its refusal."""
    check_size(body, limits)
    kind = media_type_of(content_type)
    if kind == ENVELOPES:
        return ENVELOPE_FORM.decode_posts(body, limits)
    if kind == NDJSON:
        return _each(_lines(body, limits), lambda line: JSON_FORM.decode_post(line, limits))
    if kind == MULTIPART:
        return [_decoded(part, limits) for part in bulk_parts(content_type, body, limits)]
    raise Refused(
        "wire.unsupported",
        f"{kind[:80] or 'A missing Content-Type'} is not a bulk format; use {NDJSON}, {MULTIPART} or {ENVELOPES}",
    )


def bulk_parts(content_type: str, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[BulkPart | Refused]:
    """Each part of a multipart body with its own header, or why it cannot be decoded."""
    check_size(body, limits)
    boundary = read_multipart_type(content_type, limits).boundary
    parts: list[BulkPart | Refused] = []
    same, head = b"", None  # the header of the part before with its empty line: most are the same to the letter
    for piece in _multipart(boundary, body, limits):
        try:
            if head is None or not piece.startswith(same):
                same, head = _header(piece, limits)
            parts.append(BulkPart(head, piece[len(same) :]))
        except Refused as refused:
            parts.append(refused)
    return parts


def _decoded(part: BulkPart | Refused, limits: WireLimits) -> Message | Refused:
    if isinstance(part, Refused):
        return part
    try:
        return codec_for(part.head.content_type, part.content).decode_post(part.content, limits)
    except Refused as refused:
        return refused


def _each(items: Sequence[bytes], decode: Callable[[bytes], Message]) -> list[Message | Refused]:
    results: list[Message | Refused] = []
    for item in items:
        try:
            results.append(decode(item))
        except Refused as refused:
            results.append(refused)
    return results


def _lines(body: bytes, limits: WireLimits) -> list[bytes]:
    if body.count(b"\n") > 2 * limits.bulk_messages:
        raise _too_many(limits)
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > limits.bulk_messages:
        raise _too_many(limits)
    return lines


def _too_many(limits: WireLimits) -> Refused:
    return too_complex(f"at most {limits.bulk_messages} messages are allowed in one call")


def _multipart(boundary: bytes, body: bytes, limits: WireLimits) -> list[bytes]:
    """The parts between delimiter lines, each with its own MIME header."""
    line_end = _line_end(boundary, body)
    pieces = (line_end + body).split(b"%b--%b" % (line_end, boundary), limits.bulk_messages + 2)
    if len(pieces) < 2:
        raise malformed("the boundary of the Content-Type does not occur in the body")
    if len(pieces) > limits.bulk_messages + 2:
        raise _too_many(limits)
    closed = next((number for number, piece in enumerate(pieces) if number and piece.startswith(b"--")), None)
    if closed is None:
        raise malformed("the multipart body has no closing boundary; it may be truncated")
    return pieces[1:closed]


def _line_end(boundary: bytes, body: bytes) -> bytes:
    """Return the line ending before boundaries: LF if the closing boundary follows a lone LF, else CRLF."""
    closing = b"\n--%b--" % boundary
    return b"\r\n" if body.rfind(b"\r" + closing) >= 0 or body.rfind(closing) < 0 else b"\n"


def _header(part: bytes, limits: WireLimits) -> tuple[bytes, PartHead]:
    """A part's header, as its bytes up to the empty line's end, and read."""
    begin, end = _empty_line(part, limits.part_header_bytes + 6)
    if end < 0:
        raise malformed(f"a part has a header of at most {limits.part_header_bytes} bytes and then an empty line")
    return part[:end], _head(part[:begin])


def _empty_line(part: bytes, within: int) -> tuple[int, int]:
    """Where the first empty line begins, with the end of the line before it, and where it ends; lines may end either way."""
    usual = part.find(b"\n\r\n", 0, within)
    bare = part.find(b"\n\n", 0, usual + 1 if usual >= 0 else within)
    at, end = (bare, bare + 2) if bare >= 0 else (usual, usual + 3)
    if at < 0:
        return -1, -1
    return at - (at > 0 and part[at - 1] == _CARRIAGE_RETURN), end


@lru_cache(maxsize=64)
def _head(head: bytes) -> PartHead:
    """A part's header; parts of one body mostly have the same."""
    first_line, _, lines = head.partition(b"\n")
    if first_line.strip(b" \t\r"):
        raise malformed("a part begins on a new line after its boundary")
    headers = tuple([(name.lower(), value) for name, value in read_fields(lines)])
    if first_of(headers, "content-transfer-encoding").lower() not in _IDENTITY:
        raise malformed("parts are sent unencoded; use the transfer encoding binary")
    return PartHead(headers, first_of(headers, "content-type"))


def bulk_answer_type(content_type: str) -> str:
    """The content type in which a bulk of this content type is answered."""
    kind = media_type_of(content_type)
    return kind if kind in (ENVELOPES, NDJSON) else JSON_FORM.media_type


def encode_bulk_answer(answer_type: str, results: Sequence[PostResult | Refused]) -> bytes:
    """Encodes one result per message, in order: an array, or lines for NDJSON."""
    answers = _written(results)
    if answer_type == ENVELOPES:
        return msgspec.msgpack.encode(answers)
    if answer_type == NDJSON:
        return b"".join([msgspec.json.encode(answer) + b"\n" for answer in answers])
    return msgspec.json.encode(answers)


def _written(results: Sequence[PostResult | Refused]) -> list[JsonResult | JsonProblem]:
    """Return the results as JSON shapes; results with the same recipients share one object."""
    answers: list[JsonResult | JsonProblem] = []
    named: tuple[RecipientResult, ...] = ()
    recipients: list[JsonRecipient] = []
    for result in results:
        if isinstance(result, Refused):
            answers.append(_problem(result))
            continue
        if result.recipients is not named:
            named, recipients = result.recipients, write_recipients(result.recipients)
        answers.append(JsonResult(session=result.session, transaction=result.transaction, recipients=recipients))
    return answers


def _problem(refusal: Refused) -> JsonProblem:
    status, title = REFUSALS[refusal.code]
    return make_problem(
        refusal.code, title, status=status, detail=refusal.detail, pointer=refusal.pointer, session=refusal.session
    )


def decode_bulk_answer(answer_type: str, body: bytes) -> list[PostResult | Refused]:
    """Decodes the response to a bulk post."""
    try:
        return [_read_answer(answer) for answer in _answers(answer_type, body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise malformed(f"the response to a bulk post cannot be read: {fault}") from None


def _answers(answer_type: str, body: bytes) -> list[dict[str, object]]:
    if answer_type == ENVELOPES:
        return msgspec.msgpack.decode(body, type=list[dict[str, object]])
    if answer_type == NDJSON:
        return [msgspec.json.decode(line, type=dict[str, object]) for line in body.split(b"\n") if line]
    return msgspec.json.decode(body, type=list[dict[str, object]])


def _read_answer(answer: dict[str, object]) -> PostResult | Refused:
    if "transaction" in answer:
        return read_result(msgspec.convert(answer, JsonResult))
    return msgspec.convert(answer, JsonProblem).to_refusal()
