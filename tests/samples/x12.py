"""X12 written by hand, for tests: an interchange with whatever is to be wrong in it, and numbers that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from postroad.core.interchange.model import Envelope

NOON = 1_794_830_400_000_000  # 16 November 2026, 12:00 UTC
ISA = b"ISA*00*          *00*          *ZZ*MYBIZ          *01*ACME           *261116*1200*%s*%s*000000007*%s*P*:~"
GS = b"GS*PO*MYBIZ*ACME*20261116*1200*12*X*004010~"
ORDER = b"ST*850*0001~BEG*00*SA*4711**20261116~PO1*1*2*EA*13.5**VP*A1~SE*4*0001~"
SECOND = b"ST*850*0002~BEG*00*SA*4712**20261116~SE*3*0002~"
INVOICE = b"ST*810*0001~BIG*20261116*88~TDS*2700~SE*4*0001~"


class Counting:
    """Control numbers from one on, in each scope."""

    def __init__(self) -> None:
        self.drawn: Counter[str] = Counter()

    def next(self, scope: str) -> int:
        self.drawn[scope] += 1
        return self.drawn[scope]


def header(standard: bytes = b"U", version: bytes = b"00401", wish: bytes = b"0") -> bytes:
    return ISA % (standard, version, wish)


def interchange(
    sets: Sequence[bytes] = (ORDER, SECOND), *, isa: bytes = b"", gs: bytes = GS, ge: bytes = b"", iea: bytes = b""
) -> bytes:
    """One group of these sets, right unless another segment is given."""
    ends = (ge or b"GE*%d*12~" % len(sets)) + (iea or b"IEA*1*000000007~")
    return (isa or header()) + gs + b"".join(sets) + ends


def envelope(facts: Mapping[str, str] | None = None, sender: str = "MYBIZ", receiver: str = "ACME") -> Envelope:
    return Envelope(sender=sender, receiver=receiver, at_us=NOON, options=facts or {})
