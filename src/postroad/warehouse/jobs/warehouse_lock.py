"""The lock that allows one writer at a time in a warehouse."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from postroad.errors import Unavailable

LOCK_NAME = "lock"


@contextmanager
def lock_warehouse(folder: Path) -> Iterator[None]:
    """Hold the warehouse's lock; raises an error if another process holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o640)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        detail = f"Another job is writing to {folder}; wait until it has finished, then run this again"
        raise Unavailable("warehouse.busy", detail, retry_after_s=60) from None
    try:
        yield
    finally:
        os.close(lock)
