"""The numbers of this process are those of the system."""

from __future__ import annotations

import os
import time

from postroad.adapters.process_status import read_process_status


def test_the_status_is_that_of_this_process() -> None:
    before = read_process_status()
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
    try:
        after = read_process_status()
    finally:
        for one in held:
            os.close(one)
    assert after.cpu_s >= before.cpu_s > 0
    assert after.max_files > 0
    if before.open_files:  # Linux
        assert after.open_files - before.open_files >= 20
        assert 5e6 < after.resident_bytes < after.virtual_bytes
        assert time.time() - 7 * 86_400 < after.started_at_s <= time.time()
