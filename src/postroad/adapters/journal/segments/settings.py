"""Settings of the segment files that an operator may change."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSettings:
    """Sizes in bytes. Ordinary appends stop while less than the larger of the two ``least_free`` values is free."""

    segment_bytes: int = 64 << 20
    reserve_bytes: int = 8 << 20  # a preallocated segment for acknowledgments when the disk is full
    least_free_bytes: int = 1 << 30
    least_free_share: float = 0.0  # off: a share of a large disk wastes space
