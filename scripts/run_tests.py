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
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from scripts.case_results import CaseResult, read_results

ROOT = Path(__file__).resolve().parents[1]
OLDEST = ROOT / ".venv-oldest" / "bin" / "python"
PROCESSES = int(os.environ.get("POSTROAD_TEST_PROCESSES", "0")) or (os.cpu_count() or 2) + 2  # many tests wait
# Without the cache: all would write what failed into one file, and the last would win.
OPTIONS = ("-u", "-m", "pytest", "-q", "-p", "no:cacheprovider")
SLOWEST = 10
HEADING = re.compile(r"=+ .+ =+")  # after the lines of dots: failures, warnings and the summary of pytest
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
    results: list[CaseResult] = field(default_factory=list)
    report: list[str] = field(default_factory=list)  # what pytest wrote after its dots

    @property
    def is_broken(self) -> bool:
        """Whether it ended otherwise than with a failed test: pytest was killed, or could not start."""
        return bool(self.code) and not self.failed

    @property
    def failed(self) -> list[CaseResult]:
        return [one for one in self.results if one.error]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many tests passed, failed and were skipped."""
        skipped = sum(one.is_skipped for one in self.results)
        failed = len(self.failed)
        return len(self.results) - failed - skipped, failed + self.is_broken, skipped


FOLDERS = {  # longest first
    "warehouse": ("tests/warehouse",),
    "acceptance": ("tests/acceptance",),
    "docs": ("tests/docs",),
    "faults": ("tests/faults",),
    "interop": ("tests/interop", "tests/contract", "tests/simulation", "tests/integration", "tests/compatibility"),
    "unit": ("tests/unit",),
    "property": ("tests/property",),
    "console": ("tests/console",),
}
ON_THE_OLDEST = ("tests/unit", "tests/property", "tests/interop")


def shards(oldest: Path = OLDEST) -> list[Shard]:
    """All shards in the order in which they are started."""
    named = [Shard(name=name, arguments=folders) for name, folders in FOLDERS.items()]
    rest = Shard(name="rest", arguments=["tests", *(f"--ignore={one}" for shard in named for one in shard.arguments)])
    first, *others = named
    return [first, *on_the_oldest(oldest), *others, rest]


def on_the_oldest(oldest: Path) -> list[Shard]:
    """What also runs on the oldest Python: with fewer examples, for it is the interpreter that is tried here."""
    if not oldest.exists():
        return []
    return [Shard(name="oldest", arguments=("--hypothesis-profile=few", *ON_THE_OLDEST), python=str(oldest))]


def run(to_run: Iterable[Shard], processes: int = PROCESSES) -> int:
    """Run all shards to their ends, summarize them, and return the exit code of the whole."""
    began = time.monotonic()
    with ThreadPoolExecutor(processes) as pool:
        try:
            outcomes = list(pool.map(run_shard, to_run))
        except KeyboardInterrupt:  # the shards receive it too
            pool.shutdown(cancel_futures=True)
            return 1
    print("", *summary(outcomes, time.monotonic() - began), sep="\n")
    return 1 if any(one.code for one in outcomes) else 0


def run_shard(shard: Shard) -> Outcome:
    """Run one shard. Lines of progress are shown as they come, its report in one piece when it has ended."""
    with tempfile.TemporaryDirectory() as folder:
        began, outcome, file = time.monotonic(), Outcome(name=shard.name), Path(folder) / "results.xml"
        process = subprocess.Popen(
            [shard.python, *OPTIONS, f"--junitxml={file}", "-o", "junit_family=xunit1", *shard.arguments],
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
                if outcome.report or HEADING.fullmatch(line):
                    outcome.report.append(line)
                else:
                    show(shard.name, line)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = outcome.code = os.waitstatus_to_exitcode(status)
        outcome.results = read_results(file)
    outcome.seconds, outcome.cpu_seconds = time.monotonic() - began, used.ru_utime + used.ru_stime
    show(shard.name, *outcome.report, f"ended after {outcome.seconds:.0f} s")
    return outcome


def show(name: str, *lines: str) -> None:
    with _printing:
        print(*(f"{name} | {line}" for line in lines), sep="\n", flush=True)


def summary(outcomes: Sequence[Outcome], seconds: float) -> list[str]:
    """What is printed at the end: the shards, the slowest tests, what failed, and the sum in the last line."""
    lines = [f"{'shard':12}{'passed':>8}{'failed':>8}{'skipped':>8}{'time':>8}{'CPU':>8}"]
    for one in outcomes:
        counts = "".join(f"{count:8}" for count in one.counts)
        lines.append(f"{one.name:12}{counts}{one.seconds:6.0f} s{one.cpu_seconds:6.0f} s")
    results = sorted((one for outcome in outcomes for one in outcome.results), key=lambda one: -one.seconds)
    lines += ["", "The slowest tests:", *(f"{one.seconds:6.1f} s  {one.name}" for one in results[:SLOWEST])]
    failed = [f"{outcome.name} | {one.name} - {one.error}" for outcome in outcomes for one in outcome.failed]
    failed += [f"{one.name} | pytest ended with exit code {one.code}" for one in outcomes if one.is_broken]
    if failed:
        lines += ["", "Failed (the whole report is above, in lines that begin with the name of the shard):", *failed]
    passed, failures, skipped = (sum(counts) for counts in zip(*(one.counts for one in outcomes), strict=True))
    total = f"{passed} passed, {failures} failed, {skipped} skipped"
    return [*lines, "", total, f"{total} in {seconds:.0f} s"]


if __name__ == "__main__":
    sys.exit(run(shards()))
