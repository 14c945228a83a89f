"""A reader in another process sees everything that is durable, and never anything that is not yet."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from postroad.adapters.journal.segments import RealFiles, SegmentJournal, SegmentReader, SegmentSettings
from postroad.ports import NewRecord

SETTINGS = SegmentSettings(segment_bytes=64 << 10, reserve_bytes=8 << 10, least_free_bytes=0, least_free_share=0)
GROUPS = 300

READER = """
import json, sys, time
from pathlib import Path
from postroad.adapters.journal.segments import SegmentReader

reader, seen, deadline = SegmentReader(Path(sys.argv[1])), 0, time.monotonic() + 60
promised = Path(sys.argv[2])
ahead = wrong = 0
while seen < int(sys.argv[3]) and time.monotonic() < deadline:
    for record in reader.read_sync(seen, limit_bytes=2000).records:
        number = int(record.facts)
        durable = int.from_bytes(promised.read_bytes(), "little")  # written between the sync and the durable mark
        ahead += record.seq > durable
        body = reader.body_sync(record.body)
        wrong += record.seq != seen + 1 or number != record.seq or body != b"%d" % number * 200
        seen = record.seq
print(json.dumps({"seen": seen, "ahead": ahead, "wrong": wrong, "head": reader.head_sync().chain.hex()}))
"""


class PromisingFiles(RealFiles):
    """Notes, once a sync of the segment is over, how far it reached; before the sync it dawdles, to tempt the reader."""

    def __init__(self, promised: Path) -> None:
        self.journal: SegmentJournal | None = None
        self.written_seq = 0
        self._promised = os.open(promised, os.O_RDWR | os.O_CREAT)
        os.pwrite(self._promised, bytes(8), 0)

    def fdatasync(self, fd: int) -> None:
        if self.journal is None or fd != self.journal._segment.fd:  # a spare that is being made
            super().fdatasync(fd)
            return
        time.sleep(0.001)  # sleeps: a slow disk tempts the reader
        super().fdatasync(fd)
        os.pwrite(self._promised, self.written_seq.to_bytes(8, "little"), 0)


async def test_another_process_reads_along_and_is_never_ahead(tmp_path: Path) -> None:
    files = PromisingFiles(tmp_path / "promised")
    journal = SegmentJournal.open(tmp_path / "journal", SETTINGS, files=files)
    files.journal = journal
    reader = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", READER, str(tmp_path / "journal"), str(tmp_path / "promised"), str(GROUPS * 3)),
        stdout=asyncio.subprocess.PIPE,
    )
    for group in range(GROUPS):
        numbers = range(group * 3 + 1, group * 3 + 4)
        files.written_seq = numbers[-1]
        await journal.append([NewRecord(b"%d" % number, b"%d" % number * 200) for number in numbers])
    output, _ = await reader.communicate()
    assert json.loads(output) == {"seen": GROUPS * 3, "ahead": 0, "wrong": 0, "head": journal.head_sync().chain.hex()}
    await journal.close()


async def test_what_is_written_but_not_durable_is_invisible(tmp_path: Path) -> None:
    journal = SegmentJournal.open(tmp_path, SETTINGS)
    await journal.append([NewRecord(b"durable", None)])
    reader = SegmentReader(tmp_path)
    journal._write([NewRecord(b"on its way", None)])
    assert b"on its way" in max(tmp_path.glob("*.seg")).read_bytes()
    assert [record.facts for record in reader.read_sync(0).records] == [b"durable"]
    assert reader.head_sync() == journal.head_sync()
    assert reader.durable_seq() == 1
    await journal.append([NewRecord(b"on its way", None)])
    assert [record.facts for record in reader.read_sync(1).records] == [b"on its way"]
    reader.close()
    await journal.close()
