"""The interface between the journal and the disk: every file system call that the journal makes.

Rule: no module of this package calls ``os`` for a file directly, so that ``postroad.testing.faults`` can simulate a
disk that fails, fills up or loses power at any call.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

COUNTER_BYTES = mmap.PAGESIZE
# Another file system, or one without links, or a file that this user may not link.
NOT_LINKABLE = frozenset({errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS})


class DiskSpace(NamedTuple):
    """The space of the file system in bytes; ``free`` is what an ordinary user may still use."""

    free: int
    total: int


class SharedCounter(Protocol):
    """One number in a small file that other processes see change at once; not durable by itself."""

    def get(self) -> int: ...

    def set(self, value: int) -> None: ...

    def close(self) -> None: ...


class FileSystem(Protocol):
    """The calls the journal makes. A write may be short; nothing is durable before the sync that follows it."""

    def make_directory(self, path: Path) -> None:
        """Create the directory and its parents, durably."""
        ...

    def names(self, directory: Path) -> list[str]: ...

    def create(self, path: Path) -> int: ...

    def open(self, path: Path, *, writable: bool) -> int: ...

    def close(self, fd: int) -> None: ...

    def size(self, fd: int) -> int: ...

    def size_of(self, path: Path) -> int:
        """Return the size in bytes; 0 if the file does not exist."""
        ...

    def pread(self, fd: int, length: int, offset: int) -> bytes: ...

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int: ...

    def allocate(self, fd: int, size: int) -> None:
        """Make the file ``size`` bytes long, with disk space reserved for all of them where the system supports it."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file after ``size`` bytes."""
        ...

    def link(self, old: Path, new: Path) -> bool:
        """Give a file a second name; returns False if the file systems do not support it."""
        ...

    def fdatasync(self, fd: int) -> None: ...

    def rename(self, old: Path, new: Path) -> None: ...

    def unlink(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None: ...

    def space(self, path: Path) -> DiskSpace: ...

    def lock(self, path: Path) -> int: ...

    def counter(self, path: Path, *, writable: bool) -> SharedCounter: ...


class MappedCounter:
    """A counter in a memory-mapped page: one aligned 64-bit store, so readers never see a partial value."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT if writable else os.O_RDONLY, 0o640)
        try:
            if writable and os.fstat(fd).st_size < COUNTER_BYTES:
                os.ftruncate(fd, COUNTER_BYTES)
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            self._page = mmap.mmap(fd, COUNTER_BYTES, access=access)
        finally:
            os.close(fd)
        self._numbers = memoryview(self._page).cast("Q")

    def get(self) -> int:
        return self._numbers[0]

    def set(self, value: int) -> None:
        self._numbers[0] = value

    def close(self) -> None:
        self._numbers.release()
        self._page.close()


class RealFiles:
    """The files of the operating system."""

    def make_directory(self, path: Path) -> None:
        missing = [folder for folder in path.parents if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True, mode=0o750)
        for folder in (path, *missing):  # also if it exists: its creator may have been killed before the sync
            with suppress(PermissionError):  # a parent that is writable but not readable
                _sync_directory(folder.parent)

    def names(self, directory: Path) -> list[str]:
        return os.listdir(directory)

    def create(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o640)

    def open(self, path: Path, *, writable: bool) -> int:
        return os.open(path, os.O_RDWR if writable else os.O_RDONLY)

    def close(self, fd: int) -> None:
        os.close(fd)

    def size(self, fd: int) -> int:
        return os.fstat(fd).st_size

    def size_of(self, path: Path) -> int:
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        return os.pread(fd, length, offset)

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def allocate(self, fd: int, size: int) -> None:
        if sys.platform == "darwin":
            os.ftruncate(fd, size)
        else:
            os.posix_fallocate(fd, 0, size)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def link(self, old: Path, new: Path) -> bool:
        try:
            os.link(old, new)
        except OSError as error:
            if error.errno in NOT_LINKABLE:
                return False
            raise
        return True

    def fdatasync(self, fd: int) -> None:
        if sys.platform == "darwin":  # fsync leaves the data in the drive's cache; F_FULLFSYNC does not
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def sync_directory(self, path: Path) -> None:
        _sync_directory(path)

    def space(self, path: Path) -> DiskSpace:
        found = os.statvfs(path)
        return DiskSpace(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)

    def lock(self, path: Path) -> int:
        """Lock ``path`` for this process; raises BlockingIOError if another process has the lock."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o640)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        return fd

    def counter(self, path: Path, *, writable: bool) -> SharedCounter:
        return MappedCounter(path, writable=writable)


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(files: FileSystem, fd: int, data: bytes | memoryview, offset: int) -> None:
    """Write all bytes; a single system call may write only some of them."""
    rest = memoryview(data)
    while rest:
        written = files.pwrite(fd, rest, offset)
        offset += written
        rest = rest[written:]
