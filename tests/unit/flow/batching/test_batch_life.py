"""A batch from its first message to its end, on a clock that stands still until it is moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pytest

from postroad.core.batching.interchange_contents import member_of
from postroad.core.batching.moves import open_batch
from postroad.core.codecs.buffers import Buffer
from postroad.core.delivery.reasons import make_reason
from postroad.core.interchange import x12
from postroad.core.interchange.model import Envelope, Numbers, OnEnvelopeError, PlacedCallback
from postroad.core.interchange.standard import StandardCatalogue
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchMember, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Recovery, SortKey, Types, Unfinished
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.journal import BatchesChanged, DeliveriesAcknowledged, MessagePosted
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.rule import Comparing, MessageSection, ValueComparison, ValueLocation, ValueType
from postroad.core.model.window import DeliveryWindow
from postroad.errors import Unavailable
from postroad.flow.batching import intake
from postroad.flow.batching.interchange_outcome import check_unattended_batches
from postroad.flow.batching.stage import find_batchers
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.ports import BodyAt
from tests.samples.send_port import LINES, SendPortScenario, order, send_port

HOUR_S = 3_600
OPEN, CLOSED, ASSEMBLED, SENT = BatchState.OPEN, BatchState.CLOSED, BatchState.ASSEMBLED, BatchState.SENT
SUSPENDED, DISSOLVED = BatchState.SUSPENDED, BatchState.DISSOLVED


def members(interchange: Delivered) -> list[bytes]:
    return [bytes(member.data) for member in x12.split(interchange.parts[0].data, OnEnvelopeError.REFUSE).members]


def lines(interchange: Delivered) -> list[bytes]:
    return interchange.parts[0].data.splitlines()


async def deliver_all(port: SendPortScenario) -> list[Delivered]:
    found = await port.poll()
    for interchange in found:
        await port.acknowledge(interchange)
    await port.work()
    return found


@pytest.mark.req("B1", "B6", "B7")
async def test_a_batch_is_sent_as_one_interchange_and_released_when_delivered() -> None:
    async with send_port(BatchPolicy(count=3)) as port:
        posted = await port.post_orders(1, 3)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED]
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED] * 3
        [interchange] = await port.poll()
        assert members(interchange) == [order(number) for number in (1, 2, 3)]
        assert interchange.sender == "Acme/orders"
        assert {one.name: one.value for one in interchange.properties} == {
            "batch.id": (await port.batches())[0].id,
            "batch.count": "3",
            "interchange.reference": "1",
        }
        await port.acknowledge(interchange)
        await port.work()
        assert await port.batch_states() == [SENT]
        assert await port.delivery_states(*posted) == [DeliveryState.DELIVERED] * 3


@pytest.mark.req("B2")
async def test_a_message_that_comes_while_a_batch_is_sent_begins_the_next() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        await port.post_orders(1, 2)
        await port.work()
        await port.post_orders(3, 3)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED, OPEN]
        await port.post_orders(4, 7)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED] * 3 + [OPEN]
        assert len({batch.id for batch in await port.batches()}) == 4
        assert [len(members(one)) for one in await deliver_all(port)] == [2, 2, 2]
        assert await port.batch_states() == [SENT] * 3 + [OPEN]


@pytest.mark.req("B6")
async def test_numbers_go_up_by_one_with_every_interchange() -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        await port.post_orders(1, 5)
        await port.work()
        found = [x12.split(one.parts[0].data, OnEnvelopeError.REFUSE).reference for one in await port.poll()]
        assert found == [f"{number:09}" for number in range(1, 6)]


@pytest.mark.req("B1")
async def test_a_batch_goes_so_long_after_its_first_message_and_not_before() -> None:
    async with send_port(BatchPolicy(age_s=HOUR_S)) as port:
        await port.post_orders(1, 1)
        await port.work()
        await port.work(HOUR_S / 2)
        await port.post_orders(2, 2)
        due_us = await port.port.work()
        [batch] = await port.batches()
        assert (batch.state, batch.count) == (OPEN, 2)
        assert due_us == batch.opened_at_us + HOUR_S * 1_000_000
        await port.work(HOUR_S / 2)
        [batch] = await port.batches()
        assert (batch.state, batch.closed_by, batch.closed_at_us) == (ASSEMBLED, Criterion.AGE, due_us)


@pytest.mark.req("B1")
async def test_a_late_timer_keeps_messages_of_the_next_morning_out_of_the_evening() -> None:
    async with send_port(BatchPolicy(age_s=HOUR_S)) as port:
        await port.post_orders(1, 1)
        port.clock.advance(5 * HOUR_S)  # nobody looked
        await port.post_orders(2, 2)
        await port.work()
        assert [batch.count for batch in await port.batches()] == [1, 1]
        assert await port.batch_states() == [ASSEMBLED, OPEN]


@pytest.mark.req("B1")
async def test_an_idle_batch_goes() -> None:
    async with send_port(BatchPolicy(idle_s=60)) as port:
        await port.post_orders(1, 1)
        await port.work()
        await port.work(59)
        await port.post_orders(2, 2)
        await port.work(59)
        assert await port.batch_states() == [OPEN]
        await port.work(1)
        assert await port.batch_states() == [ASSEMBLED]


@pytest.mark.req("B1")
async def test_a_batch_stays_within_its_bytes() -> None:
    size = len(order(1))
    async with send_port(BatchPolicy(bytes=2 * size + 1)) as port:
        await port.post_orders(1, 5)
        await port.work()
        assert [(batch.count, batch.state) for batch in await port.batches()] == [
            (2, ASSEMBLED),
            (2, ASSEMBLED),
            (1, OPEN),
        ]


@pytest.mark.req("B1")
async def test_no_batch_outgrows_the_largest_message() -> None:
    async with send_port(BatchPolicy(age_s=HOUR_S), **LINES) as port:
        port.port = type(port.port)(port.network, port.profile("Acme/orders").gcid, message_bytes=1_000)
        for _ in range(5):
            await port.send(b"[" + b"1" * 398 + b"]")
        await port.work()
        assert [batch.count for batch in await port.batches()] == [2, 2, 1]


@pytest.mark.req("B1")
async def test_groups_and_types_are_kept_apart_and_sorted() -> None:
    place = ValueLocation(where=MessageSection.HEADER, path="properties.Region")
    rank = SortKey(
        place=ValueLocation(where=MessageSection.HEADER, path="properties.Rank"), type=ValueType.NUMBER, descending=True
    )
    async with send_port(BatchPolicy(count=2, group_by=(place,), sort_by=(rank,)), **LINES) as port:
        for number, region, rank_value in ((1, "north", "2"), (2, "south", "1"), (3, "north", "10"), (4, "south", "3")):
            await port.send(f'{{"n":{number}}}'.encode(), properties={"Region": region, "Rank": rank_value})
        await port.work()
        found = sorted(lines(one) for one in await port.poll())
        assert found == [[b'{"n":3}', b'{"n":1}'], [b'{"n":4}', b'{"n":2}']]


@pytest.mark.req("B1")
async def test_another_type_closes_the_batch_where_the_order_is_kept() -> None:
    async with send_port(BatchPolicy(types=Types.IN_TURN)) as port:
        await port.post_orders(1, 2)
        await port.send(order(3).replace(b"ST*850", b"ST*860"))
        await port.work()
        first, second = await port.batches()
        assert (first.kind, first.count, first.closed_by) == ("850", 2, Criterion.TYPE)
        assert (second.kind, second.count, second.state) == ("860", 1, OPEN)


@pytest.mark.req("B1")
async def test_messages_that_the_batcher_does_not_take_are_forwarded_unchanged() -> None:
    async with send_port(BatchPolicy(count=2, takes_types=("850",))) as port:
        other = order(9).replace(b"ST*850", b"ST*997")
        posted = await port.send(other, topic="acknowledgements")
        await port.post_orders(1, 1)
        await port.work()
        [passed] = await port.poll()
        assert (passed.parts[0].data, passed.topic, passed.sender) == (other, "acknowledgements", "MyBiz/Sales")
        assert await port.delivery_states(posted) == [DeliveryState.DELIVERED]
        assert [batch.count for batch in await port.batches()] == [1]


async def test_a_message_of_several_documents_goes_on_by_itself() -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        parts = tuple(Part(id=name, content_type="text/plain", data=order(1)) for name in "ab")
        await port.network.post(port.caller("MyBiz/Sales"), Message(to=(Recipient("Acme/orders"),), parts=parts))
        await port.work()
        [passed] = await port.poll()
        assert len(passed.parts) == 2
        assert await port.batch_states() == []


async def test_a_request_is_told_to_come_as_a_notification() -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        await port.send(order(1), type=MessageType.REQUEST)
        await port.work()
        [answer] = await port.poll("MyBiz/Sales")
        assert answer.status is not None
        assert answer.status.code == "batch.request"
        assert await port.batch_states() == []


@pytest.mark.req("B1")
async def test_a_changed_policy_holds_from_the_next_message_on() -> None:
    async with send_port(BatchPolicy(count=100)) as port:
        await port.post_orders(1, 2)
        await port.work()
        batching = port.profile("Acme/orders").batching
        assert batching is not None
        await port.change("Acme/orders", batching=dataclasses.replace(batching, policy=BatchPolicy(count=3)))
        await port.work()
        assert await port.batch_states() == [OPEN]
        await port.post_orders(3, 3)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED]


@pytest.mark.req("B1")
async def test_a_changed_time_holds_for_what_is_open() -> None:
    async with send_port(BatchPolicy(age_s=HOUR_S)) as port:
        await port.post_orders(1, 1)
        await port.work()
        batching = port.profile("Acme/orders").batching
        assert batching is not None
        await port.change("Acme/orders", batching=dataclasses.replace(batching, policy=BatchPolicy(age_s=60)))
        await port.work(60)
        assert await port.batch_states() == [ASSEMBLED]


@pytest.mark.req("B1")
async def test_an_empty_batch_goes_at_a_scheduled_time_and_once() -> None:
    async with send_port(BatchPolicy(cron=("0 * * * *",), empty=Empty.SEND)) as port:
        due_us = await port.port.work()
        assert due_us is not None
        await port.work((due_us - port.clock.now_us()) / 1_000_000)
        await port.work()
        [batch] = await port.batches()
        assert (batch.count, batch.state, batch.closed_at_us) == (0, ASSEMBLED, due_us)
        [interchange] = await deliver_all(port)
        assert members(interchange) == []
        assert await port.batch_states() == [SENT]
        await port.restart()
        await port.work()
        assert await port.batch_states() == [SENT]


async def test_no_empty_batch_goes_when_something_was_gathered() -> None:
    async with send_port(BatchPolicy(cron=("0 * * * *",), empty=Empty.SEND)) as port:
        await port.work()
        await port.post_orders(1, 1)
        await port.work(HOUR_S)
        assert [batch.count for batch in await port.batches()] == [1]


@pytest.mark.parametrize(
    "before",
    [BatchPolicy(cron=("0 18 * * *",), empty=Empty.SEND), BatchPolicy(cron=("0 8 * * *",)), BatchPolicy(count=1)],
)
async def test_no_empty_batch_goes_for_a_time_at_which_nobody_wanted_one(before: BatchPolicy) -> None:
    """A schedule is changed at noon: what it says of this morning was never asked for."""
    async with send_port(before) as port:
        await port.work(18 * HOUR_S - port.clock.now_us() / 1_000_000 % (24 * HOUR_S))
        await port.work(18 * HOUR_S)  # the next day at noon
        known = len(await port.batches())
        batching = port.profile("Acme/orders").batching
        assert batching is not None
        policy = BatchPolicy(cron=("0 8 * * *",), empty=Empty.SEND)
        await port.change("Acme/orders", batching=dataclasses.replace(batching, policy=policy))
        await port.work()
        assert len(await port.batches()) == known
        await port.work(20 * HOUR_S)
        assert [batch.count for batch in (await port.batches())[known:]] == [0]


async def test_a_batch_goes_before_the_window_of_its_port_closes() -> None:
    window = DeliveryWindow(closes="20:00")
    async with send_port(BatchPolicy(before_close_s=600)) as port:
        await port.change("Acme/orders", windows=(window,))
        await port.post_orders(1, 1)
        due_us = await port.port.work()
        assert due_us is not None
        assert due_us % 86_400_000_000 == (20 * HOUR_S - 600) * 1_000_000


@pytest.mark.req("B3")
async def test_an_application_begins_and_ends_its_own_batches() -> None:
    async with send_port(BatchPolicy(count=2, controlled=Controlled())) as port:
        for number, name, marks in (
            (1, "a", {"BatchStart": "true"}),
            (2, "b", {"BatchStart": "true"}),
            (3, "a", {}),
            (4, "a", {"BatchEnd": "true"}),
        ):
            await port.send(order(number), properties={"BatchID": name, **marks})
        await port.work()
        assert [(batch.key[1], batch.count, batch.state) for batch in await port.batches()] == [
            ("a", 3, ASSEMBLED),
            ("b", 1, OPEN),
        ]


@pytest.mark.req("B3", "B5")
@pytest.mark.parametrize(("policy", "state"), [(Unfinished.SUSPEND, SUSPENDED), (Unfinished.SEND, ASSEMBLED)])
async def test_a_batch_that_the_application_does_not_end_is_suspended_or_sent(
    policy: Unfinished, state: BatchState
) -> None:
    controlled = Controlled(unfinished_after_s=HOUR_S, unfinished=policy)
    async with send_port(BatchPolicy(controlled=controlled)) as port:
        await port.send(order(1), properties={"BatchID": "a"})
        await port.work()
        await port.work(HOUR_S)
        assert await port.batch_states() == [state]


@pytest.mark.req("B2")
async def test_a_member_that_expires_or_is_cancelled_leaves_its_open_batch() -> None:
    async with send_port(BatchPolicy(count=4)) as port:
        expiring = await port.send(order(1), expires_at_us=port.clock.now_us() + 60_000_000)
        cancelled, stays = await port.post_orders(2, 3)
        await port.work()
        cancel = Message(type=MessageType.CANCEL, reference=cancelled.session)
        result = await port.network.post(port.caller("MyBiz/Sales"), cancel)
        assert not result.recipients[0].code
        port.clock.advance(61)
        await port.network.expiry.expire_due()
        assert await port.delivery_states(expiring, cancelled, stays) == [
            DeliveryState.EXPIRED,
            DeliveryState.CANCELLED,
            DeliveryState.QUEUED,
        ]
        [batch] = await port.batches()
        assert (batch.count, batch.bytes, batch.state) == (1, len(order(3)), OPEN)
        await port.post_orders(4, 6)
        await port.work()
        [interchange] = await port.poll()
        assert members(interchange) == [order(number) for number in (3, 4, 5, 6)]


async def test_the_last_member_takes_its_batch_with_it() -> None:
    async with send_port(BatchPolicy(count=4)) as port:
        await port.send(order(1), expires_at_us=port.clock.now_us() + 60_000_000)
        await port.work()
        await port.work(61)
        await port.network.expiry.expire_due()
        assert await port.batch_states() == [DISSOLVED]
        await port.work()


async def test_nothing_leaves_an_interchange_that_is_under_way() -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        expiring = await port.send(order(1), expires_at_us=port.clock.now_us() + 60_000_000)
        await port.work()
        cancel = Message(type=MessageType.CANCEL, reference=expiring.session)
        result = await port.network.post(port.caller("MyBiz/Sales"), cancel)
        assert result.recipients[0].code == "cancel.too-late"
        port.clock.advance(61)
        await port.network.expiry.expire_due()
        assert await port.delivery_states(expiring) == [DeliveryState.QUEUED]
        await deliver_all(port)
        assert await port.delivery_states(expiring) == [DeliveryState.DELIVERED]


@pytest.mark.req("B8")
async def test_on_an_ordered_port_the_next_batch_waits_for_the_one_before() -> None:
    async with send_port(BatchPolicy(count=1), ordered=True) as port:
        await port.post_orders(1, 3)
        await port.work()
        assert await port.batch_states() == [ASSEMBLED, CLOSED, CLOSED]
        [first] = await port.poll()
        await port.fail(first)
        await port.work(5)
        assert await port.batch_states() == [SUSPENDED, CLOSED, CLOSED]


@pytest.mark.req("B8")
async def test_on_an_ordered_port_batches_go_one_after_the_other() -> None:
    async with send_port(BatchPolicy(count=1), ordered=True) as port:
        await port.post_orders(1, 3)
        await port.work()
        found = []
        for _ in range(3):
            found += [members(one) for one in await deliver_all(port)]
        assert found == [[order(1)], [order(2)], [order(3)]]
        assert await port.batch_states() == [SENT] * 3


@pytest.mark.req("B6")
async def test_a_member_that_does_not_fit_fails_alone() -> None:
    async with send_port(BatchPolicy(count=4)) as port:
        good, bad, worse, last = [
            await port.send(data) for data in (order(1), b"ST*850*0002~SE*9*0002~", b"no order at all", order(4))
        ]
        await port.work()
        assert await port.delivery_states(good, bad, worse, last) == [
            DeliveryState.QUEUED,
            DeliveryState.FAILED,
            DeliveryState.FAILED,
            DeliveryState.QUEUED,
        ]
        [interchange] = await port.poll()
        assert members(interchange) == [order(1), order(4)]
        letters = await port.network.index.query("dead_letters", 0, 10)
        assert [row[1].startswith("interchange.unfit: member ") for row in letters] == [True, True]


async def test_a_batch_in_which_nothing_fits_is_dissolved() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        posted = [await port.send(b"no order"), await port.send(b"nor is this")]
        await port.work()
        assert await port.batch_states() == [DISSOLVED]
        assert await port.delivery_states(*posted) == [DeliveryState.FAILED, DeliveryState.FAILED]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"suspended": "unpaid"}, "recipient.suspended"),
        ({"accepts_from": ("Nobody",), "accepts": "listed"}, "recipient.not-allowed"),
    ],
)
async def test_a_partner_that_cannot_be_sent_to_suspends_the_batch(change: dict[str, object], why: str) -> None:
    async with send_port(BatchPolicy(count=1), sends_to="Partner/edi") as port:
        await port.running.register("Partner/edi", visibility="public")
        await port.change("Partner/edi", **change)
        await port.post_orders(1, 1)
        await port.work()
        [batch] = await port.batches()
        assert (batch.state, batch.why.split(":")[0]) == (SUSPENDED, why)


async def test_a_batch_whose_documents_are_no_longer_kept_is_suspended() -> None:
    async with send_port(BatchPolicy(age_s=60)) as port:
        await port.post_orders(1, 1)
        await port.work()
        await port.restart()  # what is in memory is still known
        await port.network.journal.drop_bodies((await port.network.journal.head()).seq)
        await port.work(60)
        [batch] = await port.batches()
        assert (batch.state, batch.why.split(":")[0]) == (SUSPENDED, "body.dropped")


def damage(port: SendPortScenario, monkeypatch: pytest.MonkeyPatch, document: bytes) -> None:
    """What is stored of a message cannot be read back."""
    body = port.network.journal.body

    async def damaged(at: BodyAt) -> bytes | None:
        found = await body(at)
        if found is not None and document in found:
            raise Unavailable("storage.damaged", "/data/segment at offset 7: a body is not the one that was written")
        return found

    monkeypatch.setattr(port.network.journal, "body", damaged)


async def test_a_damaged_message_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        posted = await port.post_orders(1, 3)
        await port.restart()  # what is in memory is still known
        damage(port, monkeypatch, order(2))
        await port.work()
        [interchange] = await deliver_all(port)
        assert members(interchange) == [order(1), order(3)]
        assert await port.delivery_states(*posted) == [
            DeliveryState.DELIVERED,
            DeliveryState.QUEUED,
            DeliveryState.DELIVERED,
        ]


async def test_a_batch_with_a_damaged_member_is_suspended_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with send_port(BatchPolicy(age_s=60, types=Types.APART)) as port:
        await port.post_orders(1, 1)
        await port.send(order(2).replace(b"850", b"860"))
        await port.work()
        await port.restart()
        damage(port, monkeypatch, order(1))
        await port.work(60)
        first, second = await port.batches()
        assert (first.state, second.state) == (SUSPENDED, ASSEMBLED)
        assert first.why.startswith("storage.damaged: ")
        assert "/data" not in first.why  # where things are stored is the operator's


async def test_used_up_numbers_suspend_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    async def highest(self: InterchangeRegistry, series: str) -> int:
        return 999_999_999

    monkeypatch.setattr(InterchangeRegistry, "_latest", highest)
    async with send_port(BatchPolicy(count=1)) as port:
        posted = await port.post_orders(1, 1)
        await port.work()
        [batch] = await port.batches()
        assert (batch.state, batch.why.split(":")[0], batch.numbered) == (SUSPENDED, "interchange.unfit", "")
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED]


async def test_an_envelope_that_cannot_be_written_suspends_the_batch() -> None:
    async with send_port(BatchPolicy(count=1), envelope=(("version", "no such version"),)) as port:
        await port.post_orders(1, 1)
        await port.work()
        [batch] = await port.batches()
        assert (batch.state, batch.why.split(":")[0]) == (SUSPENDED, "interchange.unfit")


@pytest.mark.req("B7")
@pytest.mark.parametrize("fate", ["failed", "expired"])
async def test_an_interchange_that_does_not_arrive_suspends_its_batch(fate: str) -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        posted = await port.post_orders(1, 2)
        await port.change("Acme/orders", default_expiration_s=60)
        await port.work()
        if fate == "failed":
            [interchange] = await port.poll()
            await port.fail(interchange, make_reason("other", detail="nobody there"))
        else:
            port.clock.advance(61)
            await port.network.expiry.expire_due()
        await port.work()
        [batch] = await port.batches()
        assert batch.state is SUSPENDED
        assert fate in batch.why
        assert await port.delivery_states(*posted) == [DeliveryState.QUEUED, DeliveryState.QUEUED]


@pytest.mark.req("B7")
async def test_members_and_interchange_name_each_other_in_the_journal() -> None:
    async with send_port(BatchPolicy(count=2)) as port:
        await port.post_orders(1, 2)
        await port.work()
        await deliver_all(port)
        entries = await port.journal()
        [joined] = [one for one in entries if isinstance(one, BatchesChanged)]
        [made] = [one for one in entries if isinstance(one, MessagePosted) and one.assembled is not None]
        [released] = [one for one in entries if isinstance(one, DeliveriesAcknowledged) and one.batch is not None]
        assert made.assembled is not None
        assert made.assembled.batch is not None
        assert released.batch is not None
        assert joined.batch == made.assembled.batch.id == released.batch.id
        assert joined.deliveries == released.deliveries == tuple(one.delivery for one in made.assembled.filed)
        assert [(one.kind, one.reference) for one in made.assembled.filed] == [("850", "0001"), ("850", "0002")]
        assert [batch.version for batch in (joined.batches[0], made.assembled.batch, released.batch)] == [1, 2, 3]


@pytest.mark.req("B4", "B5")
async def test_a_batch_goes_on_after_a_crash() -> None:
    async with send_port(BatchPolicy(count=4)) as port:
        posted = await port.post_orders(1, 2)
        await port.work()
        await port.restart()
        posted += await port.post_orders(3, 4)
        await port.work()
        await port.restart()
        await port.work()
        [interchange] = await deliver_all(port)
        assert members(interchange) == [order(number) for number in (1, 2, 3, 4)]
        await port.restart()
        assert await port.batch_states() == [SENT]
        assert await port.delivery_states(*posted) == [DeliveryState.DELIVERED] * 4


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("recovery", "state"), [(Recovery.GO_ON, OPEN), (Recovery.PASS, ASSEMBLED), (Recovery.FAIL, SUSPENDED)]
)
async def test_a_batch_that_was_cut_off_is_dealt_with_as_its_policy_says(recovery: Recovery, state: BatchState) -> None:
    async with send_port(BatchPolicy(count=4, recovery=recovery)) as port:
        await port.post_orders(1, 2)
        await port.work()
        await port.restart()
        await port.work()
        assert await port.batch_states() == [state]


@pytest.mark.req("B5")
async def test_a_batch_that_was_left_in_good_order_goes_on_whatever_its_policy_says() -> None:
    async with send_port(BatchPolicy(count=4, recovery=Recovery.FAIL)) as port:
        await port.post_orders(1, 2)
        await port.work()
        await port.port.rest()
        await port.restart()
        await port.work()
        assert await port.batch_states() == [OPEN]
        await port.restart()  # this time without a word
        await port.work()
        assert await port.batch_states() == [SUSPENDED]


@pytest.mark.req("B4")
async def test_a_high_performance_batcher_writes_at_its_threshold_and_loses_no_message() -> None:
    async with send_port(BatchPolicy(count=10), persist_at=5) as port:
        posted = await port.post_orders(1, 3)
        await port.work()
        assert await port.batch_states() == []  # in memory alone
        await port.post_orders(4, 6)
        await port.work()
        assert [batch.count for batch in await port.batches()] == [6]
        await port.post_orders(7, 8)
        await port.work()
        await port.restart()
        port.clock.advance(61)  # the leases of what was not written down are over
        await port.post_orders(9, 10)
        await port.work()
        [interchange] = await deliver_all(port)
        assert sorted(members(interchange)) == sorted(order(number) for number in range(1, 11))
        assert await port.delivery_states(*posted) == [DeliveryState.DELIVERED] * 3


@pytest.mark.req("B4")
async def test_a_high_performance_batcher_writes_after_a_second_at_the_latest() -> None:
    async with send_port(BatchPolicy(count=10), persist_at=5) as port:
        await port.post_orders(1, 3)
        due_us = await port.port.work()
        assert due_us == port.clock.now_us() + 1_000_000
        await port.work(1)
        assert [batch.count for batch in await port.batches()] == [3]


@pytest.mark.req("B4")
async def test_what_is_handed_out_again_before_it_was_written_down_is_in_its_batch_once() -> None:
    """As after a clock was set forward, or a machine stood still: the lease is over, and nothing is saved yet."""
    async with send_port(BatchPolicy(count=3), persist_at=5) as port:
        await port.post_orders(1, 1)
        await port.work()
        await port.work(intake.LEASE_S + 1)
        assert [(batch.count, batch.bytes) for batch in await port.batches()] == [(1, len(order(1)))]
        await port.post_orders(2, 3)
        await port.work()
        [interchange] = await deliver_all(port)
        assert members(interchange) == [order(number) for number in range(1, 4)]
        assert await port.batch_states() == [SENT]


async def test_a_condition_ends_the_batch() -> None:
    last = ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="topic"), values=("last",)
    )
    async with send_port(BatchPolicy(last=last)) as port:
        await port.send(order(1), topic="more")
        await port.send(order(2), topic="last")
        await port.work()
        [interchange] = await port.poll()
        assert (len(members(interchange)), interchange.topic) == (2, "")


async def test_what_a_plug_in_does_wrong_suspends_the_batch_and_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        await port.send(b"a"), await port.send(order(2))
        standard = port.network.standards.standard("x12")
        original = standard.assemble
        assert original is not None

        def broken(
            members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None = None
        ) -> Iterator[bytes]:
            if members == [b"a"]:
                raise ZeroDivisionError
            return original(members, envelope, numbers, placed)

        monkeypatch.setattr(
            port.network, "standards", StandardCatalogue([dataclasses.replace(standard, assemble=broken)])
        )
        await port.work()
        first, second = await port.batches()
        assert (first.state, second.state) == (SUSPENDED, ASSEMBLED)
        assert first.why.startswith("service.failed: assembling it failed (ZeroDivisionError)")
        assert f"batch {first.id} cannot be assembled: ZeroDivisionError in test_batch_life.py" in caplog.text


async def test_a_message_on_which_the_batcher_fails_is_a_dead_letter_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with send_port(BatchPolicy(count=1)) as port:

        def broken(number: int, parts: Sequence[Part]) -> BatchMember:
            if parts[0].data == b"a":
                raise ZeroDivisionError
            return member_of(number, parts)

        monkeypatch.setattr(intake, "member_of", broken)
        posted = [await port.send(b"a"), await port.send(order(2))]
        await port.work()
        assert await port.delivery_states(*posted) == [DeliveryState.FAILED, DeliveryState.QUEUED]
        assert await port.batch_states() == [ASSEMBLED]


async def test_the_older_of_two_open_batches_is_sent_first() -> None:
    """As when somebody changes a batch at the moment at which the next one is begun."""
    async with send_port(BatchPolicy(count=3)) as port:
        await port.post_orders(1, 1)
        await port.work()
        [older] = await port.batches()
        newer = msgspec.structs.replace(open_batch("f" * 20, older.key, port.clock.now_us()), service=older.service)
        assert await port.network.batches.write(older.service, "joined", [newer]) is not None
        port.network.batches.note_change(older.service)
        await port.post_orders(2, 2)
        await port.work()
        assert [(batch.state, batch.count) for batch in await port.batches()] == [(ASSEMBLED, 1), (OPEN, 1)]


@pytest.mark.parametrize("change", [{"hosted": Hosting.NONE, "batching": None}, {"suspended": "unpaid"}])
async def test_an_interchange_is_seen_through_though_its_service_has_no_batcher_any_more(
    change: dict[str, object],
) -> None:
    async with send_port(BatchPolicy(count=1)) as port:
        posted = await port.post_orders(1, 1)
        await port.work()
        await check_unattended_batches(port.network, find_batchers(port.network.directory))
        assert await port.batch_states() == [ASSEMBLED]
        [interchange] = await port.poll()
        await port.change("Acme/orders", **change)
        await port.acknowledge(interchange)
        await check_unattended_batches(port.network, find_batchers(port.network.directory))
        assert await port.batch_states() == [SENT]
        assert await port.delivery_states(*posted) == [DeliveryState.DELIVERED]


async def test_members_that_were_forgotten_meanwhile_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.flow.registries.batches.MAX_REMEMBERED", 3)
    async with send_port(BatchPolicy(count=2)) as port:
        posted = await port.post_orders(1, 8)
        await port.work()
        assert len(await deliver_all(port)) == 4
        assert await port.batch_states() == [SENT] * 4
        assert await port.delivery_states(*posted) == [DeliveryState.DELIVERED] * 8


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
async def test_members_are_read_page_by_page_and_none_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("postroad.flow.registries.batches.PAGE", 2)
    async with send_port(BatchPolicy(count=count)) as port:
        await port.post_orders(1, count)
        await port.work()
        [interchange] = await deliver_all(port)
        assert members(interchange) == [order(number) for number in range(1, count + 1)]
