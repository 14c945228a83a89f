"""Template filters: times, sizes, durations and ids as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.reasons import times_text
from postroad.core.model.history import shown_state

SECOND_US = 1_000_000
MAX_NAMED = 5
MAX_REFERENCE = 28  # characters
SESSION_LENGTH = 32
ACCESSES = {
    "payload.read": "read the contents of a message",
    "explanation.read": "read the explanation of a route",
    "login.failed": "failed to log in",
    "push.tried": "triggered a push",
    "token-key.rotating": "began to rotate the key of delivery tokens",
    "token-key.rotated": "rotated the key of delivery tokens",
    "master-key.rotating": "began to rotate the master key",
    "master-key.rotated": "rotated the master key",
    "certificate.conflict": "registered a certificate that another service uses",
}
CODE = re.compile(r"`([^`]+)`")
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def format_moment(at_us: int) -> Markup:
    """Format a time with a machine-readable value; empty if there is no time."""
    if not at_us:
        return Markup("")
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}">{} UTC</time>').format(write_time(at_us), text)


def format_date_time(at_us: int) -> Markup:
    """A time without its zone, for tables whose heading names it."""
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}">{}</time>').format(write_time(at_us), text)


def format_clock(at_us: int) -> Markup:
    """Format the time of day with the full time as machine-readable value."""
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%H:%M:%S")
    return Markup('<time datetime="{}">{}</time>').format(write_time(at_us), text)


def format_duration(seconds: float) -> str:
    """Format a duration by its two largest units: 2 d 4 h, 31 min, 0.8 s."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    left, parts = int(seconds), []
    for unit, length in UNITS:
        if left >= length:
            parts.append(f"{left // length} {unit}")
            left %= length
    return " ".join(parts[:2])


def format_size(count: int) -> str:
    if count < 1_000:
        return f"{count} B"
    share = count / 1_000
    for unit in ("kB", "MB", "GB"):
        if share < 999.95:  # otherwise it would be shown as 1000.0 of this unit
            return f"{share:.1f} {unit}"
        share /= 1_000
    return f"{share:.1f} TB"


def shorten_id(text: str) -> str:
    """Shorten a long id to its beginning and end; ids of one hour have equal beginnings."""
    return text if len(text) <= 12 else f"{text[:4]}…{text[-6:]}"


def shorten_with_title(text: str) -> Markup:
    """Shorten an id in a page; its title has the full id."""
    if len(text) <= 12:
        return escape(text)
    return Markup('<span class="id" title="{0}">{1}</span>').format(text, shorten_id(text))


def shorten_reference(text: str) -> Markup:
    """Shorten a sender's own reference in the middle; its title has the full text."""
    if len(text) <= MAX_REFERENCE:
        return escape(text)
    return Markup('<span title="{0}">{1}…{2}</span>').format(text, text[:16], text[-8:])


def join_names(names: Sequence[str]) -> str:
    """Join names; for many, the first ones and the number of the others."""
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def mark_code(text: str) -> Markup:
    """Show the names that a text has in backticks as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


def allow_line_breaks(addresses: str) -> Markup:
    """Addresses of services that a narrow column may break behind the organization."""
    return Markup("/<wbr>").join(addresses.split("/"))


def describe_access(what: str) -> str:
    """Describe a kind of recorded access; unknown kinds are returned as they are."""
    return ACCESSES.get(what, what)


def describe_access_target(detail: str) -> Markup:
    """Describe the object of a recorded access: a message with its delivery and part."""
    session, *rest = detail.split(" ")
    if len(session) != SESSION_LENGTH:
        return escape(detail)
    named = Markup("").join(Markup(", {} {}").format(*pair) for pair in zip(("delivery", "part"), rest, strict=False))
    return Markup("message {}{}").format(shorten_with_title(session), named)


FILTERS: dict[str, Callable[[Any], str]] = {
    "moment": format_moment,
    "date_time": format_date_time,
    "clock": format_clock,
    "duration": format_duration,
    "size": format_size,
    "short": shorten_with_title,
    "brief": shorten_reference,
    "times": times_text,
    "access": describe_access,
    "looked_at": describe_access_target,
    "shortened": shorten_id,
    "few": join_names,
    "code": mark_code,
    "breakable": allow_line_breaks,
    "state": shown_state,
}
