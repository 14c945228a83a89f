"""The live feed: current events, read from the end of the journal while clients watch.

    journal's tail ──catch_up()──▶ batches of events · counts by second and service · the latest failures

Clients that watch call ``catch_up`` regularly. The first caller reads for all, and without callers nothing is read.
Rules: the kept data is bounded. If more events arrive than can be read, some are skipped, counted and reported. This
module knows no permissions; ``view`` applies them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field

from postroad.core.audit.live_events import LiveEvent, LiveEventKind, find_live_events
from postroad.core.delivery.dead_letters import DeadLetter
from postroad.core.model.journal import decode
from postroad.core.projection.delivery_rows import COLUMN
from postroad.flow.network import Network

FRESH_S = 0.9  # the age of counts that streams share; a page load queries current ones
PIECE_BYTES = 256 << 10  # read at a time, so that other tasks are not delayed
MAX_ENTRIES = 5_000  # looked at in one turn
MAX_EVENTS = 2_000  # kept of one turn
MAX_ENDINGS = 100  # looked up in one turn
TURNS_KEPT = 300
SECONDS_KEPT = 120
FAILURES_KEPT = 500
SECOND_US = 1_000_000

EventCounts = Counter[tuple[LiveEventKind, str]]  # by what happened and at which service


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedChunk:
    """The events found by one read of the journal."""

    number: int
    events: list[LiveEvent]
    left_out: int  # events of which nothing is kept but their number


@dataclass(slots=True, kw_only=True)
class FeedChunkBuilder:
    """A feed chunk while it is being built."""

    found: deque[LiveEvent] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS))
    count: int = 0
    skipped: int = 0  # entries


class LiveFeed:
    """Reads the journal's tail on demand and keeps recent events, counts and failures in memory."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._lock = asyncio.Lock()
        self._position: int | None = None
        self._looked_at = float("-inf")
        self._counted_at = float("-inf")
        self._mailboxes: dict[str, int] = {}
        self.turns: deque[FeedChunk] = deque(maxlen=TURNS_KEPT)
        self.seconds: dict[int, EventCounts] = {}
        self.failures: deque[DeadLetter] = deque(maxlen=FAILURES_KEPT)
        self.since_us = 0  # from when on all this is known
        self.skipped = 0  # entries of the last turn that were not looked at
        self._born = f"{network.clock.now_us():x}"
        self._turn = 0

    async def catch_up(self, fresh_s: float = 0.0) -> None:
        """Read new journal entries, unless another caller did so within ``fresh_s``."""
        async with self._lock:
            if self._network.clock.monotonic() - self._looked_at < fresh_s:
                return
            reading = FeedChunkBuilder()
            try:
                await self._read(reading)
                await self._look_up(reading)
            finally:  # whatever failed: what was read is not read again
                self._keep(reading)
            self._looked_at = self._network.clock.monotonic()

    async def waiting(self, fresh_s: float = 0.0) -> dict[str, int]:
        """Return the number of waiting deliveries, by GCID."""
        async with self._lock:
            if self._network.clock.monotonic() - self._counted_at >= fresh_s:
                await self._network.wait_until_indexed()
                self._mailboxes = dict(await self._network.index.query("mailboxes"))
                self._counted_at = self._network.clock.monotonic()
            return self._mailboxes

    @property
    def mark(self) -> str:
        """The position for ``after``: a client that has seen everything continues from it."""
        return f"{self._born}.{self._turn}"

    def after(self, mark: str) -> list[FeedChunk]:
        """Return the chunks after the mark; all that are kept if the mark is not from this server."""
        born, _, number = mark.partition(".")
        seen = int(number) if born == self._born and number.isascii() and number.isdigit() and len(number) < 16 else 0
        return [turn for turn in self.turns if turn.number > seen]

    async def _read(self, reading: FeedChunkBuilder) -> None:
        journal = self._network.journal
        head = (await journal.head()).seq
        position = self._position if self._position is not None else max(0, head - MAX_ENTRIES)
        if head - position > MAX_ENTRIES:
            reading.skipped = head - MAX_ENTRIES - position
            position = head - MAX_ENTRIES
        while position < head and (batch := await journal.read(position, PIECE_BYTES)).records:
            for record in batch.records:
                self._note(reading, record.seq, record.facts)
            self._position = position = batch.head.seq
            await asyncio.sleep(0)
        self._position = position

    def _note(self, reading: FeedChunkBuilder, seq: int, facts: bytes) -> None:
        entry = decode(facts)
        self.since_us = self.since_us or entry.at_us
        for one in find_live_events(seq, entry):
            reading.found.append(one)
            reading.count += 1
            if one.service:
                self._count(one.what, one.service, one.at_us)

    async def _look_up(self, reading: FeedChunkBuilder) -> None:
        """Look up the services of deliveries that ended undelivered; their entries do not name them."""
        ended = [place for place, one in enumerate(reading.found) if not one.service and one.number][-MAX_ENDINGS:]
        if ended:
            await self._network.wait_until_indexed()
        for place in ended:
            one = reading.found[place]
            service = await self._failed(one) if one.what is LiveEventKind.FAILED else await self._recipient(one)
            reading.found[place] = one._replace(service=service)
            self._count(one.what, service, one.at_us)

    async def _failed(self, one: LiveEvent) -> str:
        letter = await self._network.dead_letters.find(self._network.index, one.number)
        if letter is None:
            return ""
        self.failures.append(letter)
        return letter.queued.recipient

    async def _recipient(self, one: LiveEvent) -> str:
        rows = await self._network.index.query("delivery", one.number)
        return str(rows[0][COLUMN["recipient"]]) if rows else ""

    def _count(self, what: LiveEventKind, service: str, at_us: int) -> None:
        second = at_us // SECOND_US
        if second not in self.seconds:
            self.seconds[second] = Counter()
        self.seconds[second][what, service] += 1

    def _keep(self, reading: FeedChunkBuilder) -> None:
        self.skipped = reading.skipped
        oldest = self._network.clock.now_us() // SECOND_US - SECONDS_KEPT
        for second in [one for one in self.seconds if one < oldest]:
            del self.seconds[second]
        if reading.count or reading.skipped:
            self._turn += 1
            left_out = reading.count - len(reading.found)
            self.turns.append(FeedChunk(number=self._turn, events=list(reading.found), left_out=left_out))
