"""The start of a receiver's failure streak, from the journal, so that it survives restarts.

Rule: uncertain cases count in the receiver's favour. The streak begins with the first attempt that failed after the
last delivery that the service received, by push or poll, and after the last change of its profile, which may have
fixed the cause. It begins again after days without attempts, since the receiver's state in that time is unknown.
"""

from __future__ import annotations

from itertools import pairwise

from postroad.core.delivery.legacy_reasons import find_old_code
from postroad.core.mediation.conversion_losses import LOSSY
from postroad.core.model.directory import Service
from postroad.core.model.journal import DeliveriesEnded, DeliveryAttempted, Entry, JourneyEnding, MessagePosted, decode
from postroad.core.projection.queries import QUERIES
from postroad.errors import Unavailable
from postroad.flow.network import Network

TAKEN_LOOKED_AT = 100  # the newest that were delivered: an older one may have been delivered after a newer one
TRIES_LOOKED_AT = 200
CHANGED_SEQ = QUERIES["object_versions"][1].index("seq")
FAILED = "failed"
QUIET_S = 4 * 86_400.0  # longer than pauses between tries and closed windows mostly are, a long weekend included


class FailureStreak:
    """The duration of the current failure streak; only its first failure reads the journal."""

    def __init__(self, network: Network, service: Service) -> None:
        self._network = network
        self._service = service
        self._since: float | None = None  # monotonic
        self._last: float | None = None  # when the latest try failed
        self._is_known = False  # whether all that came before us is in it

    def end(self) -> None:
        """End the streak after a successful push."""
        self._since, self._last, self._is_known = None, None, True

    async def for_s(self, now: float) -> float:
        """Return the streak's duration in seconds, including the failure that just happened."""
        if self._last is not None and now - self._last > QUIET_S:
            self._since = now
        self._last = now
        if self._since is None:
            self._since = now
            if not self._is_known:
                self._is_known = True
                known_s = await self._known_s()
                if self._since == now:  # nothing has succeeded meanwhile
                    self._since = now - known_s
        return self._passed_s(now)

    def _passed_s(self, now: float) -> float:
        return 0.0 if self._since is None else now - self._since

    async def _known_s(self) -> float:
        try:
            since_us = await find_failure_start_us(self._network, self._service)
        except Unavailable:  # then the count begins with this failure
            return 0.0
        return max(0.0, (self._network.clock.now_us() - since_us) / 1_000_000) if since_us else 0.0


async def find_failure_start_us(network: Network, service: Service) -> int:
    """Return the time of the first failed attempt since the last success; 0 if none is known."""
    await network.wait_until_indexed()
    changes = await network.index.query("object_versions", "service", service.gcid)
    taken = await network.index.query("taken_by", service.gcid, TAKEN_LOOKED_AT)
    after_seq = max([changes[0][CHANGED_SEQ] if changes else 0, *(settle_seq for _, settle_seq in taken)])
    after_number = taken[-1][0] if len(taken) == TAKEN_LOOKED_AT else 0
    tried = await network.index.query("tried_at", service.gcid, after_number, after_seq, TRIES_LOOKED_AT)
    failed_us = [at_us for (seq,) in tried if (at_us := await _failed_at_us(network, seq))]
    if len(tried) < TRIES_LOOKED_AT:
        failed_us.append(network.clock.now_us())
    quiet_us = int(QUIET_S * 1_000_000)
    begins = [one for before, one in pairwise(failed_us) if one - before > quiet_us]
    return begins[-1] if begins else failed_us[0] if failed_us else 0


async def _failed_at_us(network: Network, seq: int) -> int:
    """Return the time of the failed attempt in this entry; 0 if it records something else."""
    batch = await network.journal.read(seq - 1, 1)
    entry = decode(batch.records[0].facts)
    return entry.at_us if _is_failure(entry) else 0


def _is_failure(entry: Entry) -> bool:
    """Whether the entry records a failed push: a retry, a dead letter, or an error response."""
    if isinstance(entry, DeliveriesEnded):
        return _is_receivers_failure(entry)
    if isinstance(entry, MessagePosted):
        return entry.ends is not None and _is_receivers_failure(entry.ends)
    return isinstance(entry, DeliveryAttempted)


def _is_receivers_failure(end: DeliveriesEnded | JourneyEnding) -> bool:
    """Whether a delivery failed at the receiver, and not because its format has no place for all of the message."""
    code = end.why.code if end.why is not None else find_old_code(end.reason)
    return end.state == FAILED and code != LOSSY
