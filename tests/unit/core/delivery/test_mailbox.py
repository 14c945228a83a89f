"""The mailbox against a plain model: order, leases, lapses, selectors and spilling."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from postroad.core.delivery.mailbox import Mailbox
from postroad.core.model.delivery import DeliveryContent, Queued
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.core.model.selector import EVERYTHING, Selector

NEVER = 1 << 60


def delivery(number: int, topic: str = "", expires_at_us: int = 0) -> Queued:
    message = MessagePosted(
        0, f"{number:032x}", "", "s" * 16, MessageType.NOTIFICATION, topic, 0, "json", expires_at_us, 1, (),
        (Copy("r", (Hop("r" * 16),)),),
    )  # fmt: skip
    return Queued(
        number=number, message_seq=number, message=message, copy=0, hop=0, recipient="r" * 16,
        content=DeliveryContent((), None), expires_at_us=expires_at_us,
    )  # fmt: skip


def taken(
    box: Mailbox, *, now: float = 0.0, most: int = 100, selector: Selector = EVERYTHING, until: float = 10.0
) -> list[int]:
    return [queued.number for queued in box.take(selector, most, now, 0, until, 20).leased]


@pytest.mark.req("D6")
def test_deliveries_leave_in_the_order_they_came() -> None:
    box = Mailbox()
    for number in range(1, 6):
        box.offer(delivery(number))
    assert taken(box, most=2) == [1, 2]
    assert taken(box) == [3, 4, 5]
    assert taken(box) == []


@pytest.mark.req("D2")
def test_what_is_not_acknowledged_comes_again_at_its_old_place() -> None:
    box = Mailbox()
    for number in range(1, 4):
        box.offer(delivery(number))
    assert taken(box, most=2, until=10.0) == [1, 2]
    box.close(1)
    assert taken(box, now=10.0) == [2, 3]


def test_a_delay_holds_a_delivery_back_beyond_its_lease() -> None:
    box = Mailbox()
    box.offer(delivery(1))
    assert taken(box, until=5.0) == [1]
    box.give_back(1, 30.0)
    assert taken(box, now=10.0) == []
    assert taken(box, now=30.0) == [1]


def test_one_whose_settling_failed_stays_leased_to_whoever_has_it() -> None:
    box = Mailbox()
    for number in (1, 2):
        box.offer(delivery(number))
    assert taken(box, most=1, until=10.0) == [1]
    for number in (1, 2):
        closed = box.close(number)
        assert closed is not None
        box.reopen(closed)
    assert taken(box, now=9.0, until=30.0) == [2]
    assert taken(box, now=10.0) == [1]


def test_expired_and_exhausted_ones_are_taken_out_and_told() -> None:
    box = Mailbox()
    box.offer(delivery(1, expires_at_us=5))
    tired = delivery(2)
    tired.attempt = 20
    box.offer(tired)
    box.offer(delivery(3))
    result = box.take(EVERYTHING, 1, 0.0, 5, 10.0, 20)
    assert [[queued.number for queued in some] for some in result] == [[3], [1], [2]]
    assert len(box) == 1


def test_a_selector_takes_from_the_middle_and_leaves_the_order_of_the_rest() -> None:
    box = Mailbox()
    for number, topic in enumerate(["a", "b", "a", "b"], 1):
        box.offer(delivery(number, topic))
    assert taken(box, selector=Selector(topic="b"), until=1.0) == [2, 4]
    assert taken(box, now=1.0, selector=Selector(topic="a")) == [1, 3]
    assert taken(box, now=1.0) == [2, 4]


def test_a_full_head_leaves_the_rest_to_the_index() -> None:
    box = Mailbox(head_most=2)
    assert [box.offer(delivery(number)) for number in range(1, 5)] == [True, True, False, False]
    assert (box.loaded_to, box.spilled_to) == (2, 4)
    box.close(1)
    assert not box.offer(delivery(5)), "once something is behind, everything new is behind it"


@dataclass
class Model:
    number: int
    topic: str
    available_at: float = 0.0


class MailboxMachine(RuleBasedStateMachine):
    """Whatever is done to it, the mailbox hands out exactly what a sorted list would."""

    def __init__(self) -> None:
        super().__init__()
        self.box = Mailbox()
        self.model: dict[int, Model] = {}
        self.now = 0.0
        self.last = 0

    @rule(topic=st.sampled_from(["", "a", "b"]))
    def offer(self, topic: str) -> None:
        self.last += 1
        self.box.offer(delivery(self.last, topic))
        self.model[self.last] = Model(self.last, topic)

    @rule(topic=st.sampled_from(["", "a"]), most=st.integers(1, 4), lease_s=st.sampled_from([1.0, 5.0]))
    def take(self, topic: str, most: int, lease_s: float) -> None:
        until = self.now + lease_s
        got = taken(self.box, now=self.now, most=most, selector=Selector(topic=topic), until=until)
        waiting = [m for m in self.model.values() if m.available_at <= self.now and (not topic or m.topic == topic)]
        waiting.sort(key=lambda item: item.number)
        assert got == [item.number for item in waiting[:most]]
        for number in got:
            self.model[number].available_at = until

    @rule(seconds=st.sampled_from([0.5, 1.0, 5.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        leased = [m.number for m in self.model.values() if m.available_at > self.now]
        if leased:
            number = data.draw(st.sampled_from(leased))
            assert self.box.close(number) is not None
            del self.model[number]

    @rule(data=st.data(), delay_s=st.sampled_from([0.0, 3.0]))
    def give_back(self, data: st.DataObject, delay_s: float) -> None:
        leased = [m.number for m in self.model.values() if m.available_at > self.now]
        if leased:
            number = data.draw(st.sampled_from(leased))
            self.box.give_back(number, self.now + delay_s)
            self.model[number].available_at = self.now + delay_s

    @invariant()
    def holds_what_is_open(self) -> None:
        assert len(self.box) == len(self.model)


MailboxMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestMailbox = MailboxMachine.TestCase
