"""Values as people read them: times, sizes, durations, ids. Templates use these as filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from postroad.core.audit.story import shown_state
from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.retrying import times

SECOND_US = 1_000_000
NAMED_MOST = 5
BRIEF_MOST = 28  # characters
SESSION_LENGTH = 32
ACCESSES = {
    "payload.read": "read the contents of a message",
    "explanation.read": "read the explanation of a route",
    "login.failed": "failed to log in",
    "push.tried": "tried a push at once",
    "certificate.conflict": "registered a certificate that another service uses",
}
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def moment(at_us: int) -> Markup:
    """A time that machines can read too; nothing where there is none."""
    if not at_us:
        return Markup("")
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}">{} UTC</time>').format(write_time(at_us), text)


def date_time(at_us: int) -> Markup:
    """A time without its zone, for tables whose heading names it."""
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return Markup('<time datetime="{}">{}</time>').format(write_time(at_us), text)


def clock(at_us: int) -> Markup:
    """The time of the day, for lists of what has just happened; machines can read all of it."""
    text = datetime.fromtimestamp(at_us / SECOND_US, UTC).strftime("%H:%M:%S")
    return Markup('<time datetime="{}">{}</time>').format(write_time(at_us), text)


def duration(seconds: float) -> str:
    """The two largest units: 2 d 4 h, 31 min, 0.8 s."""
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


def size(count: int) -> str:
    if count < 1_000:
        return f"{count} B"
    share = count / 1_000
    for unit in ("kB", "MB", "GB"):
        if share < 999.95:  # what would be shown as 1000.0 is one of the next
            return f"{share:.1f} {unit}"
        share /= 1_000
    return f"{share:.1f} TB"


def shortened(text: str) -> str:
    """A long id by its beginning and its end; ids of one hour begin alike, so the end tells them apart."""
    return text if len(text) <= 12 else f"{text[:4]}…{text[-6:]}"


def short(text: str) -> Markup:
    """The same in a page: whoever points at it has all of it."""
    if len(text) <= 12:
        return escape(text)
    return Markup('<span class="id" title="{0}">{1}</span>').format(text, shortened(text))


def brief(text: str) -> Markup:
    """A sender's own reference, cut in the middle where it is long; its title has all of it."""
    if len(text) <= BRIEF_MOST:
        return escape(text)
    return Markup('<span title="{0}">{1}…{2}</span>').format(text, text[:16], text[-8:])


def few(names: Sequence[str]) -> str:
    """Names one after the other; of very many the first, and how many more there are."""
    more = f" and {len(names) - NAMED_MOST:,} more" if len(names) > NAMED_MOST else ""
    return ", ".join(names[:NAMED_MOST]) + more


def breakable(addresses: str) -> Markup:
    """Addresses of services that a narrow column may break behind the organization."""
    return Markup("/<wbr>").join(addresses.split("/"))


def access(what: str) -> str:
    """A kind of recorded access in words; one that has none, as it is."""
    return ACCESSES.get(what, what)


def looked_at(detail: str) -> Markup:
    """What was looked at: a message with its delivery and part, where the record names them."""
    session, *rest = detail.split(" ")
    if len(session) != SESSION_LENGTH:
        return escape(detail)
    named = Markup("").join(Markup(", {} {}").format(*pair) for pair in zip(("delivery", "part"), rest, strict=False))
    return Markup("message {}{}").format(short(session), named)


FILTERS: dict[str, Callable[[Any], str]] = {
    "moment": moment,
    "date_time": date_time,
    "clock": clock,
    "duration": duration,
    "size": size,
    "short": short,
    "brief": brief,
    "times": times,
    "access": access,
    "looked_at": looked_at,
    "shortened": shortened,
    "few": few,
    "breakable": breakable,
    "state": shown_state,
}
