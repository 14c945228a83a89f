"""A service that is kept from the requester is not named to it when it fails on the way back of a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.message import Status
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.core.visibility.isolation import anonymous_service_label
from tests.samples.inclusions import BUYER, SUPPLY, WORK, InclusionScenario


async def brought_in_by_the_responder(at: InclusionScenario) -> None:
    await at.include(SUPPLY, RuleRole.SENDER, ActionKind.ADD_SERVICE_AFTER, isolates=True)
    assert await at.try_post() is None


async def asking_to_see_it_again(at: InclusionScenario) -> None:
    await at.change(WORK, returns=True)
    await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
    assert await at.try_post() is None
    assert await at.try_respond(WORK) is None


@pytest.mark.req("R12", "R13", "Z5")
@pytest.mark.parametrize("inclusion", [brought_in_by_the_responder, asking_to_see_it_again])
@pytest.mark.parametrize("answers", [True, False])
async def test_the_error_response_does_not_name_the_isolated_service_that_failed(
    inclusion: Callable[[InclusionScenario], Awaitable[None]], answers: bool
) -> None:
    async with InclusionScenario() as at:
        await inclusion(at)
        assert await at.try_respond(SUPPLY) is None
        [passing] = await at.poll(WORK)
        if answers:
            await at.respond(passing, status=Status("broken", "as ever"))
        else:
            found = await at.network.desk.find(at.number(passing))
            assert found is not None
            assert (
                anonymous_service_label(found.queued, at.network.directory)
                == f"A service on the way back from {SUPPLY}"
            )
            await at.network.ending.give_up(
                found.queued, "failed", make_reason("push.nothing-listens", host="hooks.transmatics.example")
            )
        status = await at.status(BUYER)
        assert status is not None
        assert status.code == "route.failed"
        assert "transmatics" not in status.text.casefold()
        assert "as ever" not in status.text, "nor what it said, which may tell"
