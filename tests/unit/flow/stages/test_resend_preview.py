"""What a resend would do is told before, to those who may resend, and nothing is done by telling it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.errors import Refused
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration.dead_letters import DeadLetterSearch, preview, preview_one, resend
from postroad.flow.registries.configuration import build_save
from tests.unit.flow.stages.test_dead_letters import House, house

__all__ = ["house"]  # the fixture


@pytest.mark.req("D7")
async def test_a_preview_says_what_would_go_and_changes_nothing(house: House) -> None:
    numbers = [await house.failed(topic="orders") for _ in range(3)]
    buyer = house.people["buyer"]
    found = await preview(house.network, buyer, DeadLetterSearch(topic="orders", limit=2))
    assert [(one.letter.id, one.refusal) for one in found] == [(numbers[0], None), (numbers[1], None)]
    assert found[0].expires_at_us > house.clock.now_us()
    assert await house.listed("buyer") == numbers
    assert await house.polled() == []


@pytest.mark.req("D7")
async def test_a_preview_says_what_would_be_refused_and_why(house: House) -> None:
    number = await house.failed()
    seller = house.seller.service
    assert seller is not None
    await house.network.configuration.change("test", [build_save(replace(seller, suspended="does not pay"))])
    found = await preview_one(house.network, house.people["buyer"], number)
    assert found.refusal is not None
    assert found.refusal.code == "recipient.suspended"
    with pytest.raises(Refused, match=found.refusal.detail):
        await resend(house.network, house.people["buyer"], number, "")


@pytest.mark.req("D7")
async def test_a_preview_is_for_those_who_may_resend(house: House) -> None:
    number = await house.failed()
    for who, code in (("viewer", "permission.denied"), ("stranger", "not-found")):
        with pytest.raises(Refused) as refused:
            await preview_one(house.network, house.people[who], number)
        assert refused.value.code == code
    assert await preview(house.network, house.people["stranger"], DeadLetterSearch()) == []


async def test_groups_are_counted_up_to_a_limit_that_is_told(house: House) -> None:
    for _ in range(3):
        await house.failed()
    [group], complete = await letters.list_letter_groups(house.network, house.people["buyer"], DeadLetterSearch(), 2)
    assert (group.count, complete) == (2, False)
    [group], complete = await letters.list_letter_groups(house.network, house.people["buyer"], DeadLetterSearch(), 3)
    assert (group.count, complete) == (3, True)
