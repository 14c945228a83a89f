"""One simulation: a network drawn from a seed, days of traffic, crashes in between, and the promises at the end.

    report = simulate(4711, days=3)
    assert not report.broken, report

Kept rule: the seed decides everything, so ``simulate`` twice gives the same journal, byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from postroad.core.model.directory import Organization
from postroad.core.model.rule import Rule
from postroad.errors import Unavailable
from postroad.flow.configure import saving
from postroad.flow.network import Network
from postroad.testing.simulation.behaviour import TEMPERS, receive
from postroad.testing.simulation.bookkeeping import Books, read_all
from postroad.testing.simulation.clerks import deal_now_and_then
from postroad.testing.simulation.histories import histories_that_differ
from postroad.testing.simulation.ledger import Ledger
from postroad.testing.simulation.network import Build, ConnectionLost, SimulatedNetwork
from postroad.testing.simulation.operators import suspend_now_and_then
from postroad.testing.simulation.parties import Party
from postroad.testing.simulation.promises import Outcome, broken
from postroad.testing.simulation.rehearsal import rehearse
from postroad.testing.simulation.rules import DEFAULT_EXPIRATIONS_S, drawn_rules, drawn_service
from postroad.testing.simulation.sending import send
from postroad.testing.simulation.virtual_time import VirtualLoop, drawn_from, virtual_loop

DAY_S = 86_400.0
HORIZON_S = 15.0
LATECOMERS_S = 3600.0  # for what was posted late, after a crash, and the error responses to it
REHEARSALS = 6
RULE_CHANGES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What happened, and which promises were broken."""

    seed: int
    virtual_s: float
    entries: int
    chain: str  # the journal's last hash: equal for two runs only if every byte is
    starts: int
    events: Counter[str]
    states: Counter[str]
    refusals: Counter[str]
    broken: tuple[str, ...]

    def __str__(self) -> str:
        faults = "".join(f"\n  {fault}" for fault in self.broken[:20]) or " none"
        return (
            f"seed {self.seed}: {self.virtual_s / DAY_S:.1f} days, {self.entries} entries, {self.starts} starts, "
            f"states {dict(self.states)}, refusals {dict(self.refusals)}, events {dict(self.events)}; broken promises:{faults}"
        )


def simulate(
    seed: int,
    *,
    days: float = 2.0,
    services: int = 8,
    posts: int = 400,
    crashes: int = 6,
    dealings: int = 0,
    suspensions: int = 0,
    build: Build | None = None,
) -> Report:
    """Run it; ``posts``, ``crashes``, ``dealings`` with dead letters and ``suspensions`` are the numbers to expect."""
    loop = virtual_loop(drawn_from(seed, "order"))
    scenario = Scenario(seed, loop, build)
    with Complaints() as complaints:
        loop.run_until_complete(scenario.run(days * DAY_S, services, posts, crashes, dealings, suspensions))
    return scenario.report(loop.time(), [*loop.failures, *complaints.lines])


class Complaints(logging.Handler):
    """Whatever is logged as an error during a run: programming mistakes that the network survived."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        self.lines.append(f"logged: {record.getMessage()}{error}")

    def __enter__(self) -> Complaints:
        logging.getLogger("postroad").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("postroad").removeHandler(self)


class Scenario:
    def __init__(self, seed: int, loop: VirtualLoop, build: Build | None) -> None:
        self.seed = seed
        self.chance = drawn_from(seed, "scenario")
        self.build = build or Build(
            attempts_most=self.chance.choice((3, 20)), head_most=self.chance.choice((2, 10, 20_000))
        )
        self.ledger = Ledger()
        self.faults: list[str] = []
        self.running = SimulatedNetwork(loop, drawn_from(seed, "network"), self.build)
        self._rules: list[Rule] = []
        self._books = Books(())
        self._chain = b""
        self._chores: list[asyncio.Task[None]] = []

    async def run(
        self, traffic_s: float, services: int, posts: int, crashes: int, dealings: int, suspensions: int
    ) -> None:
        await self.running.start()
        parties = await self._register(services)
        end_us = self.running.clock.now_us() + round(traffic_s * 1_000_000)
        for party in parties:
            others = [other for other in parties if other is not party]
            party.begin(send(party, others, end_us, traffic_s * services / posts))
            party.begin(receive(party, party.chance.choice(TEMPERS)))
        self._do(self._crash_now_and_then(crashes, traffic_s))
        self._do(self._rehearse_now_and_then(REHEARSALS, traffic_s))
        self._do(self._change_rules_now_and_then(RULE_CHANGES, traffic_s))
        clerks = drawn_from(self.seed, "clerks")
        self._do(deal_now_and_then(self.running, self.ledger, clerks, dealings, traffic_s))
        gcids = [party.gcid for party in parties]
        operators = drawn_from(self.seed, "operators")
        self._do(suspend_now_and_then(self.running, self.ledger, operators, gcids, suspensions, traffic_s))
        await asyncio.sleep(traffic_s + max(DEFAULT_EXPIRATIONS_S))
        for party in parties:
            party.leave()
        await asyncio.sleep(max(DEFAULT_EXPIRATIONS_S) + LATECOMERS_S)
        await self._close()

    def report(self, virtual_s: float, complaints: list[str]) -> Report:
        outcome = Outcome(
            books=self._books,
            ledger=self.ledger,
            horizon_us=round(HORIZON_S * 1_000_000),
            outages_us=self.running.outages_us,
        )
        return Report(
            seed=self.seed,
            virtual_s=virtual_s,
            entries=self._books.entries,
            chain=self._chain.hex(),
            starts=self.running.starts,
            events=self.ledger.events,
            states=Counter(leg.state.name.lower() for leg in self._books.legs.values()),
            refusals=self.ledger.refusals,
            broken=(*complaints, *self.faults, *broken(outcome)),
        )

    async def _register(self, count: int) -> list[Party]:
        made = [drawn_service(place, self.chance) for place in range(count)]
        self._rules = drawn_rules(made, self.chance)
        objects: list[Any] = [Organization(name=name) for name in sorted({one.organization for one in made})]
        await self.running.network.configuration.change(
            "simulation", [saving(one) for one in (*objects, *made, *self._rules)]
        )
        return [
            Party(one.gcid, one.address, self.running, self.ledger, drawn_from(self.seed, one.name)) for one in made
        ]

    async def _crash_now_and_then(self, times: int, whole_s: float) -> None:
        for _ in range(times):
            await asyncio.sleep(self.chance.expovariate(times / whole_s))
            if self.chance.random() < 0.7:
                await self.running.writing()
            self.running.crash(index_lost=self.chance.random() < 0.5)
            await asyncio.sleep(self.chance.choice((0.0, 1.0, 600.0)))
            await self.running.start()

    async def _rehearse_now_and_then(self, times: int, whole_s: float) -> None:
        for _ in range(times):
            await asyncio.sleep(self.chance.expovariate(times / whole_s))
            await self._rehearse()

    async def _change_rules_now_and_then(self, times: int, whole_s: float) -> None:
        """Switch rules on and off while messages are on their way."""
        for _ in range(times if self._rules else 0):
            await asyncio.sleep(self.chance.expovariate(times / whole_s))
            place = self.chance.randrange(len(self._rules))
            rule = self._rules[place] = replace(self._rules[place], enabled=not self._rules[place].enabled)

            async def question(network: Network, rule: Rule = rule) -> object:
                return await network.configuration.change("simulation", [saving(rule)])

            with contextlib.suppress(ConnectionLost, Unavailable):
                await self.running.ask(question)

    async def _rehearse(self) -> None:
        running = self.running
        self.faults += await rehearse(running.journal, running.index, running.clock, self.chance, self.build)
        self.ledger.events["rehearsed restarts"] += 1

    async def _close(self) -> None:
        """Everybody has left, and everything should be over: start a last time, and compare."""
        for chore in self._chores:
            chore.cancel()
        self.running.crash(index_lost=False)
        await self.running.start()
        await self.running.network.indexed()
        await self._rehearse()
        self._books = Books(await read_all(self.running.journal))
        self.faults += await histories_that_differ(self.running.network, self._books, self.chance)
        self._chain = (await self.running.journal.head()).chain

    def _do(self, chore: Any) -> None:
        self._chores.append(asyncio.get_running_loop().create_task(chore))
