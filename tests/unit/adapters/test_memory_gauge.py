"""How much memory a process may use: the smallest limit of its cgroups and the machine."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

import pytest

from postroad.adapters.memory_gauge import ProcessMemory, find_limit
from tests.waiting import eventually

GIB = 1 << 30
MEMINFO = "MemTotal:       8388608 kB\nMemFree:         100 kB\n"


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, 0),
        ({"proc/meminfo": MEMINFO}, 8 * GIB),
        ({"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 8 * GIB),
        ({"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": str(GIB)}, GIB),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "0::/system.slice/postroad.service\n",
                "sys/fs/cgroup/system.slice/memory.max": str(2 * GIB),
                "sys/fs/cgroup/system.slice/postroad.service/memory.max": str(3 * GIB),
            },
            2 * GIB,
        ),
        (
            {
                "proc/meminfo": MEMINFO,
                "proc/self/cgroup": "12:cpu:/x\n4:memory:/docker/1\n0::/\n",
                "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": str(GIB),
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            GIB,
        ),
    ],
)
def test_the_smallest_limit_counts(tmp_path: Path, files: dict[str, str], limit: int) -> None:
    assert find_limit(system(tmp_path, files)) == limit


def test_the_share_is_of_this_process(tmp_path: Path) -> None:
    pages = GIB // os.sysconf("SC_PAGE_SIZE")
    root = system(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/statm": f"99999 {2 * pages} 1 1 0 1 0\n"})
    assert ProcessMemory(root).used_share() == 0.25


def test_nothing_is_measured_where_there_is_no_proc(tmp_path: Path) -> None:
    assert ProcessMemory(tmp_path).used_share() is None


def test_this_machine_is_measured() -> None:
    gauge = ProcessMemory()
    gauge.release()
    share = gauge.used_share()
    assert share is not None
    assert 0 < share < 1


def test_memory_is_returned_by_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, threads = threading.Event(), list[int]()

    class Library:
        def malloc_trim(self, padding: int) -> None:
            threads.append(threading.get_ident())
            assert may_end.wait(60)

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    memory = ProcessMemory()
    memory.release()
    eventually(lambda: threads)
    memory.release()  # nothing begins while the first one is under way
    may_end.set()
    assert memory._releasing is not None
    memory._releasing.join(60)
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()
