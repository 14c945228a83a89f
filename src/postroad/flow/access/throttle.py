"""Slow down failed authentication without locking out valid users.

There are two counts. A *peer* (address) has a few free failures; after that it waits, twice as long after each
further failure. An *account* (a service, a person or a key) with many failures, from any number of addresses, is
guarded for a while. An address that tries a guarded account for the first time waits a moment and is then checked; an
address that failed there waits long; an address that recently succeeded there, and has not failed since, is not
delayed by either count. So each guess costs an attacker another address, and the owner's first try is always checked.
A success resets only the failures of its own account, so that one valid account does not buy guesses at others. Rule:
memory is bounded; the oldest records are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from ipaddress import IPv6Address, IPv6Network
from math import ceil
from typing import Generic, NamedTuple, TypeVar

from postroad.errors import Refused
from postroad.ports import Clock

FREE_FAILURES = 10  # of a peer
ACCOUNT_FREE_FAILURES = 20  # of an account, by all peers together
FIRST_TRY_S = 2.0  # what a new address waits before it is heard at a guarded account
FAILED_THERE_S = 30.0  # what an address waits that has failed at it
MAX_WAIT_S = 900.0
FORGET_S = 900.0
MAX_REMEMBERED = 20_000  # of each kind

_Who = TypeVar("_Who", bound=Hashable)


class FailureRecord(NamedTuple):
    times: int
    blocked_until: float
    last: float


class FailureCounter(Generic[_Who]):
    """Consecutive failures with growing waits; old ones are forgotten."""

    def __init__(self, free: int, first_wait_s: float) -> None:
        self._free = free
        self._first_wait_s = first_wait_s
        self._known: OrderedDict[_Who, FailureRecord] = OrderedDict()

    def times(self, who: _Who, now: float) -> int:
        known = self._known.get(who)
        return known.times if known is not None and now - known.last < FORGET_S else 0

    def left_s(self, who: _Who, now: float) -> float:
        """Return the remaining wait in seconds."""
        known = self._known.get(who)
        return max(0.0, known.blocked_until - now) if known is not None else 0.0

    def record_failure(self, who: _Who, now: float) -> None:
        times = self.times(who, now) + 1
        beyond = min(times - self._free, 32)
        wait_s = min(MAX_WAIT_S, self._first_wait_s * 2.0**beyond) if beyond >= 0 else 0.0
        self._known.pop(who, None)
        self._known[who] = FailureRecord(times, now + wait_s, now)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    def forget(self, who: _Who) -> None:
        self._known.pop(who, None)

    def forgive(self, who: _Who, times: int) -> None:
        """Subtract ``times`` failures, and the wait that they caused."""
        known = self._known.get(who)
        if known is None or not times:
            return
        left = known.times - times
        if left <= 0:
            self.forget(who)
        else:
            self._known[who] = known._replace(
                times=left, blocked_until=known.blocked_until if left >= self._free else 0.0
            )

    def __len__(self) -> int:
        return len(self._known)


class Throttle:
    """Failure counts by peer address and by account."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._peers: FailureCounter[str] = FailureCounter(FREE_FAILURES, 1.0)
        self._accounts: FailureCounter[str] = FailureCounter(ACCOUNT_FREE_FAILURES, 0.0)
        self._failed_there: FailureCounter[tuple[str, str]] = FailureCounter(1, FAILED_THERE_S)
        self._succeeded_there: OrderedDict[tuple[str, str], None] = OrderedDict()

    def wait_s(self, peer: str, account: str) -> float:
        """Return how long the attempt must wait; raises Refused if that is too long."""
        now = self._clock.monotonic()
        is_known = (account, peer) in self._succeeded_there
        if is_known and not self.has_failed_there(peer, account):
            return 0.0
        if (left_s := self._peers.left_s(peer, now)) > 0:
            raise throttled_error(left_s)
        guarded = account and self._accounts.times(account, now) >= ACCOUNT_FREE_FAILURES
        if not guarded or is_known:
            return 0.0
        if (left_s := self._failed_there.left_s((account, peer), now)) > 0:
            raise throttled_error(left_s)
        return FIRST_TRY_S

    def has_failed_there(self, peer: str, account: str) -> bool:
        """Whether an attempt at the account failed from this address without a success since."""
        return self._failed_there.times((account, peer), self._clock.monotonic()) > 0

    def record_failure(self, peer: str, account: str) -> None:
        now = self._clock.monotonic()
        self._peers.record_failure(peer, now)
        if account:
            self._accounts.record_failure(account, now)
            self._failed_there.record_failure((account, peer), now)

    def record_success(self, peer: str, account: str) -> None:
        """Forgive this peer's failures at the account; the account stays guarded against other addresses."""
        if account:
            self._peers.forgive(peer, self._failed_there.times((account, peer), self._clock.monotonic()))
            self._failed_there.forget((account, peer))
            self._succeeded_there[account, peer] = None
            self._succeeded_there.move_to_end((account, peer))
            if len(self._succeeded_there) > MAX_REMEMBERED:
                self._succeeded_there.popitem(last=False)

    @property
    def remembered(self) -> int:
        """Return the number of remembered entries."""
        return len(self._peers) + len(self._accounts) + len(self._failed_there) + len(self._succeeded_there)


def throttled_error(left_s: float) -> Refused:
    seconds = max(1, ceil(left_s))
    return Refused(
        "authentication.throttled",
        f"Too many failed attempts; try again in {seconds} seconds",
        retry_after_s=seconds,
    )


def normalize_peer(peer: str) -> str:
    """Return the network that an address counts for: itself, or the subscriber's prefix with IPv6.

    An IPv4-mapped IPv6 address counts as its IPv4 address; otherwise all IPv4 clients would share one prefix.
    """
    if ":" not in peer:
        return peer
    try:
        address = IPv6Address(peer.partition("%")[0])
        mapped = address.ipv4_mapped
        return str(mapped) if mapped is not None else str(IPv6Network((address, 64), strict=False))
    except ValueError:
        return peer
