"""Journals for tests: random ones that could have happened (hypothesis), and a large plain one for measuring.

Kept rule: what is generated is consistent (``journal_events`` says how); so every index must cope with it, and all must agree
on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from postroad.core.model.journal import (
    Copy,
    Entry,
    Hop,
    InvocationReturned,
    MessagePosted,
    encode,
)
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.projection.keys import handle_key
from postroad.ports import BodyAt, NewRecord, Record
from postroad.testing.journal_events import happen
from postroad.testing.journal_story import Story
from postroad.testing.journal_values import Draw


@st.composite
def journals(draw: Draw, max_entries: int = 25) -> list[Entry]:
    """The entries of a journal that could have happened, in order."""
    story = Story()
    for _ in range(draw(st.integers(1, max_entries))):
        happen(draw, story)
    return story.entries


@st.composite
def cuts(draw: Draw, length: int) -> list[int]:
    """Where to cut a journal of this length into batches: ascending ends, the last one being its end."""
    return sorted({*draw(st.lists(st.integers(1, length), max_size=6)), length})


def new_records(entries: Sequence[Entry]) -> list[NewRecord]:
    """The entries as they are appended; messages and returned ones bring a body."""
    return [NewRecord(encode(entry), _body(entry)) for entry in entries]


def as_records(entries: Sequence[Entry], first_seq: int = 1) -> list[Record]:
    """The entries as a journal would give them back, with bodies at made-up places."""
    records = []
    for seq, record in enumerate(new_records(entries), first_seq):
        body = record.body
        at = BodyAt(1, seq << 33, len(body), hashlib.sha256(body).digest()) if body is not None else None
        records.append(Record(seq, record.facts, at))
    return records


def _body(entry: Entry) -> bytes | None:
    return entry.session.encode() if isinstance(entry, MessagePosted | InvocationReturned) else None


def plain_posts(count: int, first_seq: int = 1, services: int = 50) -> Iterator[MessagePosted]:
    """Ordinary posts to one recipient each, for measuring; they differ where real ones do."""
    for seq in range(first_seq, first_seq + count):
        session = f"{seq // 20:012x}{seq * 0x9E3779B97F4A7C15 % (1 << 80):020x}"
        yield MessagePosted(
            at_us=1_760_000_000_000_000 + seq * 50, session=session, transaction=session, sender=f"{seq % services:016x}",
            type=MessageType.REQUEST, topic="orders/new", size=2600, form="soap12", directory=7,
            expires_at_us=1_770_000_000_000_000, parts=(PartFacts("order", "application/xml", 2048),),
            copies=(Copy("Acme/Sales", (Hop(f"{seq * 7 % services:016x}"),)),), handle=f"order-{seq}",
            keys=(handle_key(f"{seq % services:016x}", f"order-{seq}"),),
        )  # fmt: skip
