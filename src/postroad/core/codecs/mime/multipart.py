"""Reads and writes multipart bodies: parts between boundary lines, found by searching bytes.

Rules for reading: time and memory are linear in the body, whatever it contains, and a truncated body is never read as
a shorter one: without its closing boundary it is refused. Deviations from RFC 2046 that are accepted are listed in
``tolerated``. A part that is a multipart itself stays one part; read its body as a multipart to look inside.

Rules for writing: the output is a list of buffers, so parts are not copied. The same parts and the same seed make the
same bytes, and a boundary never occurs in its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import count, pairwise

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime.entity import Entity, entity_between
from postroad.core.codecs.mime.fields import LF_LINES
from postroad.core.codecs.mime.multipart_type import MultipartType, read_multipart_type
from postroad.core.codecs.refusals import malformed, too_complex

NO_PART = "two boundary lines have no part between them"

_REST_OF_LINE = re.compile(rb"(--|)[ \t]*+(?:\r\n|(\n)|\r?\Z)")


class Multipart(Struct, frozen=True, eq=False):
    boundary: bytes
    parts: tuple[Entity, ...]
    preamble: memoryview
    epilogue: memoryview
    tolerated: tuple[str, ...] = ()


def read_multipart(content_type: str, body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Multipart:
    """Return the parts of a body with this Content-Type."""
    return multipart_of(read_multipart_type(content_type, limits), body, limits)


def multipart_of(kind: MultipartType, body: Buffer, limits: WireLimits) -> Multipart:
    check_size(body, limits)
    source = whole_bytes(body)
    view = memoryview(source)
    lines, notes = _boundary_lines(source, kind.boundary, limits.mime_parts)
    parts: list[Entity] = []
    for (_, start), (stop, _) in pairwise(lines):
        if start <= stop:
            part = entity_between(source, view, start, stop, limits)
            parts.append(part)
            notes += part.tolerated
        else:
            notes.append(NO_PART)
    if not parts:
        raise malformed("a multipart body has at least one part between its boundaries")
    tolerated = tuple(dict.fromkeys(notes)) if notes else ()
    return Multipart(kind.boundary, tuple(parts), view[: lines[0][0]], view[lines[-1][1] :], tolerated)


def _boundary_lines(source: bytes, boundary: bytes, most_parts: int) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the range of each boundary line up to the closing one, and notes about tolerated deviations.

    A boundary begins the body or a line, and white space at most comes behind it. Also answers what was tolerated.
    """
    lines: list[tuple[int, int]] = []
    notes: list[str] = []
    needle = b"\n--" + boundary
    size = len(needle)
    at = -1 if source.startswith(needle[1:]) else _first(source, needle)
    while True:
        behind = at + size
        if source[behind : behind + 2] == b"\r\n" and (at < 0 or source[at - 1 : at + 1] == b"\r\n"):
            lines.append((at - 1 if at > 0 else 0, behind + 2))
        elif rest := _REST_OF_LINE.match(source, behind):
            with_cr = source[at - 1 : at + 1] == b"\r\n"
            lines.append((max(at - with_cr, 0), rest.end()))
            if rest[2] or not (with_cr or at < 0):
                notes.append(LF_LINES)
            if rest[1]:
                return lines, notes
        if len(lines) > most_parts:
            raise too_complex(f"a multipart has at most {most_parts} parts; another one begins at byte {behind}")
        at = source.find(needle, behind)
        if at < 0:
            raise malformed(f"no closing boundary comes after byte {behind} of the body; it may be truncated")


def _first(source: bytes, needle: bytes) -> int:
    at = source.find(needle)
    if at < 0:
        raise malformed("the boundary of the Content-Type does not occur in the body")
    return at


_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")


def write_multipart(parts: Iterable[tuple[bytes, Buffer]], boundary: bytes) -> list[Buffer]:
    """Each part is its header lines, as ``write_head`` makes them, and its body in the transfer encoding they name."""
    if not _BOUNDARY.fullmatch(boundary):
        raise ValueError(f"{boundary[:100]!r} is not a boundary; use one from fresh_boundary")
    delimiter, pieces = b"--" + boundary, list[Buffer]()
    for head, body in parts:
        line_end = b"\r\n" if head and not head.endswith(b"\n") else b""
        pieces += (b"%b\r\n%b%b\r\n" % (delimiter, head, line_end), body)
        delimiter = b"\r\n--" + boundary
    if not pieces:
        raise ValueError("a multipart has at least one part")
    pieces.append(delimiter + b"--\r\n")
    return pieces


def make_boundary(parts_data: Iterable[Buffer], seed: bytes) -> bytes:
    """Return a boundary derived from the seed that does not occur in the data."""
    sources = [whole_bytes(data) for data in parts_data]
    candidates = (b"=_" + sha256(b"%d:%b" % (attempt, seed)).hexdigest()[:40].encode() for attempt in count())
    return next(boundary for boundary in candidates if not any(boundary in source for source in sources))
