"""A policy on the bench makes the batches that a batcher makes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.core.batching import arrival_of
from postroad.core.batching.policy_trial import try_policy
from postroad.core.model.batch import BatchMember, BatchState
from postroad.core.model.batch_policy import BatchPolicy, SortKey, Types
from postroad.core.model.rule import Comparing, MessageSection, ValueComparison, ValueLocation, ValueType
from tests.unit.core.batching.gathering import UTC_PORT, Batcher, at, message

REGION = ValueLocation(where=MessageSection.HEADER, path="properties.region")
WEST = ValueComparison(operator=Comparing.EQUALS, place=REGION, values=("west",))
COMING = st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["850", "860"]), st.sampled_from(["west", "east"])))
POLICIES = st.builds(
    BatchPolicy, count=st.integers(0, 3), bytes=st.sampled_from([0, 25]), age_s=st.sampled_from([0, 50]),
    idle_s=st.sampled_from([0, 30]),
    types=st.sampled_from(Types), group_by=st.sampled_from([(), (REGION,)]), takes=st.sampled_from([None, WEST]),
)  # fmt: skip


@given(POLICIES, COMING)
def test_a_trial_makes_what_a_batcher_makes(policy: BatchPolicy, coming: list[tuple[int, str, str]]) -> None:
    batcher, arrivals, now = Batcher(policy), [], 0
    for number, (after, kind, region) in enumerate(coming, 1):
        now += after
        subject = message(region=region)
        batcher.take(now, kind=kind, subject=subject)
        arrivals.append((arrival_of(policy, subject, BatchMember(number=number, bytes=10, kind=kind)), at(now)))
    tried = try_policy(policy, UTC_PORT, arrivals)
    assert tried.aside == batcher.alone
    assert [[member.number for member in one.members] for one in tried.batches] == list(batcher.members.values())
    closed = [one.batch for one in tried.batches if one.batch.state is BatchState.CLOSED]
    assert sorted((one.why, one.count) for one in closed) == sorted((one.why, one.count) for one in batcher.done)


def test_members_stand_in_the_order_of_the_interchange() -> None:
    policy = BatchPolicy(count=3, sort_by=(SortKey(place=REGION, type=ValueType.NUMBER, descending=True),))
    regions = ("1", "10", "9")
    subjects = [message(region=region) for region in regions]
    coming = [
        (arrival_of(policy, subject, BatchMember(number=number, bytes=1)), at(0))
        for number, subject in enumerate(subjects)
    ]
    (only,) = try_policy(policy, UTC_PORT, coming).batches
    assert [member.number for member in only.members] == [1, 2, 0]
    assert only.batch.state is BatchState.CLOSED
