"""A simulated disk that loses power: the possible contents of a folder after a power cut.

``PowerCutFiles`` records every change and every sync of a run, and builds the directory as it might be found after a
power cut at any moment: synced changes are present; each other sector, file length or name change is present or missing
at random.

Rule: the model guarantees only what POSIX guarantees, except that the write of a sector is atomic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from postroad.adapters.journal.segments.files import SharedCounter
from postroad.testing.faults.faulty_files import ProcessDied, ProcessFiles

SECTOR_BYTES = 512
FIRST_NEW_FILE = 1 << 20


class _Change(NamedTuple):
    """One recorded change; ``file`` identifies the file independently of its name."""

    kind: str  # write, length, sync, name, drop, sync_names
    file: int
    offset: int = 0
    data: bytes = b""
    name: str = ""
    old_name: str = ""


def _never(kind: str) -> bool:
    return False


class PowerCutFiles(ProcessFiles):
    """Files of one directory with every change recorded. Syncs are recorded, not carried out."""

    def __init__(self, directory: Path, *, without: str = "", kill: Callable[[str], bool] = _never) -> None:
        super().__init__()
        self._without = without  # "sync" or "sync_names": skipped, to prove that the model detects a journal without it
        self._kill = kill  # called after each change with its kind; True kills the process
        self._recording = threading.Lock()
        self._found = _Image.of(directory)
        self._by_name = self._found.names()
        self._by_fd: dict[int, int] = {}
        self.changes: list[_Change] = []

    def create(self, path: Path) -> int:
        fd = super().create(path)
        self._by_fd[fd] = self._new_file(path.name)
        self._note("length", fd)
        return fd

    def open(self, path: Path, *, writable: bool) -> int:
        fd = super().open(path, writable=writable)
        self._by_fd[fd] = self._by_name[path.name]
        return fd

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        written = super().pwrite(fd, data, offset)
        self._note("write", fd, offset, bytes(data[:written]))
        return written

    def allocate(self, fd: int, size: int) -> None:
        super().allocate(fd, size)
        self._note("length", fd, size)

    def fdatasync(self, fd: int) -> None:
        self._note("sync", fd)

    def rename(self, old: Path, new: Path) -> None:
        super().rename(old, new)
        self._by_name[new.name] = self._by_name.pop(old.name)
        self._record(_Change("name", self._by_name[new.name], name=new.name, old_name=old.name))

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self._record(_Change("drop", self._by_name.pop(path.name), name=path.name))

    def sync_directory(self, path: Path) -> None:
        self._record(_Change("sync_names", 0))

    def counter(self, path: Path, *, writable: bool) -> SharedCounter:
        real = super().counter(path, writable=writable)
        number = self._by_name[path.name] if path.name in self._by_name else self._new_file(path.name)
        return _RecordedCounter(real, self, number)

    def cut(self, at: int, chance: Random) -> dict[str, bytes]:
        """Return the directory's files, by name, after a power cut following the first ``at`` changes."""
        image = self._found.copy()
        for change in self.changes[:at]:
            image.add(change)
        return image.after_cut(chance)

    def note_counter(self, file: int, value: int) -> None:
        self._record(_Change("write", file, 0, value.to_bytes(8, "little")))

    def _new_file(self, name: str) -> int:
        number = len(self.changes) + FIRST_NEW_FILE  # inodes are reused, so they do not identify files
        self._by_name[name] = number
        self._record(_Change("name", number, name=name))
        return number

    def _note(self, kind: str, fd: int, offset: int = 0, data: bytes = b"") -> None:
        self._record(_Change(kind, self._by_fd[fd], offset, data))

    def _record(self, change: _Change) -> None:
        if change.kind == self._without:
            return
        with self._recording:
            self.changes.append(change)
        if self._kill(change.kind):
            raise ProcessDied(f"killed after change {len(self.changes)}")


class _RecordedCounter:
    """The durable mark: a memory write that may reach the disk later, or never."""

    def __init__(self, real: SharedCounter, record: PowerCutFiles, file: int) -> None:
        self._real = real
        self._record = record
        self._file = file

    def get(self) -> int:
        return self._real.get()

    def set(self, value: int) -> None:
        self._real.set(value)
        self._record.note_counter(self._file, value)

    def close(self) -> None:
        self._real.close()


class _Image:
    """The durable contents of the disk, and the changes that are only in memory."""

    def __init__(self, contents: dict[int, bytearray], names: dict[str, int]) -> None:
        self._contents = contents
        self._names = names
        self._unsynced: dict[int, list[_Change]] = {}
        self._unsynced_names: list[_Change] = []

    @classmethod
    def of(cls, directory: Path) -> _Image:
        found = dict(enumerate(path for path in directory.iterdir() if path.is_file()))
        contents = {number: bytearray(path.read_bytes()) for number, path in found.items()}
        return cls(contents, {path.name: number for number, path in found.items()})

    def names(self) -> dict[str, int]:
        return dict(self._names)

    def copy(self) -> _Image:
        return _Image({file: bytearray(data) for file, data in self._contents.items()}, dict(self._names))

    def add(self, change: _Change) -> None:
        match change.kind:
            case "sync":
                for earlier in self._unsynced.pop(change.file, []):
                    self._put(earlier.file, earlier.offset, earlier.data)
            case "sync_names":
                for earlier in self._unsynced_names:
                    self._rename(earlier)
                self._unsynced_names.clear()
            case "name" | "drop":
                self._unsynced_names.append(change)
            case _:
                self._unsynced.setdefault(change.file, []).append(change)

    def after_cut(self, chance: Random) -> dict[str, bytes]:
        kept = chance.random()  # share of unsynced changes that survive, from 0 to 1
        for change in self._unsynced_names:
            if chance.random() < kept:
                self._rename(change)
        for change in (change for changes in self._unsynced.values() for change in changes):
            for offset, data in _sectors(change):
                if chance.random() < kept:
                    self._put(change.file, offset, data)
        return {name: bytes(self._contents.get(file, b"")) for name, file in self._names.items()}

    def _rename(self, change: _Change) -> None:
        if change.kind == "drop":
            self._names.pop(change.name, None)
            return
        if self._names.get(change.old_name) == change.file:
            del self._names[change.old_name]
        self._names[change.name] = change.file

    def _put(self, file: int, offset: int, data: bytes) -> None:
        content = self._contents.setdefault(file, bytearray())
        end = offset + len(data)
        if end > len(content):
            content.extend(bytes(end - len(content)))
        content[offset:end] = data


def _sectors(change: _Change) -> Iterator[tuple[int, bytes]]:
    """Yield the sectors of a write, which reach the disk independently."""
    if not change.data:
        yield change.offset, b""
    begin = change.offset
    while begin < change.offset + len(change.data):
        end = min((begin // SECTOR_BYTES + 1) * SECTOR_BYTES, change.offset + len(change.data))
        yield begin, change.data[begin - change.offset : end - change.offset]
        begin = end


def write_files(files: dict[str, bytes], directory: Path) -> None:
    """Write the files of a power cut to an empty directory."""
    directory.mkdir(parents=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)
