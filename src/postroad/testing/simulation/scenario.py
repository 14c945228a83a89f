"""One simulation: a network drawn from a seed, days of traffic, crashes in between, and the promises at the end.

    report = simulate(4711, days=3)
    assert not report.broken, report

Rule: the seed decides everything, so ``simulate`` twice gives the same journal, byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

from postroad.core.model.directory import Organization
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.rule import Rule
from postroad.errors import Refused, Unavailable
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.simulation.dead_letter_operators import handle_dead_letters
from postroad.testing.simulation.network import ConnectionLost, NetworkBuild, SimulatedNetwork
from postroad.testing.simulation.observations import Observations, SuspensionPeriod
from postroad.testing.simulation.promises import SimulationOutcome, find_broken_promises
from postroad.testing.simulation.receivers import BEHAVIOURS, receive_deliveries
from postroad.testing.simulation.recorded_history import RecordedHistory, read_all_records
from postroad.testing.simulation.restart_check import check_restart
from postroad.testing.simulation.rules import DEFAULT_EXPIRATIONS_S, random_rules, random_service
from postroad.testing.simulation.simulated_services import SimulatedService
from postroad.testing.simulation.virtual_time import VirtualLoop, random_for, virtual_loop

DAY_S = 86_400.0
HORIZON_S = 15.0
LATECOMERS_S = 3600.0  # for late posts after a crash, and their error responses
REHEARSALS = 6
RULE_CHANGES = 10
EXPIRATIONS_S = (0.0, 0.0, 2.0, 60.0, 3600.0, 50_000.0)  # 0: the service's default, which may be the longest
UNKNOWN = Recipient("Nobody/Nowhere")
AGAIN_S = 5.0
LASTING_S = (60.0, 3_600.0, 6 * 3_600.0)


async def suspend_at_random(
    running: SimulatedNetwork, ledger: Observations, chance: Random, services: Sequence[str], times: int, whole_s: float
) -> None:
    """Simulated operators that suspend services and end the suspensions hours later.

    Rule: a suspension counts from its confirmation until the operator's request to end it.
    """
    for _ in range(times):
        await asyncio.sleep(chance.expovariate(times / whole_s))
        gcid = chance.choice(services)
        of_organization = chance.random() < 0.5
        await _set_suspension(running, gcid, "unpaid", of_organization=of_organization)
        from_us = running.clock.now_us()
        await asyncio.sleep(chance.choice(LASTING_S))
        ledger.suspended.append(SuspensionPeriod(gcid, from_us, running.clock.now_us()))
        ledger.events["suspensions"] += 1
        await _set_suspension(running, gcid, "", of_organization=of_organization)


async def _set_suspension(running: SimulatedNetwork, gcid: str, reason: str, *, of_organization: bool) -> None:
    """Suspend or end a suspension; repeats until the network confirms it."""

    async def question(network: Network) -> object:
        service = network.directory.services[gcid]
        organization = network.directory.organizations[service.organization.casefold()]
        changed = replace(organization, suspended=reason) if of_organization else replace(service, suspended=reason)
        return await network.configuration.change("operator", [build_save(changed)], f"suspended: {reason}")

    while True:
        try:
            await running.ask(question)
        except (ConnectionLost, Unavailable, Refused):  # refused: it was changed concurrently
            await asyncio.sleep(AGAIN_S)
        else:
            return


async def send_at_random(
    party: SimulatedService, others: Sequence[SimulatedService], until_us: int, every_s: float
) -> None:
    """Post at random times."""
    for number in count(1):
        await asyncio.sleep(party.chance.expovariate(1 / every_s))
        if party.now_us >= until_us:
            return
        if party.chance.random() < 0.1:
            await party.post_many([random_message(party, others, number, place) for place in range(4)])
        else:
            session = await party.post(random_message(party, others, number))
            if session and party.chance.random() < 0.1:
                party.begin(withdraw_later(party, session))


async def withdraw_later(party: SimulatedService, session: str) -> None:
    """Cancel the message, immediately or later."""
    await asyncio.sleep(party.chance.choice((0.0, 0.1, 60.0, 3600.0)))
    await party.cancel(session)


def random_message(party: SimulatedService, others: Sequence[SimulatedService], number: int, place: int = 0) -> Message:
    chance = party.chance
    handle = f"{party.gcid}-{number}.{place}"
    expiration_s = chance.choice(EXPIRATIONS_S)
    stops = chance.sample(others, min(len(others), chance.choice((1, 1, 1, 2, 4)) + chance.choice((0, 0, 1, 3))))
    recipients = max(1, len(stops) - chance.choice((0, 0, 1, 3)))
    to = [Recipient(stop.address if chance.random() < 0.5 else stop.gcid) for stop in stops]
    return Message(
        to=(*to[:recipients], *((UNKNOWN,) if chance.random() < 0.05 else ())),
        route=tuple(to[recipients:]),
        type=chance.choice((MessageType.REQUEST, MessageType.REQUEST, MessageType.NOTIFICATION)),
        topic=chance.choice(("", "orders", "bills")),
        handle=handle,
        expires_at_us=party.now_us + round(expiration_s * 1_000_000) if expiration_s else 0,
        parts=tuple(
            Part(id=f"part{part}", content_type="text/plain", data=f"{handle} part {part}".encode())
            for part in range(chance.choice((0, 1, 1, 3)))
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """The results of a simulation, and the promises that were broken."""

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
    build: NetworkBuild | None = None,
) -> SimulationReport:
    """Run it; ``posts``, ``crashes``, ``dealings`` with dead letters and ``suspensions`` are the numbers to expect."""
    loop = virtual_loop(random_for(seed, "order"))
    scenario = SimulationRun(seed, loop, build)
    with ErrorLogCollector() as complaints:
        loop.run_until_complete(scenario.run(days * DAY_S, services, posts, crashes, dealings, suspensions))
    return scenario.report(loop.time(), [*loop.failures, *complaints.lines])


class ErrorLogCollector(logging.Handler):
    """Collects errors that were logged during a run: programming mistakes that the network survived."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = f" ({record.exc_info[1]!r})" if record.exc_info else ""
        self.lines.append(f"logged: {record.getMessage()}{error}")

    def __enter__(self) -> ErrorLogCollector:
        logging.getLogger("postroad").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("postroad").removeHandler(self)


class SimulationRun:
    def __init__(self, seed: int, loop: VirtualLoop, build: NetworkBuild | None) -> None:
        self.seed = seed
        self.chance = random_for(seed, "scenario")
        self.build = build or NetworkBuild(
            attempts_most=self.chance.choice((3, 20)), head_most=self.chance.choice((2, 10, 20_000))
        )
        self.ledger = Observations()
        self.faults: list[str] = []
        self.running = SimulatedNetwork(loop, random_for(seed, "network"), self.build)
        self._rules: list[Rule] = []
        self._books = RecordedHistory(())
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
            party.begin(send_at_random(party, others, end_us, traffic_s * services / posts))
            party.begin(receive_deliveries(party, party.chance.choice(BEHAVIOURS)))
        self._do(self._crash_now_and_then(crashes, traffic_s))
        self._do(self._rehearse_now_and_then(REHEARSALS, traffic_s))
        self._do(self._change_rules_now_and_then(RULE_CHANGES, traffic_s))
        clerks = random_for(self.seed, "clerks")
        self._do(handle_dead_letters(self.running, self.ledger, clerks, dealings, traffic_s))
        gcids = [party.gcid for party in parties]
        operators = random_for(self.seed, "operators")
        self._do(suspend_at_random(self.running, self.ledger, operators, gcids, suspensions, traffic_s))
        await asyncio.sleep(traffic_s + max(DEFAULT_EXPIRATIONS_S))
        for party in parties:
            party.leave()
        await asyncio.sleep(max(DEFAULT_EXPIRATIONS_S) + LATECOMERS_S)
        await self._close()

    def report(self, virtual_s: float, complaints: list[str]) -> SimulationReport:
        outcome = SimulationOutcome(
            books=self._books,
            ledger=self.ledger,
            horizon_us=round(HORIZON_S * 1_000_000),
            outages_us=self.running.outages_us,
        )
        return SimulationReport(
            seed=self.seed,
            virtual_s=virtual_s,
            entries=self._books.entries,
            chain=self._chain.hex(),
            starts=self.running.starts,
            events=self.ledger.events,
            states=Counter(leg.state.name.lower() for leg in self._books.legs.values()),
            refusals=self.ledger.refusals,
            broken=(*complaints, *self.faults, *find_broken_promises(outcome)),
        )

    async def _register(self, count: int) -> list[SimulatedService]:
        made = [random_service(place, self.chance) for place in range(count)]
        self._rules = random_rules(made, self.chance)
        objects: list[Any] = [Organization(name=name) for name in sorted({one.organization for one in made})]
        await self.running.network.configuration.change(
            "simulation", [build_save(one) for one in (*objects, *made, *self._rules)]
        )
        return [
            SimulatedService(one.gcid, one.address, self.running, self.ledger, random_for(self.seed, one.name))
            for one in made
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
        """Enable and disable rules while messages are in transit."""
        for _ in range(times if self._rules else 0):
            await asyncio.sleep(self.chance.expovariate(times / whole_s))
            place = self.chance.randrange(len(self._rules))
            rule = self._rules[place] = replace(self._rules[place], enabled=not self._rules[place].enabled)

            async def question(network: Network, rule: Rule = rule) -> object:
                return await network.configuration.change("simulation", [build_save(rule)])

            with contextlib.suppress(ConnectionLost, Unavailable):
                await self.running.ask(question)

    async def _rehearse(self) -> None:
        running = self.running
        self.faults += await check_restart(running.journal, running.index, running.clock, self.chance, self.build)
        self.ledger.events["rehearsed restarts"] += 1

    async def _close(self) -> None:
        """Restart a last time after all services have stopped, and compare the states."""
        for chore in self._chores:
            chore.cancel()
        self.running.crash(index_lost=False)
        await self.running.start()
        await self.running.network.wait_until_indexed()
        await self._rehearse()
        self._books = RecordedHistory(await read_all_records(self.running.journal))
        self.faults += await find_history_differences(self.running.network, self._books, self.chance)
        self._chain = (await self.running.journal.head()).chain

    def _do(self, chore: Any) -> None:
        self._chores.append(asyncio.get_running_loop().create_task(chore))


MAX_ASKED = 40


async def find_history_differences(network: Network, books: RecordedHistory, chance: Random) -> list[str]:
    """Query some random sessions, and return every stop whose history differs from the journal."""
    faults = []
    for seq in chance.sample(sorted(books.posted), min(MAX_ASKED, len(books.posted))):
        session = books.posted[seq].session
        history = await network.trace(session, None)
        if history is None or session not in [message.session for message in history.messages]:
            faults.append(f"the history of {session} does not tell of it")
            continue
        stops = [stop for message in history.messages for copy in message.copies for stop in copy.stops]
        for stop in stops:
            told = (stop.state, sum(event.what == "handed out" for event in stop.events))
            leg = books.legs[stop.delivery]
            if told != (leg.state.name.lower(), len(leg.leases)):
                faults.append(f"the history of {session} says {told} of {leg}")
    return faults
