"""What hostile requests of one organization do to the posts of another, and to ``/livez``.

    python -m benchmarks.neighbours [--seconds 5] [--only NAME ...]

A real server; one organization posts 50 small messages a second, whatever becomes of those before. Meanwhile a stranger who has
registered attacks from another process, with one kind of request after the other. What counts is how long a post of the first
organization takes, and how long ``/livez`` takes, asked 20 times a second. The exit code is 1 when the p99 of posts is not below
100 ms, or that of ``/livez`` not below 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.neighbour_attacks import Attacker, Target, ask, attack, attacks, written
from benchmarks.network import NetworkServer
from benchmarks.payload import RECEIVER
from benchmarks.processes import stop
from benchmarks.report import ROOT

RATE, LIVEZ_RATE = 50.0, 20.0
POST_P99_MS, LIVEZ_P99_MS = 100.0, 50.0
WAIT_S = 60.0


# --- the neighbour ----------------------------------------------------------------------------------------------------


async def at_rate(rate: float, seconds: float, once: Callable[[], Awaitable[object]]) -> list[float]:
    """How long each took, in milliseconds; one is begun when its time has come, whatever became of the others."""
    took: list[float] = []

    async def timed(due: float) -> None:
        try:
            async with asyncio.timeout(WAIT_S):
                await once()
        except (TimeoutError, OSError):
            pass
        took.append((time.perf_counter() - due) * 1_000)

    began, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(timed(due)))
    await asyncio.gather(*tasks)
    return sorted(took)


class Figures(NamedTuple):
    posts: list[float]
    livez: list[float]

    @property
    def holds(self) -> bool:
        return p(self.posts, 99) < POST_P99_MS and p(self.livez, 99) < LIVEZ_P99_MS

    def row(self) -> str:
        return "".join(f"{value:10.1f}" for times in self for value in (p(times, 50), p(times, 99), times[-1]))


def p(ordered: Sequence[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


async def measured(server: NetworkServer, seconds: float) -> Figures:
    body = written({"to": [RECEIVER], "documents": [{"text": "hello"}]})

    async def post() -> None:
        status, answer = await ask(server.port, "POST", "/v1/messages", server.sender_key, body)
        if status != 202:
            raise RuntimeError(f"a post was answered {status}: {answer[:200]!r}")

    async def livez() -> None:
        await ask(server.port, "GET", "/livez")

    return Figures(*await asyncio.gather(at_rate(RATE, seconds, post), at_rate(LIVEZ_RATE, seconds, livez)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--attack", default="", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.attack:
        name, *target = json.loads(given.attack)
        asyncio.run(attack(Target(*target), attacks()[name]))
        return 0
    chosen = [name for name in attacks() if not given.only or any(part in name for part in given.only)]
    missed = []
    print(f"{'ms':50}{'posts p50':>10}{'p99':>10}{'max':>10}{'livez p50':>10}{'p99':>10}{'max':>10}   load  answers")
    for name in ["undisturbed", *chosen]:
        with work_folder() as folder, NetworkServer(folder / "network") as server:
            figures, answers = asyncio.run(_round(server, name, given.seconds))
        print(f"{name:50}{figures.row()}   {os.getloadavg()[0]:.1f}   {answers}", flush=True)
        missed += [] if figures.holds else [name]
    if missed:
        print(f"Missed: {', '.join(missed)}")
    return 1 if missed else 0


async def _round(server: NetworkServer, name: str, seconds: float) -> tuple[Figures, str]:
    """The figures under one attack, and how often the attacker was answered with which status."""
    target = await Attacker(server.port).register(name)
    if name == "undisturbed":
        return await measured(server, seconds), ""
    command = [sys.executable, "-m", "benchmarks.neighbours", "--attack", json.dumps([name, *target])]
    with tempfile.TemporaryFile() as said:
        process = await asyncio.to_thread(subprocess.Popen, command, cwd=ROOT, stdout=said, start_new_session=True)
        try:
            await asyncio.sleep(2.0)  # it has begun by then
            figures = await measured(server, seconds)
        finally:
            stop(process)
        said.seek(0)
        return figures, said.read().decode().strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main())
