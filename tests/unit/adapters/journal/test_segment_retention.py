"""Dropped bodies are gone; facts, numbers, chain and readers are as before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from postroad.adapters.journal.segments import SegmentJournal, SegmentReader
from postroad.ports import JournalRecord, NewRecord
from tests.samples.segment_runs import SMALL, faults_of, open_small


async def filled(path: Path, count: int = 40) -> SegmentJournal:
    journal = open_small(path)
    for number in range(count):
        await journal.append(
            [NewRecord(b"facts %d" % number, b"%d" % number * 300), NewRecord(b"more", None), NewRecord(b"empty", b"")]
        )
    return journal


def first_seqs(path: Path, suffix: str) -> list[int]:
    return sorted(int(found.stem) for found in path.glob(f"*{suffix}"))


def facts(records: list[JournalRecord]) -> list[tuple[int, bytes, bytes | None]]:
    return [(record.seq, record.facts, record.body.digest if record.body else None) for record in records]


async def test_only_sealed_segments_wholly_below_lose_their_bodies(tmp_path: Path) -> None:
    journal = await filled(tmp_path)
    starts = first_seqs(tmp_path, ".seg")
    dropped = await journal.drop_bodies(starts[3])
    assert first_seqs(tmp_path, ".facts") == starts[:3]
    assert first_seqs(tmp_path, ".seg") == starts[3:]
    assert dropped.segments == 3
    assert dropped.freed_bytes > 3 * 8192 // 2
    assert (await journal.drop_bodies(starts[3] + 1)).segments == 0
    await journal.drop_bodies(10**9)
    assert first_seqs(tmp_path, ".seg") == starts[-1:]
    await journal.close()


async def test_facts_chain_and_digests_stay(tmp_path: Path) -> None:
    journal = await filled(tmp_path)
    before = journal.read_sync(0).records
    border = first_seqs(tmp_path, ".seg")[2]
    await journal.drop_bodies(border)
    after = journal.read_sync(0).records
    assert facts(after) == facts(before)
    for record, as_before in zip(after, before, strict=True):
        if record.body is not None and as_before.body is not None:
            gone = record.seq < border and record.body.length > 0  # of an empty one nothing can go
            assert (journal.body_sync(record.body) is None) == gone
            assert (journal.body_sync(as_before.body) is None) == gone  # a place that the index keeps from before
    await journal.close()
    assert faults_of(tmp_path, journal.head_sync()) == []
    again = open_small(tmp_path)
    assert facts(again.read_sync(0).records) == facts(before)
    await again.append([NewRecord(b"next", b"one")])
    await again.close()


async def test_a_reader_goes_on_while_files_are_replaced_under_it(tmp_path: Path) -> None:
    journal = await filled(tmp_path)
    before = journal.read_sync(0).records
    reader = SegmentReader(tmp_path)
    seen = reader.read_sync(0, limit_bytes=200).records
    await journal.drop_bodies(10**9)
    while page := reader.read_sync(seen[-1].seq, limit_bytes=200).records:
        seen += page
    assert facts(seen) == facts(before)
    assert reader.head_sync() == journal.head_sync()
    late = SegmentReader(tmp_path)
    assert [late.body_sync(record.body) for record in before[:2] if record.body] == [None]
    late.close()
    reader.close()
    await journal.close()


async def test_both_forms_of_a_segment_after_a_crash_are_one_segment(tmp_path: Path) -> None:
    journal = await filled(tmp_path)
    first = min(tmp_path.glob("*.seg"))
    whole = first.read_bytes()
    await journal.drop_bodies(first_seqs(tmp_path, ".seg")[1])
    await journal.close()
    first.write_bytes(whole)  # as if the process had ended before the old form was taken away
    assert faults_of(tmp_path, journal.head_sync()) == []
    again = open_small(tmp_path)
    assert not first.exists()
    assert facts(again.read_sync(0).records)[0][1] == b"facts 0"
    await again.close()


async def test_appends_reads_and_two_calls_of_retention_at_once(tmp_path: Path) -> None:
    journal = SegmentJournal.open(tmp_path, SMALL)
    for number in range(40):
        await journal.append([NewRecord(b"%d" % number, bytes(600))])
    drops = [asyncio.create_task(journal.drop_bodies(10**9)) for _ in range(2)]
    for number in range(40, 80):
        await journal.append([NewRecord(b"%d" % number, bytes(600))])
        assert journal.read_sync(number, limit_bytes=1).records[0].facts == b"%d" % number
    assert sum([(await drop).segments for drop in drops]) >= 3
    assert [record.facts for record in journal.read_sync(0).records] == [b"%d" % number for number in range(80)]
    await journal.close()
    assert faults_of(tmp_path, journal.head_sync()) == []
