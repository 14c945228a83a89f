"""Policies that cannot do what they say are refused when they are saved."""

from __future__ import annotations

import pytest

from postroad.core.batching import check_policy
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Port, SortKey, Types
from postroad.core.model.directory import DeliveryWindow
from postroad.errors import Refused
from tests.samples.conditions import body, compare, header
from tests.unit.core.batching.gathering import UTC_PORT

EVENINGS = Port(time_zone="Europe/Berlin", windows=(DeliveryWindow(opens="18:00", closes="20:00"),))


@pytest.mark.parametrize(
    "policy",
    [
        BatchPolicy(count=100),
        BatchPolicy(cron=("0 18 * * 1-5",), empty=Empty.SEND),
        BatchPolicy(before_close_s=0, empty=Empty.SEND),
        BatchPolicy(types=Types.IN_TURN),
        BatchPolicy(controlled=Controlled()),
        BatchPolicy(
            count=5, bytes=10, age_s=1, idle_s=1, group_by=(header("topic"),), sort_by=(SortKey(place=body("$.a")),)
        ),
    ],
)
def test_what_closes_its_batches_is_accepted(policy: BatchPolicy) -> None:
    check_policy(policy, EVENINGS)


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("policy", "pointer", "said"),
    [
        (BatchPolicy(), "", "no criterion would close a batch"),
        (BatchPolicy(types=Types.APART), "", "no criterion would close a batch"),
        (BatchPolicy(count=-1), "/count", "from 0 to 1000000"),
        (BatchPolicy(age_s=10**9), "/age_s", "from 0 to"),
        (BatchPolicy(cron=("nonsense",)), "/cron", "has 1 fields"),
        (BatchPolicy(cron=("@daily",) * 51), "/cron", "at most 50"),
        (BatchPolicy(before_close_s=60), "/before_close_s", "no delivery window that closes"),
        (BatchPolicy(count=5, empty=Empty.SEND), "/empty", "set a schedule"),
        (BatchPolicy(cron=("@daily",), empty=Empty.SEND, types=Types.APART), "/empty", "cannot be grouped"),
        (BatchPolicy(count=5, group_by=(header("nothing"),)), "/group_by/0", "the header has no field"),
        (BatchPolicy(count=5, sort_by=(SortKey(place=header("topic")),) * 11), "/sort_by", "at most 10"),
        (BatchPolicy(last=compare("lessThan", header("topic"), "x", kind="number")), "/last", "is not a number"),
        (BatchPolicy(count=5, takes=compare("matches", header("topic"), "(")), "/takes", "pattern"),
        (BatchPolicy(controlled=Controlled(unfinished_after_s=0)), "/unfinished_after_s", "from 1 to"),
        (BatchPolicy(controlled=Controlled(end_property="BatchID")), "/controlled", "different names"),
    ],
)
def test_what_cannot_be_used_is_refused_where_it_is_wrong(policy: BatchPolicy, pointer: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        check_policy(policy, UTC_PORT)
    assert (refused.value.code, refused.value.pointer) == ("batching.invalid", pointer)
