"""A group of steps for PostgreSQL: the records to write, and the arrays that apply them in one call.

Rule: pure. Facts that are unknown here (which keys were used, which deliveries are gone) are read from the database
and passed to the next attempt, until a complete group can be written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from postroad.adapters.desk.shared_effects import (
    ABOUT_DELIVERIES,
    RETURNING,
    SETTLING,
    DeliveryTouch,
    drop_settled,
    find_touch,
    list_answered,
    list_queued_copies,
)
from postroad.adapters.journal.postgres_group import PackedGroup, RecordLocation, pack
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveryResent,
    Entry,
    InvocationReturned,
    MessagePosted,
)
from postroad.core.model.journal import encode as encode_entry
from postroad.core.projection.unique_keys import unique_keys
from postroad.ports import JournalStep, NewRecord

MAX_WOKEN_BYTES = 7_000  # a PostgreSQL notification has less than 8,000 bytes
EVERYBODY = "*"


class WrittenRecord(NamedTuple):
    """The step's entry is a record of the group."""

    record: int


class UsedKey(NamedTuple):
    """A key of the step was used before, by a journal entry or by a record of this group."""

    key: int
    seq: int = 0
    record: int = 0


class EndedDelivery(NamedTuple):
    """A delivery that had to be waiting has ended."""


class NothingToWrite(NamedTuple):
    """The step has no effect, because all of it has already happened."""


Verdict = WrittenRecord | UsedKey | EndedDelivery | NothingToWrite


class GroupPlan:
    """The writes of a group, assuming that ``seen``, ``gone`` and ``in_batch`` are complete."""

    def __init__(
        self,
        steps: Sequence[JournalStep],
        seen: Mapping[int, int],
        gone: Collection[int],
        in_batch: Collection[int] = (),
    ) -> None:
        self.verdicts: list[Verdict] = []
        self.dropped: set[int] = set()  # deliveries to hand out that are gone or in a batch
        self._seen = seen
        self._gone = set(gone)
        self._in_batch = set(in_batch)
        self._records: list[NewRecord] = []
        self._entries: list[Entry] = []
        self._checked: list[int] = []
        self._keys: dict[int, int] = {}
        self._required: set[int] = set()
        self._free: set[int] = set()  # deliveries that must not be in a batch
        self._settled: set[int] = set()
        self._touched: dict[int, DeliveryTouch] = {}
        self._put_off: dict[int, int] = {}  # by delivery: when its next push is due
        for step in steps:
            self.verdicts.append(self._judge(step))

    @property
    def is_empty(self) -> bool:
        return not self._records

    @property
    def entries(self) -> Sequence[Entry]:
        """Return the entries of the records."""
        return self._entries

    @property
    def written_bytes(self) -> int:
        """Return the size of the records: facts and bodies."""
        return sum([len(record.facts) + len(record.body or b"") for record in self._records])

    @property
    def record_count(self) -> int:
        return len(self._records)

    def parameters(self) -> tuple[Any, ...]:
        """Return the parameters of the statement ``commit``, in order."""
        packed = pack(self._records)
        touched = list(self._touched.values())
        return (
            packed.entries,
            packed.facts,
            packed.bodies,
            self._checked,
            list(self._keys),
            list(self._keys.values()),
            list(self._required),
            list(self._settled),
            list(self._touched),
            [change.attempts for change in touched],
            [change.available_at_us for change in touched],
            *self._posted(packed),
            *self._returned(packed),
            self._woken(),
            *self._resent(),
            list(self._free),
            list(self._put_off),
            list(self._put_off.values()),
        )

    def _judge(self, step: JournalStep) -> Verdict:
        for key in (*step.keys, *step.absent):
            if key in self._seen:
                return UsedKey(key, seq=self._seen[key])
            if key in self._keys:
                return UsedKey(key, record=self._keys[key])
        if not self._gone.isdisjoint(step.waiting) or not self._may_join(step.entry):
            return EndedDelivery()
        self._required.update(step.waiting)
        entry = self._about(step.entry) if isinstance(step.entry, ABOUT_DELIVERIES) else step.entry
        if entry is None:
            return NothingToWrite()
        if isinstance(entry, BatchesChanged):
            self._gather(entry)
        self._checked.extend(step.keys)
        self._checked.extend(step.absent)
        for key in step.keys:
            self._keys[key] = len(self._records)
        return self._write(entry, step.body)

    def _may_join(self, entry: Entry) -> bool:
        """Whether all deliveries that the entry adds to a batch are waiting and not in a batch."""
        joined = entry.deliveries if isinstance(entry, BatchesChanged) else ()
        return self._gone.isdisjoint(joined) and self._in_batch.isdisjoint(joined)

    def _gather(self, entry: BatchesChanged) -> None:
        if (change := find_touch(entry)) is not None:
            self._touch(entry.deliveries, change)
        self._required.update(entry.deliveries)
        self._free.update(entry.deliveries)
        self._in_batch.update(entry.deliveries)  # for the steps that follow in this group

    def _about(self, entry: ABOUT_DELIVERIES) -> Entry | None:
        """Return the entry reduced to waiting deliveries, and its effect on them; None if none are left."""
        missing = self._gone.intersection(entry.deliveries)
        if not isinstance(entry, SETTLING):  # a late entry does not take a delivery out of a batch
            missing |= self._in_batch.intersection(entry.deliveries)
        if missing and isinstance(entry, DeliveriesLeased):
            self.dropped |= missing
        left = drop_settled(entry, missing) if missing else entry
        ends_journeys = isinstance(entry, SETTLING) and bool(entry.journeys)
        changes_batch = isinstance(entry, SETTLING) and entry.batch is not None
        if not left.deliveries and not ends_journeys and not changes_batch:
            return None
        self._required.update(left.deliveries)
        if isinstance(left, SETTLING):
            self._settle(left.deliveries)
        elif (change := find_touch(left)) is not None:
            self._touch(left.deliveries, change)
            self._free.update(left.deliveries)
        # An end also lists deliveries that were acknowledged before, because they must not be answered any more.
        return entry if ends_journeys else left

    def _settle(self, numbers: Collection[int]) -> None:
        self._settled.update(numbers)
        self._gone.update(numbers)  # for the steps that follow in this group

    def _touch(self, numbers: Collection[int], change: DeliveryTouch) -> None:
        if change.is_push_retry:
            self._put_off.update(dict.fromkeys(numbers, change.available_at_us))
        for number in numbers:
            before = self._touched.get(number)
            self._touched[number] = change._replace(attempts=before.attempts + change.attempts) if before else change

    def _write(self, entry: Entry, body: bytes | None) -> WrittenRecord:
        record = len(self._records)
        for key in unique_keys(entry):
            self._keys.setdefault(key, record)
        if numbers := list_answered(entry):
            self._settle(numbers)
        self._records.append(NewRecord(encode_entry(entry), body))
        self._entries.append(entry)
        return WrittenRecord(record)

    def _posted(self, packed: PackedGroup) -> tuple[list[Any], ...]:
        """Return one column per parameter: records, ordinals, mailboxes, expiries and positions of posted deliveries."""
        rows = [
            (record, ordinal, mailbox, entry.expires_at_us, *_place(packed.places[record]))
            for record, entry in enumerate(self._entries)
            if isinstance(entry, MessagePosted)
            for ordinal, mailbox in list_queued_copies(entry)
        ]
        return _columns(rows, 8)

    def _returned(self, packed: PackedGroup) -> tuple[list[Any], ...]:
        """Return the parameters for the next hops of messages that in-transit services returned."""
        rows = [
            (record, entry.delivery, entry.next, entry.message, entry.copy, entry.hop, entry.expires_at_us,
             *_place(packed.places[record]))
            for record, entry in enumerate(self._entries)
            if isinstance(entry, InvocationReturned)
        ]  # fmt: skip
        return _columns(rows, 11)

    def _resent(self) -> tuple[list[Any], ...]:
        """Return the parameters for resent dead letters; the database looks up their facts and bodies."""
        rows = [
            (record, entry.next, entry.message, entry.copy, entry.hop, entry.content, entry.expires_at_us, entry.followed,
             entry.origin)
            for record, entry in enumerate(self._entries)
            if isinstance(entry, DeliveryResent)
        ]  # fmt: skip
        return _columns(rows, 9)

    def _woken(self) -> str:
        """Return the mailboxes in which a delivery may be available once the group is committed."""
        woken: set[str] = set()
        for entry in self._entries:
            if isinstance(entry, MessagePosted):
                woken.update(mailbox for _, mailbox in list_queued_copies(entry))
            elif isinstance(entry, InvocationReturned | DeliveryResent):
                woken.add(entry.next)
            elif isinstance(entry, RETURNING):
                woken.add(entry.by)
            elif isinstance(entry, DeliveriesReleased):
                woken.add(entry.service)
        text = " ".join(sorted(woken))
        return text if len(text) <= MAX_WOKEN_BYTES else EVERYBODY


def _place(place: RecordLocation) -> tuple[int, int, int | None, int]:
    return place.facts_at, place.facts_bytes, place.body_at, place.body_bytes


def _columns(rows: list[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    return tuple(map(list, zip(*rows, strict=True))) if rows else tuple([] for _ in range(width))
