"""Send ports through everything that can happen to them, on a network of one process and on one that two share.

The model is the ledger: it reads the journal alone, and knows nothing of how batches come about. At the end of every run all that
can go on is let go on, and then every order is in exactly one interchange that was delivered, or visibly over.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Recovery, Types, Unfinished
from postroad.core.model.directory import Role
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.core.model.polling import Settlement
from postroad.errors import Refused
from postroad.flow.administration import batch_actions as steering
from postroad.testing.clocks import ManualClock
from postroad.testing.postgres import PostgresServer
from tests.property.batch_node import SharedNode
from tests.samples.batch_ledger import BatchLedger
from tests.samples.batch_rest import Watching, come_to_rest
from tests.samples.send_port import SendPortScenario, order

TIMES = int(os.environ.get("POSTROAD_TEST_BATCHES", "1"))  # multiplies the runs
MAY_BE_REFUSED = {"batch.state", "version.conflict", "not-found", "dead-letter.dealt"}
STEPS: dict[str, Callable[..., Awaitable[Batch]]] = {
    "release": steering.release,
    "pause": steering.pause,
    "resume": steering.resume,
    "drop": steering.drop,
}
APT = {  # what there is to do; in other states all of it is refused
    BatchState.OPEN: ("release", "pause", "resume"),
    BatchState.CLOSED: ("release", "pause", "resume"),
    BatchState.SUSPENDED: ("resume", "drop"),
}
POLICIES = st.builds(
    BatchPolicy,
    count=st.sampled_from([1, 2, 3, 5]),
    bytes=st.sampled_from([0, 0, 120]),
    age_s=st.sampled_from([0, 60]),
    idle_s=st.sampled_from([0, 20]),
    cron=st.sampled_from([(), ("*/5 * * * *",)]),
    types=st.sampled_from(Types),
    controlled=st.sampled_from([None, Controlled(unfinished_after_s=90, unfinished=Unfinished.SEND), Controlled()]),
    recovery=st.sampled_from(Recovery),
)
DEEDS = ("acknowledge", "acknowledge", "fail", "keep")
MARKS = st.sampled_from(
    [{}, {}, {}, {}, {"BatchID": "a"}, {"BatchID": "a", "BatchStart": "1"}, {"BatchID": "a", "BatchEnd": "1"}]
)
Result = TypeVar("Result")


@dataclass(slots=True)
class JumpingClock(ManualClock):
    """A clock on the wall that somebody sets, beside one that only ever goes on."""

    set_by_s: float = 0.0

    def now_us(self) -> int:
        return ManualClock.now_us(self) + int(self.set_by_s * 1_000_000)


class SendPortMachine(RuleBasedStateMachine):
    nodes_most: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = JumpingClock()
        self.nodes: list[SendPortScenario] = []
        self.orders = itertools.count(1)
        self.leased: list[Delivered] = []

    async def node(self) -> SendPortScenario:
        return SendPortScenario(self.clock)

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(coroutine)

    @initialize(policy=POLICIES, ordered=st.booleans(), gap_free=st.booleans(), persist_at=st.sampled_from([0, 0, 4]))
    def begin(self, policy: BatchPolicy, ordered: bool, gap_free: bool, persist_at: int) -> None:
        async def opened() -> None:
            self.nodes = [await self.node() for _ in range(self.nodes_most)]
            await self.nodes[0].open()
            await self.nodes[0].set_up(policy, ordered=ordered, gap_free=gap_free, persist_at=persist_at)
            await self.nodes[0].running.register("Acme/other")
            self.ada = await self.nodes[0].running.enroll("ada@acme.example", organization="Acme", role=Role.DEVELOPER)
            for other in self.nodes[1:]:
                await other.open()

        self.run(opened())
        self.ledger = BatchLedger(self.nodes[0].profile("MyBiz/Sales").gcid, gap_free=gap_free)
        self.watching = Watching(self.ledger)
        self.persist_at = persist_at

    # --- what those who send do ---------------------------------------------------------------------------------------

    @rule(
        data=st.data(),
        count=st.integers(1, 4),
        kind=st.sampled_from([b"850", b"850", b"860"]),
        marks=MARKS,
        lives_s=st.sampled_from([0, 0, 0, 100]),
    )
    def post(self, data: st.DataObject, count: int, kind: bytes, marks: dict[str, str], lives_s: int) -> None:
        node = self._some_node(data)
        header: dict[str, Any] = {"expires_at_us": self.clock.now_us() + lives_s * 1_000_000} if lives_s else {}
        for number in itertools.islice(self.orders, count):
            document = order(number).replace(b"ST*850", b"ST*" + kind)
            posted = self.run(node.send(document, properties=marks, **header))
            self.ledger.documents[posted.session] = document

    @rule(data=st.data())
    @precondition(lambda self: self.ledger.waiting())
    def cancel(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(self.ledger.waiting()))
        node = self._some_node(data)
        cancel = Message(type=MessageType.CANCEL, reference=session)
        self.run(node.network.post(node.caller("MyBiz/Sales"), cancel))

    # --- what the network does ----------------------------------------------------------------------------------------

    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        node = self._some_node(data)
        if data.draw(st.booleans()):  # else what it remembers may be out of date, or not written down yet
            node.port.note_change()
        self.run(node.work())
        self._follow()
        if len(self.nodes) == 1:
            assert len(self.ledger.loose()) < max(self.persist_at, 1), "more than its policy says is in memory alone"

    @rule()
    @precondition(lambda self: len(self.nodes) > 1)
    def work_at_the_same_time(self) -> None:
        async def all_work() -> None:
            for node in self.nodes:
                node.port.note_change()
            await asyncio.gather(*[node.work() for node in self.nodes])

        self.run(all_work())
        self._follow()

    @rule(seconds=st.sampled_from([1, 25, 61, 301]))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-400, -30, 30, 700]))
    def somebody_sets_the_clock(self, seconds: int) -> None:
        self.clock.set_by_s += seconds

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        self.run(self._some_node(data).network.expiry.expire_due())

    @rule(data=st.data(), in_good_order=st.booleans())
    def stop_and_start(self, data: st.DataObject, in_good_order: bool) -> None:
        """A crash: all but the journal is lost."""
        node = self._some_node(data)
        if in_good_order:
            self.run(node.port.rest())
        self.run(node.restart())

    # --- what those who own the port do -------------------------------------------------------------------------------

    @rule(policy=POLICIES)
    def change_the_policy(self, policy: BatchPolicy) -> None:
        async def change() -> None:
            batching = self.nodes[0].profile("Acme/orders").batching
            assert batching is not None
            await self.nodes[0].change("Acme/orders", batching=replace(batching, policy=policy))
            for other in self.nodes[1:]:
                await other.network.wait_until_indexed()
                await other.network.configuration.load()

        self.run(change())

    @rule(data=st.data())
    @precondition(lambda self: self.ledger.unsettled())
    def steer(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from(self.ledger.unsettled()))
        step = STEPS[data.draw(st.sampled_from(APT.get(batch.state, tuple(STEPS))))]
        self._allow_refusal(step(self._some_node(data).network, self.ada, batch.id, "because", None))

    @rule(data=st.data())
    @precondition(lambda self: self.ledger.members())
    def remove(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from(self.ledger.members()))
        batch, node = self.ledger.batch_of[member], self._some_node(data)
        self._allow_refusal(steering.remove_member(node.network, self.ada, batch, member, "because", None))

    @rule(data=st.data())
    @precondition(lambda self: "failed" in self.ledger.ended.values())
    def resend(self, data: st.DataObject) -> None:
        """A member that failed by itself, or whose batch was dropped, comes again."""
        failed = [number for number, state in self.ledger.ended.items() if state == "failed"]
        self._allow_refusal(self._resend(self._some_node(data), data.draw(st.sampled_from(failed))))

    @rule(data=st.data())
    @precondition(lambda self: self.ledger.failed_ways())
    def resend_an_interchange(self, data: st.DataObject) -> None:
        """Somebody deals with the dead letter, and does not ask for its batch."""
        way = data.draw(st.sampled_from(self.ledger.failed_ways()))
        self._allow_refusal(self._resend(self._some_node(data), way))

    async def _resend(self, node: SendPortScenario, number: int) -> None:
        await node.network.wait_until_indexed()
        letter = await node.network.dead_letters.find(node.network.index, number)
        assert letter is not None, "what failed is a dead letter"
        await node.network.dead_letters.check(letter)
        await node.network.dead_letters.resend(letter, "ada", "because")

    # --- what the partner does ----------------------------------------------------------------------------------------

    @rule(data=st.data(), whats=st.lists(st.sampled_from(DEEDS), min_size=1, max_size=3))
    def poll(self, data: st.DataObject, whats: list[str]) -> None:
        """The batcher works, the partner takes what there is, and does one thing or another with each."""
        self.work(data)
        node = self._some_node(data)
        found = self.run(node.poll())
        self._follow()
        for interchange, what in zip(found, itertools.cycle(whats)):
            self.ledger.hand_out(interchange.session, interchange.parts[0].data)
            self._settle(node, interchange, what)

    @rule(data=st.data(), what=st.sampled_from(DEEDS))
    @precondition(lambda self: self.leased)
    def settle_late(self, data: st.DataObject, what: str) -> None:
        interchange = self.leased.pop(data.draw(st.integers(0, len(self.leased) - 1)))
        self._settle(self._some_node(data), interchange, what)

    def _settle(self, node: SendPortScenario, interchange: Delivered, what: str) -> None:
        if what == "acknowledge":
            self._acknowledge(node, interchange)
        elif what == "fail":
            self.run(node.fail(interchange))
        else:
            self.leased.append(interchange)

    def _acknowledge(self, node: SendPortScenario, interchange: Delivered) -> None:
        settlement = Settlement(tokens=(interchange.token,))
        [settled] = self.run(node.network.settle(node.caller("Acme/edi"), settlement)).settled
        self._follow()
        assert settled.code or (node.network.tokens.number(interchange.token) or 0) in self.ledger.arrived
        self.ledger.check()

    # --- how it ends --------------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.nodes:
                self.run(come_to_rest(self.nodes[0], self.ada, self.watching))
        finally:
            for node in self.nodes:
                self.run(node.close())
            self.run(self.shut())
            self.runner.close()

    async def shut(self) -> None:
        """Put away what all nodes share."""

    # --- what all steps need ------------------------------------------------------------------------------------------

    def _some_node(self, data: st.DataObject) -> SendPortScenario:
        return self.nodes[0] if len(self.nodes) == 1 else data.draw(st.sampled_from(self.nodes))

    def _allow_refusal(self, step: Awaitable[object]) -> None:
        async def tried() -> None:
            try:
                await step
            except Refused as refusal:
                if refusal.code not in MAY_BE_REFUSED:
                    raise

        self.run(tried())
        self._follow()
        self.ledger.check()

    def _follow(self) -> None:
        self.run(self.watching.follow(self.nodes[0]))


class SharedSendPortMachine(SendPortMachine):
    nodes_most = 2
    server: ClassVar[PostgresServer]
    _numbers = itertools.count(1)
    database = ""

    async def node(self) -> SendPortScenario:
        if not self.database:
            self.database = f"send_ports_{next(self._numbers)}"
            self.dsn = self.server.create_database(self.database)
        return SharedNode(self.dsn, self.clock)

    async def shut(self) -> None:
        if self.database:
            self.server.drop_database(self.database)


@pytest.mark.req("B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8")
def test_every_message_is_in_one_interchange_or_visibly_over() -> None:
    run_state_machine_as_test(SendPortMachine, settings=settings(max_examples=60 * TIMES, stateful_step_count=40))


@pytest.mark.req("B5", "B6", "O3")
def test_two_processes_may_gather_at_the_same_port(postgres: PostgresServer) -> None:
    machine = type("Machine", (SharedSendPortMachine,), {"server": postgres})
    run_state_machine_as_test(machine, settings=settings(max_examples=6 * TIMES, stateful_step_count=30))
