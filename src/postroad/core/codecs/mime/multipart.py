"""Multipart bodies: parts between boundary lines, found by searching bytes.

Kept rule: time and memory are linear in the body, whatever it holds, and a body that was cut off is never read as a
shorter one: without its closing boundary it is refused. What is read although it is not quite as RFC 2046 has it is
said in ``tolerated``. A part that is a multipart itself stays one part; read its body as one to look inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.faults import malformed, too_complex
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime.entity import Entity, entity_between
from postroad.core.codecs.mime.fields import LF_LINES
from postroad.core.codecs.mime.multipart_type import MultipartType, read_multipart_type

NO_PART = "two boundary lines have no part between them"

_CR = 13
_REST_OF_LINE = re.compile(rb"(--)?+[ \t]*+(?:\r\n|(\n)|\r?\Z)")


class Multipart(Struct, frozen=True, eq=False):
    boundary: bytes
    parts: tuple[Entity, ...]
    preamble: memoryview
    epilogue: memoryview
    tolerated: tuple[str, ...] = ()


def read_multipart(content_type: str, body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Multipart:
    """The parts of a body whose Content-Type is given."""
    return multipart_of(read_multipart_type(content_type, limits), body, limits)


def multipart_of(kind: MultipartType, body: Buffer, limits: WireLimits) -> Multipart:
    check_size(body, limits)
    source = whole_bytes(body)
    view = memoryview(source)
    notes: list[str] = []
    parts: list[Entity] = []
    lines = _boundary_lines(source, b"\n--" + kind.boundary, notes)
    preamble_ends, start = next(lines)
    for number, (stop, ends) in enumerate(lines):
        if number == limits.mime_parts:
            raise too_complex(f"a multipart has at most {number} parts; another one begins at byte {start}")
        if start <= stop:
            part = entity_between(source, view, start, stop, limits)
            notes += part.tolerated
            parts.append(part)
        else:
            notes.append(NO_PART)
        start = ends
    if not parts:
        raise malformed("a multipart body has at least one part between its boundaries")
    tolerated = tuple(dict.fromkeys(notes)) if notes else ()
    return Multipart(kind.boundary, tuple(parts), view[:preamble_ends], view[start:], tolerated)


def _boundary_lines(source: bytes, needle: bytes, notes: list[str]) -> Iterator[tuple[int, int]]:
    """Each boundary line up to the closing one: where what stands before it ends, and what stands behind it begins.

    A boundary (``needle`` is one with LF before it) begins the body or a line, and white space at most comes behind it.
    """
    at = -1 if source.startswith(needle[1:]) else source.find(needle)
    if at < 0 and not source.startswith(needle[1:]):
        raise malformed("the boundary that Content-Type names does not come in the body")
    while True:
        behind = at + len(needle)
        if source[behind : behind + 2] == b"\r\n" == source[at - 1 : at + 1]:
            yield at - 1, behind + 2
        elif rest := _REST_OF_LINE.match(source, behind):
            with_cr = at > 0 and source[at - 1] == _CR
            if rest[2] or not (with_cr or at < 0):
                notes.append(LF_LINES)
            yield max(at - with_cr, 0), rest.end()
            if rest[1]:
                return
        at = source.find(needle, behind)
        if at < 0:
            raise malformed(f"no closing boundary comes after byte {behind} of the body; it may have been cut off")
