"""Measures the server's resident memory against the memory that it may use: that of its cgroup (v2 or v1), or of the machine.

Rule: only this process is measured, so other programs never stop posts. On systems without ``/proc`` nothing is measured.
Returning gigabytes to the system takes longer than an event loop may wait, so a thread does it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from pathlib import Path

KIB = 1024
UNLIMITED_FROM = 1 << 60  # cgroup v1 shows no limit as a number near 2^63


class ProcessMemory:
    """Implements ``postroad.ports.MemoryGauge``; ``root`` is the folder in which ``proc`` and ``sys`` are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.limit_bytes = find_limit(root)
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._releasing: threading.Thread | None = None

    def used_share(self) -> float | None:
        if not self.limit_bytes:
            return None
        try:
            resident_pages = int((self._root / "proc/self/statm").read_text().split()[1])
        except OSError:
            return None
        return resident_pages * self._page_bytes / self.limit_bytes

    def release(self) -> None:
        if self._releasing is None or not self._releasing.is_alive():
            self._releasing = threading.Thread(target=_trim, name="memory release", daemon=True)
            self._releasing.start()


def _trim() -> None:
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed memory; musl has no such function
    if trim is not None:
        trim(0)


def find_limit(root: Path) -> int:
    """Return the bytes of memory that this process may use; 0 if unknown."""
    limits = [limit for limit in (*_cgroup_limits(root), _machine_bytes(root)) if 0 < limit < UNLIMITED_FROM]
    return min(limits, default=0)


def _machine_bytes(root: Path) -> int:
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * KIB
    return 0


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of this process's cgroup and of those above it, each of which applies."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts), -1, -1):
            text = _read(folder.joinpath(*parts[:depth], name)).strip()
            if text.isdigit():
                yield int(text)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
