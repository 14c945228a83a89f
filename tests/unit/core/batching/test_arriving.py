"""Messages come to a batcher: every criterion closes its batch, the first one wins, and none is lost between two batches."""

from __future__ import annotations

import pytest

from postroad.core.batching.arrival import arrival_of, arrival_without_content
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Port, Types, Unfinished
from postroad.core.model.directory import DeliveryWindow
from tests.samples.conditions import body, compare, header
from tests.unit.core.batching.gathering import Batcher, at, message


def kept(batch: Batch | None) -> Batch:
    assert batch is not None
    return batch


@pytest.mark.req("B1", "B2")
def test_a_batch_is_complete_with_its_last_message_and_the_next_opens_another() -> None:
    batcher = Batcher(BatchPolicy(count=3))
    batcher.take_all(range(7))
    assert batcher.gone == [([1, 2, 3], "count"), ([4, 5, 6], "count")]
    assert [batch.count for batch in batcher.open.values()] == [1]
    assert [batch.id for batch in batcher.done] == ["b1", "b2"]


@pytest.mark.parametrize(
    "policy", [BatchPolicy(count=9, group_by=(body("/o/day"),)), BatchPolicy(controlled=Controlled())]
)
def test_what_members_have_in_common_may_be_a_book_and_is_not_kept_as_one(policy: BatchPolicy) -> None:
    batcher, book = Batcher(policy), "x" * 100_000
    for day in (book, book + "y", book, "x" * 200):
        batcher.take(subject=message(f"<o><day>{day}</day></o>", BatchID=day))
    assert sorted(batch.count for batch in batcher.open.values()) == [1, 1, 2]
    assert all(len(key[1]) <= 266 and key[1].startswith("x" * 200) for key in batcher.open)


@pytest.mark.req("B1")
def test_a_batch_never_has_more_bytes_than_allowed_but_one_message_that_is_larger_by_itself() -> None:
    batcher = Batcher(BatchPolicy(bytes=100))
    for size in (60, 40, 60, 41, 500, 10):
        batcher.take(size=size)
    assert batcher.gone == [([1, 2], "bytes"), ([3], "bytes"), ([4], "bytes"), ([5], "bytes")]
    assert [batch.bytes for batch in batcher.done] == [100, 60, 41, 500]


@pytest.mark.req("B1")
def test_the_time_since_the_first_message_closes_a_batch_however_many_follow() -> None:
    batcher = Batcher(BatchPolicy(age_s=60))
    batcher.take_all([0, 30, 59.9, 60, 70])
    assert batcher.gone == [([1, 2, 3], "age")]
    assert batcher.done[0].closed_at_us == at(60)


@pytest.mark.req("B1")
def test_idle_time_counts_from_the_latest_message() -> None:
    batcher = Batcher(BatchPolicy(idle_s=60))
    batcher.take_all([0, 50, 100, 161])
    assert batcher.gone == [([1, 2, 3], "idle")]
    assert batcher.done[0].closed_at_us == at(160)


@pytest.mark.req("B1")
def test_a_schedule_closes_what_has_come_before_it() -> None:
    batcher = Batcher(BatchPolicy(cron=("0 12 * * *", "30 9 * * *")))  # the first message comes at 8
    batcher.take_all([0, 5_399, 5_400, 14_400])
    assert batcher.gone == [([1, 2], "schedule"), ([3], "schedule")]
    assert [batch.closed_at_us for batch in batcher.done] == [at(5_400), at(14_400)]
    assert batcher.done[0].why == "the schedule 30 9 * * *"


@pytest.mark.req("B1")
def test_a_batch_goes_before_the_delivery_window_closes() -> None:
    port = Port(time_zone="Europe/Berlin", windows=(DeliveryWindow(opens="08:00", closes="10:00"),))
    batcher = Batcher(BatchPolicy(before_close_s=600), port)  # it closes at 9 by UTC, an hour from now
    batcher.take_all([0, 2_999, 3_000])
    assert batcher.gone == [([1, 2], "window")]
    assert batcher.done[0].closed_at_us == at(3_000)
    assert [batch.opened_at_us for batch in batcher.open.values()] == [at(3_000)]


@pytest.mark.req("B1")
def test_a_message_of_which_the_condition_holds_is_the_last() -> None:
    batcher = Batcher(BatchPolicy(count=10, last=compare("greaterThan", body("/o/total"), "1000", kind="number")))
    for total in (5, 2_000, 7):
        batcher.take(subject=message(f"<o><total>{total}</total></o>"))
    assert batcher.gone == [([1, 2], "condition")]


@pytest.mark.req("B1")
def test_the_first_criterion_wins() -> None:
    policy = BatchPolicy(count=3, bytes=50, age_s=100, idle_s=40)
    batcher = Batcher(policy)
    for second, size in [(0, 10), (1, 10), (2, 10), (10, 30), (11, 30), (20, 1), (60, 1), (95, 1), (130, 1), (165, 1)]:
        batcher.take(second, size=size)
    assert batcher.gone == [([1, 2, 3], "count"), ([4], "bytes"), ([5, 6], "idle"), ([7, 8, 9], "count")]


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (Types.TOGETHER, [[1, 2, 3]]),
        (Types.APART, [[1, 2, 4], [3, 5, 6]]),
        (Types.IN_TURN, [[1, 2], [3], [4], [5, 6, 7]]),
    ],
)
def test_types_come_together_apart_or_in_turn(types: Types, expected: list[list[int]]) -> None:
    batcher = Batcher(BatchPolicy(count=3, types=types))
    for kind in ("850", "850", "860", "850", "860", "860", "860"):
        batcher.take(kind=kind)
    assert [members for members, _ in batcher.gone][: len(expected)] == expected


@pytest.mark.req("B1")
def test_messages_that_have_the_same_values_go_together() -> None:
    batcher = Batcher(BatchPolicy(count=2, group_by=(header("properties.region"), body("/o/day"))))
    for region, days in [("EU", "1"), ("US", "1"), ("EU", "2"), ("EU", "1"), ("US", "1")]:
        batcher.take(subject=message(f"<o><day>{days}</day></o>", region=region))
    assert [members for members, _ in batcher.gone] == [[1, 4], [2, 5]]
    assert list(batcher.open) == [("group", "EU", "2")]


def test_none_one_and_several_values_are_different_groups() -> None:
    batcher = Batcher(BatchPolicy(count=9, group_by=(body("/o/day"),)))
    for days in ("", "<day>a</day><day>b</day>", '<day>["a","b"]</day>', "<day>[]</day>"):
        batcher.take(subject=message(f"<o>{days}</o>"))
    assert len(batcher.open) == 4


@pytest.mark.req("B1")
def test_what_a_policy_does_not_take_goes_by_itself() -> None:
    policy = BatchPolicy(count=2, takes_types=("850",), takes=compare("equals", header("properties.region"), "EU"))
    batcher = Batcher(policy)
    for kind, region in [("850", "EU"), ("860", "EU"), ("850", "US"), ("850", "EU")]:
        batcher.take(kind=kind, subject=message(region=region))
    assert (batcher.gone, batcher.alone) == ([([1, 4], "count")], [2, 3])


@pytest.mark.req("B1")
def test_a_changed_policy_holds_from_the_next_message_on() -> None:
    batcher = Batcher(BatchPolicy(count=100))
    batcher.take_all(range(5))
    batcher.policy = BatchPolicy(count=6)
    batcher.take(6)
    batcher.policy = BatchPolicy(age_s=10)
    batcher.take_all([7, 18])
    assert batcher.gone == [([1, 2, 3, 4, 5, 6], "count"), ([7], "age")]


@pytest.mark.req("B3")
def test_the_application_says_which_batch_and_where_it_ends() -> None:
    batcher = Batcher(BatchPolicy(controlled=Controlled(), count=2))
    for name, marks in [
        ("A", {"BatchStart": "true"}),
        ("B", {}),
        ("A", {}),
        ("A", {"BatchEnd": "1"}),
        ("B", {}),
        ("B", {}),
    ]:
        batcher.take(subject=message(BatchID=name, **marks))
    assert batcher.gone == [([1, 3, 4], "end")]
    assert [(key, batch.count) for key, batch in batcher.open.items()] == [(("batch", "B"), 3)]


@pytest.mark.req("B3")
def test_messages_that_name_no_batch_follow_the_other_criteria_or_go_by_themselves() -> None:
    with_count, without = (
        Batcher(BatchPolicy(controlled=Controlled(), count=2)),
        Batcher(BatchPolicy(controlled=Controlled())),
    )
    for batcher in (with_count, without):
        batcher.take(subject=message())
        batcher.take(subject=message())
    assert (with_count.gone, without.alone) == ([([1, 2], "count")], [1, 2])


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("unfinished", "state"), [(Unfinished.SEND, BatchState.CLOSED), (Unfinished.SUSPEND, BatchState.SUSPENDED)]
)
def test_a_batch_that_is_not_ended_in_time_is_sent_or_suspended(unfinished: Unfinished, state: BatchState) -> None:
    controlled = Controlled(id_property="Run", unfinished_after_s=60, unfinished=unfinished)
    batcher = Batcher(BatchPolicy(controlled=controlled))
    batcher.take(0, subject=message(Run="7"))
    later = batcher.take(60, subject=message(Run="7"))
    assert [(batch.state, batch.closed_by) for batch in batcher.done] == [(state, Criterion.UNFINISHED)]
    assert kept(later.batch).count == 1


@pytest.mark.req("B3")
def test_a_batch_that_begins_anew_leaves_the_earlier_one_unfinished() -> None:
    batcher = Batcher(BatchPolicy(controlled=Controlled()))
    batcher.take(0, subject=message(BatchID="A"))  # overtook its first message
    batcher.take(1, subject=message(BatchID="A", BatchStart="true"))
    batcher.take(2, subject=message(BatchID="A", BatchStart="true", BatchEnd="true"))
    assert batcher.gone == [([1, 2], "unfinished"), ([3], "end")]
    assert batcher.done[0].state is BatchState.SUSPENDED
    assert "restarted it" in batcher.done[0].why


def test_a_clock_that_is_set_back_closes_nothing_early_and_makes_nothing_younger() -> None:
    batcher = Batcher(BatchPolicy(idle_s=60))
    batcher.take_all([100, 0, 159, 219])
    assert batcher.gone == [([1, 2, 3], "idle")]
    assert batcher.done[0].closed_at_us == at(219)


def test_a_batch_is_full_when_it_is_full_whatever_the_clock_says() -> None:
    batcher = Batcher(BatchPolicy(count=2))
    batcher.take_all([100, 0, 0])
    assert batcher.gone == [([1, 2], "count")]


@pytest.mark.parametrize(
    "policy",
    [
        BatchPolicy(count=2),
        BatchPolicy(count=2, types=Types.APART),
        BatchPolicy(count=2, takes_types=("850",)),
        BatchPolicy(count=2, takes_types=("860",)),
        BatchPolicy(),
        BatchPolicy(count=2, group_by=(header("topic"),)),
        BatchPolicy(count=2, controlled=Controlled()),
        BatchPolicy(count=2, last=compare("equals", header("topic"), "x")),
        BatchPolicy(count=2, takes=compare("equals", header("topic"), "x")),
    ],
)
def test_what_needs_no_look_at_the_message_is_the_same_without(policy: BatchPolicy) -> None:
    member = BatchMember(number=1, bytes=10, kind="850")
    unseen = arrival_without_content(policy, member)
    assert unseen in (None, arrival_of(policy, message(), member))
    looks = policy.group_by or policy.controlled or policy.last or policy.takes
    assert (unseen is None) == bool(looks)
