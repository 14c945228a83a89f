"""Random consistent journals for property tests, and a large plain journal for benchmarks.

Rule: the journals are consistent, as ``events`` defines it; so every index must accept them, and all must agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted, encode
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.unique_keys import handle_key
from postroad.ports import BodyAt, JournalRecord, NewRecord
from postroad.testing.random_journals.events import add_random_entry
from postroad.testing.random_journals.state import JournalState
from postroad.testing.random_journals.values import Draw


@st.composite
def random_journals(draw: Draw, max_entries: int = 25) -> list[Entry]:
    """Draw the entries of a consistent journal, in order."""
    story = JournalState()
    for _ in range(draw(st.integers(1, max_entries))):
        add_random_entry(draw, story)
    return story.entries


@st.composite
def random_cuts(draw: Draw, length: int) -> list[int]:
    """Draw positions at which to cut a journal of this length into batches: ascending, the last one at its end."""
    return sorted({*draw(st.lists(st.integers(1, length), max_size=6)), length})


def to_new_records(entries: Sequence[Entry]) -> list[NewRecord]:
    """Return the entries as new records; messages and returned invocations have a body."""
    return [NewRecord(encode(entry), _body(entry)) for entry in entries]


def to_records(entries: Sequence[Entry], first_seq: int = 1) -> list[JournalRecord]:
    """Return the entries as stored records, with bodies at invented positions."""
    records = []
    for seq, record in enumerate(to_new_records(entries), first_seq):
        body = record.body
        at = BodyAt(1, seq << 33, len(body), hashlib.sha256(body).digest()) if body is not None else None
        records.append(JournalRecord(seq, record.facts, at))
    return records


def _body(entry: Entry) -> bytes | None:
    return entry.session.encode() if isinstance(entry, MessagePosted | InvocationReturned) else None


def make_plain_posts(count: int, first_seq: int = 1, services: int = 50) -> Iterator[MessagePosted]:
    """Yield ordinary posts to one recipient each, for benchmarks."""
    for seq in range(first_seq, first_seq + count):
        session = f"{seq // 20:012x}{seq * 0x9E3779B97F4A7C15 % (1 << 80):020x}"
        yield MessagePosted(
            at_us=1_760_000_000_000_000 + seq * 50, session=session, transaction=session, sender=f"{seq % services:016x}",
            type=MessageType.REQUEST, topic="orders/new", size=2600, form="soap12", directory=7,
            expires_at_us=1_770_000_000_000_000, parts=(PartFacts("order", "application/xml", 2048),),
            copies=(Copy("Acme/Sales", (Hop(f"{seq * 7 % services:016x}"),)),), handle=f"order-{seq}",
            keys=(handle_key(f"{seq % services:016x}", f"order-{seq}"),),
        )  # fmt: skip
