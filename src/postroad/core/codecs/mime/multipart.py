"""Multipart bodies: parts between boundary lines, found by searching bytes.

Kept rule: time and memory are linear in the body, whatever it holds, and a body that was cut off is never read as a
shorter one: without its closing boundary it is refused. What is read although it is not quite as RFC 2046 has it is
said in ``tolerated``. A part that is a multipart itself stays one part; read its body as one to look inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.faults import malformed, too_complex
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime.entity import Entity, entity_between
from postroad.core.codecs.mime.fields import LF_LINES
from postroad.core.codecs.mime.parameters import read_boundary
from postroad.errors import Refused

NO_PART = "two boundary lines have no part between them"

_CR = 13
_AFTER_BOUNDARY = re.compile(rb"(--)?+[ \t]*+(?:\r\n|(\n)|\r?\Z)")


class Multipart(Struct, frozen=True):
    boundary: bytes
    parts: tuple[Entity, ...]
    preamble: memoryview
    epilogue: memoryview
    tolerated: tuple[str, ...] = ()


class _Line(NamedTuple):
    """A boundary line: the content before it ends at ``begins``, the content behind it starts at ``ends``."""

    begins: int
    ends: int
    closing: bool
    bare: bool  # with LF where CRLF belongs


def read_multipart(content_type: str, body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Multipart:
    """The parts of a body whose Content-Type is given."""
    check_size(body, limits)
    if not media_type_of(content_type).startswith("multipart/"):
        raise Refused("wire.unsupported", f"a multipart body is expected here, not {content_type[:80]!r}")
    boundary, tolerated = read_boundary(content_type, limits)
    source = whole_bytes(body)
    view = memoryview(source)
    lines = _boundary_lines(source, boundary, limits)
    spans = [(line.ends, after.begins) for line, after in pairwise(lines)]
    parts = tuple([entity_between(source, view, start, stop, limits) for start, stop in spans if start <= stop])
    if not parts:
        raise malformed("a multipart body has at least one part between its boundaries")
    return Multipart(
        boundary,
        parts,
        view[: lines[0].begins],
        view[lines[-1].ends :],
        _notes(tolerated, lines, parts, len(spans)),
    )


def _boundary_lines(source: bytes, boundary: bytes, limits: WireLimits) -> list[_Line]:
    """All of them from the first to the closing one."""
    lines: list[_Line] = []
    for line in _lines(source, boundary):
        lines.append(line)
        if line.closing:
            return lines
        if len(lines) > limits.mime_parts:
            raise too_complex(f"a multipart has at most {limits.mime_parts} parts; more begin at byte {line.ends}")
    if not lines:
        raise malformed("the boundary that Content-Type names does not come in the body")
    raise malformed(f"no closing boundary comes after byte {lines[-1].ends} of the body; it may have been cut off")


def _lines(source: bytes, boundary: bytes) -> Iterator[_Line]:
    """A boundary line follows a line end or begins the body; behind the boundary there is white space at most."""
    needle = b"\n--" + boundary
    size, searched = len(needle), 0
    if source.startswith(needle[1:]):
        rest = _AFTER_BOUNDARY.match(source, size - 1)
        if rest:
            yield _Line(0, rest.end(), rest[1] is not None, rest[2] is not None)
            searched = rest.end() - 1
    at = source.find(needle, searched)
    while at >= 0:
        rest = _AFTER_BOUNDARY.match(source, at + size)
        if rest:
            with_cr = at > 0 and source[at - 1] == _CR
            yield _Line(at - with_cr, rest.end(), rest[1] is not None, rest[2] is not None or not with_cr)
        at = source.find(needle, rest.end() - 1 if rest else at + size)


def _notes(tolerated: tuple[str, ...], lines: list[_Line], parts: tuple[Entity, ...], spans: int) -> tuple[str, ...]:
    notes = dict.fromkeys(tolerated)
    if any(line.bare for line in lines):
        notes[LF_LINES] = None
    if len(parts) < spans:
        notes[NO_PART] = None
    for part in parts:
        notes.update(dict.fromkeys(part.tolerated))
    return tuple(notes)
