"""What an organization's messages may take up: refused beyond it, exact again once they are fetched, and nobody else's affair."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from postroad.core.admission.quota import QuotaAmount, QuotaCharge
from postroad.core.model.caller import Caller
from postroad.core.model.directory import OrganizationLimits, ServiceLimits, Visibility
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import PostroadError, Refused
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages import quota
from postroad.flow.stages.posting import Posting
from postroad.testing.network import MemoryNetwork, memory_network
from tests.waiting import WITHIN_S, eventually_async

SUPPLY = (Recipient("Acme/Supply"),)


class Trade:
    """MyBiz, which has a limit, and others, who have none, send to Acme."""

    def __init__(self, running: MemoryNetwork, buyer: Caller, other: Caller, supply: Caller) -> None:
        self.running, self.network = running, running.network
        self.buyer, self.other, self.supply = buyer, other, supply

    async def limit(self, **limits: int) -> None:
        house = self.network.directory.organizations["mybiz"]
        changed = replace(house, limits=OrganizationLimits(**limits))
        await self.network.configuration.change("operator", [build_save(changed)])

    async def post(self, size: int = 1, caller: Caller | None = None, **fields: object) -> str:
        parts = (Part(id="order", content_type="text/plain", data=bytes(size)),)
        message = Message(**{"to": SUPPLY, "parts": parts} | fields)  # type: ignore[arg-type]
        return (await self.network.post(caller or self.buyer, message, size=size)).session

    async def refused(self, **how: object) -> Refused:
        with pytest.raises(Refused) as refused:
            await self.post(**how)  # type: ignore[arg-type]
        return refused.value

    async def fetch(self, most: int = 100) -> list[str]:
        delivered = await self.network.poll(self.supply, PollRequest(max=most))
        tokens = tuple(one.token for one in delivered)
        await self.network.settle(self.supply, Settlement(tokens=tokens))
        return list(tokens)


@pytest.fixture
async def trade() -> AsyncIterator[Trade]:
    async with memory_network() as running:
        yield Trade(
            running,
            await running.register("MyBiz/Purchasing"),
            await running.register("Others/Purchasing"),
            await running.register("Acme/Supply", visibility=Visibility.PUBLIC),
        )


@pytest.mark.req("Z6")
async def test_a_message_has_at_most_so_many_bytes(trade: Trade) -> None:
    await trade.limit(message_bytes=100)
    await trade.post(100)
    assert (await trade.refused(size=101)).code == "wire.too-large"
    await trade.post(101, trade.other)


@pytest.mark.req("Z6")
async def test_of_organization_and_service_the_smaller_size_counts(trade: Trade) -> None:
    service = trade.buyer.service
    assert service is not None
    await trade.limit(message_bytes=100)
    await trade.network.configuration.change(
        "owner", [build_save(replace(service, limits=ServiceLimits(message_bytes=50)))]
    )
    caller = Caller(service=trade.network.directory.services[service.gcid])
    assert (await trade.refused(size=51, caller=caller)).code == "wire.too-large"
    await trade.limit(message_bytes=20)
    assert (await trade.refused(size=21, caller=caller)).code == "wire.too-large"


@pytest.mark.req("Z6")
@pytest.mark.parametrize("limits", [{"queued_messages": 5}, {"stored_bytes": 500}])
async def test_what_waits_has_an_end_and_fetching_makes_room(trade: Trade, limits: dict[str, int]) -> None:
    await trade.limit(**limits)
    for _ in range(5):
        await trade.post(100)
    refusal = await trade.refused(size=100)
    assert refusal.code == "limit.storage"
    assert "5" in refusal.detail
    await trade.post(100, trade.other)  # nobody else feels it
    assert len(await trade.fetch(3)) == 3
    for _ in range(3):
        await trade.post(100)


@pytest.mark.req("Z6")
async def test_what_could_never_wait_is_told_so_and_not_to_try_again(trade: Trade) -> None:
    await trade.limit(stored_bytes=99, queued_messages=1)
    assert (await trade.refused(size=100)).detail.startswith("The message takes 100 of at most 99")
    refusal = await trade.refused(to=(*SUPPLY, *SUPPLY))
    assert refusal.detail.startswith("The message takes 2 of at most 1")
    await trade.post(99)
    assert "post again" in (await trade.refused(size=1)).detail


@pytest.mark.req("Z6")
async def test_fetched_at_once_any_number_passes(trade: Trade) -> None:
    await trade.limit(queued_messages=2)
    for _ in range(20):
        await trade.post()
        await trade.fetch()


@pytest.mark.req("Z6")
async def test_a_call_with_many_stops_where_the_limit_is(trade: Trade) -> None:
    await trade.limit(queued_messages=30)
    answers: dict[int, object] = {}
    done = asyncio.Event()

    def answered(place: int, answer: object) -> None:
        answers[place] = answer
        if len(answers) == 100:
            done.set()

    posting = Posting(Message(to=SUPPLY), 0, "bulk")
    trade.network.submit_many(trade.buyer, [posting] * 100, answered)
    await asyncio.wait_for(done.wait(), WITHIN_S)
    assert sum(not isinstance(answer, PostroadError) for answer in answers.values()) == 30
    waiting = await trade.network.poll(trade.supply, PollRequest(max=100))
    assert len(waiting) == 30


@pytest.mark.req("Z6")
async def test_every_copy_counts_and_the_body_once(trade: Trade) -> None:
    await trade.running.register("Acme/Archive", visibility=Visibility.PUBLIC)
    await trade.limit(stored_bytes=150, queued_messages=2)
    await trade.post(100, to=(Recipient("Acme/Supply"), Recipient("Acme/Archive"), Recipient("Nobody/There")))
    assert await trade.network.allowances.usage("MYBIZ") == (2, 100)


@pytest.mark.req("Z6")
async def test_answers_polls_and_acknowledgements_go_on(trade: Trade) -> None:
    """At its limit the organization still answers, and what others leave lying with it is not charged to it."""
    await trade.running.register("MyBiz/Sales", visibility=Visibility.PUBLIC)
    sales = Caller(service=trade.network.directory.service("MyBiz/Sales"))
    await trade.limit(queued_messages=1)
    await trade.post()
    for _ in range(5):
        await trade.post(0, trade.other, to=(Recipient("MyBiz/Sales"),), type=MessageType.REQUEST)
    assert (await trade.refused()).code == "limit.storage"
    for delivered in await trade.network.poll(sales, PollRequest(max=5)):
        await trade.network.post(sales, Message(type=MessageType.RESPONSE, reference=delivered.token))
    assert await trade.network.allowances.usage("MyBiz") == (1, 1)


@pytest.mark.req("Z6")
async def test_a_service_may_have_a_smaller_limit_of_its_own(trade: Trade) -> None:
    service = trade.buyer.service
    assert service is not None
    limited = replace(service, limits=ServiceLimits(queued_messages=1))
    await trade.network.configuration.change("owner", [build_save(limited)])
    await trade.post(caller=Caller(service=limited))
    assert (await trade.refused(caller=Caller(service=limited))).code == "limit.storage"


@pytest.mark.req("Z6")
async def test_the_network_has_usual_limits_and_organizations_their_own(
    trade: Trade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trade.network.allowances, "_usual", OrganizationLimits(queued_messages=1))
    await trade.limit(queued_messages=2)
    for caller, most in ((trade.buyer, 2), (trade.other, 1)):
        for _ in range(most):
            await trade.post(caller=caller)
        assert (await trade.refused(caller=caller)).code == "limit.storage"


async def test_looks_at_the_index_are_shared(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    await trade.limit(queued_messages=1)
    await trade.post()
    looks = _counted(trade, monkeypatch)
    refusals = await asyncio.gather(*[trade.refused() for _ in range(50)])
    assert {refusal.code for refusal in refusals} == {"limit.storage"}
    assert len(looks) == 1


async def test_a_flood_does_not_wait_for_looks(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    await trade.limit(queued_messages=1)
    await trade.post()
    monkeypatch.setattr(quota, "MAX_WAITING", 3)
    indexed, goes_on = trade.network.allowances._indexed, asyncio.Event()

    async def held() -> None:
        await goes_on.wait()
        await indexed()

    monkeypatch.setattr(trade.network.allowances, "_indexed", held)
    posts = [asyncio.create_task(trade.refused()) for _ in range(10)]
    await eventually_async(lambda: sum(post.done() for post in posts) >= 7)
    assert sum(post.done() for post in posts) == 7
    goes_on.set()
    assert {(await post).code for post in posts} == {"limit.storage"}


@pytest.mark.req("Z6")
async def test_what_other_nodes_accept_is_noticed_soon(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "REFRESH_EVERY_S", 0.0)
    network = trade.network
    await trade.limit(queued_messages=3)
    elsewhere = quota.Quota(
        network.index, network.configuration.directory, network.clock, network.indexed, OrganizationLimits()
    )
    assert trade.buyer.service is not None
    allowance = elsewhere.allowance(trade.buyer.service)
    charge = QuotaCharge("mybiz", trade.buyer.service.gcid, QuotaAmount(1, 1))
    for _ in range(3):
        await trade.post()
    elsewhere.take(charge, allowance)  # it has not looked yet, and begins to
    assert elsewhere._looking is not None
    await elsewhere._looking
    assert not elsewhere.take(charge, allowance)


async def test_without_limits_nobody_looks(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = _counted(trade, monkeypatch)
    for _ in range(10):
        await trade.post()
    assert not looks


def _counted(trade: Trade, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    looks: list[str] = []
    query: Callable[..., Awaitable[list[tuple[object, ...]]]] = trade.network.index.query

    async def counted(name: str, *parameters: object) -> list[tuple[object, ...]]:
        if name == "held":
            looks.append(name)
        return await query(name, *parameters)

    monkeypatch.setattr(trade.network.index, "query", counted)
    return looks
