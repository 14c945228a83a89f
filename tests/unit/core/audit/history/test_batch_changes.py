"""What happened to a batch, told from its entries."""

from __future__ import annotations

from msgspec.structs import replace

from postroad.core.audit.history.batch_changes import list_batch_changes
from postroad.core.codecs.lexical import write_time
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.directory import Service
from postroad.core.model.journal import AccessRecorded, BatchesChanged, DeliveriesEnded, Entry
from postroad.core.model.snapshot import Directory
from postroad.core.resources.batches import BatchChangeView

BATCHER, ID, NEXT, CLERK = "ba" * 8, "0" * 20, "1" * 20, "clerk@hub.example"
DIRECTORY = Directory(services={BATCHER: Service(gcid=BATCHER, organization="Hub", name="batched")})
OPEN = Batch(id=ID, key=(), opened_at_us=1, latest_at_us=1, changed_at_us=1, count=1, service=BATCHER)
CLOSED = replace(OPEN, state=BatchState.CLOSED, why="the next message would have made it too large")


def joining(at_us: int, batch: Batch, *others: Batch) -> BatchesChanged:
    member = BatchMember(number=at_us, bytes=1)
    return BatchesChanged(at_us, BATCHER, BATCHER, "joined", (*others, batch), batch.id, (member,))


def told(*entries: Entry) -> list[BatchChangeView]:
    return list_batch_changes(ID, entries, DIRECTORY)


def test_those_who_join_one_after_the_other_are_one_line() -> None:
    assert told(joining(1, OPEN), joining(2, OPEN)) == [
        BatchChangeView(at=write_time(2), what="joined", by="Hub/batched", messages=2)
    ]


def test_somebody_who_acts_is_named_with_the_reason() -> None:
    held = BatchesChanged(2, CLERK, BATCHER, "held", (OPEN,), reason="stocktaking")
    assert told(joining(1, OPEN), held, joining(3, OPEN)) == [
        BatchChangeView(at=write_time(1), what="joined", by="Hub/batched", messages=1),
        BatchChangeView(at=write_time(2), what="held", by=CLERK, detail="stocktaking"),
        BatchChangeView(at=write_time(3), what="joined", by="Hub/batched", messages=1),
    ]


def test_a_message_of_the_next_batch_may_have_closed_it() -> None:
    [change] = told(joining(1, replace(OPEN, id=NEXT), CLOSED))
    assert change == BatchChangeView(at=write_time(1), what="closed", by="Hub/batched", detail=CLOSED.why)


def test_a_message_that_begins_the_applications_batch_anew_may_have_suspended_it() -> None:
    suspended = replace(OPEN, state=BatchState.SUSPENDED, why="its application restarted it")
    [change] = told(joining(1, replace(OPEN, id=NEXT), suspended))
    assert (change.what, change.detail) == ("suspended", suspended.why)


def test_members_leave_or_fall_with_their_batch() -> None:
    left = DeliveriesEnded(1, CLERK, "failed", "ordered twice", (1,), batch=OPEN)
    dropped = DeliveriesEnded(2, CLERK, "failed", "by fax", (2, 3), batch=replace(OPEN, state=BatchState.DROPPED))
    assert [(one.what, one.messages, one.detail) for one in told(left, dropped)] == [
        ("left", 1, "ordered twice"),
        ("dropped", 2, "by fax"),
    ]


def test_nothing_is_told_of_what_has_nothing_to_do_with_it() -> None:
    assert told(AccessRecorded(1, CLERK, "payload.read", "")) == []
