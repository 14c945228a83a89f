"""Keep the index up with the journal: read, project and apply entries in large batches.

Rule: the index continues only on the journal that it was built from. Its position is the head after a complete group,
so reading that one group shows whether the journal still contains it. An index that is ahead of its journal, or was
built from another one, is refused and never mixed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from postroad.core.projection.project import project
from postroad.errors import Misconfigured
from postroad.ports import Index, JournalBatch, JournalHead

BATCH_BYTES = 4 << 20

Progress = Callable[[JournalHead], None]


class JournalSource(Protocol):
    """The part of a journal that indexing needs."""

    async def read(self, after_seq: int, limit_bytes: int = ...) -> JournalBatch: ...


async def follow(
    journal: JournalSource, index: Index, *, arrived: Callable[[], Awaitable[None]], on_progress: Progress | None = None
) -> None:
    """Update the index from the journal until cancelled; ``arrived`` returns when there may be new entries.

    ``on_progress`` is called after every batch, and once for each ``arrived`` even if there was nothing new.
    """
    position = await verify_position(journal, index)
    while True:
        caught_up = await _catch_up(journal, index, position, on_progress)
        if (
            caught_up == position
        ):  # time to see whether the index still has it all: a crash of its database may take some back
            caught_up = await verify_position(journal, index)
            if on_progress:
                on_progress(caught_up)
        if caught_up.seq >= position.seq:
            await arrived()
        position = caught_up


async def catch_up(journal: JournalSource, index: Index, on_progress: Progress | None = None) -> JournalHead:
    """Apply all entries that the journal has now; returns the index's position."""
    return await _catch_up(journal, index, await verify_position(journal, index), on_progress)


async def rebuild(journal: JournalSource, index: Index, on_progress: Progress | None = None) -> JournalHead:
    """Rebuild every table from the first entry."""
    await index.clear()
    return await catch_up(journal, index, on_progress)


async def verify_position(journal: JournalSource, index: Index) -> JournalHead:
    """Return the index's position after checking that the journal passes through it."""
    position = await index.position()
    if position.seq and (await journal.read(position.seq - 1, 1)).head != position:
        raise other_journal_error(position.seq)
    return position


def other_journal_error(seq: int) -> Misconfigured:
    """Return the error for an index that belongs to a different journal."""
    return Misconfigured(
        [
            f"index: it is at entry {seq}, but this journal is shorter or a different one; restore the right journal, or "
            "run `postroad index rebuild` to rebuild the index from this one"
        ]
    )


async def _catch_up(
    journal: JournalSource, index: Index, position: JournalHead, on_progress: Progress | None
) -> JournalHead:
    while (batch := await journal.read(position.seq, BATCH_BYTES)).records:
        await index.apply(project(batch.records), batch.head, position.seq)
        position = batch.head
        if on_progress:
            on_progress(position)
    return position
