"""Runs all tests in several processes: ``python -m scripts.run_tests``, which is what ``make test`` does.

The tests are cut into shards, mostly a folder each. A process that has finished a shard takes the next one, the longest first.
Rule: the last shard has whatever no other names, so nothing is left out. Each shard starts a PostgreSQL of its own and has
temporary folders of its own; Spark is started by the shards of tests/warehouse alone.

If ``make oldest`` made an environment with the oldest supported Python, the tests of messages and their formats run there too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / ".venv-oldest" / "bin" / "python"
PROCESSES = int(os.environ.get("POSTROAD_TEST_PROCESSES", "0")) or (os.cpu_count() or 2) + 1  # many tests wait
# Without the cache: all would write what failed into one file, and the last would win.
OPTIONS = ("-u", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=10")
BROKEN = ("FAILED ", "ERROR ")
CLOSING = re.compile(r"=* ?((?:\d+ [a-z]+(?:, )?)+ in [\d.]+s.*?) ?=*")  # "12 passed, 1 skipped in 3.45s"
LEAK_REPORT = re.compile(
    r"nanobind: | - leaked | - \.\.\. skipped remainder|See https://nanobind"
)  # DuckDB prints it at exit

_printing = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Tests that one process of pytest runs."""

    name: str
    arguments: Sequence[str]
    python: str = sys.executable


@dataclass(slots=True, kw_only=True)
class Outcome:
    """How a shard ended."""

    name: str
    code: int = 1
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of pytest and of the programs that its tests started and waited for
    summary: str = "ended without a summary"
    broken: list[str] = field(default_factory=list)


FOLDERS = {  # longest first
    "warehouse": ("tests/warehouse",),
    "acceptance": ("tests/acceptance",),
    "faults": ("tests/faults",),
    "console": ("tests/console",),
    "docs": ("tests/docs",),
    "property": ("tests/property",),
    "interop": ("tests/interop", "tests/contract", "tests/simulation", "tests/integration", "tests/compatibility"),
    "unit": ("tests/unit",),
}
ON_THE_OLDEST = ("tests/unit", "tests/property", "tests/interop")


def shards(oldest: Path = OLDEST) -> list[Shard]:
    """All shards in the order in which they are started."""
    named = [Shard(name=name, arguments=folders) for name, folders in FOLDERS.items()]
    rest = Shard(name="rest", arguments=["tests", *(f"--ignore={one}" for shard in named for one in shard.arguments)])
    return [*on_the_oldest(oldest), *named, rest]


def on_the_oldest(oldest: Path) -> list[Shard]:
    """What also runs on the oldest Python: with fewer examples, for it is the interpreter that is tried here."""
    if not oldest.exists():
        return []
    return [Shard(name="oldest", arguments=("--hypothesis-profile=few", *ON_THE_OLDEST), python=str(oldest))]


def run(to_run: Iterable[Shard], processes: int = PROCESSES) -> int:
    """Run all shards to their ends, list at the end what failed in any, and return the exit code of the whole."""
    began = time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        try:
            outcomes = list(pool.map(run_shard, to_run))
        except KeyboardInterrupt:  # the shards receive it too
            pool.shutdown(cancel_futures=True)
            return 1
    print()
    for one in outcomes:
        took = f"{one.seconds:.0f} s, {one.cpu_seconds:.0f} s of CPU"
        print(f"{one.name} | {one.summary} | {took}", *one.broken, sep="\n    ")
    failed = [one.name for one in outcomes if one.code]
    print(f"All tests took {time.monotonic() - began:.0f} s in {processes} processes.", end=" ")
    print(f"Failed: {', '.join(failed)}." if failed else "All shards passed.")
    return 1 if any(one.code for one in outcomes) else 0


def run_shard(shard: Shard) -> Outcome:
    """Run one shard, showing its lines with its name in front of them."""
    began, outcome = time.monotonic(), Outcome(name=shard.name)
    process = subprocess.Popen(
        [shard.python, *OPTIONS, *shard.arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    with process.stdout as lines:
        for line in map(str.rstrip, lines):
            if LEAK_REPORT.match(line):
                continue
            with _printing:
                print(f"{shard.name} | {line}", flush=True)
            if closing := CLOSING.fullmatch(line):
                outcome.summary = closing[1]
            if line.startswith(BROKEN):
                outcome.broken.append(line)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = outcome.code = os.waitstatus_to_exitcode(status)
    if outcome.code not in (0, 1):  # pytest was killed, or could not start
        outcome.broken.append(f"exit code {outcome.code}")
    outcome.seconds, outcome.cpu_seconds = time.monotonic() - began, used.ru_utime + used.ru_stime
    return outcome


if __name__ == "__main__":
    sys.exit(run(shards()))
