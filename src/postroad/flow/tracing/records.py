"""The recent entries that created deliveries, each with the entries about its deliveries.

Rules: memory is bounded; the oldest entries are dropped, and read from the journal again when they are needed. An entry
that was read again is marked, because earlier entries about its deliveries are missing; so is one of a delivery about which
there were more entries than a span shows. Most posts are never exported: they are kept undecoded, and the entries about
their deliveries are sorted only when one of them is needed, or when there are far more of them than of posts.
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
from postroad.core.telemetry.spans import MAX_EVENTS, NumberedEntry, StopEntry, TracedStop
from postroad.core.telemetry.unsampled_post import read_post_time
from postroad.flow.followers import FollowedJournal

MAX_WEIGHT = 60_000  # entries and events; about 60 MB
WEIGHT_BYTES = 512  # of an undecoded entry, for each of its weight
MAX_UNSORTED = 16  # entries about the deliveries of undecoded posts, for each record

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

    def __init__(
        self, journal: FollowedJournal | None, max_weight: int = MAX_WEIGHT, max_events: int = MAX_EVENTS
    ) -> None:
        self._journal = journal
        self._max_events = max_events  # of one delivery, the latest
        self._records: OrderedDict[int, StopRecord | bytes] = OrderedDict()  # bytes: an undecoded post
        self._unsorted: deque[tuple[int, Entry, Sequence[int]]] = deque()  # entries about deliveries of undecoded posts
        self._unsorted_weight = 0  # of those, a part of the whole
        self._events: dict[int, Events] = {}  # those that were sorted, by the number of the post
        self._cut: set[int] = set()  # undecoded posts of which some of these were dropped
        self._max_weight = max_weight
        self._weight = 0

    @classmethod
    def of(cls, entries: Mapping[int, Entry]) -> RecentRecords:
        """Return complete records of a whole transaction."""
        records = cls(None, 1 << 62, 1 << 62)
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
            elif record is not None and not self._note(record.events, number, seq, entry):  # type: ignore[union-attr]
                record.is_complete = False  # type: ignore[union-attr]
        if is_kept:
            self._unsorted.append((seq, entry, numbers))
            self._unsorted_weight += len(numbers)
            self._weight += len(numbers)
        if self._weight > self._max_weight:
            self._drop_oldest()

    def find_stop(self, seq: int) -> StopRecord | None:
        record = self._records.get(seq)
        return self._decode(seq, record) if isinstance(record, bytes) else record

    async def find(self, seq: int) -> StopRecord | None:
        """Return the record of an entry, read from the journal if it was dropped; None if it created no delivery."""
        if (record := self.find_stop(seq)) is not None or self._journal is None:
            return record
        for found in (await self._journal.read(seq - 1, 1)).records:
            entry = decode(found.facts)
            if isinstance(entry, StopEntry):
                self._add(found.seq, entry, is_complete=False)
        return self.find_stop(seq)

    def _add(self, seq: int, entry: StopEntry, *, is_complete: bool) -> None:
        if seq in self._records:
            return
        record = self._records[seq] = StopRecord(entry, is_complete)
        self._weight += _weight_of(record)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        if self._weight > self._max_weight and self._unsorted_weight > MAX_UNSORTED * len(self._records):
            self._sort()  # of each delivery, the latest are kept
        while self._weight > self._max_weight and len(self._records) > 1:
            seq, dropped = self._records.popitem(last=False)
            self._weight -= _weight_of(dropped)
            self._drop_events(seq, dropped)
            oldest = next(iter(self._records))
            while self._unsorted and self._unsorted[0][0] < oldest:
                self._take_unsorted()
        if self._weight > self._max_weight:
            self._strip_last()

    def _drop_events(self, seq: int, record: StopRecord | bytes) -> None:
        events = self._events.pop(seq, {}) if isinstance(record, bytes) else record.events
        self._weight -= sum(map(len, events.values()))
        self._cut.discard(seq)

    def _strip_last(self) -> None:
        """Drop what is known about the deliveries of the only record, which may be needed at once and is kept."""
        while self._unsorted:
            self._take_unsorted()
        for seq, record in self._records.items():
            self._drop_events(seq, record)
            if isinstance(record, StopRecord):
                record.events, record.is_complete = {}, False
            else:
                self._cut.add(seq)

    def _decode(self, seq: int, facts: bytes) -> StopRecord:
        """Replace an undecoded post by its record."""
        entry = decode(facts)
        if not isinstance(entry, MessagePosted):
            raise TypeError("only posts are kept undecoded")
        self._sort()
        record = self._records[seq] = StopRecord(entry, is_complete=seq not in self._cut)
        record.events = self._events.pop(seq, {})
        self._cut.discard(seq)
        self._weight += _weight_of(record) - _weight_of(facts)
        return record

    def _sort(self) -> None:
        """Sort the entries about deliveries of undecoded posts by the posts."""
        while self._unsorted:
            seq, entry, numbers = self._take_unsorted()
            for number in numbers:
                post = delivery_entry(number)
                if type(self._records.get(post)) is not bytes:
                    continue
                if not self._note(self._events.setdefault(post, {}), number, seq, entry):
                    self._cut.add(post)

    def _take_unsorted(self) -> tuple[int, Entry, Sequence[int]]:
        taken = self._unsorted.popleft()
        self._unsorted_weight -= len(taken[2])
        self._weight -= len(taken[2])
        return taken

    def _note(self, events: Events, number: int, seq: int, entry: Entry) -> bool:
        """Add an entry about a delivery; False if an earlier one was dropped for it."""
        known = events.setdefault(number & 0xFFFF, [])
        if known and known[-1][0] >= seq:  # it was handled before
            return True
        known.append((seq, entry))
        if len(known) > self._max_events:
            del known[0]
            return False
        self._weight += 1
        return True


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
