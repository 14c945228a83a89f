"""Suspension: from one moment on nothing passes through a service, on whatever way; what is stored waits, and then goes on."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.journal import ConfigurationChanged, decode
from postroad.core.model.message import Message, MessageType
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.rule import ActionKind, RuleRole
from postroad.errors import Refused
from postroad.flow.administration import services as changes
from postroad.flow.administration.base import Administration
from tests.unit.flow.stages.polls import until_a_poll_waits
from tests.unit.flow.stages.ways import (
    BUYER,
    FIRST,
    SUPPLY,
    WAYS,
    WORK,
    Town,
    Way,
    by_a_dynamic_rule_on_the_way,
    by_a_rule_on_the_way_back,
    town,
)

OPERATOR = Caller(person=Person(email="op@network.example", operator=True))
NAMES = ["Transmatics/Work", "Transmatics"]


async def suspend(at: Town, name: str, reason: str = "unpaid bills", by: Caller = OPERATOR) -> None:
    """A service or an organization; without a reason it takes part again."""
    administration = Administration(at.network, at.running.passwords)
    find = changes.service_finder(by, name) if "/" in name else changes.organization_finder(by, name)
    await changes.suspend(administration, by, find, reason)


@pytest.mark.req("N11")
@pytest.mark.parametrize(
    ("way", "name"),
    [
        (way, name)
        for way in WAYS
        for name in NAMES
        # The first would also stop First, of the same house; of the second both ends are told, which is tested below.
        if (way, name) != (by_a_dynamic_rule_on_the_way, "Transmatics") and way is not by_a_rule_on_the_way_back
    ],
)
async def test_every_way_through_a_suspended_service_is_closed(way: Way, name: str) -> None:
    async with town() as at:
        await suspend(at, name)
        refusal = await way(at)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        assert f"{WORK} is suspended" in refusal.detail
        await suspend(at, name, "")
        assert await at.post(WORK) is None


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", NAMES)
async def test_a_way_back_through_it_is_closed_and_both_ends_are_told(name: str) -> None:
    async with town() as at:
        await suspend(at, name)
        refusal = await by_a_rule_on_the_way_back(at)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        status = await at.told()
        assert status is not None
        assert status.code == "route.failed"


@pytest.mark.req("N11", "R13")
@pytest.mark.parametrize("isolates", [False, True])
async def test_so_is_one_through_a_service_that_asked_to_see_what_comes_back(isolates: bool) -> None:
    async with town() as at:
        await at.change(WORK, returns=True)
        await at.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=isolates)
        assert await at.post() is None
        assert await at.answer(WORK) is None
        await suspend(at, WORK)
        refusal = await at.answer(SUPPLY)
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        status = await at.told()
        assert status is not None
        assert (status.code, WORK in status.text) == ("route.failed", not isolates)


@pytest.mark.req("N11")
async def test_an_isolated_service_that_is_suspended_is_not_named() -> None:
    async with town() as at:
        await at.rule(SUPPLY, RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_BEFORE, isolates=True)
        await suspend(at, WORK)
        refusal = await at.post()
        assert refusal is not None
        assert refusal.code == "recipient.suspended"
        assert "Transmatics" not in refusal.detail


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", ["MyBiz", BUYER])
async def test_a_suspended_sender_posts_nothing(name: str) -> None:
    async with town() as at:
        await suspend(at, name)
        refusal = await at.post()
        assert refusal is not None
        assert refusal.code == "sender.suspended"
        await suspend(at, name, "")
        assert await at.post() is None


@pytest.mark.req("N11")
@pytest.mark.parametrize("name", ["Acme", SUPPLY])
async def test_what_is_stored_waits_and_flows_again(name: str) -> None:
    async with town() as at:
        for _ in range(3):
            assert await at.post() is None
        [leased] = await at.network.poll(at.caller(SUPPLY), PollRequest(max=1))
        await suspend(at, name)
        with pytest.raises(Refused, match=r"service\.suspended"):
            await at.poll(SUPPLY)
        with pytest.raises(Refused, match=r"sender\.suspended"):
            await at.network.post(at.caller(SUPPLY), Message(type=MessageType.RESPONSE, reference=leased.token))
        settled = await at.network.settle(at.caller(SUPPLY), Settlement(tokens=(leased.token,)))
        assert settled.settled[0].code == ""  # what it has, it may say that it has
        await suspend(at, name, "")
        assert len(await at.poll(SUPPLY)) == 2


@pytest.mark.req("N11")
async def test_a_poll_that_waits_is_given_nothing_any_more() -> None:
    async with town() as at:
        assert await at.post(SUPPLY, FIRST) is None
        waiting = asyncio.create_task(at.network.poll(at.caller(SUPPLY), PollRequest(wait_s=60)))
        await until_a_poll_waits(at.network, at.caller(SUPPLY))
        await suspend(at, SUPPLY)
        assert await at.answer(FIRST) is None  # now something is there
        with pytest.raises(Refused, match=r"service\.suspended"):
            await asyncio.wait_for(waiting, 30)
        await suspend(at, SUPPLY, "")
        assert len(await at.poll(SUPPLY)) == 1


@pytest.mark.req("N11")
async def test_a_message_on_its_way_waits_at_a_service_that_is_suspended_meanwhile() -> None:
    async with town() as at:
        assert await at.post(SUPPLY, FIRST, WORK) is None
        await suspend(at, WORK)
        assert await at.answer(FIRST) is None  # it was accepted with this route, so it goes on
        assert await at.told() is None
        await suspend(at, WORK, "")
        assert await at.answer(WORK) is None
        assert len(await at.poll(SUPPLY)) == 1


@pytest.mark.req("N11")
async def test_a_response_waits_for_a_requester_that_is_suspended_meanwhile() -> None:
    async with town() as at:
        assert await at.post() is None
        await suspend(at, "MyBiz")
        assert await at.answer(SUPPLY) is None
        with pytest.raises(Refused, match=r"service\.suspended"):
            await at.poll(BUYER)
        await suspend(at, "MyBiz", "")
        assert len(await at.poll(BUYER)) == 1


@pytest.mark.req("N11")
async def test_it_is_on_record_who_suspended_and_why() -> None:
    async with town() as at:
        await suspend(at, "Acme", "abuse of the directory")
        await suspend(at, "Acme", "")
        entries = [decode(record.facts) for record in (await at.network.journal.read(0, 1 << 30)).records]
        changed = [entry for entry in entries if isinstance(entry, ConfigurationChanged)][-2:]
        assert [(entry.by, entry.reason) for entry in changed] == [
            ("op@network.example", "suspended: abuse of the directory"),
            ("op@network.example", "suspension ended"),
        ]


@pytest.mark.req("N11")
async def test_only_operators_suspend() -> None:
    async with town() as at:
        owner = await at.running.enroll("owner@acme.example", organization="Acme")
        for name in ("Acme", SUPPLY):
            for reason in ("for fun", ""):
                with pytest.raises(Refused, match=r"permission\.denied"):
                    await suspend(at, name, reason, owner)


@pytest.mark.req("N11")
async def test_an_owner_cannot_shake_a_suspension_off_by_removing_the_service() -> None:
    async with town() as at:
        owner = await at.running.enroll("owner@acme.example", organization="Acme")
        administration = Administration(at.network, at.running.passwords)
        await suspend(at, SUPPLY)
        with pytest.raises(Refused, match=r"permission\.denied"):
            await changes.remove(administration, owner, SUPPLY, None)
        await changes.remove(administration, OPERATOR, SUPPLY, None)
        assert at.network.directory.service(SUPPLY) is None
