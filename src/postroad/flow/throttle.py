"""Slow down whoever keeps failing to authenticate: free up to a few failures, then a wait that doubles with each more."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from postroad.errors import Refused
from postroad.ports import Clock

FREE_FAILURES = 10
WAIT_MOST_S = 900.0
FORGET_S = 900.0
PEERS_MOST = 10_000


class Failures(NamedTuple):
    times: int
    blocked_until: float
    last: float


class Throttle:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._peers: OrderedDict[str, Failures] = OrderedDict()

    def check(self, peer: str) -> None:
        """Refuse a peer whose waiting time is not over."""
        known = self._peers.get(peer)
        left_s = known.blocked_until - self._clock.monotonic() if known else 0.0
        if left_s > 0:
            raise Refused("authentication.throttled", f"Too many failed attempts; try again in {left_s:.0f} seconds")

    def failed(self, peer: str) -> None:
        now = self._clock.monotonic()
        known = self._peers.pop(peer, None)
        times = known.times + 1 if known and now - known.last < FORGET_S else 1
        wait_s = min(WAIT_MOST_S, 2.0 ** (times - FREE_FAILURES)) if times >= FREE_FAILURES else 0.0
        self._peers[peer] = Failures(times, now + wait_s, now)
        if len(self._peers) > PEERS_MOST:
            self._peers.popitem(last=False)

    def succeeded(self, peer: str) -> None:
        self._peers.pop(peer, None)
