"""The free-space watermark: ordinary appends are refused early, so that space remains for acknowledgments.

Rule: the check is cheap; the file system is queried at most ten times a second.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path

from postroad.adapters.journal.segments.files import FileSystem
from postroad.adapters.journal.segments.settings import SegmentSettings
from postroad.errors import Unavailable

CHECK_EVERY_S = 0.1
FAILED_S = 30.0  # for which a failed write counts; then work may be sent here again, to find out
RETRY_AFTER_S = 30
FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FreeSpace:
    """Checks, with a short cache, whether the disk has space for ordinary appends."""

    def __init__(
        self, files: FileSystem, path: Path, settings: SegmentSettings, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._files = files
        self._path = path
        self._settings = settings
        self._monotonic = monotonic
        self._next_check_s = float("-inf")
        self._shortage = ""
        self._failure: Unavailable | None = None  # of the last write
        self._failed_until_s = 0.0

    def require(self) -> None:
        """Raise Unavailable if less space than the watermark is free."""
        now = self._monotonic()
        if now >= self._next_check_s:
            self._next_check_s = now + CHECK_EVERY_S
            self._shortage = self._look()
        if self._shortage:
            raise Unavailable("storage.full", self._shortage, retry_after_s=RETRY_AFTER_S)

    def note_failure(self, error: BaseException) -> None:
        """Note that a group could not be written, though there seemed to be space."""
        if isinstance(error, Unavailable) and not self._shortage:
            self._failure, self._failed_until_s = error, self._monotonic() + FAILED_S

    def require_writable(self) -> None:
        """Raise Unavailable if a write would be refused now, or if one failed a short time ago."""
        try:
            self.require()
        except OSError as error:
            raise to_unavailable(error) from error
        if self._failure is not None and self._monotonic() < self._failed_until_s:
            raise self._failure.with_traceback(None)

    def measure(self) -> tuple[int, int]:
        """Return the free bytes, and how many must stay free."""
        free, total = self._files.space(self._path)
        return free, max(self._settings.least_free_bytes, int(total * self._settings.least_free_share))

    def _look(self) -> str:
        free, least = self.measure()
        if free >= least:
            return ""
        return f"the journal's disk has {free} bytes free and {least} must stay free; make room there, or retain less"


def to_unavailable(error: OSError) -> Unavailable:
    """Convert a write error that left the journal unchanged to Unavailable."""
    if error.errno in FULL_ERRORS:
        detail = f"the disk of the journal is full ({error.strerror}); nothing was written; make room there"
        return Unavailable("storage.full", detail, retry_after_s=RETRY_AFTER_S)
    detail = f"the disk of the journal does not take writes ({error}); nothing was written; check the disk"
    return Unavailable("storage.failed", detail, retry_after_s=RETRY_AFTER_S)
