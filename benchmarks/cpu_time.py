"""CPU seconds of this process and everything below it: the driver, its JVM and all Python workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    cpu_s: float
    wall_s: float


def spent(work: Callable[[], object]) -> Spent:
    """What the work took."""
    cpu_s, began = tree_cpu_s(), time.perf_counter()
    work()
    return Spent(tree_cpu_s() - cpu_s, time.perf_counter() - began)


def tree_cpu_s() -> float:
    """Of every process in the tree that lives, with the children that it has seen end."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))  # utime, stime, and both of ended children
    return sum(count for pid, count in ticks.items() if _is_below(pid, parents)) / TICKS_PER_S


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = parents.get(pid, 0)
    return False
