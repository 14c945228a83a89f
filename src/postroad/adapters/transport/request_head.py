"""Writes the head of a push request, and reads Retry-After from a response.

Rule: only this module writes the framing of the request (host, length, connection); a caller's header can neither
repeat it nor add a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from postroad import __version__
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.core.delivery.reasons import make_reason

FRAMING = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade", "keep-alive",
    "proxy-authorization", "proxy-connection", "accept-encoding", "cookie",
})  # fmt: skip
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_SECONDS = re.compile(r"[0-9]+", re.ASCII)


def request_head(destination: Destination, headers: Mapping[str, str], length: int) -> bytes:
    """Return the bytes before the body; raises NoAnswer if a header cannot be sent."""
    lines = [
        f"POST {destination.target} HTTP/1.1",
        f"host: {destination.authority}",
        f"content-length: {length}",
        "accept-encoding: identity",
    ]
    if not any(name.lower() == "user-agent" for name in headers):
        lines.append(f"user-agent: postroad/{__version__}")
    for name, value in headers.items():
        if name.lower() in FRAMING or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise NoAnswer(make_reason("push.header", header=repr(name[:80])))
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def retry_after_s(text: str, now_s: float) -> float | None:
    """Return the seconds to wait by Retry-After, given as seconds or a date; None if it cannot be parsed."""
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now_s)
