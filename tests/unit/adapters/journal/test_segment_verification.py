"""Whatever is changed, taken away, repeated, moved or cut off in a journal, verify names it; an untouched one is clean."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from postroad.adapters.journal.segments import JournalDefect, SegmentJournal, VerificationProgress, frame, verify
from postroad.adapters.journal.segments.catalog import OpenSegment
from postroad.adapters.journal.segments.files import MappedCounter
from postroad.adapters.journal.segments.frame import ENTRY, GROUP_HEADER, SEGMENT_HEADER, RecordGroup
from postroad.ports import JournalHead, NewRecord
from postroad.testing.faults.faulty_files import UnsyncedFiles
from tests.samples.segment_runs import History, faults_of, open_small, random_group

pytestmark = pytest.mark.req("A3")


class Made(NamedTuple):
    """A journal of several segments, its first ones without bodies."""

    path: Path
    head: JournalHead
    heads: list[JournalHead]


@pytest.fixture
async def made(tmp_path: Path) -> Made:
    path, chance, history, heads = tmp_path / "made", Random(5), History(), []
    journal = open_small(path)
    for number in range(40):
        await history.append(
            journal, [*random_group(chance, 300), NewRecord(b"facts %d" % number, b"body %d" % number)]
        )
        heads.append(journal.head_sync())
    await journal.drop_bodies(heads[12].seq)
    await journal.close()
    assert len(list(path.glob("*.facts"))) >= 1
    assert len(list(path.glob("*.seg"))) >= 3
    return Made(path, journal.head_sync(), heads)


def groups_in(path: Path) -> list[RecordGroup]:
    segment = OpenSegment.open(UnsyncedFiles(), path)
    assert segment is not None
    window, offset, found = segment.window(), SEGMENT_HEADER.size, []
    while (group := frame.read_group(window, offset, segment.header)) is not None:
        found.append(group)
        offset = group.end
    segment.close()
    return found


def segments(path: Path) -> list[Path]:
    return sorted([*path.glob("*.seg"), *path.glob("*.facts")])


def test_an_untouched_journal_is_clean_and_shows_its_progress(made: Made) -> None:
    found = list(verify(made.path, made.head))
    assert all(isinstance(item, VerificationProgress) for item in found)
    last = found[-1]
    assert isinstance(last, VerificationProgress)
    assert last.done_bytes == last.total_bytes > 0
    assert last.seq == made.head.seq


def test_an_older_head_is_found_on_the_way(made: Made) -> None:
    assert all(faults_of(made.path, head) == [] for head in made.heads)


def test_a_journal_without_its_durable_mark_is_verified_too(made: Made) -> None:
    (made.path / "durable").unlink()
    assert faults_of(made.path, made.head) == []


def places(group: RecordGroup) -> dict[str, int]:
    """One byte of each class: each field of the group's header and table, the facts, the bodies."""
    table = group.offset + GROUP_HEADER.size
    facts = table + ENTRY.size * group.record_count
    found = {
        "marker": group.offset + 3,
        "checksum": group.offset + 8,
        "count": group.offset + 12,
        "first seq": group.offset + 16,
        "facts bytes": group.offset + 24,
        "bodies bytes": group.offset + 32,
        "chain": group.offset + 50,
        "facts length": table,
        "body length": table + 4,
        "digest": table + 8 + 31,
        "facts": facts + len(group.facts) - 1,
    }
    if group.bodies_at is not None:
        found |= {"first body": group.bodies_at, "last body": group.end - 1}
    return found


def test_one_changed_byte_of_any_class_is_found_in_any_group(made: Made) -> None:
    for path in segments(made.path):
        original = path.read_bytes()
        for group in groups_in(path):
            for what, at in places(group).items():
                changed = bytearray(original)
                changed[at] ^= 0x01
                path.write_bytes(changed)
                faults = faults_of(made.path)
                assert faults, f"{what} of the group at {group.offset} of {path.name}"
                assert faults[0].file == path.name
                assert faults[0].kind in ("changed", "truncated", "missing")
        path.write_bytes(original)
    assert faults_of(made.path, made.head) == []


def test_every_byte_of_a_segment_header_counts(made: Made) -> None:
    for path in segments(made.path):
        original = path.read_bytes()
        for at in range(SEGMENT_HEADER.size):
            path.write_bytes(original[:at] + bytes([original[at] ^ 0x01]) + original[at + 1 :])
            assert faults_of(made.path), f"byte {at} of {path.name}"
        path.write_bytes(original)


def without(data: bytes, group: RecordGroup) -> bytes:
    return data[: group.offset] + data[group.end :] + bytes(group.end - group.offset)


def twice(data: bytes, group: RecordGroup) -> bytes:
    return data[: group.end] + data[group.offset : group.end] + data[group.end :]


def swapped_with_next(data: bytes, group: RecordGroup, following: RecordGroup) -> bytes:
    one, two = data[group.offset : group.end], data[following.offset : following.end]
    return data[: group.offset] + two + one + data[following.end :]


@pytest.mark.parametrize(("change", "kind"), [(without, {"missing", "truncated"}), (twice, {"repeated"})])
def test_a_group_taken_away_or_repeated_is_found(
    made: Made, change: Callable[[bytes, RecordGroup], bytes], kind: set[str]
) -> None:
    for path in segments(made.path):
        original = path.read_bytes()
        for group in groups_in(path):
            path.write_bytes(change(original, group))
            assert kind & {fault.kind for fault in faults_of(made.path)}, f"{path.name} at {group.offset}"
        path.write_bytes(original)


def test_groups_that_changed_places_are_found(made: Made) -> None:
    for path in segments(made.path):
        original, groups = path.read_bytes(), groups_in(path)
        for group, following in pairwise(groups):
            path.write_bytes(swapped_with_next(original, group, following))
            assert {"missing", "repeated"} <= {fault.kind for fault in faults_of(made.path)}
        path.write_bytes(original)


def test_a_segment_taken_away_repeated_or_renamed_is_found(made: Made, tmp_path: Path) -> None:
    names = [path.name for path in segments(made.path)]
    for number, name in enumerate(names):
        copy = Path(shutil.copytree(made.path, tmp_path / f"gone{number}"))
        (copy / name).unlink()
        assert {fault.kind for fault in faults_of(copy)} & {"missing", "truncated"}
        copy = Path(shutil.copytree(made.path, tmp_path / f"again{number}"))
        shutil.copy(copy / name, copy / f"{made.head.seq + 1:020d}{Path(name).suffix}")
        assert {fault.kind for fault in faults_of(copy)} & {"changed", "repeated"}


def test_two_segments_that_changed_places_are_found(made: Made) -> None:
    one, two = [path for path in segments(made.path) if path.suffix == ".seg"][:2]
    spare = made.path / "spare"
    one.rename(spare), two.rename(one), spare.rename(two)
    assert {fault.kind for fault in faults_of(made.path)} >= {"changed", "missing", "repeated"}


def test_an_end_cut_off_is_found_against_the_mark_and_against_the_head(made: Made) -> None:
    last = segments(made.path)[-1]
    groups, data = groups_in(last), last.read_bytes()
    for group in groups:
        last.write_bytes(data[: group.offset] + bytes(len(data) - group.offset))
        assert [fault.kind for fault in faults_of(made.path)] == ["truncated"]
        set_durable(made.path, group.first_seq - 1)
        assert faults_of(made.path) == []  # without a witness, a shorter journal looks like a whole one
        assert [fault.kind for fault in faults_of(made.path, made.head)] == ["truncated"]
        set_durable(made.path, made.head.seq)


def set_durable(path: Path, seq: int) -> None:
    mark = MappedCounter(path / "durable", writable=True)
    mark.set(seq)
    mark.close()


async def test_a_history_written_anew_is_found_against_the_head(made: Made, tmp_path: Path) -> None:
    """Someone who can recompute every hash still cannot match the head that the index kept."""
    forged = open_small(tmp_path / "forged")
    for _ in range(made.head.seq):
        await forged.append([NewRecord(b"another story", None)])
    await forged.close()
    assert faults_of(tmp_path / "forged") == []
    assert [fault.kind for fault in faults_of(tmp_path / "forged", made.head)] == ["changed"]


async def test_a_group_that_was_never_acknowledged_is_not_a_fault(made: Made) -> None:
    last = segments(made.path)[-1]
    groups, data = groups_in(last), last.read_bytes()
    set_durable(made.path, groups[-1].first_seq - 1)
    last.write_bytes(data[: groups[-1].end - 1] + b"?" + data[groups[-1].end :])
    assert faults_of(made.path) == []
    last.write_bytes(data[: groups[-1].offset + 90] + bytes(len(data) - groups[-1].offset - 90))
    assert faults_of(made.path) == []


async def test_a_journal_in_use_verifies_clean(tmp_path: Path) -> None:
    journal: SegmentJournal = open_small(tmp_path)
    chance = Random(2)
    for _ in range(20):
        head = (await journal.append(random_group(chance))).head
        assert [item for item in verify(tmp_path, head) if isinstance(item, JournalDefect)] == []
    await journal.close()


def test_all_damage_is_named_not_only_the_first(made: Made) -> None:
    for path in segments(made.path):
        data = bytearray(path.read_bytes())
        data[groups_in(path)[1].offset + 60] ^= 0xFF
        path.write_bytes(data)
    assert {fault.file for fault in faults_of(made.path)} >= {path.name for path in segments(made.path)[:-1]}


def test_a_segment_the_disk_cannot_read_is_a_fault_not_a_crash(made: Made) -> None:
    bad = segments(made.path)[1].name

    class BadSector(UnsyncedFiles):
        """Reads of one file fail behind its header."""

        def __init__(self) -> None:
            self.bad_fds: set[int] = set()

        def open(self, path: Path, *, writable: bool) -> int:
            fd = super().open(path, writable=writable)
            (self.bad_fds.add if path.name == bad else self.bad_fds.discard)(fd)
            return fd

        def pread(self, fd: int, length: int, offset: int) -> bytes:
            if fd in self.bad_fds and offset >= SEGMENT_HEADER.size:
                raise OSError(5, "Input/output error")
            return super().pread(fd, length, offset)

    faults = [item for item in verify(made.path, made.head, BadSector()) if isinstance(item, JournalDefect)]
    assert bad in {fault.file for fault in faults}
    assert "cannot read" in faults[0].detail
