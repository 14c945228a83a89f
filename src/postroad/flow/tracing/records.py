"""The recent entries that created deliveries, each with the entries about its deliveries.

Rules: memory is bounded; the oldest entries are dropped, and read from the journal again when they are needed. An entry
that was read again is marked, because earlier entries about its deliveries are missing. Most posts are never exported:
they are kept undecoded, and the entries about their deliveries are sorted only when one of them is needed.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence

from postroad.core.model.ids import delivery_entry, delivery_origin
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesLeased,
    DeliveryResent,
    Entry,
    InvocationReturned,
    MessagePosted,
    decode,
)
from postroad.core.telemetry.spans import NumberedEntry, StopEntry, TracedStop
from postroad.core.telemetry.unsampled_post import read_post_time
from postroad.flow.followers import FollowedJournal

MAX_WEIGHT = 60_000  # entries and events; about 60 MB
WEIGHT_BYTES = 512  # of an undecoded entry, for each of its weight


CREATING = frozenset({MessagePosted, InvocationReturned, DeliveryResent})
FREQUENT = frozenset({DeliveriesAcknowledged, DeliveriesLeased})
Events = dict[int, list[NumberedEntry]]  # the entries about deliveries, by ordinal


class StopRecord:
    """An entry that created deliveries, and the entries about them by their ordinal."""

    __slots__ = ("entry", "events", "is_complete")

    def __init__(self, entry: StopEntry, is_complete: bool) -> None:
        self.entry = entry
        self.events: Events = {}
        self.is_complete = is_complete  # every entry about its deliveries was seen


class RecentRecords:
    """Records by entry number, the oldest first."""

    def __init__(self, journal: FollowedJournal | None, max_weight: int = MAX_WEIGHT) -> None:
        self._journal = journal
        self._records: OrderedDict[int, StopRecord | bytes] = OrderedDict()  # bytes: an undecoded post
        self._unsorted: deque[tuple[int, Entry, Sequence[int]]] = deque()  # entries about deliveries of undecoded posts
        self._events: dict[int, Events] = {}  # those that were sorted, by the number of the post
        self._max_weight = max_weight
        self._weight = 0

    @classmethod
    def of(cls, entries: Mapping[int, Entry]) -> RecentRecords:
        """Return complete records of a whole transaction."""
        records = cls(None, 1 << 62)
        for seq, entry in sorted(entries.items()):
            records.read(seq, entry)
        return records

    def keep(self, seq: int, facts: bytes) -> None:
        """Add a post undecoded; as in ``read``, it may be repeated."""
        if seq not in self._records:
            self._records[seq] = facts
            self._weight += _weight_of(facts)
            if self._weight > self._max_weight:
                self._drop_oldest()

    def without_undecoded(self, numbers: Sequence[int], since_us: float) -> Sequence[int]:
        """Return the deliveries without those of posts that are kept undecoded and are not older than ``since_us``."""
        known = self._records.get
        return [
            number
            for number in numbers
            if type(post := known(delivery_entry(number))) is not bytes or read_post_time(post) < since_us
        ]

    def read(self, seq: int, entry: Entry) -> None:
        """Add an entry that the follower sees; entries must come in order, and may be repeated."""
        if type(entry) in CREATING:
            self._add(seq, entry, is_complete=True)  # type: ignore[arg-type]
        numbers = list_deliveries(entry)
        is_kept = False
        for number in numbers:
            record = self._records.get(delivery_entry(number))
            if type(record) is bytes:
                is_kept = True
            elif record is not None:
                self._note(record.events, number, seq, entry)  # type: ignore[union-attr]
        if is_kept:
            self._unsorted.append((seq, entry, numbers))
            self._weight += len(numbers)

    def known(self, seq: int) -> StopRecord | None:
        record = self._records.get(seq)
        return self._decode(seq, record) if isinstance(record, bytes) else record

    async def find(self, seq: int) -> StopRecord | None:
        """Return the record of an entry, read from the journal if it was dropped; None if it created no delivery."""
        if (record := self.known(seq)) is not None or self._journal is None:
            return record
        for found in (await self._journal.read(seq - 1, 1)).records:
            entry = decode(found.facts)
            if isinstance(entry, StopEntry):
                self._add(found.seq, entry, is_complete=False)
        return self.known(seq)

    def _add(self, seq: int, entry: StopEntry, *, is_complete: bool) -> None:
        if seq in self._records:
            return
        record = self._records[seq] = StopRecord(entry, is_complete)
        self._weight += _weight_of(record)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        while self._weight > self._max_weight and len(self._records) > 1:
            seq, dropped = self._records.popitem(last=False)
            events = self._events.pop(seq, {}) if isinstance(dropped, bytes) else dropped.events
            self._weight -= _weight_of(dropped) + sum(map(len, events.values()))
            oldest = next(iter(self._records))
            while self._unsorted and self._unsorted[0][0] < oldest:
                self._weight -= len(self._unsorted.popleft()[2])

    def _decode(self, seq: int, facts: bytes) -> StopRecord:
        """Replace an undecoded post by its record."""
        entry = decode(facts)
        if not isinstance(entry, MessagePosted):
            raise TypeError("only posts are kept undecoded")
        self._sort()
        record = self._records[seq] = StopRecord(entry, is_complete=True)
        record.events = self._events.pop(seq, {})
        self._weight += _weight_of(record) - _weight_of(facts)
        return record

    def _sort(self) -> None:
        """Sort the entries about deliveries of undecoded posts by the posts."""
        while self._unsorted:
            seq, entry, numbers = self._unsorted.popleft()
            self._weight -= len(numbers)
            for number in numbers:
                if type(self._records.get(delivery_entry(number))) is bytes:
                    self._note(self._events.setdefault(delivery_entry(number), {}), number, seq, entry)

    def _note(self, events: Events, number: int, seq: int, entry: Entry) -> None:
        known = events.setdefault(number & 0xFFFF, [])
        if not known or known[-1][0] < seq:  # else it was handled before
            known.append((seq, entry))
            self._weight += 1


def _weight_of(record: StopRecord | bytes) -> int:
    if isinstance(record, bytes):
        return 1 + len(record) // WEIGHT_BYTES
    return 1 + (len(record.entry.copies) if isinstance(record.entry, MessagePosted) else 0)


def stop_of(number: int, record: StopRecord) -> TracedStop:
    return TracedStop(number, record.entry, record.events.get(delivery_origin(number)[1], ()))


def list_deliveries(entry: Entry) -> Sequence[int]:
    """Return the deliveries that an entry is about."""
    if type(entry) in FREQUENT:
        return entry.deliveries  # type: ignore[union-attr]
    match entry:
        case MessagePosted():
            if entry.ends is not None:
                return (entry.ends.delivery or entry.ends.journey,)
            return (entry.answers.delivery,) if entry.answers is not None and entry.answers.delivery else ()
        case InvocationReturned():
            return (entry.delivery,)
        case DeliveryResent():
            return ()
        case _:
            one = getattr(entry, "delivery", 0)
            return (one,) if one else getattr(entry, "deliveries", ())
