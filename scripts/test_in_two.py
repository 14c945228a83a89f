"""Runs all tests in two processes side by side: ``python -m scripts.test_in_two``, which is what ``make test`` does.

Rule: the second process has the folders named here and the first has whatever else lies in ``tests``, so nothing is left out.
Each starts a PostgreSQL of its own and has temporary folders of its own; Spark is started by the second alone.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock, Thread

ROOT = Path(__file__).resolve().parents[1]
SECOND = (
    "tests/warehouse",
    "tests/docs",
    "tests/console",
    "tests/contract",
    "tests/simulation",
    "tests/interop",
    "tests/integration",
    "tests/architecture",
    "tests/property/billing",
    "tests/property/routing",
)
HALVES = {"1": ("tests", *(f"--ignore={folder}" for folder in SECOND)), "2": SECOND}
# Without the cache: both would write what failed into one file, and the later would win.
COMMAND = (sys.executable, "-u", "-m", "pytest", "-p", "no:cacheprovider", "--durations=15")
BROKEN = ("FAILED ", "ERROR ")

_printing = Lock()


class Half:
    """One process of pytest, whose lines are shown with its name in front while it runs."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.name = name
        self.broken: list[str] = []  # as its summary says
        self.last_line = ""
        self._process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = Thread(target=self._show)
        self._reader.start()

    def wait(self) -> int:
        code = self._process.wait()
        self._reader.join()
        return code

    def _show(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in map(str.rstrip, lines):
                with _printing:
                    print(f"{self.name} | {line}", flush=True)
                self.last_line = line or self.last_line
                if line.startswith(BROKEN):
                    self.broken.append(line)


def run(halves: Mapping[str, Sequence[str]]) -> int:
    """Run them all to their ends, show at the end what broke in any, and return the exit code of the whole."""
    began = time.monotonic()
    running = [Half(name, arguments) for name, arguments in halves.items()]
    codes = [_ended(half) for half in running]
    print()
    for half in running:
        print(f"{half.name} | {half.last_line.strip('= ')}", *half.broken, sep="\n    ")
    print(f"both together took {time.monotonic() - began:.0f} s")
    return 1 if any(codes) else 0


def _ended(half: Half) -> int:
    try:
        return half.wait()
    except KeyboardInterrupt:  # which the halves have had too
        half.wait()
        return 1


if __name__ == "__main__":
    sys.exit(run(HALVES))
