"""A backup of segment files: incremental, a backup at every moment, and restored at any entry."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from random import Random
from shutil import copytree

import pytest
from msgspec.structs import replace

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.folder import BackupFolder, explain_disk_errors
from postroad.adapters.journal.backup.from_segments import SegmentBackup
from postroad.adapters.journal.backup.manifest import BackupManifest
from postroad.adapters.journal.backup.to_segments import restore_journal, write_segments
from postroad.adapters.journal.backup.verification import verify_backup
from postroad.adapters.journal.segments import JournalDefect, SegmentJournal, SegmentReader
from postroad.adapters.journal.segments.files import FileSystem
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, InjectedFailure, ProcessDied, UnsyncedFiles
from tests.samples.restore_recorder import KilledRecorder, Recorder
from tests.samples.segment_runs import SMALL, faults_of, open_small, random_group, read_everything


class NoLinks(UnsyncedFiles):
    """Files on another disk than the journal's: nothing can be linked."""

    def link(self, old: Path, new: Path) -> bool:
        return False


def back_up(source: Path, target: Path, files: FileSystem | None = None) -> BackupManifest:
    """One run of a backup."""
    folder = BackupFolder.open(target, files or UnsyncedFiles())
    try:
        backup = SegmentBackup(source, folder)
        try:
            network = backup.open()
            for _ in backup.copy(replace(folder.manifest, network=network)):
                pass
            return folder.manifest
        finally:
            backup.close()
    finally:
        folder.close()


def faults(target: Path) -> list[JournalDefect]:
    return [found for found in verify_backup(target) if isinstance(found, JournalDefect)]


def first_words(records: list[NewRecord]) -> list[bytes]:
    return [record.facts for record in records]


async def fill(journal: SegmentJournal, chance: Random, groups: int) -> list[NewRecord]:
    written: list[NewRecord] = []
    for _ in range(groups):
        group = random_group(chance)
        await journal.append(group)
        written += group
    return written


async def restored(backup: Path, data: Path, cut: int) -> SegmentJournal:
    data.mkdir()
    await restore_journal(BackupContents(backup, UnsyncedFiles()), data, cut, recorder=None, settings=SMALL)
    assert faults_of(data / "journal") == []
    return open_small(data / "journal")


async def require_records(journal: SegmentJournal, expected: list[NewRecord]) -> None:
    found = read_everything(journal)
    assert [record.facts for record in found] == first_words(expected)
    for record, original in zip(found, expected, strict=True):
        assert (record.body is None) == (original.body is None)
        if record.body is not None:
            assert journal.body_sync(record.body) == original.body


@pytest.mark.req("O6")
@pytest.mark.parametrize("files", [UnsyncedFiles, NoLinks])
async def test_each_run_copies_only_what_is_new(tmp_path: Path, files: type[UnsyncedFiles]) -> None:
    chance, target = Random(1), tmp_path / "backup"
    journal = open_small(tmp_path / "journal")
    written = await fill(journal, chance, 30)
    for _ in range(5):
        manifest = back_up(tmp_path / "journal", target, files())
        assert manifest.head == journal.head_sync()
        assert faults(target) == []
        before = {path.name: path.stat() for path in (target / "journal").glob("*.*")}
        written += await fill(journal, chance, chance.randrange(1, 40))
        back_up(tmp_path / "journal", target, files())
        for name, stat in before.items():
            if name != manifest.segments[-1].name:
                assert (target / "journal" / name).stat() == stat, "a complete segment is not touched again"
    await journal.close()
    copy = await restored(target, tmp_path / "data", len(written))
    await require_records(copy, written)
    await copy.close()


@pytest.mark.req("O6")
async def test_only_segments_that_nobody_writes_to_are_linked(tmp_path: Path) -> None:
    journal = open_small(tmp_path / "journal")
    await fill(journal, Random(2), 40)
    manifest = back_up(tmp_path / "journal", tmp_path / "backup")
    links = {name.name: (tmp_path / "backup/journal" / name.name).stat().st_nlink for name in manifest.segments}
    *sealed, last = (segment.name for segment in manifest.segments)
    assert {links[name] for name in sealed} == {2}
    assert links[last] == 1
    opened = open_small(tmp_path / "backup/journal")  # as a server would, with the backup as its data folder
    await fill(opened, Random(3), 40)
    await opened.close()
    await journal.close()
    assert faults_of(tmp_path / "journal", journal.head_sync()) == []


@pytest.mark.req("O6")
async def test_a_segment_that_ends_with_the_durable_mark_is_copied(tmp_path: Path) -> None:
    """The next segment exists and is empty, so the backup's last one is sealed in the journal, but not in the backup."""
    journal = open_small(tmp_path / "journal")
    written = await fill(journal, Random(4), 20)
    await journal._change_segment(100, reserve=False)
    manifest = back_up(tmp_path / "journal", tmp_path / "backup")
    assert (tmp_path / "backup/journal" / manifest.segments[-1].name).stat().st_nlink == 1
    assert manifest.entries == len(written)
    await journal.close()


@pytest.mark.req("O6")
async def test_retention_is_followed(tmp_path: Path) -> None:
    journal, target = open_small(tmp_path / "journal"), tmp_path / "backup"
    await fill(journal, Random(5), 60)
    before = back_up(tmp_path / "journal", target)
    border = before.segments[4].first
    await journal.drop_bodies(border)
    await fill(journal, Random(6), 10)
    now = back_up(tmp_path / "journal", target)
    assert [segment.name.endswith(".facts") for segment in now.segments[:6]] == [True] * 4 + [False] * 2
    assert len(list((target / "journal").glob("*.seg"))) == sum(one.name.endswith(".seg") for one in now.segments)
    assert faults(target) == []
    await journal.close()


@pytest.mark.req("O6")
async def test_a_link_that_a_killed_run_has_left_is_not_written_to(tmp_path: Path) -> None:
    source, target = tmp_path / "journal", tmp_path / "backup"
    journal = open_small(source)
    await fill(journal, Random(17), 30)
    files = FaultyFiles(InjectedFailure(call="link", nth=2, action="crash"))
    assert _is_killed(source, target, files)
    folder = BackupFolder.open(target, NoLinks())
    backup = SegmentBackup(source, folder)
    for _ in backup.copy(folder.manifest):  # without ``open``, which removes what the killed run has left
        pass
    backup.close()
    folder.close()
    await journal.close()
    assert faults(target) == faults_of(source, journal.head_sync()) == []


class RetentionMeanwhile(UnsyncedFiles):
    """Replaces a segment by its shorter form at a chosen call of the backup, as retention in the server may."""

    def __init__(self, journal: SegmentJournal, call: str, at: int) -> None:
        self._journal = journal
        self._call = call
        self._left = at

    def _count(self, call: str) -> None:
        self._left -= call == self._call
        if self._left == 0:
            self._left = -1
            from postroad.adapters.journal.segments.retention import drop_bodies
            from postroad.adapters.journal.segments.syncing import Syncing

            drop_bodies(UnsyncedFiles(), self._journal._path, Syncing(UnsyncedFiles()), 10**9)

    def open(self, path: Path, *, writable: bool) -> int:
        self._count("open")
        return super().open(path, writable=writable)

    def link(self, old: Path, new: Path) -> bool:
        self._count("link")
        return super().link(old, new)

    def names(self, directory: Path) -> list[str]:
        found = super().names(directory)
        self._count("names")
        return found


@pytest.mark.req("O6")
@pytest.mark.parametrize("call", ["open", "link", "names"])
async def test_retention_during_the_copy_does_no_harm(tmp_path: Path, call: str) -> None:
    for at in (1, 2, 3, 5, 8):
        source, target = tmp_path / f"journal{at}", tmp_path / f"backup{at}"
        journal = open_small(source)
        await fill(journal, Random(at), 40)
        manifest = back_up(source, target, RetentionMeanwhile(journal, call, at))
        assert manifest.head == journal.head_sync()
        assert faults(target) == []
        await journal.close()


@pytest.mark.req("O6")
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_run_may_end_at_any_call(tmp_path: Path, is_first: bool) -> None:
    """Killed after any call: what was a backup stays one, and the next run completes it."""
    chance, source, earlier = Random(7), tmp_path / "journal", tmp_path / "earlier"
    journal = open_small(source)
    await fill(journal, chance, 8)
    entries = 0 if is_first else back_up(source, earlier, NoLinks()).entries
    await fill(journal, chance, 12)
    nth, killed = 1, True
    while killed:
        target = tmp_path / f"backup{nth}"
        if not is_first:
            copytree(earlier, target)
        killed = _is_killed(source, target, FaultyFiles(InjectedFailure(call="", nth=nth, action="crash")))
        if entries or (target / "backup.json").exists():
            assert faults(target) == []
            assert BackupContents(target).manifest.entries >= entries
        assert back_up(source, target).head == journal.head_sync()
        assert faults(target) == []
        assert list((target / "journal").glob("*.part")) == []
        nth += 1
    assert nth > 10
    assert faults_of(source, journal.head_sync()) == [], "the journal itself is never written to"
    await journal.close()


def _is_killed(source: Path, target: Path, files: FaultyFiles) -> bool:
    try:
        back_up(source, target, files)
    except ProcessDied:
        files.end_process()
        return True
    return False


@pytest.mark.req("O6")
async def test_a_full_disk_leaves_the_backup_as_it_was(tmp_path: Path) -> None:
    chance, target = Random(8), tmp_path / "backup"
    journal = open_small(tmp_path / "journal")
    await fill(journal, chance, 30)
    before = back_up(tmp_path / "journal", target, NoLinks())
    await fill(journal, chance, 60)
    for nth in range(1, 12, 2):
        files = _FullDisk(InjectedFailure(call="pwrite", nth=nth, action="ENOSPC", lasting=True))
        with (
            pytest.raises(Unavailable, match=r"storage.full: the disk of .*backup is full; .* is intact; free space"),
            explain_disk_errors(target, f"the backup up to entry {before.entries} is intact"),
        ):
            back_up(tmp_path / "journal", target, files)
        files.end_process()
        assert faults(target) == []
        assert BackupContents(target).manifest.entries >= before.entries
        assert list((target / "journal").glob("*.part")) == []
    assert back_up(tmp_path / "journal", target).head == journal.head_sync()
    assert faults(target) == []
    await journal.close()


class _FullDisk(FaultyFiles):
    def link(self, old: Path, new: Path) -> bool:
        return False


@pytest.mark.req("O6")
async def test_another_history_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "backup"
    for name in ("one", "two"):
        journal = open_small(tmp_path / name)
        await journal.append([NewRecord(b"first", None)])
        await fill(journal, Random(name), 20)
        await journal.close()
    back_up(tmp_path / "one", target)
    with pytest.raises(Misconfigured, match=r"entries of another journal, or of this one before a restore"):
        back_up(tmp_path / "two", target)
    shorter = tmp_path / "shorter"
    shorter.mkdir()
    write_segments(BackupContents(target), shorter, 10, lambda seq: None)
    with pytest.raises(Misconfigured, match="entries of another journal"):
        back_up(shorter, target)


async def test_a_data_folder_is_not_overwritten(tmp_path: Path) -> None:
    journal = open_small(tmp_path / "journal")
    await fill(journal, Random(9), 2)
    with pytest.raises(Misconfigured, match="is the data folder of a network; choose another folder"):
        back_up(tmp_path / "journal", tmp_path)
    await journal.close()


async def test_two_programs_do_not_write_one_backup(tmp_path: Path) -> None:
    journal = open_small(tmp_path / "journal")
    await fill(journal, Random(10), 2)
    folder = BackupFolder.open(tmp_path / "backup")
    with pytest.raises(Misconfigured, match="another program is writing to"):
        back_up(tmp_path / "journal", tmp_path / "backup")
    folder.close()
    await journal.close()


@pytest.mark.req("O6")
async def test_verify_finds_every_change(tmp_path: Path) -> None:
    journal, target = open_small(tmp_path / "journal"), tmp_path / "backup"
    await fill(journal, Random(11), 40)
    manifest = back_up(tmp_path / "journal", target, NoLinks())
    await journal.close()
    files = [target / "journal" / segment.name for segment in manifest.segments]
    for path, at in ((files[1], 500), (files[0], 3), (files[-1], 100)):
        original = path.read_bytes()
        path.write_bytes(original[:at] + bytes([original[at] ^ 1]) + original[at + 1 :])
        assert any(path.name in fault.file for fault in faults(target))
        path.write_bytes(original[:-1])
        assert any("bytes and should have" in fault.detail for fault in faults(target))
        path.write_bytes(original)
    os.rename(files[2], tmp_path / "aside")
    assert {fault.kind for fault in faults(target)} == {"missing"}
    os.rename(tmp_path / "aside", files[2])
    assert faults(target) == []


async def test_damage_in_the_journal_is_not_copied(tmp_path: Path) -> None:
    journal, target = open_small(tmp_path / "journal"), tmp_path / "backup"
    await fill(journal, Random(12), 20)
    before = back_up(tmp_path / "journal", target)
    await fill(journal, Random(13), 60)
    second = sorted((tmp_path / "journal").glob("*.seg"))[-3]
    data = bytearray(second.read_bytes())
    data[80 + 72 + 5] ^= 1
    second.write_bytes(data)
    with pytest.raises(Unavailable, match=r"storage.damaged: .*run `postroad verify`"):
        back_up(tmp_path / "journal", target)
    assert faults(target) == []
    assert BackupContents(target).manifest.entries >= before.entries
    await journal.close()


@pytest.mark.req("O6")
@pytest.mark.parametrize("dropped", [False, True])
async def test_every_entry_can_be_restored_to(tmp_path: Path, dropped: bool) -> None:
    journal, target = open_small(tmp_path / "journal"), tmp_path / "backup"
    written = await fill(journal, Random(14), 25)
    border = 0
    if dropped:
        border = [int(path.stem) for path in sorted((tmp_path / "journal").glob("*.seg"))][2]
        await journal.drop_bodies(border)
    back_up(tmp_path / "journal", target)
    await journal.close()
    expected = [NewRecord(one.facts, None) if seq < border else one for seq, one in enumerate(written, 1)]
    for cut in range(1, len(written) + 1):
        copy = await restored(target, tmp_path / f"data{cut}", cut)
        found = read_everything(copy)
        assert [record.facts for record in found] == first_words(expected[:cut])
        for record, original in zip(found, expected, strict=False):
            if record.body is not None and record.seq >= border:
                assert copy.body_sync(record.body) == original.body
        await copy.append([NewRecord(b"after the restore", b"body")])
        assert copy.head_sync().seq == cut + 1
        await copy.close()
        assert faults_of(tmp_path / f"data{cut}/journal", copy.head_sync()) == []


async def test_the_restore_is_recorded_before_the_journal_has_its_name(tmp_path: Path) -> None:
    journal, target, data = open_small(tmp_path / "journal"), tmp_path / "backup", tmp_path / "data"
    written = await fill(journal, Random(15), 10)
    back_up(tmp_path / "journal", target)
    await journal.close()
    data.mkdir()
    with pytest.raises(RuntimeError, match="killed"):
        await restore_journal(BackupContents(target), data, 5, recorder=KilledRecorder(), settings=SMALL)
    assert [path.name for path in data.iterdir()] == ["journal.part"]
    recorder = Recorder()
    head = await restore_journal(BackupContents(target), data, 5, recorder=recorder, settings=SMALL)
    assert ([at.seq for at in recorder.heads], recorder.records, head.seq) == ([5], 5, 6)
    reader = SegmentReader(data / "journal")
    assert [record.facts for record in reader.read_sync(0).records] == [*first_words(written[:5]), b"restored"]
    reader.close()


async def test_a_damaged_backup_is_not_restored(tmp_path: Path) -> None:
    journal, target, data = open_small(tmp_path / "journal"), tmp_path / "backup", tmp_path / "data"
    await journal.append([NewRecord(b"facts", b"body" * 100)])
    back_up(tmp_path / "journal", target)
    await journal.close()
    [segment] = (target / "journal").glob("*.seg")
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    data.mkdir()
    with pytest.raises(Unavailable, match=r"a body of the group at offset \d+ is not the one.*use another copy"):
        await restore_journal(BackupContents(target), data, 1, recorder=None, settings=SMALL)
    assert not (data / "journal").exists()


def test_folders_that_are_no_backup_are_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"has no backup.json, so it is not a complete backup"):
        BackupContents(tmp_path)
    (tmp_path / "backup.json").write_text("{")
    with pytest.raises(Misconfigured, match=r"backup.json cannot be read"):
        BackupContents(tmp_path)
    (tmp_path / "backup.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(Misconfigured, match=r"has format 99, and this program reads up to 2; use a newer postroad"):
        BackupContents(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of files")
async def test_the_backup_is_not_for_everyone(tmp_path: Path) -> None:
    journal = open_small(tmp_path / "journal")
    await fill(journal, Random(16), 2)
    back_up(tmp_path / "journal", tmp_path / "backup")
    await journal.close()
    for path in [tmp_path / "backup/journal", *(tmp_path / "backup").rglob("*.seg")]:
        assert path.stat().st_mode & 0o007 == 0


class CountedCommits(UnsyncedFiles):
    """Counts how often the manifest is replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0

    def rename(self, old: Path, new: Path) -> None:
        self.commits += new.name == "backup.json"
        super().rename(old, new)


@pytest.mark.req("O6")
async def test_the_manifest_is_not_replaced_for_each_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lists every segment, so one commit for each would write their square."""
    journal = open_small(tmp_path / "journal")
    await fill(journal, Random(9), 60)
    await journal.close()
    files = CountedCommits()
    monkeypatch.setattr("postroad.adapters.journal.backup.folder.COMMIT_EVERY_S", 3_600.0)
    manifest = back_up(tmp_path / "journal", tmp_path / "backup", files)
    assert (files.commits, len(manifest.segments) > 5, faults(tmp_path / "backup")) == (1, True, [])
    back_up(tmp_path / "journal", tmp_path / "backup", files)
    assert files.commits == 1, "nothing was new"
    files.commits = 0
    monkeypatch.setattr("postroad.adapters.journal.backup.folder.COMMIT_EVERY_S", 0.0)
    back_up(tmp_path / "journal", tmp_path / "slow", files)
    assert files.commits == len(manifest.segments)
