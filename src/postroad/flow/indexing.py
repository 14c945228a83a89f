"""From the journal into the index: read, project, apply, in large batches, for as long as there is something to follow.

Kept rule: the index goes on only where it left off on this very journal. Its position is the head after a whole group, so reading
that one group tells whether the journal still has it; an index ahead of its journal, or made from another one, is refused and
never mixed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from postroad.core.projection.project import project
from postroad.errors import Misconfigured
from postroad.ports import Batch, Head, Index

BATCH_BYTES = 4 << 20

Progress = Callable[[Head], None]


class Source(Protocol):
    """The one thing that indexing needs of a journal."""

    async def read(self, after_seq: int, limit_bytes: int = ...) -> Batch: ...


async def follow(
    journal: Source, index: Index, *, arrived: Callable[[], Awaitable[None]], on_progress: Progress | None = None
) -> None:
    """Keep the index up with the journal until cancelled; ``arrived`` returns when there may be something new.

    ``on_progress`` hears of every batch, and once for each ``arrived`` even if there was nothing new.
    """
    position = await trusted_position(journal, index)
    while True:
        caught_up = await _catch_up(journal, index, position, on_progress)
        if (
            caught_up == position
        ):  # time to see whether the index still has it all: a crash of its database may take some back
            caught_up = await trusted_position(journal, index)
            if on_progress:
                on_progress(caught_up)
        if caught_up.seq >= position.seq:
            await arrived()
        position = caught_up


async def catch_up(journal: Source, index: Index, on_progress: Progress | None = None) -> Head:
    """Apply everything that the journal has now, and say where the index is then."""
    return await _catch_up(journal, index, await trusted_position(journal, index), on_progress)


async def rebuild(journal: Source, index: Index, on_progress: Progress | None = None) -> Head:
    """Make every table anew from the first entry on."""
    await index.clear()
    return await catch_up(journal, index, on_progress)


async def trusted_position(journal: Source, index: Index) -> Head:
    """The index's position, once the journal has been seen to pass through it."""
    position = await index.position()
    if position.seq and (await journal.read(position.seq - 1, 1)).head != position:
        raise of_another_journal(position.seq)
    return position


def of_another_journal(seq: int) -> Misconfigured:
    return Misconfigured(
        [
            f"index: it stands at entry {seq}, where this journal is shorter or another one; put the right "
            "journal in place, or run `postroad index rebuild` to make the index anew from this one"
        ]
    )


async def _catch_up(journal: Source, index: Index, position: Head, on_progress: Progress | None) -> Head:
    while (batch := await journal.read(position.seq, BATCH_BYTES)).records:
        await index.apply(project(batch.records), batch.head, position.seq)
        position = batch.head
        if on_progress:
            on_progress(position)
    return position
