"""What a group of steps would write, and what it would do to the shared desk's tables, without any database."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.desk.shared_effects import list_answered
from postroad.adapters.desk.shared_group import (
    EVERYBODY,
    EndedDelivery,
    GroupPlan,
    NothingToWrite,
    UsedKey,
    WrittenRecord,
)
from postroad.adapters.desk.shared_rebuild import Replay
from postroad.adapters.journal.postgres_group import group_from_row, pack
from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.batch import Batch, BatchMember
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    DeliveryResent,
    Entry,
    JourneyEnding,
)
from postroad.core.projection.unique_keys import answer_key, journey_key, unique_keys
from postroad.ports import JournalStep, NewRecord
from postroad.testing.random_journals.journals import make_plain_posts, random_cuts, random_journals, to_new_records

NAMES = (
    "entries", "facts", "bodies", "checked", "keys", "key_records", "required", "settled",
    "touched", "touched_attempts", "touched_available",
    "records", "ordinals", "mailboxes", "expires", "at", "bytes", "body_at", "body_bytes",
    "returned", "deliveries", "returned_mailboxes", "messages", "copies", "hops", "returned_expires",
    "returned_at", "returned_bytes", "returned_body_at", "returned_body_bytes", "woken",
    "resent", "resent_mailboxes", "resent_messages", "resent_copies", "resent_hops", "resent_contents", "resent_expires",
    "resent_followed", "resent_origins", "free", "put_off", "put_off_until",
)  # fmt: skip


def plan(
    *steps: JournalStep,
    seen: dict[int, int] | None = None,
    gone: set[int] | None = None,
    in_batch: set[int] | None = None,
) -> GroupPlan:
    return GroupPlan(steps, seen or {}, gone or set(), in_batch or set())


def parameters(group: GroupPlan) -> dict[str, Any]:
    return dict(zip(NAMES, group.parameters(), strict=True))


def post(number: int = 1) -> JournalStep:
    [message] = make_plain_posts(1, first_seq=number)
    return JournalStep(message, b"body", tuple(unique_keys(message)))


def test_a_post_brings_its_key_and_its_delivery() -> None:
    step = post()
    group = plan(step)
    found = parameters(group)
    assert group.verdicts == [WrittenRecord(0)]
    assert (found["checked"], found["keys"], found["key_records"]) == ([*step.keys], [*step.keys], [0])
    assert (found["records"], found["ordinals"], found["body_at"], found["body_bytes"]) == ([0], [0], [0], [4])
    assert found["woken"] == found["mailboxes"][0]


def test_a_key_that_was_seen_and_one_used_in_the_group_are_told_apart() -> None:
    old, first, twin = post(1), post(2), post(2)
    group = plan(old, first, twin, seen={old.keys[0]: 17})
    assert group.verdicts == [UsedKey(old.keys[0], seq=17), WrittenRecord(0), UsedKey(first.keys[0], record=0)]
    assert group.record_count == 1


def test_what_is_gone_is_left_out_of_the_entry() -> None:
    group = plan(
        JournalStep(DeliveriesAcknowledged(1, "x", (5, 6))),
        JournalStep(DeliveriesAcknowledged(2, "x", (5,))),
        JournalStep(DeliveriesLeased(3, "x", 1.0, (5, 7))),
        gone={5},
    )
    assert group.verdicts == [WrittenRecord(0), NothingToWrite(), WrittenRecord(1)]
    assert group.dropped == {5}
    found = parameters(group)
    assert (sorted(found["required"]), found["settled"], found["touched"]) == ([6, 7], [6], [7])


def test_what_a_step_settles_is_gone_for_the_next_one() -> None:
    group = plan(
        JournalStep(DeliveriesReturned(1, "x", "later", 2.0, (5,))),
        JournalStep(DeliveriesAcknowledged(2, "x", (5,))),
        JournalStep(DeliveriesAcknowledged(3, "x", (5,))),
        JournalStep(DeliveriesReturned(4, "x", "later", 2.0, (5,))),
    )
    assert group.verdicts == [WrittenRecord(0), WrittenRecord(1), NothingToWrite(), NothingToWrite()]


def test_hand_outs_and_returns_of_one_delivery_add_up() -> None:
    group = plan(
        JournalStep(DeliveriesLeased(1_000_000, "x", 30.0, (5,))),
        JournalStep(DeliveriesReturned(2_000_000, "x", "later", 60.0, (5,))),
    )
    found = parameters(group)
    assert (found["touched"], found["touched_attempts"], found["touched_available"]) == ([5], [1], [62_000_000])


def joined(*numbers: int, id_: str = "b") -> JournalStep:
    batch = Batch(id=id_, key=(), opened_at_us=1, latest_at_us=1, changed_at_us=1, version=1)
    members = tuple(BatchMember(number=number, bytes=1) for number in numbers)
    entry = BatchesChanged(1, "x", "x", "joined", (batch,), id_, members)
    return JournalStep(entry, keys=tuple(unique_keys(entry)))


def test_what_joins_a_batch_is_required_free_and_available_to_nobody() -> None:
    found = parameters(plan(JournalStep(DeliveriesLeased(1_000_000, "x", 30.0, (5, 6))), joined(5, 6)))
    assert (found["touched"], found["touched_attempts"]) == ([5, 6], [1, 1])
    assert found["touched_available"] == [IN_A_BATCH_US, IN_A_BATCH_US]
    assert sorted(found["required"]) == sorted(found["free"]) == [5, 6]
    assert found["settled"] == []


def test_what_is_gone_or_in_a_batch_joins_none() -> None:
    assert plan(joined(5, 6), gone={6}).verdicts == [EndedDelivery()]
    assert plan(joined(5, 6), in_batch={6}).verdicts == [EndedDelivery()]
    assert plan(joined(5), joined(6, id_="c"), joined(5, 7, id_="d")).verdicts == [
        WrittenRecord(0),
        WrittenRecord(1),
        EndedDelivery(),
    ]
    assert plan(JournalStep(DeliveriesAcknowledged(1, "x", (5,))), joined(5)).verdicts == [
        WrittenRecord(0),
        EndedDelivery(),
    ]


def test_nobody_who_is_late_brings_back_what_is_in_a_batch() -> None:
    late = JournalStep(DeliveriesReturned(2, "x", "later", 1.0, (5,)))
    group = plan(JournalStep(DeliveriesLeased(1, "x", 1.0, (5, 6))), late, in_batch={5})
    assert (group.verdicts, group.dropped) == ([WrittenRecord(0), NothingToWrite()], {5})
    assert (parameters(group)["touched"], parameters(group)["free"]) == ([6], [6])
    assert plan(joined(5), late).verdicts == [WrittenRecord(0), NothingToWrite()]


def test_members_end_with_their_batch_and_a_batch_changes_though_all_its_members_are_gone() -> None:
    entry = joined(5).entry
    assert isinstance(entry, BatchesChanged)
    [batch] = entry.batches
    sent = DeliveriesAcknowledged(1, "x", (5, 6), batch=msgspec.structs.replace(batch, version=2))
    keys = tuple(unique_keys(sent))
    group = plan(JournalStep(sent, keys=keys), in_batch={5}, gone={6})
    assert group.verdicts == [WrittenRecord(0)]
    assert (parameters(group)["settled"], parameters(group)["checked"]) == ([5], [*keys])
    assert plan(JournalStep(sent, keys=keys), gone={5, 6}).verdicts == [WrittenRecord(0)]
    assert plan(JournalStep(sent, keys=keys), JournalStep(sent, keys=keys)).verdicts == [
        WrittenRecord(0),
        UsedKey(keys[0], record=0),
    ]


def test_a_journey_ends_though_its_delivery_is_gone_and_only_once() -> None:
    entry = DeliveriesEnded(1, "network", "expired", "", (5,), (3,))
    keys = (journey_key(3),)
    group = plan(
        JournalStep(entry, keys=keys), JournalStep(DeliveriesAcknowledged(2, "x", (), (3,)), keys=keys), gone={5}
    )
    assert group.verdicts == [WrittenRecord(0), UsedKey(keys[0], record=0)]
    found = parameters(group)
    assert (found["checked"], found["required"], found["settled"]) == ([*keys], [], [])
    assert found["keys"] == [*keys, answer_key(5)]  # whoever took it must not answer it any more


def test_a_post_that_ends_a_journey_settles_its_delivery_whether_that_waits_or_not() -> None:
    step = post()
    ending = msgspec.structs.replace(step.entry, ends=JourneyEnding(3, 5, "failed", ""))
    found = parameters(plan(JournalStep(ending, b"body", step.keys)))
    assert (found["settled"], found["required"]) == ([5], [])


def test_when_all_is_gone_nothing_is_left_to_write() -> None:
    assert plan(JournalStep(DeliveriesAcknowledged(1, "x", (5,))), gone={5}).is_empty


def test_more_mailboxes_than_a_notification_holds_wake_everybody() -> None:
    steps = [JournalStep(message) for message in make_plain_posts(600, services=600)]
    assert parameters(plan(*steps))["woken"] == EVERYBODY


class Tables:
    """The statement ``desk_commit`` in a few lines, as a second opinion on the arrays that it is given."""

    def __init__(self) -> None:
        self.seq = 0
        self.seen: dict[int, int] = {}
        self.queue: dict[int, list[Any]] = {}
        self.places: dict[int, list[int]] = {}  # of messages

    def commit(self, given: dict[str, Any]) -> None:
        first = self.seq + 1
        for key, record in zip(given["keys"], given["key_records"], strict=True):
            self.seen.setdefault(key, first + record)
        for row in zip(*(given[name] for name in NAMES[19:30]), strict=True):
            record, delivery, mailbox, message, copy, hop, expires, *place = row
            number = delivery_number(first + record, 0)
            assert delivery in self.queue
            where = [*self.places[message], first, place[0], place[1], place[2], place[3], None, None, None, 0]
            self.queue[number] = [number, mailbox, message, copy, hop, expires, 0, 0, *where]
        for number in given["settled"]:
            self.queue.pop(number, None)
        for number, more, available in zip(*(given[name] for name in NAMES[8:11]), strict=True):
            if number in self.queue:
                self.queue[number][6] += more
                self.queue[number][7] = available
        for number, until in zip(given["put_off"], given["put_off_until"], strict=True):
            if number in self.queue:
                self.queue[number][-1] = until
        for record, ordinal, mailbox, expires, at, size, body_at, body_bytes in zip(
            *(given[name] for name in NAMES[11:19]), strict=True
        ):
            number = delivery_number(first + record, ordinal)
            where = [first, at, size, first, at, size, body_at, body_bytes, None, None, None, 0]
            self.places[first + record] = [first, at, size]
            self.queue[number] = [number, mailbox, first + record, ordinal, 0, expires, 0, 0, *where]
        for record, mailbox, message, copy, hop, content, expires, followed, origin in zip(
            *(given[name] for name in NAMES[31:40]), strict=True
        ):
            number = delivery_number(first + record, 0)
            where = [
                0,
                0,
                0,
                0,
                0,
                0,
                None,
                0,
                content,
                number if followed else None,
                origin,
                0,
            ]  # the database looks later
            self.queue[number] = [number, mailbox, message, copy, hop, expires, 0, 0, *where]
        self.seq += len(given["entries"]) // 40


@given(random_journals(), st.data())
def test_tables_replayed_from_the_journal_equal_those_its_groups_made(
    entries: list[Entry], data: st.DataObject
) -> None:
    live, replay = Tables(), Replay()
    start = 0
    for end in data.draw(random_cuts(len(entries))):
        records = to_new_records(entries[start:end])
        for lone in _groups_without_references(entries[start:end], records, live.seq):
            group = plan(*(JournalStep(entry, record.body) for entry, record in lone))
            assert all(isinstance(verdict, WrittenRecord) for verdict in group.verdicts)
            packed = pack([record for _, record in lone])
            first = live.seq + 1
            row = (first, live.seq + len(lone), bytes(32), packed.entries, packed.facts, True, len(packed.bodies))
            replay.add(group_from_row(row))
            live.commit(parameters(group))
        start = end
    assert replay.seen == live.seen
    assert replay.queue == live.queue


def _groups_without_references(
    entries: list[Entry], records: list[NewRecord], before_seq: int
) -> list[list[tuple[Entry, NewRecord]]]:
    """Cut where an entry speaks of a delivery that the same group queues: a number is known only after its commit."""
    groups: list[list[tuple[Entry, NewRecord]]] = [[]]
    first_seq = before_seq + 1
    for seq, pair in enumerate(zip(entries, records, strict=True), first_seq):
        if any(number >> 16 >= first_seq for number in _speaks_of(pair[0])):
            groups.append([])
            first_seq = seq
        groups[-1].append(pair)
    return [group for group in groups if group]


def _speaks_of(entry: Entry) -> tuple[int, ...]:
    if isinstance(entry, DeliveryResent):
        return (entry.delivery,)
    return list_answered(entry) or getattr(entry, "deliveries", ())
