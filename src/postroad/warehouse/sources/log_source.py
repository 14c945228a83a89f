"""The interface between landing and a journal.

Rule: ``head`` is a number below which nothing will ever appear that is not there already. Both journals keep it: segment
files are read up to the durable mark, which is moved once a group is on the disk; and in PostgreSQL an entry gets its number
under a lock that is held until it is committed, so numbers become visible in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, Protocol

RawRecord = tuple[int, bytes, int]  # seq, facts, length of the body or 0


class EntrySpan(NamedTuple):
    """The entries ``after`` < seq <= ``upto``."""

    after: int
    upto: int

    def __len__(self) -> int:
        return max(0, self.upto - self.after)


class LogSource(Protocol):
    """A journal to read. It is sent to workers, so it holds names and addresses, never connections."""

    @property
    def kind(self) -> str:
        """Return the name by which ``open_source`` knows it."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """Return the options from which ``open_source`` makes it again."""
        ...

    def head(self) -> int:
        """Number of the last entry that may be read; Misconfigured when there is no journal."""
        ...

    def chain_at(self, seq: int) -> bytes:
        """The chain value after the group that holds entry ``seq``, which must not be above ``head``."""
        ...

    def spans(self, span: EntrySpan, parts: int) -> list[EntrySpan]:
        """Divide the span into about ``parts`` pieces that are cheap to read on their own."""
        ...

    def records(self, span: EntrySpan) -> Iterator[RawRecord]:
        """The entries of a span, in order, without their bodies."""
        ...


def split_evenly(span: EntrySpan, parts: int) -> list[EntrySpan]:
    """Divide the span into ``parts`` pieces of nearly equal length; fewer for a short span."""
    parts = max(1, min(parts, len(span)))
    edges = [span.after + len(span) * number // parts for number in range(parts + 1)]
    return [EntrySpan(after, upto) for after, upto in pairwise(edges) if upto > after]
