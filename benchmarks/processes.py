"""Processes that a benchmark starts: free ports, and the CPU time that a whole tree of processes has used.

CPU time comes from /proc, so these measurements need Linux. A server is charged for everything that belongs to it: its index
process, its database's backends, its runtime's helpers.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
QUIET_SHARE = 0.04  # of a core: less than this is a server at rest
QUIET_LOOK_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTimes:
    parent: int
    cpu_s: float
    ended_children_cpu_s: float


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def all_processes() -> dict[int, ProcessTimes]:
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:  # it ended while we looked
            continue
        times = [int(ticks) / TICKS_PER_S for ticks in fields[11:15]]
        found[int(file.parent.name)] = ProcessTimes(
            parent=int(fields[1]), cpu_s=times[0] + times[1], ended_children_cpu_s=times[2] + times[3]
        )
    return found


def tree_of(roots: Iterable[int], processes: dict[int, ProcessTimes]) -> set[int]:
    """The roots and everything that descends from them."""
    tree = {root for root in roots if root in processes}
    grown = True
    while grown:
        children = {pid for pid, times in processes.items() if times.parent in tree}
        grown = not children <= tree
        tree |= children
    return tree


def tree_cpu_s(roots: Iterable[int]) -> float:
    """CPU seconds of the trees, ended children included."""
    processes = all_processes()
    return sum(processes[pid].cpu_s + processes[pid].ended_children_cpu_s for pid in tree_of(roots, processes))


def cpu_s_at_rest(roots: Iterable[int], give_up_s: float = 20.0) -> float:
    """CPU seconds once the trees have come to rest, so that work put off to later is charged too."""
    roots = list(roots)
    until = time.monotonic() + give_up_s
    used = tree_cpu_s(roots)
    while time.monotonic() < until:
        time.sleep(QUIET_LOOK_S)
        before, used = used, tree_cpu_s(roots)
        if used - before <= QUIET_SHARE * QUIET_LOOK_S:
            break
    return used


def wait_until(
    holds: Callable[[], bool], process: subprocess.Popen[bytes], what: str, log: Path, give_up_s: float = 60.0
) -> None:
    until = time.monotonic() + give_up_s
    while not holds():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{what} did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def stop(process: subprocess.Popen[bytes], wait_s: float = 20.0) -> None:
    """End a process that was started in a session of its own, kindly first."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(wait_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
