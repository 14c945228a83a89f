"""The recent entries that created deliveries, each with the entries about its deliveries.

Rule: memory is bounded; the oldest entries are dropped, and read from the journal again when they are needed. An entry
that was read again is marked, because earlier entries about its deliveries are missing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from postroad.core.model.ids import delivery_origin
from postroad.core.model.journal import DeliveryResent, Entry, InvocationReturned, MessagePosted, decode
from postroad.core.telemetry.spans import NumberedEntry, StopEntry, TracedStop
from postroad.flow.followers import FollowedJournal

MAX_WEIGHT = 60_000  # entries and events; about 60 MB


class StopRecord:
    """An entry that created deliveries, and the entries about them by their ordinal."""

    __slots__ = ("entry", "events", "is_complete")

    def __init__(self, entry: StopEntry, is_complete: bool) -> None:
        self.entry = entry
        self.events: dict[int, list[NumberedEntry]] = {}
        self.is_complete = is_complete  # every entry about its deliveries was seen


class RecentRecords:
    """Records by entry number, the oldest first."""

    def __init__(self, journal: FollowedJournal | None, max_weight: int = MAX_WEIGHT) -> None:
        self._journal = journal
        self._records: OrderedDict[int, StopRecord] = OrderedDict()
        self._max_weight = max_weight
        self._weight = 0

    @classmethod
    def of(cls, entries: Mapping[int, Entry]) -> RecentRecords:
        """Return complete records of a whole transaction."""
        records = cls(None, 1 << 62)
        for seq, entry in sorted(entries.items()):
            records.read(seq, entry)
        return records

    def read(self, seq: int, entry: Entry) -> None:
        """Add an entry that the follower sees; entries must come in order, and may be repeated."""
        if isinstance(entry, MessagePosted | InvocationReturned | DeliveryResent):
            self._add(seq, entry, is_complete=True)
        for number in list_deliveries(entry):
            self._note(number, seq, entry)

    def known(self, seq: int) -> StopRecord | None:
        return self._records.get(seq)

    async def find(self, seq: int) -> StopRecord | None:
        """Return the record of an entry, read from the journal if it was dropped; None if it created no delivery."""
        if (record := self._records.get(seq)) is not None or self._journal is None:
            return record
        for found in (await self._journal.read(seq - 1, 1)).records:
            entry = decode(found.facts)
            if isinstance(entry, MessagePosted | InvocationReturned | DeliveryResent):
                self._add(found.seq, entry, is_complete=False)
        return self._records.get(seq)

    def _add(self, seq: int, entry: StopEntry, *, is_complete: bool) -> None:
        if seq in self._records:
            return
        self._records[seq] = StopRecord(entry, is_complete)
        self._weight += 1 + (len(entry.copies) if isinstance(entry, MessagePosted) else 0)
        while self._weight > self._max_weight and len(self._records) > 1:
            _, dropped = self._records.popitem(last=False)
            copies = len(dropped.entry.copies) if isinstance(dropped.entry, MessagePosted) else 0
            self._weight -= 1 + copies + sum(map(len, dropped.events.values()))

    def _note(self, number: int, seq: int, entry: Entry) -> None:
        origin, ordinal = delivery_origin(number)
        record = self._records.get(origin)
        if record is None:
            return
        events = record.events.setdefault(ordinal, [])
        if not events or events[-1][0] < seq:  # else it was handled before
            events.append((seq, entry))
            self._weight += 1


def stop_of(number: int, record: StopRecord) -> TracedStop:
    return TracedStop(number, record.entry, record.events.get(delivery_origin(number)[1], ()))


def list_deliveries(entry: Entry) -> Sequence[int]:
    """Return the deliveries that an entry is about."""
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
