"""Whether a slow, hanging or failing recipient slows delivery to the others: measured undisturbed and disturbed, taking turns.

    python -m benchmarks.isolation [--rounds 5] [--seconds 5] [--rate 200] [--only pushes|fan-out]
    python -m benchmarks isolation

A real server pushes to 1,000 good services of 100 organizations at a constant rate, in one round undisturbed, in the next while
others that hang or refuse are flooded; each disturbed round has troublemakers of its own, since a known one is left alone. What
counts is the time from a post to the push's arrival at a good service. The second table is one post to 10,000 push services.
The exit code is 1 when a good one's p99 is not below twice its undisturbed value.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.isolation_fan_out import fan_out_table
from benchmarks.isolation_load import Poster, poll_always, poll_without_reading, posting
from benchmarks.isolation_network import Members, Receivers, network, receivers
from postroad.core.identity import api_key

GOOD, ORGANIZATIONS = 1_000, 100
POLLERS = 20
SILENT = "Pollers/Silent"
FLOOD_RATE = 200.0
FLOOD_AHEAD_S = 1.0  # the flood has begun when the first good message is posted
BODY_BYTES = 2_048
ARRIVING_S = 60.0
MAX_RATIO = 2.0  # times the undisturbed p99

Measure = Callable[
    [Sequence[str]], Awaitable[list[int]]
]  # flooded services → how long good messages were under way, in µs


class Pace(NamedTuple):
    rounds: int
    seconds: float
    rate: float


class Times(NamedTuple):
    """How long messages were under way in one round, in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, under_way_us: Sequence[int]) -> Times:
        ordered = sorted(under_way_us)
        return cls(ordered[len(ordered) // 2] / 1_000, ordered[len(ordered) * 99 // 100] / 1_000)


class Scenario(NamedTuple):
    title: str
    measure: Measure
    flooded: list[list[str]]  # for each disturbed round


class Row(NamedTuple):
    title: str
    undisturbed: Times
    disturbed: Times

    @property
    def ratio(self) -> float:
        return self.disturbed.p99 / self.undisturbed.p99


# ---- the measured networks -------------------------------------------------------------------------------------------


class Pushing:
    """Good push services under a constant rate of messages."""

    def __init__(self, poster: Poster, receiving: Receivers, good: Sequence[str], pace: Pace) -> None:
        self._poster = poster
        self._receiving = receiving
        self._next_good: Iterator[str] = cycle(good)
        self._pace = pace

    async def measure(self, flooded: Sequence[str]) -> list[int]:
        _, seconds, rate = self._pace
        await self._receiving.tell("/release")
        async with asyncio.TaskGroup() as group:
            if flooded:
                flood = self._poster.post_at(FLOOD_RATE, seconds + FLOOD_AHEAD_S, cycle(flooded), BODY_BYTES)
                group.create_task(flood)
            await asyncio.sleep(FLOOD_AHEAD_S)
            await self._poster.post_at(rate, seconds, self._next_good, BODY_BYTES)
            return await self._arrived(int(rate * seconds))

    async def _arrived(self, count: int) -> list[int]:
        under_way_us: list[int] = []
        async with asyncio.timeout(ARRIVING_S):
            while len(under_way_us) < count:
                await asyncio.sleep(0.1)
                under_way_us += await self._receiving.tell("/taken")
        return under_way_us


class Polling:
    """Good pollers under the same rate; a flooded one polls and does not read its answers."""

    def __init__(self, poster: Poster, port: int, keys: dict[str, str], pace: Pace) -> None:
        self._poster = poster
        self._port = port
        self._keys = keys
        self._good = [address for address in keys if address != SILENT]
        self._pace = pace

    async def measure(self, flooded: Sequence[str]) -> list[int]:
        _, seconds, rate = self._pace
        expected = Expected(int(rate * seconds))
        silent = [poll_without_reading(self._port, self._keys[one]) for one in flooded for _ in range(8)]
        async with self._polling(expected), asyncio.TaskGroup() as group:
            if flooded:
                flood = self._poster.post_at(FLOOD_RATE, seconds + FLOOD_AHEAD_S, cycle(flooded), 10 * BODY_BYTES)
                group.create_task(flood)
            await asyncio.sleep(FLOOD_AHEAD_S)
            await self._poster.post_at(rate, seconds, cycle(self._good), BODY_BYTES)
            await expected.all()
        for connection in silent:
            connection.close()
        return expected.under_way_us

    @asynccontextmanager
    async def _polling(self, expected: Expected) -> AsyncIterator[None]:
        url = f"http://127.0.0.1:{self._port}"
        tasks = [asyncio.create_task(poll_always(url, self._keys[one], expected.arrived)) for one in self._good]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Expected:
    """So many messages, and how long each that has come was under way."""

    def __init__(self, count: int) -> None:
        self.under_way_us: list[int] = []
        self._count = count
        self._all = asyncio.Event()

    def arrived(self, under_way_us: int) -> None:
        self.under_way_us.append(under_way_us)
        if len(self.under_way_us) == self._count:
            self._all.set()

    async def all(self) -> None:
        async with asyncio.timeout(ARRIVING_S):
            await self._all.wait()


# ---- scenarios -------------------------------------------------------------------------------------------------------


class Cast(NamedTuple):
    """Everyone who takes part: good push services, those that make trouble in each round, pollers and their keys."""

    good: list[str]
    one: list[list[str]]
    many_of_one: list[list[str]]
    many_of_many: list[list[str]]
    keys: dict[str, str]


def cast(members: Members, rounds: int, folder: Path) -> Cast:
    good = [
        address
        for number in range(ORGANIZATIONS)
        for address in members.pushed_to(f"Good{number}", names(GOOD // ORGANIZATIONS), "good")
    ]
    one = [
        members.pushed_to(f"Stuck{number}", ["inbox"], "hang") + members.pushed_to(f"Deaf{number}", ["inbox"], "refuse")
        for number in range(rounds)
    ]
    many_of_one = [members.pushed_to(f"Slow{number}", names(100), "hang") for number in range(rounds)]
    many_of_many = [
        [one for other in range(8) for one in members.pushed_to(f"Slow{number}of{other}", names(10), "hang")]
        for number in range(rounds)
    ]
    return Cast(good, one, many_of_one, many_of_many, dict(pollers(members, folder)))


def names(count: int) -> list[str]:
    return [f"s{number}" for number in range(count)]


def pollers(members: Members, folder: Path) -> Iterator[tuple[str, str]]:
    for name in [*(f"Good{number}" for number in range(POLLERS)), "Silent"]:
        key = api_key.make(os.urandom(api_key.RANDOM_BYTES)).text
        file = folder / f"{name}.key"
        file.write_text(key)
        yield members.polling("Pollers", name, file), key


async def measured(scenario: Scenario) -> Row:
    """Every round undisturbed, then disturbed, so that what else the machine does disturbs both."""
    undisturbed, disturbed = [], []
    for flooded in scenario.flooded:
        undisturbed.append(Times.of(await scenario.measure([])))
        disturbed.append(Times.of(await scenario.measure(flooded)))
        print(f"{scenario.title}: {undisturbed[-1]} {disturbed[-1]}", file=sys.stderr)
    return Row(scenario.title, _middle(undisturbed), _middle(disturbed))


def _middle(rounds: Sequence[Times]) -> Times:
    return Times(median(times.p50 for times in rounds), median(times.p99 for times in rounds))


async def all_rows(folder: Path, pace: Pace) -> list[Row]:
    with receivers() as receiving:
        members = Members(receiving)
        everyone = cast(members, pace.rounds, folder)
        with network(folder / "network", members) as server:
            async with posting(server.port, server.sender_key) as poster:
                pushing = Pushing(poster, receiving, everyone.good, pace)
                polling = Polling(poster, server.port, everyone.keys, pace)
                scenarios = (
                    Scenario("push: one hangs, one refuses", pushing.measure, everyone.one),
                    Scenario("push: 100 of one organization hang", pushing.measure, everyone.many_of_one),
                    Scenario("push: 10 of each of 8 organizations hang", pushing.measure, everyone.many_of_many),
                    Scenario("poll: one does not read its answers", polling.measure, [[SILENT]] * pace.rounds),
                )
                return [await measured(scenario) for scenario in scenarios]


def print_rows(rows: Sequence[Row], pace: Pace) -> None:
    print(
        f"{GOOD:,} good services of {ORGANIZATIONS} organizations, {pace.rate:g} messages of {BODY_BYTES} bytes a second to them,"
    )
    print(
        f"{FLOOD_RATE:g} a second to the others; medians of {pace.rounds} rounds of {pace.seconds:g} s each way, taking turns\n"
    )
    print(f"{'from the post to its arrival, ms':<42} {'undisturbed':>15} {'disturbed':>17}")
    print(f"{'':<42} {'p50':>7} {'p99':>7} {'p50':>9} {'p99':>7}   p99 ratio")
    for row in rows:
        figures = (
            f"{row.undisturbed.p50:7.2f} {row.undisturbed.p99:7.2f} {row.disturbed.p50:9.2f} {row.disturbed.p99:7.2f}"
        )
        print(
            f"{row.title:<42} {figures}   {row.ratio:4.2f}× {'✓' if row.ratio < MAX_RATIO else '✗'} (< {MAX_RATIO:g})"
        )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=5.0)
    arguments.add_argument("--rate", type=float, default=200.0)
    arguments.add_argument("--only", choices=["pushes", "fan-out"])
    chosen = arguments.parse_args()
    pace = Pace(chosen.rounds, chosen.seconds, chosen.rate)
    rows: list[Row] = []
    with work_folder() as folder:
        if chosen.only != "fan-out":
            rows = asyncio.run(all_rows(folder, pace))
            print_rows(rows, pace)
        if chosen.only != "pushes":
            print(asyncio.run(fan_out_table(folder)))
    return int(any(row.ratio >= MAX_RATIO for row in rows))


if __name__ == "__main__":
    sys.exit(main())
