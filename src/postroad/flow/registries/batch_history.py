"""Batch history from the index: state, interchange, and functional acknowledgments of partners.

Rule: this module only reads. ``core.visibility`` decides what a viewer may see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.msgpack import Decoder
from msgspec.structs import replace

from postroad.core.model.batch import Batch
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import BatchesChanged, Entry, InterchangeAnswered, MessagePosted, decode
from postroad.core.projection.queries import MESSAGE
from postroad.core.projection.tables import TABLES
from postroad.core.projection.unique_keys import batch_key
from postroad.core.visibility.batch_membership import KnownBatch
from postroad.ports import IndexReader, Journal

HEADER = MESSAGE.index("header")
BATCH_FACTS = TABLES["batch"].index("facts")
ANSWER_FACTS = TABLES["batch_answer"].index("facts")

SEEN_SEQ = TABLES["seen"].index("seq")
MAX_CHANGES = 100  # versions of a batch that are looked up

_batches = Decoder(Batch)


def decode_batch_row(row: tuple[Any, ...]) -> Batch:
    """Decode the batch in a row of the queries about batches."""
    return _batches.decode(row[BATCH_FACTS])


def list_batch_ids(entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the batches that these entries mention."""
    found = set()
    for entry in entries:
        if isinstance(entry, BatchesChanged) and entry.batch:
            found.add(entry.batch)
        elif isinstance(entry, MessagePosted) and entry.assembled is not None and entry.assembled.batch is not None:
            found.add(entry.assembled.batch.id)
    return found


async def load_known_batches(index: IndexReader, ids: Iterable[str]) -> dict[str, KnownBatch]:
    """Load what is known of each of these batches; the index must have caught up."""
    found = [await load_known_batch(index, batch_id) for batch_id in ids]
    return {known.batch.id: known for known in found if known is not None}


async def load_known_batch(index: IndexReader, batch_id: str) -> KnownBatch | None:
    """Load what is known of one batch; None if it does not exist."""
    rows = await index.query("batch", batch_id)
    if not rows:
        return None
    batch = decode_batch_row(rows[0])
    answers = [decode(row[ANSWER_FACTS]) for row in await index.query("batch_answers", batch_id)]
    told = [answer for answer in answers if isinstance(answer, InterchangeAnswered)]
    return KnownBatch(batch, await _assembled(index, batch), told)


async def load_batch_changes(index: IndexReader, journal: Journal, batch: Batch) -> list[Entry]:
    """Return the latest entries that changed a batch, oldest first, found by their version keys."""
    found: list[Entry] = []
    for version in range(batch.version, max(0, batch.version - MAX_CHANGES), -1):
        for row in await index.query("seen", batch_key(replace(batch, version=version))):
            records = (await journal.read(row[SEEN_SEQ] - 1, 1)).records
            found.append(decode(records[0].facts))
    return found[::-1]


async def _assembled(index: IndexReader, batch: Batch) -> AssembledInterchange | None:
    """Return the interchange's content; one that is posted again keeps the numbers drawn before."""
    made = await _made(index, batch.interchange)
    if made is None or made.numbers or batch.numbered in ("", batch.interchange):
        return made
    before = await _made(index, batch.numbered)
    return replace(made, numbers=before.numbers) if before is not None else made


async def _made(index: IndexReader, session: str) -> AssembledInterchange | None:
    rows = await index.query("message", session) if session else []
    posted = decode(rows[0][HEADER]) if rows else None
    return posted.assembled if isinstance(posted, MessagePosted) else None
