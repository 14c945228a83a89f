"""Why has it not gone? Every open batch has an answer, and what is overdue is closed as of its time."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postroad.core.batching import close_if_due, find_due, list_criteria, next_empty_batch
from postroad.core.batching.moves import add_member, close_empty_batch, open_batch, pause_batch, suspend_batch
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Port, Recovery
from postroad.core.model.directory import DeliveryWindow
from tests.samples.conditions import compare, header
from tests.unit.core.batching.gathering import UTC_PORT, at


def batch_of(count: int, size: int = 10, seconds: int = 0) -> Batch:
    batch = open_batch("b1", (), at(0))
    for number in range(count):
        batch = add_member(batch, BatchMember(number=number, bytes=size), at(seconds))
    return batch


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("policy", "when", "told"),
    [
        (BatchPolicy(count=100), None, "97 of 100 messages"),
        (BatchPolicy(count=1_000, bytes=1_000), None, "970 of 1000 bytes"),
        (BatchPolicy(count=100, age_s=60), at(60), "it closes at 2026-01-05T08:01:00Z: 60 s after its first message"),
        (BatchPolicy(age_s=60, idle_s=30), at(40), "it closes at 2026-01-05T08:00:40Z: 30 s after its latest message"),
        (
            BatchPolicy(age_s=86_400, cron=("0 18 * * *",)),
            at(36_000),
            "it closes at 2026-01-05T18:00:00Z: the schedule 0 18 * * *",
        ),
        (BatchPolicy(last=compare("exists", header("properties.end"))), None, "a message that meets its condition"),
        (BatchPolicy(), None, "its policy no longer has a criterion; release it, or add a criterion"),
        (BatchPolicy(count=50), at(10), "it closes at 2026-01-05T08:00:10Z: 97 of 50 messages"),
    ],
)
def test_the_nearest_criterion_is_named(policy: BatchPolicy, when: int | None, told: str) -> None:
    nearest = find_due(policy, UTC_PORT, batch_of(97, seconds=10))
    assert (nearest.when_us, nearest.told) == (when, told)


@pytest.mark.req("B1")
def test_every_criterion_can_be_read() -> None:
    port = Port(windows=(DeliveryWindow(opens="08:00", closes="20:00"),))
    policy = BatchPolicy(
        count=5,
        bytes=99,
        age_s=9,
        idle_s=8,
        cron=("@hourly",),
        before_close_s=60,
        last=compare("exists", header("topic")),
    )
    found = list_criteria(policy, port, batch_of(2))
    assert {reading.criterion for reading in found} == {
        Criterion.COUNT, Criterion.BYTES, Criterion.CONDITION, Criterion.AGE, Criterion.IDLE, Criterion.SCHEDULE,
        Criterion.WINDOW,
    }  # fmt: skip


@pytest.mark.req("B3")
def test_a_batch_of_the_applications_waits_for_its_end_alone() -> None:
    policy = BatchPolicy(count=2, age_s=1, controlled=Controlled(end_property="Fin", unfinished_after_s=3_600))
    nearest = find_due(policy, UTC_PORT, replace(batch_of(5), controlled=True))
    assert (nearest.when_us, nearest.criterion) == (at(3_600), Criterion.UNFINISHED)
    assert "unless one with Fin comes" in nearest.why


def test_a_batch_that_is_past_gathering_says_where_it_is() -> None:
    policy, batch = BatchPolicy(count=2, age_s=60), batch_of(1)
    complete = close_if_due(policy, UTC_PORT, pause_batch(batch, at(1)), at(60))
    assert find_due(policy, UTC_PORT, pause_batch(batch, at(1))).told.endswith("then it waits, because it is paused")
    assert (complete.state, complete.why) == (BatchState.CLOSED, "60 s after its first message")
    assert find_due(policy, UTC_PORT, complete).told == "it is complete and paused; resume it"
    assert find_due(policy, UTC_PORT, replace(complete, held=False)).told == "it is closed"
    stopped = suspend_batch(batch, "the partner's server is gone", at(2))
    assert (
        find_due(policy, UTC_PORT, stopped).told == "it is suspended: the partner's server is gone; resume or drop it"
    )


@pytest.mark.req("B1")
def test_what_is_overdue_is_closed_as_of_its_time_however_late_somebody_looks() -> None:
    policy, batch = BatchPolicy(age_s=60, recovery=Recovery.PASS), batch_of(2)
    assert close_if_due(policy, UTC_PORT, batch, at(59.999)) is batch
    late = close_if_due(policy, UTC_PORT, batch, at(100_000))
    assert (late.state, late.closed_by, late.closed_at_us) == (BatchState.CLOSED, Criterion.AGE, at(60))
    assert close_if_due(policy, UTC_PORT, late, at(200_000)) is late


def test_a_policy_that_was_tightened_closes_nothing_before_its_latest_message() -> None:
    batch = batch_of(2, seconds=1_800)
    assert close_if_due(BatchPolicy(age_s=60), UTC_PORT, batch, at(2_000)).closed_at_us == at(1_800)


@pytest.mark.req("B1")
def test_an_empty_batch_goes_at_a_scheduled_time_where_that_was_asked_for() -> None:
    policy = BatchPolicy(cron=("0 18 * * *", "0 12 * * *"), empty=Empty.SEND)
    coming = next_empty_batch(policy, UTC_PORT, at(0))
    assert coming is not None
    assert (coming.when_us, coming.why) == (at(14_400), "the schedule 0 12 * * *")
    assert next_empty_batch(BatchPolicy(cron=("0 12 * * *",)), UTC_PORT, at(0)) is None
    empty = close_empty_batch("b9", coming.why, at(14_400))
    assert (empty.state, empty.count, empty.closed_at_us) == (BatchState.CLOSED, 0, at(14_400))
