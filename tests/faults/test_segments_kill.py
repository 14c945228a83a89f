"""kill -9 in the middle of large writes, many short rounds: what the process said was durable is there afterwards."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from pathlib import Path
from random import Random

import pytest

from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from tests.samples.segment_runs import faults_of, read_everything

ROUNDS = int(os.environ.get("POSTROAD_TEST_KILLS", "8"))
SETTINGS = SegmentSettings(segment_bytes=4 << 20, reserve_bytes=1 << 20, least_free_bytes=0, least_free_share=0)

WRITER = """
import asyncio, hashlib, os, sys
from pathlib import Path
from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.ports import NewRecord

async def main():
    settings = SegmentSettings(segment_bytes=4 << 20, reserve_bytes=1 << 20, least_free_bytes=0, least_free_share=0)
    journal = SegmentJournal.open(Path(sys.argv[1]), settings)
    while True:
        bodies = [os.urandom(4000) for _ in range(200)]
        group = [NewRecord(hashlib.sha256(body).digest(), body) for body in bodies]
        done = await journal.append(group)
        os.write(1, b"%d\\n" % done.head.seq)

asyncio.run(main())
"""


async def one_life(path: Path, seconds: float) -> int:
    """Let the writer live for a moment, kill it, and return the last record it said was durable."""
    writer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WRITER, str(path)), stdout=asyncio.subprocess.PIPE
    )
    assert writer.stdout is not None
    first = await writer.stdout.readline()
    await asyncio.sleep(seconds)  # sleeps: the kill comes at a random moment
    writer.send_signal(signal.SIGKILL)
    lines = [first, *(await writer.stdout.read()).split(b"\n")]
    await writer.wait()
    return max(int(line) for line in lines if line.strip())


@pytest.mark.req("A3")
async def test_killed_writers_lose_nothing_they_promised(tmp_path: Path) -> None:
    chance = Random(int.from_bytes(os.urandom(4), "little"))
    for _ in range(ROUNDS):
        promised = await one_life(tmp_path, chance.uniform(0.0, 0.08))
        journal = SegmentJournal.open(tmp_path, SETTINGS)
        assert journal.head_sync().seq >= promised
        await journal.close()
    journal = SegmentJournal.open(tmp_path, SETTINGS)
    for record in read_everything(journal)[-2000:]:
        assert record.body is not None
        assert hashlib.sha256(journal.body_sync(record.body) or b"").digest() == record.facts
    await journal.close()
    assert faults_of(tmp_path, journal.head_sync()) == []
