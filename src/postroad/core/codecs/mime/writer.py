"""Writes multipart bodies as lists of buffers, so that parts are not copied.

Rule: the same parts and the same seed make the same bytes, and a boundary never occurs in its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import count

from postroad.core.codecs.buffers import Buffer, whole_bytes

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
    """A boundary that follows from the seed and does not come in the data."""
    sources = [whole_bytes(data) for data in parts_data]
    candidates = (b"=_" + sha256(b"%d:%b" % (attempt, seed)).hexdigest()[:40].encode() for attempt in count())
    return next(boundary for boundary in candidates if not any(boundary in source for source in sources))
