"""The history of a transaction, built from its journal entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroad.core.audit.history.builder import build_history
from postroad.core.model.history import History
from postroad.core.model.journal import Entry, MessagePosted, decode
from postroad.core.projection.queries import JOURNEY, QUERIES
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.flow.concurrency.heavy_work import HeavyWork
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batch_history import list_batch_ids, load_known_batches
from postroad.ports import IndexReader, JournalBatch

SETTLED_BY = JOURNEY.index("settle_seq")
TRANSACTION = QUERIES["message"][1].index("transaction_id")
MAX_ENTRIES = 20_000
TOLD_AT_ONCE = 500  # entries and copies processed on the event loop at a time, in a few milliseconds


class EntryReader(Protocol):
    """The part of a journal that reads entries."""

    async def read(self, after_seq: int, limit_bytes: int = ...) -> JournalBatch: ...


class HistoryStage:
    def __init__(self, plumbing: Plumbing, pseudonyms: Pseudonyms, heavy: HeavyWork) -> None:
        self._journal, self._index, self._directory = plumbing.journal, plumbing.index, plumbing.directory
        self._wait_until_indexed = plumbing.wait_until_indexed
        self._pseudonyms = pseudonyms
        self._heavy = heavy

    async def trace(self, session: str, organization: str | None, service: str = "") -> History | None:
        """Return the history of a session's transaction, as far as the organization or its service may see it."""
        await self._wait_until_indexed()
        rows = await self._index.query("message", self._pseudonyms.real_session(session))
        if not rows:
            return None
        entries = list((await load_transaction(self._index, self._journal, rows[0][TRANSACTION])).items())
        batches = await load_known_batches(self._index, list_batch_ids(entry for _, entry in entries))
        directory = self._directory()

        def build() -> History | None:
            return build_history(
                entries=entries,
                directory=directory,
                organization=organization,
                asked=session,
                pseudonyms=self._pseudonyms,
                batches=batches,
                service=service,
            )

        if _parts_of(entries) <= TOLD_AT_ONCE:
            return build()
        return await self._heavy.run(organization or "", build)


async def load_transaction(index: IndexReader, journal: EntryReader, transaction: str) -> dict[int, Entry]:
    """Return the entries about a transaction, by number; at most ``MAX_ENTRIES`` besides its posts."""
    posted = await index.query("transaction_messages", transaction)
    returned = await index.query("transaction_contents", transaction)
    trail = await index.query("transaction_trail", transaction)
    header = QUERIES["message"][1].index("header")
    entries: dict[int, Entry] = {row[0]: decode(row[header]) for row in posted}
    journeys = await index.query("transaction_journeys", transaction)
    ended = [row[SETTLED_BY] for row in journeys if row[SETTLED_BY]]
    # If there are too many events, old attempts are omitted first: the state of each copy is always shown.
    for seq in [*[row[0] for row in returned], *ended, *[row[0] for row in reversed(trail)]][:MAX_ENTRIES]:
        if seq not in entries:
            batch = await journal.read(seq - 1, 1)
            entries[seq] = decode(batch.records[0].facts)
    return entries


def _parts_of(entries: Sequence[tuple[int, Entry]]) -> int:
    return len(entries) + sum(len(entry.copies) for _, entry in entries if isinstance(entry, MessagePosted))
