"""Batches in the hands of those who own them: held, released, taken from, resumed, dropped."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Role
from postroad.core.model.journal import BatchesChanged, DeliveriesEnded
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.projection.queries import LETTER, MESSAGE
from postroad.errors import Refused
from postroad.flow.administration import batch_actions as batches
from tests.samples.send_port import SendPortScenario, order, send_port

Act = Callable[..., Awaitable[Batch]]
ACTS: tuple[Act, ...] = (batches.release, batches.pause, batches.resume, batches.drop)
WHY = "because"


async def owner(port: SendPortScenario, email: str = "ada@acme.example", role: Role = Role.DEVELOPER) -> Caller:
    return await port.running.enroll(email, organization="Acme", role=role)


async def only(port: SendPortScenario) -> Batch:
    [batch] = await port.batches()
    return batch


def split(interchange: Delivered) -> tuple[str, list[bytes]]:
    found = x12.split(interchange.parts[0].data, OnEnvelopeError.REFUSE)
    return found.reference, [bytes(member.data) for member in found.members]


async def suspended(port: SendPortScenario) -> Delivered:
    """Two orders whose interchange has failed."""
    await port.post_orders(1, 1)
    return await suspended_after(port, 2)


async def suspended_after(port: SendPortScenario, last: int) -> Delivered:
    """The same, when the last of them comes."""
    await port.post_orders(last, last)
    await port.work()
    [interchange] = await port.poll()
    await port.fail(interchange)
    await port.work()
    assert (await only(port)).state is BatchState.SUSPENDED
    return interchange


async def test_a_batch_is_released_before_its_time() -> None:
    async with send_port(BatchPolicy(count=100)) as port:
        ada = await owner(port)
        await port.post_orders(1, 2)
        await port.work()
        await batches.release(port.network, ada, (await only(port)).id, WHY, None)
        await port.work()
        batch = await only(port)
        assert (batch.state, batch.closed_by) == (BatchState.ASSEMBLED, Criterion.REQUEST)
        assert "ada@acme.example" in batch.why
        told = [one for one in await port.journal() if isinstance(one, BatchesChanged) and one.what == "closed"]
        assert [(one.by, one.reason) for one in told] == [("ada@acme.example", WHY)]


async def test_a_paused_batch_gathers_and_closes_but_is_not_sent() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await port.post_orders(1, 1)
        await port.work()
        held = await batches.pause(port.network, ada, (await only(port)).id, WHY, None)
        await port.post_orders(2, 2)
        await port.work()
        assert (await only(port)).state is BatchState.CLOSED
        await batches.resume(port.network, ada, held.id, WHY, None)
        await port.work()
        assert (await only(port)).state is BatchState.ASSEMBLED


async def test_one_member_is_taken_out_and_the_others_go() -> None:
    async with send_port(BatchPolicy(count=3)) as port:
        ada = await owner(port)
        posted = await port.post_orders(1, 2)
        await port.work()
        batch = await only(port)
        [page] = [page async for page in port.network.batches.members(batch.id)]
        await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, WHY, None)
        await port.post_orders(3, 4)
        await port.work()
        [interchange] = await port.poll()
        assert split(interchange)[1] == [order(2), order(3), order(4)]
        assert await port.delivery_states(*posted) == [DeliveryState.FAILED, DeliveryState.QUEUED]
        with pytest.raises(Refused, match="not visible to you"):
            await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, WHY, None)


@pytest.mark.req("B5", "B7")
async def test_a_suspended_batch_is_resumed_with_the_same_bytes() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        failed = await suspended(port)
        batch = await batches.resume(port.network, ada, (await only(port)).id, WHY, None)
        assert batch.state is BatchState.ASSEMBLED
        [again] = await port.poll()
        assert (again.parts, again.session) == (failed.parts, failed.session)
        await port.acknowledge(again)
        await port.work()
        assert (await only(port)).state is BatchState.SENT


async def test_a_batch_is_resumed_though_its_batcher_notices_the_resent_letter_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await suspended(port)
        resend = port.network.dead_letters.resend

        async def resend_while_the_batcher_looks(*letter: Any) -> int:
            number = await resend(*letter)
            await port.work(31)
            return number

        monkeypatch.setattr(port.network.dead_letters, "resend", resend_while_the_batcher_looks)
        batch = await batches.resume(port.network, ada, (await only(port)).id, WHY, None)
        assert batch == await only(port)
        assert batch.state is BatchState.ASSEMBLED
        assert len(await port.poll()) == 1


@pytest.mark.req("B5", "B6")
async def test_an_interchange_that_expired_is_posted_once_more_under_its_numbers() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await port.change("Acme/orders", default_expiration_s=60)
        await port.post_orders(1, 2)
        await port.work()
        [before] = await port.poll()
        await port.work(61)
        await port.network.expiry.expire_due()
        await port.work()
        await batches.resume(port.network, ada, (await only(port)).id, WHY, None)
        [again] = await port.poll()
        assert again.parts[0].data == before.parts[0].data
        assert again.session != before.session
        await port.acknowledge(again)
        await port.work()
        assert (await only(port)).state is BatchState.SENT
        assert [row[1] for row in await port.network.index.rows("control_number")].count(1) == 2  # ISA and GS


@pytest.mark.req("B5")
async def test_a_dead_letter_that_is_resent_by_itself_takes_its_batch_along() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        await suspended(port)
        letters = port.network.dead_letters
        letter = await letters.find(port.network.index, (await only(port)).delivery)
        assert letter is not None
        await letters.resend(letter, "ada@acme.example", WHY)
        await port.work(31)
        assert (await only(port)).state is BatchState.ASSEMBLED
        [again] = await port.poll()
        await port.acknowledge(again)
        await port.work(31)
        assert (await only(port)).state is BatchState.SENT


@pytest.mark.req("B5")
async def test_without_a_member_a_suspended_batch_is_assembled_anew() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        failed = await suspended(port)
        batch = await only(port)
        [page] = [page async for page in port.network.batches.members(batch.id)]
        await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, WHY, None)
        await batches.resume(port.network, ada, batch.id, WHY, None)
        await port.work()
        [again] = await port.poll()
        assert (split(failed)[0], split(again)) == ("000000001", ("000000002", [order(2)]))


@pytest.mark.req("B6")
async def test_a_gap_free_port_uses_the_same_numbers_again_and_drops_nothing_that_has_some() -> None:
    async with send_port(BatchPolicy(count=2), gap_free=True) as port:
        ada = await owner(port)
        await suspended(port)
        batch = await only(port)
        with pytest.raises(Refused) as refusal:
            await batches.drop(port.network, ada, batch.id, WHY, None)
        assert refusal.value.code == "batch.state"
        [page] = [page async for page in port.network.batches.members(batch.id)]
        await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, WHY, None)
        await batches.resume(port.network, ada, batch.id, WHY, None)
        await port.work()
        await port.post_orders(3, 4)
        await port.work()
        assert [split(one) for one in await port.poll()] == [
            ("000000001", [order(2)]),
            ("000000002", [order(3), order(4)]),
        ]


@pytest.mark.req("B5")
async def test_a_batch_that_is_dropped_leaves_dead_letters_that_can_be_resent() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await suspended(port)
        batch = await batches.drop(port.network, ada, (await only(port)).id, WHY, None)
        assert batch.state is BatchState.DROPPED
        [ended] = [one for one in await port.journal() if isinstance(one, DeliveriesEnded) and one.batch is not None]
        assert (ended.by, ended.state, len(ended.deliveries)) == ("ada@acme.example", "failed", 2)
        await port.network.wait_until_indexed()
        for number in ended.deliveries:
            letter = await port.network.dead_letters.find(port.network.index, number)
            assert letter is not None
            await port.network.dead_letters.resend(letter, "ada@acme.example", WHY)
        await port.work()
        [interchange] = await port.poll()
        assert split(interchange) == ("000000002", [order(1), order(2)])


async def letters(port: SendPortScenario) -> list[int]:
    await port.network.wait_until_indexed()
    return [row[LETTER.index("number")] for row in await port.network.index.query("dead_letters", 0, 10)]


@pytest.mark.req("B7")
async def test_an_interchange_that_is_not_to_go_any_more_is_not_resent_by_itself() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await suspended(port)
        batch = await only(port)
        assert await letters(port) == [batch.delivery]
        [page] = [page async for page in port.network.batches.members(batch.id)]
        await batches.remove_member(port.network, ada, batch.id, page[0].queued.number, WHY, None)
        assert await letters(port) == [page[0].queued.number]
        await batches.drop(port.network, ada, batch.id, WHY, None)
        assert await letters(port) == [held.queued.number for held in page]


async def test_a_member_does_not_leave_an_interchange_that_is_resent() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        expiring = await port.send(order(1), expires_at_us=port.clock.now_us() + 60_000_000)
        await suspended_after(port, 2)
        await port.work(40)  # nobody looks back for a while now
        letter = await port.network.dead_letters.find(port.network.index, (await only(port)).delivery)
        assert letter is not None
        await port.network.dead_letters.resend(letter, "ada@acme.example", WHY)
        port.clock.advance(21)
        await port.network.expiry.expire_due()
        cancel = Message(type=MessageType.CANCEL, reference=expiring.session)
        told = await port.network.post(port.caller("MyBiz/Sales"), cancel)
        assert told.recipients[0].code == "cancel.too-late"
        assert await port.delivery_states(expiring) == [DeliveryState.QUEUED]
        await port.work()
        assert (await only(port)).state is BatchState.ASSEMBLED


async def test_a_batch_whose_partner_has_moved_is_sent_to_the_new_place() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        failed = await suspended(port)
        await port.running.register("Acme/new")
        batching = port.profile("Acme/orders").batching
        assert batching is not None
        await port.change("Acme/orders", batching=dataclasses.replace(batching, sends_to="Acme/new"))
        await batches.resume(port.network, ada, (await only(port)).id, WHY, None)
        assert await letters(port) == []
        [again] = await port.poll("Acme/new")
        assert again.parts[0].data == failed.parts[0].data
        await port.acknowledge(again)
        await port.work()
        assert (await only(port)).state is BatchState.SENT


async def test_a_batch_whose_interchange_is_no_longer_kept_is_assembled_anew() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await suspended(port)
        await port.restart()  # what is in memory is still known
        [row] = await port.network.index.query("message", (await only(port)).interchange)
        port.network.journal._bodies[row[MESSAGE.index("body_offset")]] = None  # type: ignore[attr-defined]
        await batches.resume(port.network, ada, (await only(port)).id, WHY, None)
        await port.work()
        [again] = await port.poll()
        assert split(again) == ("000000002", [order(1), order(2)])
        assert await letters(port) == []


@pytest.mark.parametrize("orders", [1, 2], ids=["open", "suspended"])
async def test_batches_of_a_service_that_gathers_no_more_can_be_dropped(orders: int) -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        ada = await owner(port)
        await suspended(port) if orders == 2 else await port.post_orders(1, 1)
        await port.work()
        await port.change("Acme/orders", hosted="", batching=None)
        assert (await batches.drop(port.network, ada, (await only(port)).id, WHY, None)).state is BatchState.DROPPED


@pytest.mark.parametrize("act", ACTS, ids=lambda act: str(act.__name__))
async def test_only_developers_of_the_batchers_organization_may(act: Act) -> None:
    async with send_port(BatchPolicy(count=100)) as port:
        await port.post_orders(1, 1)
        await port.work()
        batch = await only(port)
        viewer = await owner(port, "vic@acme.example", Role.VIEWER)
        stranger = await port.running.enroll("eve@mybiz.example", organization="MyBiz")
        for caller, code in (
            (viewer, "permission.denied"),
            (port.caller("Acme/orders"), "permission.denied"),
            (stranger, "not-found"),
            (port.caller("MyBiz/Sales"), "not-found"),
        ):
            with pytest.raises(Refused) as refusal:
                await act(port.network, caller, batch.id, WHY, None)
            assert refusal.value.code == code
        assert await only(port) == batch


async def test_an_action_on_an_older_version_of_a_batch_is_refused() -> None:
    async with send_port(BatchPolicy(count=100)) as port:
        ada = await owner(port)
        await port.post_orders(1, 1)
        await port.work()
        seen = await only(port)
        await port.post_orders(2, 2)
        await port.work()
        with pytest.raises(Refused) as refusal:
            await batches.pause(port.network, ada, seen.id, WHY, seen.version)
        assert refusal.value.code == "version.conflict"
        assert (await batches.pause(port.network, ada, seen.id, WHY, seen.version + 1)).held


async def test_a_batcher_that_remembers_an_older_version_reads_it_again() -> None:
    """As when an administrator works on another node: this one is not told."""
    async with send_port(BatchPolicy(count=3)) as port:
        ada = await owner(port)
        posted = await port.post_orders(1, 2)
        await port.work()
        port.network.batches.listen(port.profile("Acme/orders").gcid, None)
        batch = await only(port)
        await batches.release(port.network, ada, batch.id, WHY, None)
        posted += await port.post_orders(3, 3)
        await port.work()
        assert [(one.count, one.state) for one in await port.batches()] == [
            (2, BatchState.ASSEMBLED),
            (1, BatchState.OPEN),
        ]
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED] * 3
