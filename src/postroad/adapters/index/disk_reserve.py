"""Reserves disk space for the index, so that a server can start and acknowledge on a full disk.

The reserve is a file beside the index. When the disk is full, it is cut by one step, and the index process starts again.
Rule: a running server leaves half of it for the next start. Entries that may still be written on a full disk are those of the
journal's own reserve (8 MiB). How much the index needs for them depends on the batches and has not been measured.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 16 << 20
FOR_STARTING_BYTES = 8 << 20
STEP_BYTES = 4 << 20
LEAST_FREE_BYTES = 4 * RESERVE_BYTES  # with less free space, the reserve would only fill the disk earlier
SUFFIX = "-reserve"
MODE = 0o640


def make_reserve(index: Path) -> None:
    """Allocate the reserve if it is missing or was cut and the disk has space; errors are retried at the next start."""
    path = reserve_of(index)
    with suppress(OSError, AttributeError):  # no such call on this system
        free = os.statvfs(index.parent)
        if free.f_bavail * free.f_frsize < LEAST_FREE_BYTES or _size(path) >= RESERVE_BYTES:
            return
        fd = os.open(path, os.O_RDWR | os.O_CREAT, MODE)
        try:
            os.posix_fallocate(fd, 0, RESERVE_BYTES)
        finally:
            os.close(fd)


def use_reserve(index: Path, *, is_starting: bool) -> bool:
    """Return a step of the reserve to the disk; False if none may be used."""
    path = reserve_of(index)
    size = _size(path)
    left = size - STEP_BYTES
    if size == 0 or left < (0 if is_starting else FOR_STARTING_BYTES):
        return False
    try:
        os.truncate(path, left)
    except OSError:
        return False
    return True


def reserve_of(index: Path) -> Path:
    return index.with_name(index.name + SUFFIX)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
