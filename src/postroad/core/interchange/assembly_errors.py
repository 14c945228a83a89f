"""Refusals for documents and envelope values that cannot be assembled, and the time that envelopes state.

Rule: a pointer names the member, counted from 0, or the value of the envelope; people read members counted from 1.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from postroad.core.interchange.model import Envelope
from postroad.errors import Refused

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MINUTES = 24 * 60
_MEMBER = re.compile(r"/members/([0-9]+)")


def unfit(detail: str) -> Refused:
    return Refused("interchange.unfit", detail)


def unfit_member(position: int, detail: str) -> Refused:
    return Refused("interchange.unfit", f"member {position + 1}: {detail}", pointer=f"/members/{position}")


def unfit_value(name: str, detail: str) -> Refused:
    return Refused("interchange.unfit", f"{name}: {detail}", pointer=f"/envelope/{name}")


def moment_of(envelope: Envelope) -> datetime:
    """Return the time of the envelope, in the agreed UTC offset."""
    return _EPOCH + timedelta(microseconds=envelope.at_us, minutes=offset_minutes(envelope))


def offset_minutes(envelope: Envelope) -> int:
    """Return the agreed offset from UTC in minutes: less than a day."""
    offset = envelope.options.get("utc_offset_minutes", "0")
    if not offset.removeprefix("-").isdecimal() or len(offset) > 5 or abs(int(offset)) >= _DAY_MINUTES:
        raise unfit_value("utc_offset_minutes", f"{offset!r} is not a number of minutes below 1440 (one day)")
    return int(offset)


def find_unfit_member(refusal: Refused) -> int | None:
    """Return the position of the member that the error is about; None if it is not about a single member."""
    found = _MEMBER.fullmatch(refusal.pointer)
    return int(found.group(1)) if found is not None else None
