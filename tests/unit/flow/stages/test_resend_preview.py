"""What a resend would do is told before, to those who may resend, and nothing is done by telling it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from postroad.errors import Refused
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.dead_letters import DeadLetterSearch, preview, preview_one, resend
from tests.samples.failed_orders import SELLER, FailedOrders


@pytest.fixture
async def scenario() -> AsyncIterator[FailedOrders]:
    async with FailedOrders() as scenario:
        yield scenario


@pytest.mark.req("D7")
async def test_a_preview_says_what_would_go_and_changes_nothing(scenario: FailedOrders) -> None:
    numbers = [await scenario.fail_order(topic="orders") for _ in range(3)]
    buyer = scenario.who("buyer")
    found = await preview(scenario.network, buyer, DeadLetterSearch(topic="orders", limit=2))
    assert [(one.letter.id, one.refusal) for one in found] == [(numbers[0], None), (numbers[1], None)]
    assert found[0].expires_at_us > scenario.clock.now_us()
    assert await scenario.listed("buyer") == numbers
    assert await scenario.poll(SELLER) == []


@pytest.mark.req("D7")
async def test_a_preview_says_what_would_be_refused_and_why(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    await scenario.change(SELLER, suspended="does not pay")
    found = await preview_one(scenario.network, scenario.who("buyer"), number)
    assert found.refusal is not None
    assert found.refusal.code == "recipient.suspended"
    with pytest.raises(Refused, match=found.refusal.detail):
        await resend(scenario.network, scenario.who("buyer"), number, "")


@pytest.mark.req("D7")
async def test_a_preview_is_for_those_who_may_resend(scenario: FailedOrders) -> None:
    number = await scenario.fail_order()
    for who, code in (("viewer", "permission.denied"), ("stranger", "not-found")):
        with pytest.raises(Refused) as refused:
            await preview_one(scenario.network, scenario.who(who), number)
        assert refused.value.code == code
    assert await preview(scenario.network, scenario.who("stranger"), DeadLetterSearch()) == []


async def test_groups_are_counted_up_to_a_limit_that_is_told(scenario: FailedOrders) -> None:
    for _ in range(3):
        await scenario.fail_order()
    [group], complete = await letters.list_letter_groups(scenario.network, scenario.who("buyer"), DeadLetterSearch(), 2)
    assert (group.count, complete) == (2, False)
    [group], complete = await letters.list_letter_groups(scenario.network, scenario.who("buyer"), DeadLetterSearch(), 3)
    assert (group.count, complete) == (3, True)
