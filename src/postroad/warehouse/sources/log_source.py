"""What landing asks of a journal.

Kept rule: ``head`` is a number below which nothing will ever appear that is not there already. Both journals keep it: segment
files are read up to the durable mark, which is moved once a group is on the disk; and in PostgreSQL an entry gets its number
under a lock that is held until it is committed, so numbers become visible in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple, Protocol

RawRecord = tuple[int, bytes, int]  # seq, facts, length of the body or 0


class Span(NamedTuple):
    """Entries ``after`` < seq <= ``upto``."""

    after: int
    upto: int

    def __len__(self) -> int:
        return max(0, self.upto - self.after)


class LogSource(Protocol):
    """A journal to be read. It is sent to workers, so it holds names and addresses, never connections."""

    @property
    def kind(self) -> str:
        """The word by which ``open_source`` knows it."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """What ``open_source`` needs to make it again."""
        ...

    def head(self) -> int:
        """Number of the last entry that may be read; Misconfigured when there is no journal."""
        ...

    def chain_at(self, seq: int) -> bytes:
        """The chain value after the group that holds entry ``seq``, which must not be above ``head``."""
        ...

    def spans(self, span: Span, parts: int) -> list[Span]:
        """The span cut into about so many pieces that are cheap to read by themselves."""
        ...

    def records(self, span: Span) -> Iterator[RawRecord]:
        """The entries of a span, in order, without their bodies."""
        ...


def even_spans(span: Span, parts: int) -> list[Span]:
    """The span in ``parts`` pieces of nearly the same length; fewer when there is not so much."""
    parts = max(1, min(parts, len(span)))
    edges = [span.after + len(span) * number // parts for number in range(parts + 1)]
    return [Span(after, upto) for after, upto in pairwise(edges) if upto > after]
