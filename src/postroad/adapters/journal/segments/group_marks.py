"""A coarse map of each segment, from record number to offset, so that any record is found quickly.

Rule: a mark is only a position at which reading may begin; losing one costs time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict

from postroad.adapters.journal.segments.frame import SEGMENT_HEADER

EVERY_BYTES = 16 << 10
REMEMBERED_SEGMENTS = 256  # at 64 MiB a segment, 64 KB of marks each


class _SegmentMarks:
    """First record and offset of some groups, in order."""

    __slots__ = ("offsets", "seqs")

    def __init__(self) -> None:
        self.seqs = array("Q")
        self.offsets = array("Q")


class GroupMarks:
    """The marks of the segments that were read last."""

    def __init__(self) -> None:
        self._segments: OrderedDict[str, _SegmentMarks] = OrderedDict()

    def note(self, name: str, first_seq: int, offset: int) -> None:
        """Remember a group, unless one close before it is known; groups of a segment come in order."""
        marks = self._segments.get(name)
        if marks is None:
            marks = self._segments[name] = _SegmentMarks()
            if len(self._segments) > REMEMBERED_SEGMENTS:
                self._segments.popitem(last=False)
        if not marks.offsets or offset >= marks.offsets[-1] + EVERY_BYTES:
            marks.seqs.append(first_seq)
            marks.offsets.append(offset)

    def offset_before(self, name: str, seq: int) -> int:
        """An offset at which a group begins, at or before the one that holds ``seq``."""
        marks = self._segments.get(name)
        if marks is None:
            return SEGMENT_HEADER.size
        self._segments.move_to_end(name)
        index = bisect_right(marks.seqs, seq) - 1
        return marks.offsets[index] if index >= 0 else SEGMENT_HEADER.size
