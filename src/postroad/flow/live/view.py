"""The live view of one person: rows, traffic, failures and queues of their own services.

Rules: a row shows what the lists of messages and dead letters show, pseudonyms included. If there are more events
than rows, the rows are an even sample, and the view says so. Operators see all events, but no contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from postroad.core.audit.live_events import LiveEvent, LiveEventKind
from postroad.core.audit.pictures.traffic_bars import SecondCount
from postroad.core.delivery.dead_letters import Cause
from postroad.core.model.caller import Caller
from postroad.core.model.contexts import truncate_to_second
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.sizes import content_size
from postroad.core.visibility.isolation import visible_recipients
from postroad.core.visibility.redact_dead_letter import DeadLetterRedactor, DeadLetterView
from postroad.core.visibility.viewer import Viewer
from postroad.flow.administration.messages import message_list as messages
from postroad.flow.administration.services import list_owned_services
from postroad.flow.live.feed import SECOND_US, FeedChunk, LiveFeed
from postroad.flow.network import Network

MAX_ROWS = 50  # of one turn
MAX_QUEUES = 20
SHOWN_S = 60
BAD = (LiveEventKind.FAILED, LiveEventKind.REFUSED, LiveEventKind.EXPIRED, LiveEventKind.REJECTED, LiveEventKind.TRIED)
MOVED = (LiveEventKind.SENT, LiveEventKind.ARRIVED, LiveEventKind.DELIVERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRow:
    """One event as it is shown to a person."""

    at_us: int
    what: LiveEventKind
    session: str
    sender: str  # address
    receivers: tuple[str, ...]
    topic: str
    handle: str
    size: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRows:
    """The rows shown, and how many more there were."""

    rows: list[LiveRow]  # newest first
    left_out: int  # that would have fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQueue:
    """The number and age of the messages that wait for one service."""

    service: str  # address
    waiting: int
    oldest_us: int  # since when the first of them waits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQueues:
    """The largest queues, and totals over all services."""

    first: list[ServiceQueue]  # the longest
    services: int  # at which something waits
    waiting: int  # in all of them

    @property
    def oldest(self) -> ServiceQueue | None:
        return min(self.first, key=lambda queue: queue.oldest_us, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveTraffic:
    """Event counts by second, and totals of the last minute."""

    beats: list[SecondCount]  # the last minute, second by second
    minute: dict[str, int]  # how often each thing happened in it

    @property
    def busiest(self) -> int:
        return max([sum(beat) for beat in self.beats], default=0)

    @property
    def latest(self) -> int:
        return sum(self.beats[-1]) if self.beats else 0


class LiveView:
    """The live data that one person may see; ``what`` and ``service`` (an address) are filters."""

    def __init__(self, network: Network, live: LiveFeed, caller: Caller, what: str = "", service: str = "") -> None:
        self._network = network
        self._live = live
        self._caller = caller
        self._what = what
        self._service = service.casefold()
        self._viewer = Viewer.of_caller(caller, network.directory)
        self._only = self._gcid_of(service) if service else None
        self._redactor = DeadLetterRedactor(self._viewer, network.tokens.pseudonyms)
        self._letters: dict[int, DeadLetterView | None] = {}  # by number, of those that failed lately

    async def rows(self, turns: Iterable[FeedChunk], most: int = MAX_ROWS, *, newest: bool = False) -> LiveRows:
        """Return at most ``most`` rows, the newest or an even sample, and how many were left out."""
        turns = list(turns)
        self._look_at_failures()
        fitting = [one for turn in turns for one in turn.events if self._fits(one)]
        chosen = fitting[-most:] if newest else _sample(fitting, most)
        if any(one.entry is None for one in chosen):
            await self._network.wait_until_indexed()
        told = [row for one in reversed(chosen) if (row := await self._row(one)) is not None]
        return LiveRows(rows=told, left_out=len(fitting) - len(chosen) + self._left_out(turns))

    def traffic(self, now_us: int) -> LiveTraffic:
        """Return the last full minute; the second in progress is left out."""
        self._look_at_failures()
        last = now_us // SECOND_US - 1
        failed = Counter(letter.failed_at_us // SECOND_US for letter in self._failed())
        sums = [self._sum(second, failed) for second in range(last - SHOWN_S + 1, last + 1)]
        beats = [SecondCount(sum(one[what] for what in MOVED), sum(one[what] for what in BAD)) for one in sums]
        total: Counter[LiveEventKind] = Counter()
        for one in sums:
            total.update(one)
        return LiveTraffic(beats=beats, minute={what.value: total[what] for what in LiveEventKind})

    def failures(self) -> list[tuple[Cause, int, DeadLetterView]]:
        """Return the latest failures grouped by cause, the most frequent cause first."""
        self._look_at_failures()
        letters = self._failed()
        newest = {letter.cause: letter for letter in letters}
        counts = Counter(letter.cause for letter in letters)
        return [(cause, count, newest[cause]) for cause, count in counts.most_common()]

    async def queues(self, fresh_s: float = 0.0) -> ServiceQueues:
        """Return the current queues, at most ``fresh_s`` seconds old."""
        counts = await self._live.waiting(fresh_s)
        services = list_owned_services(self._caller, self._network.directory)
        found = [(one, counts[one.gcid]) for one in services if counts.get(one.gcid) and self._owns(one.gcid)]
        found.sort(key=lambda pair: (-pair[1], pair[0].address.casefold()))
        first = [
            ServiceQueue(service=one.address, waiting=waiting, oldest_us=await self._oldest(one.gcid))
            for one, waiting in found[:MAX_QUEUES]
        ]
        return ServiceQueues(first=first, services=len(found), waiting=sum(waiting for _, waiting in found))

    async def _oldest(self, gcid: str) -> int:
        rows = await self._network.index.query("waiting_at", gcid, 0, 1)
        return int(rows[0][1]) if rows else self._network.clock.now_us()

    def _gcid_of(self, service: str) -> str:
        """Return the GCID of the service to filter by; empty if the person may not see it, so that nothing fits."""
        named = self._network.directory.service(service)
        return named.gcid if named is not None and self._viewer.owns(named.gcid) else ""

    def _owns(self, gcid: str) -> bool:
        """Whether the person may see events of this service, and it is not filtered out."""
        return self._viewer.owns(gcid) if self._only is None else bool(gcid) and gcid == self._only

    def _look_at_failures(self) -> None:
        for dead in self._live.failures:
            number = dead.queued.number
            if number not in self._letters:
                self._letters[number] = self._redactor.letter(dead)

    def _failed(self) -> list[DeadLetterView]:
        return [letter for letter in self._letters.values() if letter is not None and self._concerns(letter)]

    def _concerns(self, letter: DeadLetterView) -> bool:
        return self._service in ("", letter.service.casefold(), letter.sender.casefold())

    def _sum(self, second: int, failed: Counter[int]) -> Counter[LiveEventKind]:
        """Return the counts of one second; failures are counted if the person may know of them."""
        found: Counter[LiveEventKind] = Counter()
        for (what, service), count in self._live.seconds.get(second, {}).items():
            if what is not LiveEventKind.FAILED and self._owns(service):
                found[what] += count
        found[LiveEventKind.FAILED] = failed[second]
        return found

    def _fits(self, one: LiveEvent) -> bool:
        if self._what not in ("", one.what.value):
            return False
        if one.what is LiveEventKind.FAILED:
            letter = self._letters.get(one.number)
            return letter is not None and self._concerns(letter)
        return self._owns(one.service)

    def _left_out(self, turns: Sequence[FeedChunk]) -> int:
        """Return how many events were skipped; for operators only, since their services are unknown."""
        return sum(turn.left_out for turn in turns) if self._caller.operator else 0

    async def _row(self, one: LiveEvent) -> LiveRow | None:
        match one.entry:
            case MessagePosted():
                return self._make_row(one, one.entry, visible_recipients(one.entry, self._network.directory))
            case MessageRefused():
                return self._refused(one, one.entry)
        letter = self._letters.get(one.number) if one.what is LiveEventKind.FAILED else None
        if letter is not None:
            return _of_letter(letter)
        row = await messages.find_received(self._network, one.number)
        return (
            self._make_row(one, row["message"], [self._network.directory.address_of(row["recipient"])])
            if row is not None
            else None
        )

    def _make_row(self, one: LiveEvent, message: MessagePosted, receivers: list[str]) -> LiveRow:
        return LiveRow(
            at_us=truncate_to_second(one.at_us),
            what=one.what,
            session=message.session,
            sender=self._network.directory.address_of(message.sender),
            receivers=tuple(receivers),
            topic=message.topic,
            handle=message.handle,
            size=content_size(message),
            note=one.detail if one.what is LiveEventKind.TRIED else "",  # other reasons may be about others
        )

    def _refused(self, one: LiveEvent, entry: MessageRefused) -> LiveRow:
        return LiveRow(
            at_us=truncate_to_second(one.at_us),
            what=one.what,
            session=entry.session,
            sender=self._network.directory.address_of(entry.sender),
            receivers=entry.named,
            topic=entry.topic,
            handle=entry.handle,
            size=content_size(entry),
            note=entry.code,
        )


def _of_letter(letter: DeadLetterView) -> LiveRow:
    return LiveRow(
        at_us=truncate_to_second(letter.failed_at_us),
        what=LiveEventKind.FAILED,
        session=letter.session,
        sender=letter.sender,
        receivers=(letter.service,),
        topic=letter.topic,
        handle=letter.handle,
        size=letter.size,
        note=letter.reason,
    )


def _sample(found: list[LiveEvent], most: int) -> list[LiveEvent]:
    """Return an even sample that ends with the newest."""
    if len(found) <= most:
        return found
    return [found[(place + 1) * len(found) // most - 1] for place in range(most)]
