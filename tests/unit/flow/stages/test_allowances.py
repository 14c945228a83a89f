"""What an organization's messages may take up: refused beyond it, exact again once they are fetched, and nobody else's affair."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

import pytest

from postroad.core.admission.quota import QuotaAmount, QuotaCharge
from postroad.core.model.directory import OrganizationLimits, ServiceLimits, Visibility
from postroad.core.model.message import MessageType
from postroad.errors import PostroadError, Refused
from postroad.flow.stages import quota
from postroad.flow.stages.posting import Posting
from postroad.testing import Scenario
from postroad.testing.compose import compose
from tests.waiting import WITHIN_S, eventually_async

BUYER, OTHER, SUPPLY = "MyBiz/Purchasing", "Others/Purchasing", "Acme/Supply"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    """MyBiz, which has a limit, and others, who have none, send to Acme."""
    async with Scenario() as scenario:
        for address in (BUYER, OTHER):
            await scenario.service(address, visibility=Visibility.PRIVATE)
        await scenario.service(SUPPLY)
        yield scenario


async def limit(scenario: Scenario, **limits: int) -> None:
    organization = scenario.network.directory.organizations["mybiz"]
    await scenario.save(replace(organization, limits=OrganizationLimits(**limits)))


async def post(scenario: Scenario, size: int = 1, sender: str = BUYER, to: str | Sequence[str] = SUPPLY) -> str:
    return (await scenario.post(sender, to, bytes(size))).session


async def refused(scenario: Scenario, size: int = 1, sender: str = BUYER, to: str | Sequence[str] = SUPPLY) -> Refused:
    return await scenario.refusal(post(scenario, size, sender, to))


@pytest.mark.req("Z6")
async def test_messages_larger_than_the_limit_are_refused(scenario: Scenario) -> None:
    await limit(scenario, message_bytes=100)
    await post(scenario, 100)
    assert (await refused(scenario, size=101)).code == "wire.too-large"
    await post(scenario, 101, OTHER)


@pytest.mark.req("Z6")
async def test_the_smaller_limit_of_organization_and_service_applies(scenario: Scenario) -> None:
    await limit(scenario, message_bytes=100)
    await scenario.change(BUYER, limits=ServiceLimits(message_bytes=50))
    assert (await refused(scenario, size=51)).code == "wire.too-large"
    await limit(scenario, message_bytes=20)
    assert (await refused(scenario, size=21)).code == "wire.too-large"


@pytest.mark.req("Z6")
@pytest.mark.parametrize("limits", [{"queued_messages": 5}, {"stored_bytes": 500}])
async def test_waiting_messages_are_limited_until_they_are_fetched(scenario: Scenario, limits: dict[str, int]) -> None:
    await limit(scenario, **limits)
    for _ in range(5):
        await post(scenario, 100)
    refusal = await refused(scenario, size=100)
    assert refusal.code == "limit.storage"
    assert "5" in refusal.detail
    await post(scenario, 100, OTHER)  # nobody else feels it
    assert len(await scenario.take(SUPPLY, max=3)) == 3
    for _ in range(3):
        await post(scenario, 100)


@pytest.mark.req("Z6")
async def test_a_message_that_can_never_fit_is_refused_without_advice_to_post_again(scenario: Scenario) -> None:
    await limit(scenario, stored_bytes=99, queued_messages=1)
    assert (await refused(scenario, size=100)).detail.startswith("The message takes 100 of at most 99 waiting bytes")
    refusal = await refused(scenario, to=(SUPPLY, SUPPLY))
    assert refusal.detail.startswith("The message takes 2 of at most 1 waiting deliveries")
    await post(scenario, 99)
    assert "post again" in (await refused(scenario, size=1)).detail


@pytest.mark.req("Z6")
async def test_messages_that_are_fetched_at_once_never_reach_the_limit(scenario: Scenario) -> None:
    await limit(scenario, queued_messages=2)
    for _ in range(20):
        await post(scenario)
        await scenario.take(SUPPLY)


@pytest.mark.req("Z6")
async def test_a_bulk_post_is_accepted_up_to_the_limit(scenario: Scenario) -> None:
    await limit(scenario, queued_messages=30)
    answers: dict[int, object] = {}
    done = asyncio.Event()

    def answered(place: int, answer: object) -> None:
        answers[place] = answer
        if len(answers) == 100:
            done.set()

    posting = Posting(compose(SUPPLY), 0, "bulk")
    scenario.network.submit_many(scenario.caller(BUYER), [posting] * 100, answered)
    await asyncio.wait_for(done.wait(), WITHIN_S)
    assert sum(not isinstance(answer, PostroadError) for answer in answers.values()) == 30
    assert len(await scenario.poll(SUPPLY)) == 30


@pytest.mark.req("Z6")
async def test_every_copy_counts_and_the_body_once(scenario: Scenario) -> None:
    await scenario.service("Acme/Archive")
    await limit(scenario, stored_bytes=150, queued_messages=2)
    await post(scenario, 100, to=(SUPPLY, "Acme/Archive", "Nobody/There"))
    assert await scenario.network.quota.usage("MYBIZ") == (2, 100)


@pytest.mark.req("Z6")
async def test_an_organization_at_its_limit_still_polls_and_responds(scenario: Scenario) -> None:
    """At its limit the organization still answers, and what others leave lying with it is not charged to it."""
    await scenario.service("MyBiz/Sales")
    await limit(scenario, queued_messages=1)
    await post(scenario)
    for _ in range(5):
        await scenario.post(OTHER, "MyBiz/Sales", type=MessageType.REQUEST)
    assert (await refused(scenario)).code == "limit.storage"
    for delivered in await scenario.poll("MyBiz/Sales"):
        await scenario.respond(delivered)
    assert await scenario.network.quota.usage("MyBiz") == (1, 1)


@pytest.mark.req("Z6")
async def test_a_service_may_have_a_smaller_limit_of_its_own(scenario: Scenario) -> None:
    await scenario.change(BUYER, limits=ServiceLimits(queued_messages=1))
    await post(scenario)
    assert (await refused(scenario)).code == "limit.storage"


@pytest.mark.req("Z6")
async def test_limits_of_an_organization_replace_those_of_the_network(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario.network.quota, "_usual", OrganizationLimits(queued_messages=1))
    await limit(scenario, queued_messages=2)
    for sender, most in ((BUYER, 2), (OTHER, 1)):
        for _ in range(most):
            await post(scenario, sender=sender)
        assert (await refused(scenario, sender=sender)).code == "limit.storage"


async def test_concurrent_posts_share_one_query_of_the_index(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    await limit(scenario, queued_messages=1)
    await post(scenario)
    looks = _counted(scenario, monkeypatch)
    refusals = await asyncio.gather(*[refused(scenario) for _ in range(50)])
    assert {refusal.code for refusal in refusals} == {"limit.storage"}
    assert len(looks) == 1


async def test_a_flood_of_posts_does_not_wait_for_queries(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    await limit(scenario, queued_messages=1)
    await post(scenario)
    monkeypatch.setattr(quota, "MAX_WAITING", 3)
    wait_until_indexed, goes_on = scenario.network.quota._wait_until_indexed, asyncio.Event()

    async def held() -> None:
        await goes_on.wait()
        await wait_until_indexed()

    monkeypatch.setattr(scenario.network.quota, "_wait_until_indexed", held)
    posts = [asyncio.create_task(refused(scenario)) for _ in range(10)]
    await eventually_async(lambda: sum(post.done() for post in posts) >= 7)
    assert sum(post.done() for post in posts) == 7
    goes_on.set()
    assert {(await post).code for post in posts} == {"limit.storage"}


@pytest.mark.req("Z6")
async def test_messages_accepted_by_other_nodes_are_counted_soon(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "REFRESH_EVERY_S", 0.0)
    network = scenario.network
    await limit(scenario, queued_messages=3)
    elsewhere = quota.Quota(network.plumbing, OrganizationLimits())
    buyer = scenario.profile(BUYER)
    allowance = elsewhere.allowance(buyer)
    charge = QuotaCharge("mybiz", buyer.gcid, QuotaAmount(1, 1))
    for _ in range(3):
        await post(scenario)
    elsewhere.reserve(charge, allowance)  # it has not looked yet, and begins to
    assert elsewhere._refreshing is not None
    await elsewhere._refreshing
    assert not elsewhere.reserve(charge, allowance)


async def test_without_limits_the_index_is_not_queried(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _counted(scenario, monkeypatch)
    for _ in range(10):
        await post(scenario)
    assert not looks


def _counted(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    looks: list[str] = []
    query: Callable[..., Awaitable[list[tuple[object, ...]]]] = scenario.network.index.query

    async def counted(name: str, *parameters: object) -> list[tuple[object, ...]]:
        if name == "held":
            looks.append(name)
        return await query(name, *parameters)

    monkeypatch.setattr(scenario.network.index, "query", counted)
    return looks
