"""Find what the index knows of batches: how they are now, what was made of them, and what partners have said of that.

Kept rule: only read here. What somebody may know of it is decided in ``core.audit``.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.msgpack import Decoder
from msgspec.structs import replace

from postroad.core.audit.batches import KnownBatch
from postroad.core.model.batch import Batch
from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import BatchesChanged, Entry, InterchangeAnswered, MessagePosted, decode
from postroad.core.projection.keys import batch_key
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.tables import TABLES
from postroad.ports import IndexReader, Journal

HEADER = MESSAGE.index("header")
BATCH_FACTS = TABLES["batch"].index("facts")
ANSWER_FACTS = TABLES["batch_answer"].index("facts")

SEEN_SEQ = TABLES["seen"].index("seq")
CHANGES_MOST = 100  # versions of a batch that are looked up

_batches = Decoder(Batch)


def batch_from_row(row: tuple[object, ...]) -> Batch:
    """The batch that a row of the queries about batches describes."""
    return _batches.decode(row[BATCH_FACTS])  # type: ignore[arg-type]


def batches_in(entries: Iterable[Entry]) -> set[str]:
    """Ids of the batches that these entries speak of."""
    found = set()
    for entry in entries:
        if isinstance(entry, BatchesChanged) and entry.batch:
            found.add(entry.batch)
        elif isinstance(entry, MessagePosted) and entry.assembled is not None and entry.assembled.batch is not None:
            found.add(entry.assembled.batch.id)
    return found


async def known_batches(index: IndexReader, ids: Iterable[str]) -> dict[str, KnownBatch]:
    """What is known of each of these batches; the index must have caught up before."""
    found = [await known_batch(index, batch_id) for batch_id in ids]
    return {known.batch.id: known for known in found if known is not None}


async def known_batch(index: IndexReader, batch_id: str) -> KnownBatch | None:
    rows = await index.query("batch", batch_id)
    if not rows:
        return None
    batch = batch_from_row(rows[0])
    answers = [decode(row[ANSWER_FACTS]) for row in await index.query("batch_answers", batch_id)]
    told = [answer for answer in answers if isinstance(answer, InterchangeAnswered)]
    return KnownBatch(batch, await _assembled(index, batch), told)


async def changes_of(index: IndexReader, journal: Journal, batch: Batch) -> list[Entry]:
    """The latest entries that changed a batch, oldest first: each was written under the key of the version that it made."""
    found: list[Entry] = []
    for version in range(batch.version, max(0, batch.version - CHANGES_MOST), -1):
        for row in await index.query("seen", batch_key(replace(batch, version=version))):
            records = (await journal.read(row[SEEN_SEQ] - 1, 1)).records
            found.append(decode(records[0].facts))
    return found[::-1]


async def _assembled(index: IndexReader, batch: Batch) -> Assembled | None:
    """What the interchange holds; one that is posted once more goes under the numbers that were drawn before."""
    made = await _made(index, batch.interchange)
    if made is None or made.numbers or batch.numbered in ("", batch.interchange):
        return made
    before = await _made(index, batch.numbered)
    return replace(made, numbers=before.numbers) if before is not None else made


async def _made(index: IndexReader, session: str) -> Assembled | None:
    rows = await index.query("message", session) if session else []
    posted = decode(rows[0][HEADER]) if rows else None
    return posted.assembled if isinstance(posted, MessagePosted) else None
