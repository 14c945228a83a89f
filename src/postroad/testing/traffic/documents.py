"""Simulated documents: small XML orders with a total for rules to test, padded to a length."""

from __future__ import annotations

from random import Random

LONGEST = 65_536
SPREAD = 1.0  # of the logarithm of a length
CONTENT_TYPE = "application/xml"

_LINES = b"".join(
    b'<line number="%d" article="A-%05d" quantity="%d"/>' % (number, number * 7919 % 99_991, number % 17 + 1)
    for number in range(1_500)
)


class TrafficDocuments:
    def __init__(self, body_bytes: int, random: Random) -> None:
        self._body_bytes = body_bytes
        self._random = random
        self._count = 0

    def order(self, total: int) -> bytes:
        """Return an order with this total, of random length."""
        self._count += 1
        length = min(LONGEST, int(self._body_bytes * self._random.lognormvariate(0, SPREAD)))
        lines = _LINES[: _LINES.rfind(b">", 0, max(0, length - 60)) + 1]
        return b'<order number="%d"><total>%d</total>%b</order>' % (self._count, total, lines)

    def answer(self, code: str) -> bytes:
        return b'<answer code="%b"><received>true</received></answer>' % code.encode()
