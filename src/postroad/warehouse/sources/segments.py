"""The embedded journal as a source: sealed segments and the growing tail, while the server writes them.

Rule: nothing past the durable mark is looked at, so a group that is half written, or whole and not yet synced, does not
exist here. Workers receive the end position and do not read the mark; dropped bodies make no difference, only their length
is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from postroad.adapters.journal.segments import RealFiles, SegmentReader
from postroad.adapters.journal.segments.catalog import list_segments
from postroad.adapters.journal.segments.frame import ENTRY, NO_BODY, RecordGroup
from postroad.adapters.journal.segments.reader import SegmentReads
from postroad.warehouse.sources.log_source import EntrySpan, RawRecord, split_evenly


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLog:
    """The journal in one folder; on a cluster every worker must see the folder under the same path."""

    folder: Path
    kind: str = "segments"

    @property
    def options(self) -> Mapping[str, str]:
        return {"folder": str(self.folder)}

    def head(self) -> int:
        reader = SegmentReader(self.folder)
        try:
            return reader.durable_seq()
        finally:
            reader.close()

    def chain_at(self, seq: int) -> bytes:
        reader = SegmentReader(self.folder)
        try:
            return reader.read_sync(seq - 1, 1).head.chain
        finally:
            reader.close()

    def spans(self, span: EntrySpan, parts: int) -> list[EntrySpan]:
        """Cut where segments begin, then each piece evenly: reading from the middle of one costs skipping what is before."""
        begins = [segment.first_seq - 1 for segment in list_segments(RealFiles().names(self.folder))]
        edges = [span.after, *(seq for seq in begins if span.after < seq < span.upto), span.upto]
        whole = [EntrySpan(after, upto) for after, upto in pairwise(edges) if upto > after]
        return [piece for one in whole for piece in split_evenly(one, -(-parts * len(one) // max(1, len(span))))]

    def records(self, span: EntrySpan) -> Iterator[RawRecord]:
        reads = SegmentReads(RealFiles(), self.folder, lambda: span.upto)
        try:
            for group, _ in reads.groups(span.after):
                yield from raw_records(group, span)
        finally:
            reads.close()


def raw_records(group: RecordGroup, span: EntrySpan) -> Iterator[RawRecord]:
    """The records of a group that lie in the span; groups of both journals have the same table."""
    start = 0
    for seq, (facts_bytes, body_bytes, _) in enumerate(ENTRY.iter_unpack(group.table), group.first_seq):
        end = start + facts_bytes
        if span.after < seq <= span.upto:
            yield seq, group.facts[start:end], 0 if body_bytes == NO_BODY else body_bytes
        start = end
