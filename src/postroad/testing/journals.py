"""Journals for tests: random ones that could have happened (hypothesis), and a large plain one for measuring.

Kept rule: what is generated is consistent. Only deliveries that exist and wait are leased, returned, acknowledged or ended, and
an answer belongs to the message it answers; so every index must cope with it, and all must agree on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    AccessRecorded,
    Answers,
    ConfigurationChanged,
    Copy,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    Entry,
    Hop,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
    ObjectChange,
    PartFacts,
    encode,
)
from postroad.core.model.message import MessageType
from postroad.core.projection.project import handle_key
from postroad.ports import BodyAt, NewRecord, Record

SERVICES = tuple(f"{number:016x}" for number in range(0xA0, 0xA6))
ENDINGS = ("expired", "cancelled", "failed", "rejected")

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
times = st.integers(0, 2**60)
sizes = st.integers(0, 2**40)
Draw = Any


@dataclass(slots=True)
class _Waiting:
    """A delivery that the generator may still do something with."""

    number: int
    message_seq: int
    message: MessagePosted
    copy: int
    hop: int


@dataclass(slots=True)
class _Story:
    """What has happened so far in a journal that is being made up."""

    entries: list[Entry] = field(default_factory=list)
    waiting: list[_Waiting] = field(default_factory=list)
    versions: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def next_seq(self) -> int:
        return len(self.entries) + 1

    def session(self) -> str:
        return f"{self.next_seq:032x}"

    def choose(self, draw: Draw) -> tuple[int, ...]:
        """Some deliveries that wait, in any order."""
        chosen = draw(st.lists(st.sampled_from(self.waiting), min_size=1, max_size=4, unique_by=lambda one: one.number))
        return tuple(one.number for one in chosen)

    def forget(self, numbers: Sequence[int]) -> None:
        self.waiting = [one for one in self.waiting if one.number not in numbers]


def _post(draw: Draw, story: _Story) -> Entry:
    answered = draw(st.sampled_from(story.waiting)) if story.waiting and draw(st.booleans()) else None
    copies = tuple(_copy(draw) for _ in range(draw(st.integers(1, 3))))
    entry = MessagePosted(
        at_us=draw(times), session=story.session(), sender=draw(st.sampled_from(SERVICES)), form="json", directory=1,
        transaction=answered.message.transaction if answered else story.session(), topic=draw(words), size=draw(sizes),
        type=draw(st.sampled_from(MessageType)), expires_at_us=draw(times), copies=copies, handle=draw(words),
        parts=(PartFacts("p", "text/plain", 3),), idempotency=draw(words),
        answers=Answers(answered.number, answered.message.session, answered.message.handle) if answered else None,
    )  # fmt: skip
    if answered:
        story.forget([answered.number])
    story.waiting += [
        _Waiting(delivery_number(story.next_seq, ordinal), story.next_seq, entry, ordinal, 0)
        for ordinal, copy in enumerate(copies)
        if not copy.code
    ]
    return entry


def _copy(draw: Draw) -> Copy:
    if draw(st.integers(0, 5)) == 0:
        return Copy(named=draw(words), code="recipient.unknown", detail=draw(words))
    hops = draw(st.lists(st.sampled_from(SERVICES), min_size=1, max_size=3))
    return Copy(named=draw(words), hops=tuple(Hop(service) for service in hops))


def _return_invocation(draw: Draw, story: _Story) -> Entry | None:
    in_transit = [one for one in story.waiting if one.hop + 1 < len(one.message.copies[one.copy].hops)]
    if not in_transit:
        return None
    one = draw(st.sampled_from(in_transit))
    hops = one.message.copies[one.copy].hops
    story.forget([one.number])
    story.waiting.append(
        _Waiting(delivery_number(story.next_seq, 0), one.message_seq, one.message, one.copy, one.hop + 1)
    )
    return InvocationReturned(
        at_us=draw(times), delivery=one.number, session=story.session(), transaction=one.message.transaction, copy=one.copy,
        by=hops[one.hop].service, message=one.message_seq, hop=one.hop + 1, next=hops[one.hop + 1].service,
        size=draw(sizes), expires_at_us=draw(times), parts=(PartFacts("q", draw(words), 1),),
    )  # fmt: skip


def _lease(draw: Draw, story: _Story) -> Entry | None:
    if not story.waiting:
        return None
    return DeliveriesLeased(draw(times), draw(st.sampled_from(SERVICES)), 30.0, story.choose(draw))


def _give_back(draw: Draw, story: _Story) -> Entry | None:
    if not story.waiting:
        return None
    delay_s = draw(st.sampled_from([0.0, 1.5, 60.0]))
    return DeliveriesReturned(draw(times), draw(words), draw(words), delay_s, story.choose(draw))


def _acknowledge(draw: Draw, story: _Story) -> Entry | None:
    if not story.waiting:
        return None
    numbers = story.choose(draw)
    story.forget(numbers)
    return DeliveriesAcknowledged(draw(times), draw(words), numbers)


def _end(draw: Draw, story: _Story) -> Entry | None:
    if not story.waiting:
        return None
    numbers = story.choose(draw)
    story.forget(numbers)
    return DeliveriesEnded(draw(times), "network", draw(st.sampled_from(ENDINGS)), draw(words), numbers)


def _refuse(draw: Draw, story: _Story) -> Entry:
    sender = draw(st.sampled_from(("", *SERVICES)))
    size = draw(sizes)
    return MessageRefused(
        draw(times), story.session(), sender, "topic.unknown", draw(words), size, "soap12", draw(words)
    )


def _configure(draw: Draw, story: _Story) -> Entry:
    objects = []
    for _ in range(draw(st.integers(1, 3))):
        kind, key = draw(st.sampled_from(["service", "rule"])), draw(st.sampled_from(["a", "ä", "Z", ""]))
        version = story.versions[kind, key] = story.versions.get((kind, key), 0) + 1
        value = draw(st.none() | st.dictionaries(words, words, max_size=2))
        objects.append(ObjectChange(kind, key, version, value))
    return ConfigurationChanged(draw(times), draw(words), draw(words), tuple(objects))


def _access(draw: Draw, story: _Story) -> Entry:
    return AccessRecorded(draw(times), draw(words), "login.failed", draw(words))


_EVENTS = (
    _post,
    _post,
    _return_invocation,
    _lease,
    _lease,
    _give_back,
    _acknowledge,
    _end,
    _refuse,
    _configure,
    _access,
)


@st.composite
def journals(draw: Draw, max_entries: int = 25) -> list[Entry]:
    """The entries of a journal that could have happened, in order."""
    story = _Story()
    for _ in range(draw(st.integers(1, max_entries))):
        entry = draw(st.sampled_from(_EVENTS))(draw, story) or _post(draw, story)
        story.entries.append(entry)
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
    for seq, (facts, body) in enumerate(new_records(entries), first_seq):
        at = BodyAt(1, seq << 33, len(body), hashlib.sha256(body).digest()) if body is not None else None
        records.append(Record(seq, facts, at))
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
