"""The power goes at random moments of a send port's life: no message is lost, none goes twice, and no number is used again.

What was promised by then is there afterwards: a post that was answered, a join that a standard batcher went on from, an
interchange that the partner was handed out, and what the partner was told to be acknowledged.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from postroad.adapters.journal.segments import SegmentSettings
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import BatchPolicy, Recovery
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.flow.administration import batch_actions as steering
from postroad.testing.clocks import ManualClock
from postroad.testing.faults.power_cuts import PowerCutFiles, write_files
from tests.samples.batch_ledger import BatchLedger
from tests.samples.batch_rest import Watching, come_to_rest
from tests.samples.segment_runs import open_small
from tests.samples.send_port import SendPortScenario, order

STEPS = 30
CUTS = int(os.environ.get("POSTROAD_TEST_POWER_CUTS", "600")) // 40
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
SIZES = SegmentSettings(segment_bytes=32_768, reserve_bytes=4096, least_free_bytes=0, least_free_share=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What somebody relies on from a change of the disk on."""

    posted: frozenset[str]
    gathered: frozenset[tuple[int, str]]
    handed_out: frozenset[str]
    acknowledged: frozenset[str]


@dataclass(slots=True, kw_only=True)
class Run:
    """A life of a send port, with the disk's record of it."""

    disk: PowerCutFiles
    node: SendPortScenario
    ada: Caller
    ledger: BatchLedger
    watching: Watching
    acknowledged: set[str] = field(default_factory=set)
    promises: list[tuple[int, Promise]] = field(default_factory=list)
    states: set[BatchState] = field(default_factory=set)

    async def step(self, chance: Random, orders: Iterator[int]) -> None:
        deed = chance.choice((self.post, self.post, self.post, self.partner, self.partner, self.owner))
        await deed(chance, orders)
        if chance.random() < 0.8:
            await self.node.work(chance.choice((0, 1, 30)))
        await self.note()

    async def post(self, chance: Random, orders: Iterator[int]) -> None:
        for _ in range(chance.randrange(1, 4)):
            document = order(next(orders))
            posted = await self.node.send(document)
            self.ledger.documents[posted.session] = document

    async def partner(self, chance: Random, orders: Iterator[int]) -> None:
        found = await self.node.poll()
        await self.watching.follow(self.node)
        for interchange in found:
            self.ledger.hand_out(interchange.session, interchange.parts[0].data)
            if chance.random() < 0.7:
                await self.node.acknowledge(interchange)
                self.acknowledged.add(interchange.session)
            else:
                await self.node.fail(interchange)

    async def owner(self, chance: Random, orders: Iterator[int]) -> None:
        network = self.node.network
        for batch in await network.batches.list_unsettled(self.node.profile("Acme/orders").gcid):
            if batch.state is BatchState.SUSPENDED:
                await steering.resume(network, self.ada, batch.id, "because", None)
            elif batch.state is BatchState.OPEN:
                await steering.release(network, self.ada, batch.id, "because", None)

    async def note(self) -> None:
        await self.watching.follow(self.node)
        self.states |= {batch.state for batch in self.ledger.batches.values()}
        promise = Promise(
            posted=frozenset(self.ledger.documents),
            gathered=frozenset(self.ledger.batch_of.items()),
            handed_out=frozenset(self.ledger.seen),
            acknowledged=frozenset(self.acknowledged),
        )
        self.promises.append((len(self.disk.changes), promise))

    def promised(self, cut: int) -> Promise:
        return next(promise for at, promise in reversed(self.promises) if at <= cut)


def journal_of(node: SendPortScenario) -> Any:
    return node.network.journal


def node_on(path: Path, clock: ManualClock, disk: PowerCutFiles | None = None) -> SendPortScenario:
    journal: Any = open_small(path, disk, SIZES)
    return SendPortScenario(clock, journal)


async def recorded(path: Path, chance: Random, persist_at: int) -> Run:
    path.mkdir()
    disk = PowerCutFiles(path)
    node = node_on(path, ManualClock(), disk)
    await node.open()
    policy = BatchPolicy(count=4, age_s=60, recovery=chance.choice(list(Recovery)))
    await node.set_up(policy, persist_at=persist_at)
    ada = await node.running.enroll("ada@acme.example", organization="Acme", role=Role.DEVELOPER)
    ledger = BatchLedger(node.profile("MyBiz/Sales").gcid, gap_free=False)
    run = Run(disk=disk, node=node, ada=ada, ledger=ledger, watching=Watching(ledger))
    await run.note()
    orders = iter(range(1, 10_000))
    for _ in range(STEPS):
        await run.step(chance, orders)
    await node.close()
    await journal_of(node).close()
    return run


async def require_all(run: Run, cut: int, place: Path, chance: Random) -> None:
    """Open what the cut left, hold it against what was promised, and let everything come to its end."""
    shutil.rmtree(place, ignore_errors=True)
    write_files(run.disk.cut(cut, chance), place)
    node, promise = node_on(place, run.node.clock), run.promised(cut)
    await node.open()
    try:
        ledger = BatchLedger(node.profile("MyBiz/Sales").gcid, gap_free=False)
        ledger.documents, ledger.seen = dict(run.ledger.documents), dict(run.ledger.seen)
        watching = Watching(ledger)
        await watching.follow(node)
        assert promise.posted <= set(ledger.latest)
        assert promise.gathered <= set(ledger.batch_of.items())
        assert promise.handed_out <= set(ledger.interchanges)
        assert promise.acknowledged <= {ledger.ways[way] for way, fate in ledger.arrived.items() if fate == "delivered"}
        await come_to_rest(node, run.ada, watching)
    finally:
        await node.close()
        await journal_of(node).close()


@pytest.mark.req("B4", "B5", "B6", "A3")
@pytest.mark.parametrize("life", range(3))
@pytest.mark.parametrize("persist_at", [0, 6], ids=["standard", "high performance"])
async def test_a_power_cut_loses_no_message_and_sends_none_twice(tmp_path: Path, persist_at: int, life: int) -> None:
    print(f"seed {SEED + life}: repeat with POSTROAD_TEST_SEED={SEED}")
    chance = Random(SEED + life)
    run = await recorded(tmp_path / "run", chance, persist_at)
    first = run.promises[0][0]  # the port is there
    for _ in range(CUTS):
        await require_all(run, chance.randrange(first, len(run.disk.changes) + 1), tmp_path / "cut", chance)
    assert run.states >= {BatchState.SENT, BatchState.ASSEMBLED}
