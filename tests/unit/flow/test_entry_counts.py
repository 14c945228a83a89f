"""Each durable entry is counted once, for what it means."""

from __future__ import annotations

from postroad.core.metrics.registry import Metrics
from postroad.core.model.journal import (
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesReturned,
    DeliveryAttempted,
    Entry,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
)
from postroad.core.model.message import MessageType
from postroad.core.model.reason import Reason
from postroad.core.model.route import Copy, Hop
from postroad.errors import Unavailable
from postroad.flow.entry_counts import EntryCounts
from postroad.ports import Committed, Conflict, JournalStep, StepOutcome

HERE = Hop("00" * 8)


def post(*, form: str = "json", refused: int = 0, ends: JourneyEnding | None = None) -> MessagePosted:
    copies = (*[Copy("x", (), "recipient.unknown", "")] * refused, Copy("x", (HERE,)))
    return MessagePosted(
        at_us=1, session="s", transaction="s", sender="b", type=MessageType.NOTIFICATION, topic="", size=7, form=form,
        expires_at_us=0, directory=1, parts=(), copies=copies, ends=ends, wire_size=100,
    )  # fmt: skip


def counted(*entries: Entry, outcome: StepOutcome | None = None) -> Metrics:
    metrics = Metrics()
    steps = [JournalStep(entry) for entry in entries]
    EntryCounts(metrics).count(steps, [outcome or Committed(1)] * len(steps))
    return metrics


def test_posts_are_counted_by_form_with_their_bytes_and_copies() -> None:
    metrics = counted(post(), post(form="soap11", refused=2), post(form="a form of tomorrow"))
    assert metrics.value("posts_total", "accepted", "json") == 1
    assert metrics.value("posts_total", "accepted", "soap11") == 1
    assert metrics.value("posts_total", "accepted", "other") == 1
    assert metrics.value("post_bytes_total") == 300
    assert metrics.value("deliveries_total") == 3
    assert metrics.value("journal_entries_total") == 3


def test_an_old_entry_counts_its_documents() -> None:
    old = MessagePosted(1, "s", "s", "b", MessageType.NOTIFICATION, "", 7, "json", 0, 1, (), ())
    assert counted(old).value("post_bytes_total") == 7


def test_refusals_are_counted_by_code() -> None:
    metrics = counted(MessageRefused(1, "s", "b", "wire.malformed", "", 0, ""))
    assert metrics.value("posts_total", "refused", "other") == 1
    assert metrics.value("post_refusals_total", "wire.malformed") == 1


def test_ends_are_counted_by_state_and_dead_letters_by_cause() -> None:
    failed = DeliveriesEnded(1, "network", "failed", "", (1, 2), why=Reason("push.timeout"))
    without = DeliveriesEnded(1, "network", "failed", "", (3,))
    expired = DeliveriesEnded(1, "network", "expired", "", (4, 5, 6))
    answered = post(ends=JourneyEnding(1, 2, "failed", "", Reason("route.failed")))
    metrics = counted(failed, without, expired, answered, DeliveriesAcknowledged(1, "b", (7, 8)))
    ended = {state: metrics.value("deliveries_ended_total", state) for state in ("failed", "expired", "delivered")}
    assert ended == {"failed": 4, "expired": 3, "delivered": 2}
    causes = {cause: metrics.value("dead_letters_total", cause) for cause in ("push", "route", "other")}
    assert causes == {"push": 2, "route": 1, "other": 1}


def test_returns_and_failed_pushes_are_counted() -> None:
    metrics = counted(
        DeliveriesReturned(1, "b", "", 0.0, (1, 2)),
        DeliveryAttempted(1, "b", (3,), 503, 20, "", 1.0),
        DeliveryAttempted(1, "b", (4,), 202, 20, "", 1.0),  # its MDN is still to come
    )
    assert metrics.value("returned_deliveries_total", "returned") == 2
    assert metrics.value("returned_deliveries_total", "push") == 1


def test_what_was_not_written_is_not_counted_but_turned_away_posts_are() -> None:
    metrics = counted(post(), DeliveriesAcknowledged(1, "b", (7,)), outcome=Unavailable("storage.full", "no room"))
    assert metrics.value("posts_total", "unavailable", "json") == 1
    assert metrics.value("deliveries_ended_total", "delivered") == metrics.value("journal_entries_total") == 0
    repeated = counted(post(), outcome=Conflict(1, 1, "s"))
    assert (
        repeated.value("posts_total", "accepted", "json") == repeated.value("posts_total", "unavailable", "json") == 0
    )
