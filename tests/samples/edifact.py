"""EDIFACT written by hand, for tests: an interchange with whatever is to be wrong in it, and numbers that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from postroad.core.interchange.model import Envelope

NOON = 1_794_830_400_000_000  # 16 November 2026, 12:00 UTC
UNB = b"UNB+UNOC:3+MYBIZ:14+ACME:14+261116:1200+7'"
ORDER = b"UNH+1+ORDERS:D:96A:UN:EAN008'BGM+220+4711+9'FTX+AAI+++It?'s 5?+5 ??'UNT+4+1'"
SECOND = b"UNH+2+ORDERS:D:96A:UN:EAN008'BGM+220+4712+9'UNT+3+2'"
INVOICE = b"UNH+3+INVOIC:D:96A:UN'BGM+380+88+9'UNT+3+3'"


class Counting:
    """Control numbers from one on, in each scope."""

    def __init__(self) -> None:
        self.drawn: Counter[str] = Counter()

    def next(self, scope: str) -> int:
        self.drawn[scope] += 1
        return self.drawn[scope]


def interchange(messages: Sequence[bytes] = (ORDER, SECOND), *, unb: bytes = UNB, unz: bytes = b"") -> bytes:
    """Right unless another segment is given."""
    return unb + b"".join(messages) + (unz or b"UNZ+%d+7'" % len(messages))


def envelope(facts: Mapping[str, str] | None = None, sender: str = "MYBIZ", receiver: str = "ACME") -> Envelope:
    return Envelope(sender=sender, receiver=receiver, at_us=NOON, options=facts or {})
