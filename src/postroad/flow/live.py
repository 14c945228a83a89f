"""What happens in the network now, read from the end of the journal for as long as somebody watches.

    journal's tail ──catch_up()──▶ turns of happenings · counts by second and service · the latest failures

Whoever watches calls ``catch_up`` every now and then; the first who does reads for all, and while nobody does, nothing is read.
Kept rules: what is kept is bounded however much happens: where more comes than can be looked at, some is skipped, counted and
said. Nothing here knows who may see what; ``live_sight`` does.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field

from postroad.core.audit.happenings import Happening, What, happenings
from postroad.core.delivery.dead_letters import DeadLetter
from postroad.core.delivery.waiting import COLUMN
from postroad.core.model.journal import decode
from postroad.flow.network import Network

FRESH_S = 0.9  # what streams share; whoever opens a page wants it as of now
PIECE_BYTES = 256 << 10  # read at once, so that nobody is held up
ENTRIES_MOST = 5_000  # looked at in one turn
HAPPENINGS_MOST = 2_000  # kept of one turn
ENDINGS_MOST = 100  # looked up in one turn
TURNS_KEPT = 300
SECONDS_KEPT = 120
FAILURES_KEPT = 500
SECOND_US = 1_000_000

Count = Counter[tuple[What, str]]  # by what happened and at which service


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What came to light at once."""

    number: int
    happenings: list[Happening]
    left_out: int  # happenings of which nothing is kept but their number


@dataclass(slots=True, kw_only=True)
class Reading:
    """A turn while it is made."""

    found: deque[Happening] = field(default_factory=lambda: deque(maxlen=HAPPENINGS_MOST))
    count: int = 0
    skipped: int = 0  # entries


class Live:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._lock = asyncio.Lock()
        self._position: int | None = None
        self._looked_at = float("-inf")
        self._counted_at = float("-inf")
        self._mailboxes: dict[str, int] = {}
        self.turns: deque[Turn] = deque(maxlen=TURNS_KEPT)
        self.seconds: dict[int, Count] = {}
        self.failures: deque[DeadLetter] = deque(maxlen=FAILURES_KEPT)
        self.since_us = 0  # from when on all this is known
        self.skipped = 0  # entries of the last turn that were not looked at
        self._born = f"{network.clock.now_us():x}"
        self._turn = 0

    async def catch_up(self, fresh_s: float = 0.0) -> None:
        """Read what the journal has got since, unless somebody has just done so."""
        async with self._lock:
            if self._network.clock.monotonic() - self._looked_at < fresh_s:
                return
            reading = Reading()
            try:
                await self._read(reading)
                await self._look_up(reading)
            finally:  # whatever failed: what was read is not read again
                self._keep(reading)
            self._looked_at = self._network.clock.monotonic()

    async def waiting(self, fresh_s: float = 0.0) -> dict[str, int]:
        """How many deliveries wait, by GCID."""
        async with self._lock:
            if self._network.clock.monotonic() - self._counted_at >= fresh_s:
                await self._network.indexed()
                self._mailboxes = dict(await self._network.index.query("mailboxes"))
                self._counted_at = self._network.clock.monotonic()
            return self._mailboxes

    @property
    def mark(self) -> str:
        """By which somebody who has seen everything goes on later; it tells nothing of the network."""
        return f"{self._born}.{self._turn}"

    def after(self, mark: str) -> list[Turn]:
        """The turns since; all that are kept, where the mark is none of this server's."""
        born, _, number = mark.partition(".")
        seen = int(number) if born == self._born and number.isascii() and number.isdigit() and len(number) < 16 else 0
        return [turn for turn in self.turns if turn.number > seen]

    async def _read(self, reading: Reading) -> None:
        journal = self._network.journal
        head = (await journal.head()).seq
        position = self._position if self._position is not None else max(0, head - ENTRIES_MOST)
        if head - position > ENTRIES_MOST:
            reading.skipped = head - ENTRIES_MOST - position
            position = head - ENTRIES_MOST
        while position < head and (batch := await journal.read(position, PIECE_BYTES)).records:
            for record in batch.records:
                self._note(reading, record.seq, record.facts)
            self._position = position = batch.head.seq
            await asyncio.sleep(0)
        self._position = position

    def _note(self, reading: Reading, seq: int, facts: bytes) -> None:
        entry = decode(facts)
        self.since_us = self.since_us or entry.at_us
        for one in happenings(seq, entry):
            reading.found.append(one)
            reading.count += 1
            if one.service:
                self._count(one.what, one.service, one.at_us)

    async def _look_up(self, reading: Reading) -> None:
        """Whose the deliveries were that came to another end than delivery; entries do not say."""
        ended = [place for place, one in enumerate(reading.found) if not one.service and one.number][-ENDINGS_MOST:]
        if ended:
            await self._network.indexed()
        for place in ended:
            one = reading.found[place]
            service = await self._failed(one) if one.what is What.FAILED else await self._recipient(one)
            reading.found[place] = one._replace(service=service)
            self._count(one.what, service, one.at_us)

    async def _failed(self, one: Happening) -> str:
        letter = await self._network.dead_letters.find(self._network.index, one.number)
        if letter is None:
            return ""
        self.failures.append(letter)
        return letter.queued.recipient

    async def _recipient(self, one: Happening) -> str:
        rows = await self._network.index.query("delivery", one.number)
        return str(rows[0][COLUMN["recipient"]]) if rows else ""

    def _count(self, what: What, service: str, at_us: int) -> None:
        second = at_us // SECOND_US
        if second not in self.seconds:
            self.seconds[second] = Counter()
        self.seconds[second][what, service] += 1

    def _keep(self, reading: Reading) -> None:
        self.skipped = reading.skipped
        oldest = self._network.clock.now_us() // SECOND_US - SECONDS_KEPT
        for second in [one for one in self.seconds if one < oldest]:
            del self.seconds[second]
        if reading.count or reading.skipped:
            self._turn += 1
            left_out = reading.count - len(reading.found)
            self.turns.append(Turn(number=self._turn, happenings=list(reading.found), left_out=left_out))
