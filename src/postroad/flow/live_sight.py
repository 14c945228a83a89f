"""What one person sees of what happens now: rows, traffic, failures and queues of their own services, and of nobody else's.

Kept rules: a row is told as the lists of messages and dead letters tell it, pseudonyms included; where more happened than is
shown, it is an even sample and said so; operators see that and how, everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from postroad.core.audit.happenings import Happening, What
from postroad.core.audit.letters import Letter, Sight
from postroad.core.audit.passing import recipients_as_known
from postroad.core.audit.pulse import Beat
from postroad.core.delivery.dead_letters import Cause
from postroad.core.model.caller import Caller
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.sizes import content_size
from postroad.core.model.snapshot import Directory
from postroad.flow import administration_messages as messages
from postroad.flow.administration_contents import is_mine
from postroad.flow.administration_services import owned_services
from postroad.flow.context import in_seconds
from postroad.flow.live import SECOND_US, Live, Turn
from postroad.flow.network import Network

ROWS_MOST = 50  # of one turn
QUEUES_MOST = 20
SHOWN_S = 60
BAD = (What.FAILED, What.REFUSED, What.EXPIRED, What.REJECTED, What.TRIED)
MOVED = (What.SENT, What.ARRIVED, What.DELIVERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRow:
    at_us: int
    what: What
    session: str
    sender: str  # address
    receivers: tuple[str, ...]
    topic: str
    handle: str
    size: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    rows: list[LiveRow]  # newest first
    left_out: int  # that would have fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    service: str  # address
    waiting: int
    oldest_us: int  # since when the first of them waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    first: list[Queue]  # the longest
    services: int  # at which something waits
    waiting: int  # in all of them

    @property
    def oldest(self) -> Queue | None:
        return min(self.first, key=lambda queue: queue.oldest_us, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    beats: list[Beat]  # the last minute, second by second
    minute: dict[str, int]  # how often each thing happened in it

    @property
    def busiest(self) -> int:
        return max([sum(beat) for beat in self.beats], default=0)

    @property
    def latest(self) -> int:
        return sum(self.beats[-1]) if self.beats else 0


class LiveSight:
    """The eyes of one person, for some seconds; ``what`` and ``service``, an address, leave out all others."""

    def __init__(self, network: Network, live: Live, caller: Caller, what: str = "", service: str = "") -> None:
        self._network = network
        self._live = live
        self._caller = caller
        self._what = what
        self._service = service.casefold()
        self._owns = _owns(caller, network.directory, service)
        owned = None if caller.operator else is_mine(caller, network.directory)
        self._sight = Sight(network.directory, network.tokens.veil, owned)
        self._letters: dict[int, Letter | None] = {}  # by number, of those that failed lately

    async def rows(self, turns: Iterable[Turn], most: int = ROWS_MOST, *, newest: bool = False) -> Rows:
        """Returns at most ``most`` rows: the newest ones, or an even sample of all; and how many others there were."""
        turns = list(turns)
        self._look_at_failures()
        fitting = [one for turn in turns for one in turn.happenings if self._fits(one)]
        chosen = fitting[-most:] if newest else _sample(fitting, most)
        if any(one.entry is None for one in chosen):
            await self._network.indexed()
        told = [row for one in reversed(chosen) if (row := await self._row(one)) is not None]
        return Rows(rows=told, left_out=len(fitting) - len(chosen) + self._left_out(turns))

    def traffic(self, now_us: int) -> Traffic:
        """The last whole minute; the second that has just begun is left out, or it would always look quiet."""
        self._look_at_failures()
        last = now_us // SECOND_US - 1
        failed = Counter(letter.failed_at_us // SECOND_US for letter in self._failed())
        sums = [self._sum(second, failed) for second in range(last - SHOWN_S + 1, last + 1)]
        beats = [Beat(sum(one[what] for what in MOVED), sum(one[what] for what in BAD)) for one in sums]
        total: Counter[What] = Counter()
        for one in sums:
            total.update(one)
        return Traffic(beats=beats, minute={what.value: total[what] for what in What})

    def failures(self) -> list[tuple[Cause, int, Letter]]:
        """The latest failures by cause, each with its newest; the most frequent cause first."""
        self._look_at_failures()
        letters = self._failed()
        newest = {letter.cause: letter for letter in letters}
        counts = Counter(letter.cause for letter in letters)
        return [(cause, count, newest[cause]) for cause, count in counts.most_common()]

    async def queues(self, fresh_s: float = 0.0) -> Queues:
        """Those of the last ``fresh_s`` seconds will do."""
        counts = await self._live.waiting(fresh_s)
        services = owned_services(self._caller, self._network.directory)
        found = [(one, counts[one.gcid]) for one in services if counts.get(one.gcid) and self._owns(one.gcid)]
        found.sort(key=lambda pair: (-pair[1], pair[0].address.casefold()))
        first = [
            Queue(service=one.address, waiting=waiting, oldest_us=await self._oldest(one.gcid))
            for one, waiting in found[:QUEUES_MOST]
        ]
        return Queues(first=first, services=len(found), waiting=sum(waiting for _, waiting in found))

    async def _oldest(self, gcid: str) -> int:
        rows = await self._network.index.query("waiting_at", gcid, 0, 1)
        return int(rows[0][1]) if rows else self._network.clock.now_us()

    def _look_at_failures(self) -> None:
        for dead in self._live.failures:
            number = dead.queued.number
            if number not in self._letters:
                self._letters[number] = self._sight.letter(dead)

    def _failed(self) -> list[Letter]:
        return [letter for letter in self._letters.values() if letter is not None and self._concerns(letter)]

    def _concerns(self, letter: Letter) -> bool:
        return self._service in ("", letter.service.casefold(), letter.sender.casefold())

    def _sum(self, second: int, failed: Counter[int]) -> Counter[What]:
        """What a second counts; a failure counts for whoever may know of it, which the service alone does not tell."""
        found: Counter[What] = Counter()
        for (what, service), count in self._live.seconds.get(second, {}).items():
            if what is not What.FAILED and self._owns(service):
                found[what] += count
        found[What.FAILED] = failed[second]
        return found

    def _fits(self, one: Happening) -> bool:
        if self._what not in ("", one.what.value):
            return False
        if one.what is What.FAILED:
            letter = self._letters.get(one.number)
            return letter is not None and self._concerns(letter)
        return self._owns(one.service)

    def _left_out(self, turns: Sequence[Turn]) -> int:
        """Of those nobody knows whose they were, so only operators are told."""
        return sum(turn.left_out for turn in turns) if self._caller.operator else 0

    async def _row(self, one: Happening) -> LiveRow | None:
        match one.entry:
            case MessagePosted():
                return self._told(one, one.entry, recipients_as_known(one.entry, self._network.directory))
            case MessageRefused():
                return self._refused(one, one.entry)
        letter = self._letters.get(one.number) if one.what is What.FAILED else None
        if letter is not None:
            return _of_letter(letter)
        row = await messages.received(self._network, one.number)
        return self._told(one, row["message"], [self._address(row["recipient"])]) if row is not None else None

    def _told(self, one: Happening, message: MessagePosted, receivers: list[str]) -> LiveRow:
        return LiveRow(
            at_us=in_seconds(one.at_us),
            what=one.what,
            session=message.session,
            sender=self._address(message.sender),
            receivers=tuple(receivers),
            topic=message.topic,
            handle=message.handle,
            size=content_size(message),
            note=one.detail if one.what is What.TRIED else "",  # other reasons may be about others
        )

    def _refused(self, one: Happening, entry: MessageRefused) -> LiveRow:
        return LiveRow(
            at_us=in_seconds(one.at_us),
            what=one.what,
            session=entry.session,
            sender=self._address(entry.sender),
            receivers=entry.named,
            topic=entry.topic,
            handle=entry.handle,
            size=content_size(entry),
            note=entry.code,
        )

    def _address(self, gcid: str) -> str:
        service = self._network.directory.services.get(gcid)
        return service.address if service is not None else gcid


def _of_letter(letter: Letter) -> LiveRow:
    return LiveRow(
        at_us=in_seconds(letter.failed_at_us),
        what=What.FAILED,
        session=letter.session,
        sender=letter.sender,
        receivers=(letter.service,),
        topic=letter.topic,
        handle=letter.handle,
        size=letter.size,
        note=letter.reason,
    )


def _owns(caller: Caller, directory: Directory, service: str) -> Callable[[str], bool]:
    """Whether a service is the person's to see; with a name, whether it is that one."""
    mine: Callable[[str], bool] = (lambda gcid: True) if caller.operator else is_mine(caller, directory)
    if not service:
        return mine
    named = directory.service(service)
    only = named.gcid if named is not None and mine(named.gcid) else None
    return lambda gcid: gcid == only


def _sample(found: list[Happening], most: int) -> list[Happening]:
    """An even sample that ends with the newest."""
    if len(found) <= most:
        return found
    return [found[(place + 1) * len(found) // most - 1] for place in range(most)]
