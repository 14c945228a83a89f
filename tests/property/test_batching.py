"""Batching against a model that looks every second, and through changes of policy, clock jumps, crashes and failures."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from postroad.core.batching import ArrivingMessage, add_to_batch, close_if_due, find_due, moves
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Port, Recovery, Types, Unfinished
from tests.property.naive_batching import NaiveBatcher, NaiveMessage, NaiveRules

BEGIN_US = (
    round(datetime(2026, 3, 29, 0, 30, tzinfo=UTC).timestamp()) * 1_000_000
)  # half an hour before Berlin's clocks jump
SECOND_US = 1_000_000
BERLIN = Port(time_zone="Europe/Berlin")
HORIZON = 900
Key = tuple[str, ...]


def arrival_for(message: NaiveMessage, policy: BatchPolicy) -> ArrivingMessage:
    member = BatchMember(number=message.number, bytes=message.size, kind=message.kind)
    if message.named:
        key = ("batch", message.named)
        return ArrivingMessage(member=member, key=key, controlled=True, starts=message.starts, ends=message.ends)
    kind = (message.kind,) if policy.types is Types.APART else ()
    return ArrivingMessage(member=member, key=("group", *kind, message.group), last=message.last)


class Kept:
    """Batches and their members as a store would keep them."""

    def __init__(self) -> None:
        self.batches: dict[str, Batch] = {}
        self.members: dict[str, dict[int, BatchMember]] = {}
        self.open: dict[Key, str] = {}

    def put(self, batch: Batch) -> None:
        self.batches[batch.id] = batch
        if batch.state is BatchState.OPEN:
            self.open[batch.key] = batch.id
        elif self.open.get(batch.key) == batch.id:
            del self.open[batch.key]

    def take(self, policy: BatchPolicy, port: Port, arrival: ArrivingMessage, now_us: int) -> None:
        current = self.batches.get(self.open.get(arrival.key, ""))
        arrived = add_to_batch(policy, port, arrival, current, f"b{len(self.batches) + 1}", now_us)
        if arrived.before is not None:
            self.put(arrived.before)
        assert arrived.batch is not None
        self.put(arrived.batch)
        self.members.setdefault(arrived.batch.id, {})[arrival.member.number] = arrival.member

    def look(self, policy: BatchPolicy, port: Port, now_us: int) -> None:
        for batch_id in list(self.open.values()):
            self.put(close_if_due(policy, port, self.batches[batch_id], now_us))


MESSAGES = st.lists(
    st.builds(
        NaiveMessage,
        number=st.just(0),
        second=st.integers(0, HORIZON - 400),
        size=st.sampled_from([10, 20, 30, 60]),  # so that batches are often exactly full
        kind=st.sampled_from(["850", "860"]),
        group=st.sampled_from(["", "EU"]),
        last=st.integers(0, 9).map(lambda number: number == 0),
        named=st.sampled_from(["", "", "", "A"]),
        starts=st.booleans(),
        ends=st.integers(0, 3).map(lambda number: number == 0),
    ),
    max_size=40,
)
RULES = st.builds(
    NaiveRules,
    count=st.sampled_from([0, 2, 5]),
    size=st.sampled_from([0, 50, 100]),
    age=st.sampled_from([0, 30, 240]),
    idle=st.sampled_from([0, 20, 60]),
    minutes=st.sampled_from([0, 1, 5]),
    apart=st.booleans(),
    in_turn=st.booleans(),
    end_within=st.sampled_from([50, 300]),
)


def policy_of(rules: NaiveRules) -> BatchPolicy:
    return BatchPolicy(
        count=rules.count,
        bytes=rules.size,
        age_s=rules.age,
        idle_s=rules.idle,
        cron=(f"*/{rules.minutes} * * * *",) if rules.minutes else (),
        types=Types.APART if rules.apart else Types.IN_TURN if rules.in_turn else Types.TOGETHER,
        controlled=Controlled(unfinished_after_s=rules.end_within, unfinished=Unfinished.SEND),
    )


@pytest.mark.req("B1", "B2", "B3")
@settings(max_examples=300, deadline=None)
@given(messages=MESSAGES, rules=RULES, looks=st.sets(st.integers(0, HORIZON), max_size=10))
def test_batches_are_those_that_somebody_finds_who_looks_every_second(
    messages: list[NaiveMessage], rules: NaiveRules, looks: set[int]
) -> None:
    """Whenever our timers look, and however rarely: the same members, the same reason, the same moment."""
    rules.in_turn = rules.in_turn and not rules.apart
    messages.sort(key=lambda message: message.second)
    for number, message in enumerate(messages, 1):
        message.number = number
    policy, kept = policy_of(rules), Kept()
    events: list[tuple[int, NaiveMessage | None]] = [(message.second, message) for message in messages]
    events = sorted([*events, *((second, None) for second in looks), (HORIZON, None)], key=lambda event: event[0])
    for second, event in events:
        if event is None:
            kept.look(policy, BERLIN, BEGIN_US + second * SECOND_US)
        else:
            kept.take(policy, BERLIN, arrival_for(event, policy), BEGIN_US + second * SECOND_US)
    expected = NaiveBatcher(rules).run(messages, HORIZON)
    ours = {
        (tuple(kept.members[batch.id]), str(batch.closed_by), (batch.closed_at_us - BEGIN_US) // SECOND_US)
        for batch in kept.batches.values()
        if batch.state is BatchState.CLOSED
    }
    theirs = {
        (tuple(member.number for member in batch.members), batch.closed_by, batch.closed_at) for batch in expected
    }
    assert ours == theirs


class BatchLives(RuleBasedStateMachine):
    """Everything that can happen to batches, in any order; the model is where each message is."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept()
        self.policy = BatchPolicy(count=3, controlled=Controlled(unfinished_after_s=100))
        self.now_us, self.came = BEGIN_US, 0
        self.left: set[int] = set()
        self.delivered: dict[int, str] = {}

    @rule(
        size=st.integers(1, 60),
        kind=st.sampled_from(["850", "860"]),
        named=st.sampled_from(["", "", "A"]),
        starts=st.booleans(),
        ends=st.booleans(),
        last=st.booleans(),
    )
    def a_message_comes(self, size: int, kind: str, named: str, starts: bool, ends: bool, last: bool) -> None:
        self.came += 1
        message = NaiveMessage(
            number=self.came,
            second=0,
            size=size,
            kind=kind,
            named=named,
            starts=starts,
            ends=ends,
            last=last and size > 50,
        )
        self.kept.take(self.policy, BERLIN, arrival_for(message, self.policy), self.now_us)
        holder = self.kept.batches[next(name for name, held in self.kept.members.items() if self.came in held)]
        if holder.state is BatchState.OPEN and not holder.controlled:
            assert not self.policy.count or holder.count < self.policy.count
            assert not self.policy.bytes or holder.bytes < self.policy.bytes

    @rule(seconds=st.integers(-300, 2_000))
    def the_clock_goes_or_jumps(self, seconds: int) -> None:
        self.now_us += seconds * SECOND_US

    @rule()
    def the_timer_looks(self) -> None:
        self.kept.look(self.policy, BERLIN, self.now_us)
        for batch_id in self.kept.open.values():
            nearest = find_due(self.policy, BERLIN, self.kept.batches[batch_id])
            assert nearest.when_us is None or nearest.when_us > self.now_us
            assert nearest.told

    @rule(rules=RULES, recovery=st.sampled_from(Recovery))
    def the_policy_changes(self, rules: NaiveRules, recovery: Recovery) -> None:
        controlled = Controlled(unfinished_after_s=rules.end_within)
        self.policy = BatchPolicy(
            count=rules.count, bytes=rules.size, idle_s=rules.idle, controlled=controlled, recovery=recovery
        )

    @rule()
    def the_network_crashes(self) -> None:
        for batch in list(self.kept.batches.values()):
            self.kept.put(moves.recover_batch(self.policy, batch, self.now_us))

    @precondition(lambda self: self.kept.batches)
    @rule(data=st.data())
    def a_member_leaves(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from(list(self.kept.batches.values())))
        members = self.kept.members[batch.id]
        if batch.state in (BatchState.OPEN, BatchState.CLOSED, BatchState.SUSPENDED):
            number = data.draw(st.sampled_from(sorted(members)))
            self.kept.put(moves.remove_member(batch, members.pop(number), self.now_us))
            self.left.add(number)

    @precondition(lambda self: self.kept.batches)
    @rule(data=st.data())
    def somebody_acts(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from(list(self.kept.batches.values())))
        able = [
            move for move, states in ACTS.items() if batch.state in states and not (move == "assembled" and batch.held)
        ]
        if able:
            self.kept.put(DONE[data.draw(st.sampled_from(able))](batch, self.now_us))

    @precondition(lambda self: self.kept.batches)
    @rule(data=st.data())
    def an_interchange_is_delivered(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from(list(self.kept.batches.values())))
        if batch.state is BatchState.ASSEMBLED:
            self.kept.put(moves.mark_sent(batch, self.now_us))
            for number in self.kept.members[batch.id]:
                assert number not in self.delivered, "a message was delivered twice"
                self.delivered[number] = batch.interchange

    @invariant()
    def every_message_is_in_one_place(self) -> None:
        places = [number for members in self.kept.members.values() for number in members] + sorted(self.left)
        assert sorted(places) == list(range(1, self.came + 1))

    @invariant()
    def the_figures_are_those_of_the_members(self) -> None:
        for batch in self.kept.batches.values():
            members = self.kept.members[batch.id].values()
            assert (batch.count, batch.bytes) == (len(members), sum(member.bytes for member in members))
            assert (batch.count == 0) == (batch.state is BatchState.DISSOLVED)
            assert (batch.state is BatchState.ASSEMBLED) <= bool(batch.interchange)
            if batch.closed_at_us:
                assert batch.opened_at_us <= batch.latest_at_us <= batch.closed_at_us <= batch.changed_at_us

    @invariant()
    def delivered_is_what_was_sent(self) -> None:
        sent = {name for name, batch in self.kept.batches.items() if batch.state is BatchState.SENT}
        assert {number for name in sent for number in self.kept.members[name]} == set(self.delivered)


GATHERED = (BatchState.OPEN, BatchState.CLOSED)
ACTS: dict[str, tuple[BatchState, ...]] = {
    "held": GATHERED,
    "let go": GATHERED,
    "released": GATHERED,
    "assembled": (BatchState.CLOSED,),
    "suspended": (*GATHERED, BatchState.ASSEMBLED),
    "resumed": (BatchState.SUSPENDED,),
    "dropped": (BatchState.SUSPENDED,),
}
DONE: dict[str, Callable[[Batch, int], Batch]] = {
    "held": moves.pause_batch,
    "let go": moves.unpause_batch,
    "released": lambda batch, now_us: moves.release_batch(batch, now_us, "ann"),
    "assembled": lambda batch, now_us: moves.mark_assembled(batch, f"ic-{batch.id}-{now_us}", now_us),
    "suspended": lambda batch, now_us: moves.suspend_batch(batch, "it failed", now_us),
    "resumed": moves.resume_batch,
    "dropped": lambda batch, now_us: moves.drop_batch(batch, "not wanted", now_us),
}

TestBatchLives = pytest.mark.req("B2", "B5")(BatchLives.TestCase)
TestBatchLives.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
