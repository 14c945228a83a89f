"""After a crash the journal opens with everything acknowledged, or says what is wrong; it never guesses."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.catalog import OpenSegment
from postroad.adapters.journal.segments.files import MappedCounter
from postroad.adapters.journal.segments.frame import SEGMENT_HEADER, RecordGroup
from postroad.errors import Misconfigured
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import UnsyncedFiles
from tests.samples.segment_runs import History, faults_of, open_small, random_group

pytestmark = pytest.mark.req("A3")


async def run(path: Path, groups: int, seed: int = 7) -> History:
    history, chance = History(), Random(seed)
    journal = open_small(path)
    for _ in range(groups):
        await history.append(journal, random_group(chance, largest_body=120))
    await journal.close()
    return history


def last_segment(path: Path) -> Path:
    return max(path.glob("*.seg"))


def groups_in(path: Path) -> list[RecordGroup]:
    segment = OpenSegment.open(UnsyncedFiles(), path)
    assert segment is not None
    window, offset, found = segment.window(), SEGMENT_HEADER.size, []
    while (group := frame.read_group(window, offset, segment.header)) is not None:
        found.append(group)
        offset = group.end
    segment.close()
    return found


def set_durable(path: Path, seq: int) -> None:
    mark = MappedCounter(path / "durable", writable=True)
    mark.set(seq)
    mark.close()


def copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return Path(shutil.copytree(source, target))


@pytest.mark.parametrize("rest", ["zeros", "noise", "end of file"])
async def test_a_tail_torn_at_every_byte_is_cut_and_appended_after(tmp_path: Path, rest: str) -> None:
    history = await run(tmp_path / "whole", 4)
    last = groups_in(last_segment(tmp_path / "whole"))[-1]
    set_durable(tmp_path / "whole", last.first_seq - 1)  # the last group was still being written
    for cut in range(last.offset, last.end):
        torn = copy(tmp_path / "whole", tmp_path / "torn")
        tear(last_segment(torn), cut, last.end, rest)
        journal = open_small(torn)
        again = History(history.groups[:-1])
        again.require(journal)
        await again.append(journal, [NewRecord(b"after the tear", b"more")])
        await journal.close()
        journal = open_small(torn)
        again.require(journal)
        assert faults_of(torn, expected_head=journal.head_sync()) == []
        await journal.close()


def tear(path: Path, cut: int, end: int, rest: str) -> None:
    data = path.read_bytes()
    noise = Random(cut).randbytes(end - cut)
    noise = bytes([data[cut] ^ 0xFF]) + noise[1:]  # the first byte at least is not what was written
    behind = {"zeros": bytes(len(data) - cut), "noise": noise + data[end:], "end of file": b""}[rest]
    path.write_bytes(data[:cut] + behind)


async def test_damage_before_an_intact_group_is_not_a_torn_tail(tmp_path: Path) -> None:
    await run(tmp_path / "whole", 6)
    groups = groups_in(last_segment(tmp_path / "whole"))
    assert len(groups) > 3
    set_durable(tmp_path / "whole", 0)
    for group in groups[:-1]:
        for at in (group.offset, group.offset + 20, group.offset + 80):
            broken = copy(tmp_path / "whole", tmp_path / "broken")
            flip(last_segment(broken), at)
            before = last_segment(broken).read_bytes()
            with pytest.raises(Misconfigured, match=rf"{last_segment(broken).name} at offset {group.offset}: .*verify"):
                open_small(broken)
            assert last_segment(broken).read_bytes() == before


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


async def test_a_durable_group_that_cannot_be_read_is_never_cut(tmp_path: Path) -> None:
    await run(tmp_path / "whole", 4)
    last = groups_in(last_segment(tmp_path / "whole"))[-1]
    for at in range(last.offset, last.end):
        broken = copy(tmp_path / "whole", tmp_path / "broken")
        flip(last_segment(broken), at)
        with pytest.raises(Misconfigured, match="were made durable and cannot be read"):
            open_small(broken)


async def test_a_missing_segment_is_seen(tmp_path: Path) -> None:
    await run(tmp_path / "whole", 120)
    names = sorted(path.name for path in (tmp_path / "whole").glob("*.seg"))
    assert len(names) > 3
    for name in (names[-1], names[-2]):
        broken = copy(tmp_path / "whole", tmp_path / "broken")
        (broken / name).unlink()
        with pytest.raises(Misconfigured, match="journal: "):
            open_small(broken)


async def test_all_segments_gone_is_not_a_new_journal(tmp_path: Path) -> None:
    await run(tmp_path, 3)
    last_segment(tmp_path).unlink()
    with pytest.raises(Misconfigured, match="were made durable"):
        open_small(tmp_path)


async def test_damage_in_the_segment_before_the_last_is_seen(tmp_path: Path) -> None:
    await run(tmp_path, 120)
    earlier = sorted(tmp_path.glob("*.seg"))[-2]
    flip(earlier, groups_in(earlier)[-1].offset + 30)
    with pytest.raises(Misconfigured, match=earlier.name):
        open_small(tmp_path)


async def test_groups_that_change_places_do_not_continue_the_chain(tmp_path: Path) -> None:
    journal = open_small(tmp_path)
    for number in range(3):
        await journal.append([NewRecord(b"%d" % number, b"same size")])
    await journal.close()
    path = last_segment(tmp_path)
    one, two, three = groups_in(path)
    data = path.read_bytes()
    path.write_bytes(
        data[: one.offset] + data[two.offset : two.end] + data[one.offset : one.end] + data[three.offset :]
    )
    with pytest.raises(Misconfigured, match="does not continue the chain after record 0"):
        open_small(tmp_path)


async def test_a_segment_of_another_version_is_not_touched(tmp_path: Path) -> None:
    await run(tmp_path, 3)
    path = last_segment(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:8] + b"\x63\x00" + data[10:])
    with pytest.raises(Misconfigured, match="no header of a segment that this version can read"):
        open_small(tmp_path)
