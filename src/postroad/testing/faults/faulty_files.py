"""File access that fails on demand, to test whether a journal keeps its promises.

``FaultyFiles`` fails or stops at chosen calls; ``postroad.testing.faults.power_cuts`` simulates lost writes.

Rule: failures occur only at the planned calls; all other calls behave like real files.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from postroad.adapters.journal.segments.files import DiskSpace, RealFiles

_Result = TypeVar("_Result")


class ProcessDied(BaseException):
    """Raised instead of ending the process: where ``os._exit`` would be called, or at a planned crash."""


def die(reason: str) -> NoReturn:
    """Raise ProcessDied; passed to a journal instead of the real exit."""
    raise ProcessDied(reason)


class SameThreadExecutor(Executor):
    """Runs tasks immediately in the calling thread, so that calls have a fixed order."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(fn(*args, **kwargs))
        except BaseException as error:  # a planned crash is also raised in the caller that waits for the result
            outcome.set_exception(error)
        return outcome


class ProcessFiles(RealFiles):
    """Real files that are tracked while open, so that a test can close all files of a simulated process."""

    def __init__(self) -> None:
        self._fds: set[int] = set()

    def create(self, path: Path) -> int:
        return self._opened(super().create(path))

    def open(self, path: Path, *, writable: bool) -> int:
        return self._opened(super().open(path, writable=writable))

    def lock(self, path: Path) -> int:
        return self._opened(super().lock(path))

    def close(self, fd: int) -> None:
        self._fds.discard(fd)
        super().close(fd)

    def end_process(self) -> None:
        """Close all files and release the lock, like the kernel after a process was killed."""
        for fd in tuple(self._fds):
            self.close(fd)

    def _opened(self, fd: int) -> int:
        self._fds.add(fd)
        return fd


class UnsyncedFiles(RealFiles):
    """Real files without syncs, for tests of process crashes but not power cuts."""

    def fdatasync(self, fd: int) -> None:
        """Do nothing: the page cache outlives the process."""

    def sync_directory(self, path: Path) -> None:
        """Do nothing: the page cache outlives the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFailure:
    """A failure at the ``nth`` call (from 1) of ``call``, or of any call when that is empty.

    ``action`` is the name of an errno (ENOSPC, EIO), ``short`` (half of the data is written), or ``crash`` (the call
    succeeds, and the process ends right after it). ``lasting`` repeats the failure at every later call of that name.
    """

    call: str
    nth: int
    action: str
    lasting: bool = False


@dataclass(slots=True)
class FailurePlan:
    """The failures of one run, and the number of calls so far."""

    faults: tuple[InjectedFailure, ...] = ()
    calls: dict[str, int] = field(default_factory=dict)

    def due(self, call: str) -> InjectedFailure | None:
        for name in (call, ""):
            self.calls[name] = self.calls.get(name, 0) + 1
        for fault in self.faults:
            if fault.call in (call, ""):
                count = self.calls[fault.call]
                if count == fault.nth or (fault.lasting and count > fault.nth):
                    return fault
        return None


class FaultyFiles(ProcessFiles):
    """Files that fail as planned; counts only calls that change something."""

    def __init__(self, *faults: InjectedFailure, free_bytes: int | None = None) -> None:
        super().__init__()
        self.plan = FailurePlan(faults)
        self.free_bytes = free_bytes
        self.ended = False
        self._counting = threading.Lock()

    def create(self, path: Path) -> int:
        fault = self._before("create")
        return self._after(fault, super().create(path))

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        fault = self._before("pwrite")
        if fault is not None and fault.action == "short":
            data = data[: max(1, len(data) // 2)]
        return self._after(fault, super().pwrite(fd, data, offset))

    def allocate(self, fd: int, size: int) -> None:
        fault = self._before("allocate")
        self._after(fault, super().allocate(fd, size))

    def truncate(self, fd: int, size: int) -> None:
        fault = self._before("truncate")
        self._after(fault, super().truncate(fd, size))

    def link(self, old: Path, new: Path) -> bool:
        fault = self._before("link")
        return self._after(fault, super().link(old, new))

    def fdatasync(self, fd: int) -> None:
        self._after(self._before("fdatasync"), None)

    def rename(self, old: Path, new: Path) -> None:
        fault = self._before("rename")
        self._after(fault, super().rename(old, new))

    def unlink(self, path: Path) -> None:
        fault = self._before("unlink")
        self._after(fault, super().unlink(path))

    def sync_directory(self, path: Path) -> None:
        self._after(self._before("sync_directory"), None)

    def space(self, path: Path) -> DiskSpace:
        return super().space(path) if self.free_bytes is None else DiskSpace(self.free_bytes, 1 << 40)

    def die(self, reason: str) -> NoReturn:
        """End the simulated process: all later calls fail."""
        self.ended = True
        raise ProcessDied(reason)

    def _before(self, call: str) -> InjectedFailure | None:
        with self._counting:
            if self.ended:
                raise ProcessDied("this process has ended")
            fault = self.plan.due(call)
        if fault is not None and fault.action not in ("short", "crash"):
            number = getattr(errno, fault.action)
            raise OSError(number, os.strerror(number))
        return fault

    def _after(self, fault: InjectedFailure | None, result: _Result) -> _Result:
        if fault is not None and fault.action == "crash":
            self.die(f"planned crash after {fault.call or 'call'} {fault.nth}")
        return result
