"""A service that is kept from the requester is not named to it when it fails on the way back of a response."""

from __future__ import annotations

import pytest

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.message import Message, MessageType, Status
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.core.visibility.isolation import anonymous_service_label
from tests.unit.flow.stages.ways import BUYER, SUPPLY, WORK, Town, town


async def brought_in_by_the_responder(at: Town) -> None:
    await at.rule(SUPPLY, RuleRole.SENDER, ActionKind.ADD_SERVICE_AFTER, isolates=True)
    assert await at.post() is None


async def asking_to_see_it_again(at: Town) -> None:
    await at.change(WORK, returns=True)
    await at.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
    assert await at.post() is None
    assert await at.answer(WORK) is None


@pytest.mark.req("R12", "R13", "Z5")
@pytest.mark.parametrize("way", [brought_in_by_the_responder, asking_to_see_it_again])
@pytest.mark.parametrize("answers", [True, False])
async def test_the_error_response_does_not_say_who_it_was(way: object, answers: bool) -> None:
    async with town() as at:
        await way(at)  # type: ignore[operator]
        assert await at.answer(SUPPLY) is None
        [passing] = await at.poll(WORK)
        if answers:
            error = Message(type=MessageType.RESPONSE, reference=passing.token, status=Status("broken", "as ever"))
            await at.network.post(at.caller(WORK), error)
        else:
            found = await at.network.desk.find(at.network.tokens.number(passing.token) or 0)
            assert found is not None
            assert (
                anonymous_service_label(found.queued, at.network.directory)
                == f"A service on the way back from {SUPPLY}"
            )
            await at.network.ending.give_up(
                found.queued, "failed", make_reason("push.nothing-listens", host="hooks.transmatics.example")
            )
        status = await at.told(BUYER)
        assert status is not None
        assert status.code == "route.failed"
        assert "transmatics" not in status.text.casefold()
        assert "as ever" not in status.text, "nor what it said, which may tell"
