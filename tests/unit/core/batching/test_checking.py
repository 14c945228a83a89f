"""Policies that cannot do what they say are refused when they are saved."""

from __future__ import annotations

import pytest

from postroad.core.batching import check_policy
from postroad.core.model.batch_policy import Controlled, Empty, Policy, Port, SortKey, Types
from postroad.core.model.directory import Window
from postroad.errors import Refused
from tests.unit.core.batching.gathering import UTC_PORT
from tests.unit.core.routing.looking import body, compare, header

EVENINGS = Port(time_zone="Europe/Berlin", windows=(Window(opens="18:00", closes="20:00"),))


@pytest.mark.parametrize(
    "policy",
    [
        Policy(count=100),
        Policy(cron=("0 18 * * 1-5",), empty=Empty.SEND),
        Policy(before_close_s=0, empty=Empty.SEND),
        Policy(types=Types.IN_TURN),
        Policy(controlled=Controlled()),
        Policy(
            count=5, bytes=10, age_s=1, idle_s=1, group_by=(header("topic"),), sort_by=(SortKey(place=body("$.a")),)
        ),
    ],
)
def test_what_closes_its_batches_is_accepted(policy: Policy) -> None:
    check_policy(policy, EVENINGS)


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("policy", "pointer", "said"),
    [
        (Policy(), "", "nothing ever closes such a batch"),
        (Policy(types=Types.APART), "", "nothing ever closes such a batch"),
        (Policy(count=-1), "/count", "from 0 to 1000000"),
        (Policy(age_s=10**9), "/age_s", "from 0 to"),
        (Policy(cron=("nonsense",)), "/cron", "has 1 fields"),
        (Policy(cron=("@daily",) * 51), "/cron", "at most 50"),
        (Policy(before_close_s=60), "/before_close_s", "no delivery window that closes"),
        (Policy(count=5, empty=Empty.SEND), "/empty", "give a schedule"),
        (Policy(cron=("@daily",), empty=Empty.SEND, types=Types.APART), "/empty", "which group is empty"),
        (Policy(count=5, group_by=(header("nothing"),)), "/group_by/0", "the header has no item"),
        (Policy(count=5, sort_by=(SortKey(place=header("topic")),) * 11), "/sort_by", "at most 10"),
        (Policy(last=compare("lessThan", header("topic"), "x", kind="number")), "/last", "is not a number"),
        (Policy(count=5, takes=compare("matches", header("topic"), "(")), "/takes", "pattern"),
        (Policy(controlled=Controlled(unfinished_after_s=0)), "/unfinished_after_s", "from 1 to"),
        (Policy(controlled=Controlled(end_property="BatchID")), "/controlled", "three properties"),
    ],
)
def test_what_cannot_be_used_is_refused_where_it_is_wrong(policy: Policy, pointer: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        check_policy(policy, UTC_PORT)
    assert (refused.value.code, refused.value.pointer) == ("batching.invalid", pointer)
