"""Suspension: from one moment on nothing passes through a service, on whatever way; what is stored waits, and then goes on."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.journal import ConfigurationChanged
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.errors import Refused
from postroad.flow.administration import services as changes
from tests.samples.inclusions import (
    BUYER,
    FIRST,
    INCLUSIONS,
    SUPPLY,
    WORK,
    Inclusion,
    InclusionScenario,
    by_a_dynamic_rule_on_the_way,
    by_a_rule_on_the_way_back,
)
from tests.unit.flow.stages.polls import until_a_poll_waits

OPERATOR = Caller(person=Person(email="op@network.example", operator=True))
NAMES = ["Transmatics/Work", "Transmatics"]


async def suspend(at: InclusionScenario, name: str, reason: str = "unpaid bills", by: Caller = OPERATOR) -> None:
    """A service or an organization; without a reason it takes part again."""
    find = changes.service_finder(by, name) if "/" in name else changes.organization_finder(by, name)
    await changes.suspend(at.administration, by, find, reason)


@pytest.mark.req("N11")
@pytest.mark.parametrize(
    ("inclusion", "name"),
    [
        (inclusion, name)
        for inclusion in INCLUSIONS
        for name in NAMES
        # The first would also stop First, of the same organization; of the second both ends are told, which is tested below.
        if (inclusion, name) != (by_a_dynamic_rule_on_the_way, "Transmatics")
        and inclusion is not by_a_rule_on_the_way_back
    ],
)
async def test_every_way_through_a_suspended_service_is_closed(inclusion: Inclusion, name: str) -> None:
    async with InclusionScenario() as at:
        await suspend(at, name)
        refusal = await inclusion(at)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        assert f"{WORK} is suspended" in refusal.detail
        await suspend(at, name, "")
        assert await at.try_post(WORK) is None


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", NAMES)
async def test_a_way_back_through_a_suspended_service_is_closed_and_both_ends_are_notified(name: str) -> None:
    async with InclusionScenario() as at:
        await suspend(at, name)
        refusal = await by_a_rule_on_the_way_back(at)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        status = await at.status()
        assert status is not None
        assert status.code == "route.failed"


@pytest.mark.req("N11", "R13")
@pytest.mark.parametrize("isolates", [False, True])
async def test_a_response_cannot_return_through_a_suspended_service(isolates: bool) -> None:
    async with InclusionScenario() as at:
        await at.change(WORK, returns=True)
        await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=isolates)
        assert await at.try_post() is None
        assert await at.try_respond(WORK) is None
        await suspend(at, WORK)
        refusal = await at.try_respond(SUPPLY)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        status = await at.status()
        assert status is not None
        assert (status.code, WORK in status.text) == ("route.failed", not isolates)


@pytest.mark.req("N11")
async def test_an_isolated_service_that_is_suspended_is_not_named() -> None:
    async with InclusionScenario() as at:
        await at.include(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
        await suspend(at, WORK)
        refusal = await at.try_post()
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        assert "Transmatics" not in refusal.detail


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", ["MyBiz", BUYER])
async def test_a_suspended_sender_posts_nothing(name: str) -> None:
    async with InclusionScenario() as at:
        await suspend(at, name)
        refusal = await at.try_post()
        assert refusal is not None
        assert refusal.code == "sender.suspended"
        await suspend(at, name, "")
        assert await at.try_post() is None


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", ["Acme", SUPPLY])
async def test_messages_of_a_suspended_recipient_wait_until_the_suspension_ends(name: str) -> None:
    async with InclusionScenario() as at:
        for _ in range(3):
            assert await at.try_post() is None
        [leased] = await at.poll(SUPPLY, max=1)
        await suspend(at, name)
        with pytest.raises(Refused, match=r"service\.suspended"):
            await at.poll(SUPPLY)
        with pytest.raises(Refused, match=r"sender\.suspended"):
            await at.respond(leased)
        settled = await at.acknowledge(leased)
        assert settled.settled[0].code == ""  # what it has, it may say that it has
        await suspend(at, name, "")
        assert len(await at.poll(SUPPLY)) == 2


@pytest.mark.req("N11")
async def test_a_waiting_poll_of_a_suspended_service_is_refused() -> None:
    async with InclusionScenario() as at:
        assert await at.try_post(SUPPLY, FIRST) is None
        waiting = asyncio.create_task(at.poll(SUPPLY, wait_s=60))
        await until_a_poll_waits(at.network, at.caller(SUPPLY))
        await suspend(at, SUPPLY)
        assert await at.try_respond(FIRST) is None  # now something is there
        with pytest.raises(Refused, match=r"service\.suspended"):
            await asyncio.wait_for(waiting, 30)
        await suspend(at, SUPPLY, "")
        assert len(await at.poll(SUPPLY)) == 1


@pytest.mark.req("N11")
async def test_a_message_on_its_way_waits_at_a_service_that_is_suspended_meanwhile() -> None:
    async with InclusionScenario() as at:
        assert await at.try_post(SUPPLY, FIRST, WORK) is None
        await suspend(at, WORK)
        assert await at.try_respond(FIRST) is None  # it was accepted with this route, so it goes on
        assert await at.status() is None
        await suspend(at, WORK, "")
        assert await at.try_respond(WORK) is None
        assert len(await at.poll(SUPPLY)) == 1


@pytest.mark.req("N11")
async def test_a_response_waits_for_a_requester_that_is_suspended_meanwhile() -> None:
    async with InclusionScenario() as at:
        assert await at.try_post() is None
        await suspend(at, "MyBiz")
        assert await at.try_respond(SUPPLY) is None
        with pytest.raises(Refused, match=r"service\.suspended"):
            await at.poll(BUYER)
        await suspend(at, "MyBiz", "")
        assert len(await at.poll(BUYER)) == 1


@pytest.mark.req("N11")
async def test_a_suspension_is_recorded_with_its_operator_and_reason() -> None:
    async with InclusionScenario() as at:
        await suspend(at, "Acme", "abuse of the directory")
        await suspend(at, "Acme", "")
        changed = (await at.entries(ConfigurationChanged))[-2:]
        assert [(entry.by, entry.reason) for entry in changed] == [
            ("op@network.example", "suspended: abuse of the directory"),
            ("op@network.example", "suspension ended"),
        ]


@pytest.mark.req("N11")
async def test_only_operators_suspend() -> None:
    async with InclusionScenario() as at:
        owner = await at.person("owner@acme.example", "Acme")
        for name in ("Acme", SUPPLY):
            for reason in ("for fun", ""):
                with pytest.raises(Refused, match=r"permission\.denied"):
                    await suspend(at, name, reason, owner)


@pytest.mark.req("N11")
async def test_an_owner_cannot_shake_a_suspension_off_by_removing_the_service() -> None:
    async with InclusionScenario() as at:
        owner = await at.person("owner@acme.example", "Acme")
        await suspend(at, SUPPLY)
        with pytest.raises(Refused, match=r"permission\.denied"):
            await changes.remove(at.administration, owner, SUPPLY, None)
        await changes.remove(at.administration, OPERATOR, SUPPLY, None)
        assert at.network.directory.service(SUPPLY) is None
