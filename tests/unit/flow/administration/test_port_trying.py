"""A send port on the bench: what it would gather, what it would let pass, and who may ask."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.model.message import Message, MessageType, Part
from postroad.errors import Refused
from postroad.flow.administration.base import InvalidChange
from postroad.flow.administration.try_out.send_ports import MAX_MESSAGES, TrialMessage, try_batching
from tests.samples.send_port import X12, SendPortScenario, order, send_port

MONDAY_US = 1_767_600_000_000_000


def port(**policy: Any) -> Batching:
    return Batching(**X12, policy=BatchPolicy(**policy))


def coming(*documents: bytes, apart_s: int = 10) -> list[TrialMessage]:
    parts = [Part(id="1", content_type="application/edi-x12", data=data) for data in documents]
    return [
        TrialMessage(message=Message(parts=(part,)), at_us=MONDAY_US + at * apart_s * 1_000_000, name=f"m{at}")
        for at, part in enumerate(parts)
    ]


async def member(there: SendPortScenario, role: Role = Role.VIEWER) -> Caller:
    return await there.running.enroll(f"{role.value}@acme.example", organization="Acme", role=role)


async def test_messages_are_gathered_as_the_port_would() -> None:
    async with send_port(BatchPolicy(count=2)) as there:
        trial = await try_batching(
            there.network, await member(there), "Acme/orders", port(count=2, age_s=60), coming(*map(order, (1, 2, 3)))
        )
        closed, waiting = trial.batches
        assert (closed.members, closed.batch.state) == (("m0", "m1"), BatchState.CLOSED)
        assert waiting.members == ("m2",)
        assert waiting.due.when_us == MONDAY_US + 80_000_000
        assert await there.batches() == []


async def test_a_message_that_does_not_fit_a_batch_is_sent_alone() -> None:
    async with send_port(BatchPolicy(count=2)) as there:
        messages = [*coming(order(1), b"<Order/>"), TrialMessage(message=Message(), at_us=MONDAY_US, name="empty")]
        trial = await try_batching(
            there.network, await member(there), "Acme/orders", port(count=5, takes_types=("850",)), messages
        )
        assert [one.members for one in trial.batches] == [("m0",)]
        assert sorted(trial.aside) == ["empty", "m1"]


async def test_what_expects_an_answer_is_refused_as_at_the_port() -> None:
    async with send_port(BatchPolicy(count=2)) as there:
        order_1, order_2 = coming(*map(order, (1, 2)))
        request = dataclasses.replace(order_2, message=replace(order_2.message, type=MessageType.REQUEST))
        trial = await try_batching(there.network, await member(there), "Acme/orders", port(count=2), [order_1, request])
        assert [one.members for one in trial.batches] == [("m0",)]
        assert (trial.aside, trial.refused) == ((), ("m1",))


async def test_a_message_tried_several_times_is_several_members() -> None:
    async with send_port(BatchPolicy(count=2)) as there:
        (first,) = coming(order(1))
        again = [TrialMessage(message=first.message, at_us=MONDAY_US + number, name=str(number)) for number in range(5)]
        trial = await try_batching(there.network, await member(there), "Acme/orders", port(count=2), again)
        assert [one.members for one in trial.batches] == [("0", "1"), ("2", "3"), ("4",)]


async def test_what_could_not_be_saved_is_refused_and_so_are_strangers() -> None:
    async with send_port(BatchPolicy(count=2)) as there:
        own = await member(there)
        with pytest.raises(InvalidChange) as refused:
            await try_batching(there.network, own, "Acme/orders", port(), coming(order(1)))
        assert refused.value.faults
        with pytest.raises(Refused, match="at most 1000 messages"):
            await try_batching(there.network, own, "Acme/orders", port(count=2), coming(order(1)) * (MAX_MESSAGES + 1))
        stranger = await there.running.enroll("eve@mybiz.example", organization="MyBiz", role=Role.DEVELOPER)
        with pytest.raises(Refused, match=r"permission\.denied"):
            await try_batching(there.network, stranger, "Acme/orders", port(count=2), coming(order(1)))
