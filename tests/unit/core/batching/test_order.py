"""Members stand in the order that their policy wants."""

from __future__ import annotations

import pytest

from postroad.core.batching import arrival_of, order_members
from postroad.core.model.batch import BatchMember
from postroad.core.model.batch_policy import BatchPolicy, SortKey
from postroad.core.model.rule import ValueType
from tests.samples.conditions import body, header
from tests.unit.core.batching.gathering import message

REGION, TOTAL = SortKey(place=header("properties.region")), body("/o/total")


def ordered(policy: BatchPolicy, *messages: tuple[str, str]) -> list[int]:
    members = []
    for number, (region, total) in enumerate(messages, 1):
        subject = message(
            f"<o><total>{total}</total></o>" if total else "<o/>", **({"region": region} if region else {})
        )
        members.append(arrival_of(policy, subject, BatchMember(number=number, bytes=1)).member)
    return [member.number for member in order_members(policy, reversed(members))]


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("sort_by", "expected"),
    [
        ((), [1, 2, 3, 4, 5]),
        ((REGION,), [2, 4, 1, 3, 5]),
        ((SortKey(place=TOTAL, type=ValueType.NUMBER),), [2, 1, 4, 3, 5]),
        ((SortKey(place=TOTAL, type=ValueType.NUMBER, descending=True),), [1, 4, 2, 3, 5]),
        ((SortKey(place=TOTAL),), [1, 4, 2, 5, 3]),
        ((REGION, SortKey(place=TOTAL, type=ValueType.NUMBER, descending=True)), [4, 2, 1, 3, 5]),
        ((SortKey(place=header("properties.region"), descending=True), SortKey(place=TOTAL)), [1, 3, 4, 2, 5]),
    ],
)
def test_members_are_sorted_by_several_values_of_header_and_body(
    sort_by: tuple[SortKey, ...], expected: list[int]
) -> None:
    """Equal ones stay as they came; those without a value, or with one of another type, come last either way."""
    policy = BatchPolicy(count=9, sort_by=sort_by)
    assert ordered(policy, ("US", "100"), ("EU", "9"), ("US", ""), ("EU", "100.0"), ("", "none")) == expected


def test_members_that_came_under_another_policy_have_no_value_and_come_last() -> None:
    early = arrival_of(BatchPolicy(count=9), message(region="A"), BatchMember(number=1, bytes=1)).member
    late = arrival_of(BatchPolicy(sort_by=(REGION,)), message(region="B"), BatchMember(number=2, bytes=1)).member
    assert order_members(BatchPolicy(sort_by=(REGION,)), [early, late]) == [late, early]
