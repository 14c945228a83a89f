"""HL7 written by hand, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from postroad.core.interchange.model import Envelope

NOON = 1_794_830_400_000_000  # 16 November 2026, 12:00 UTC
ADMIT = b"MSH|^~\\&|LAB|WARD^1|EHR|MAIN|20261116||ADT^A01^ADT_A01|M1|P|2.5\rPID|1||77^^^MAIN\rPV1|1|I\r"
RESULT = b"MSH|^~\\&|LAB|WARD^1|EHR|MAIN|20261116||ORU^R01|M2|P|2.5\rOBX|1|ST|x||5 \\T\\ 6\r"


class Counting:
    """Control numbers from one on, in each scope."""

    def __init__(self) -> None:
        self.drawn: Counter[str] = Counter()

    def next(self, scope: str) -> int:
        self.drawn[scope] += 1
        return self.drawn[scope]


def batch(messages: Sequence[bytes] = (ADMIT, RESULT), bts: bytes = b"", fts: bytes = b"FTS|1\r") -> bytes:
    head = b"FHS|^~\\&|LAB|WARD|EHR|MAIN|20261116||||F1\rBHS|^~\\&|LAB|WARD|EHR|MAIN|20261116||||B1\r"
    return head + b"".join(messages) + (bts or b"BTS|%d\r" % len(messages)) + fts


def envelope(facts: Mapping[str, str] | None = None, sender: str = "LAB", receiver: str = "EHR") -> Envelope:
    return Envelope(sender=sender, receiver=receiver, at_us=NOON, options=facts or {})
