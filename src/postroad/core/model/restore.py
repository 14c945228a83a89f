"""A restore of the network from a backup, as the directory and the index keep it.

Rule: a restored journal continues where the backup was cut, so what the network did after the cut is unknown. Everything
older than the restore may have been delivered, and numbers after the last known one may have been used.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Restore(Struct, frozen=True, kw_only=True):
    """One restore: the number of its entry, the last entry before it, and the control numbers that each series skips."""

    seq: int
    cut: int
    skip_numbers: int = 0


def skip_numbers_after_restores(number: int, used_by: int, restores: Iterable[Restore]) -> int:
    """Return the number that a series continues after: its highest one, plus what later restores skip.

    ``used_by`` is the entry that used ``number``; both are 0 for a series without a number.
    """
    return number + sum(restore.skip_numbers for restore in restores if restore.seq > used_by)
