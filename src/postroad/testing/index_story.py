"""A short journal in which everything happens once, and what an index must answer after it.

Kept rule: every question of ``core.projection.queries.QUERIES`` is asked here, with the answer written out by hand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from postroad.core.model.delivery import State
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
)
from postroad.core.model.message import MessageType
from postroad.core.projection.project import handle_key, version_key
from postroad.core.projection.queries import QUERIES

BUYER, SELLER, STAMPER, BANK = "b" * 16, "5" * 16, "57a3" * 4, "ba" * 8
LATER = 2**62  # a number after all others, to begin a page that shows the newest


def _post(number: int, sender: str, *copies: Copy, **more: Any) -> MessagePosted:
    facts: dict[str, Any] = {"transaction": f"session {number}", "handle": "", "topic": "orders"} | more
    return MessagePosted(
        at_us=number * 1000, session=f"session {number}", sender=sender, type=MessageType.REQUEST, size=10, form="json",
        expires_at_us=0, directory=1, parts=(PartFacts("p", "text/plain", 4),), copies=copies, **facts,
    )  # fmt: skip


def _to(*services: str) -> Copy:
    return Copy(services[-1], tuple(Hop(service) for service in services))


AT_STAMPER, AT_BANK = delivery_number(2, 0), delivery_number(2, 1)
STAMPED, ANSWER, EXPIRED, WAITING = (delivery_number(seq, 0) for seq in (4, 7, 9, 14))

STORY: list[Entry] = [
    ConfigurationChanged(1000, "ada", "new", (ObjectChange("service", "a", 1, {"name": "A"}), ObjectChange("rule", "z", 1, {}))),
    _post(2, BUYER, _to(STAMPER, SELLER), _to(BANK), Copy("nobody", code="recipient.unknown"), handle="h1"),
    DeliveriesLeased(3000, STAMPER, 30.0, (AT_STAMPER, AT_BANK)),
    InvocationReturned(4000, AT_STAMPER, "session 4", "session 2", STAMPER, 2, 0, 1, SELLER, 12, 0, (PartFacts("p", "x/y", 4),)),
    DeliveriesReturned(5000, BANK, "busy", 1.5, (AT_BANK,)),
    DeliveriesLeased(6000, BANK, 30.0, (AT_BANK,)),
    _post(7, BANK, _to(BUYER), transaction="session 2", answers=Answers(AT_BANK, "session 2", "h1"), idempotency="i1"),
    DeliveriesAcknowledged(8000, SELLER, (STAMPED,)),
    _post(9, BUYER, _to(BANK)),
    DeliveriesEnded(10_000, "network", "expired", "too late", (EXPIRED,)),
    MessageRefused(11_000, "session 11", BUYER, "topic.unknown", "no such topic", 7, "soap12", "h2"),
    ConfigurationChanged(12_000, "ada", "gone", (ObjectChange("service", "a", 2, None),)),
    AccessRecorded(13_000, "eve", "login.failed", "wrong password"),
    _post(14, BUYER, _to(BANK), topic="ä ☃"),
]  # fmt: skip


class Question(NamedTuple):
    """A query, and the answer in the columns that say whether it is right."""

    name: str
    parameters: tuple[Any, ...]
    columns: str
    rows: list[tuple[Any, ...]]

    def answered(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The same columns of an index's answer."""
        places = [QUERIES[self.name][1].index(column) for column in self.columns.split()]
        return [tuple(row[place] for place in places) for row in rows]


_LIFE = "number recipient state attempts leased_at_us available_at_us settled_at_us reason lease_seq settle_seq"

QUESTIONS = [
    Question("objects", (), "kind key version value seq", [("rule", "z", 1, b"{}", 1), ("service", "a", 2, b"", 12)]),
    Question("object_versions", ("service", "a"), "version value reason", [(2, b"", "gone"), (1, b'{"name":"A"}', "new")]),
    Question("object_versions", ("service", "b"), "version", []),
    Question("mailboxes", (), "recipient waiting", [(BANK, 1), (BUYER, 1)]),
    Question("mailbox", (BANK, 0, 10), "number sender content_facts", [(WAITING, BUYER, None)]),
    Question("mailbox", (BANK, WAITING, 10), "number", []),
    Question("mailbox", (BANK, 0, 0), "number", []),
    Question("mailbox", ("unknown", 0, 10), "number", []),
    Question("oldest_queued", (), "content_seq", [(7,)]),
    Question("delivery", (AT_BANK,), _LIFE, [(AT_BANK, BANK, State.DELIVERED, 2, 6000, 0, 7000, "answered", 6, 7)]),
    Question("delivery", (STAMPED,), _LIFE, [(STAMPED, SELLER, State.DELIVERED, 0, 0, 0, 8000, "acknowledged", 0, 8)]),
    Question("delivery", (EXPIRED,), _LIFE, [(EXPIRED, BANK, State.EXPIRED, 0, 0, 0, 10_000, "too late", 0, 10)]),
    Question("delivery", (STAMPED,), "message_seq copy hop content_seq sender body_length content_length",
             [(2, 0, 1, 4, STAMPER, 9, 9)]),
    Question("delivery", (delivery_number(2, 2),), "number", []),
    Question("message", ("session 9",), "seq sender transaction_id", [(9, BUYER, "session 9")]),
    Question("message", ("session 11",), "seq", []),
    Question("message_at", (7,), "session transaction_id sender type", [("session 7", "session 2", BANK, "request")]),
    Question("sent_by", (BUYER, LATER, 2), "seq topic", [(14, "ä ☃"), (9, "orders")]),
    Question("sent_by", (BUYER, 9, 2), "seq handle", [(2, "h1")]),
    Question("received_by", (BANK, LATER, 10), "number state",
             [(WAITING, State.QUEUED), (EXPIRED, State.EXPIRED), (AT_BANK, State.DELIVERED)]),
    Question("received_by", (BANK, WAITING, 1), "number", [(EXPIRED,)]),
    Question("all_messages", (LATER, 3), "seq", [(14,), (9,), (7,)]),
    Question("all_messages", (7, 3), "seq", [(2,)]),
    Question("refused", ("session 11",), "seq code detail handle", [(11, "topic.unknown", "no such topic", "h2")]),
    Question("refused_by", (BUYER, LATER, 5), "seq size form", [(11, 7, "soap12")]),
    Question("refused_by", (BUYER, 11, 5), "seq", []),
    Question("seen", (handle_key(BUYER, "h1"),), "session seq", [("session 2", 2)]),
    Question("seen", (version_key("rule", "z", 1),), "session seq", [("", 1)]),
    Question("seen", (handle_key(BUYER, "h2"),), "seq", []),
    Question("recent_keys", (1,), "key", [(version_key("service", "a", 2),)]),
    Question("transaction_messages", ("session 2",), "seq", [(2,), (7,)]),
    Question("transaction_messages", ("session 7",), "seq", []),
    Question("transaction_contents", ("session 2",), "seq session body_length", [(4, "session 4", 9)]),
    Question("transaction_deliveries", ("session 2",), "number", [(AT_STAMPER,), (AT_BANK,), (STAMPED,), (ANSWER,)]),
    Question("transaction_trail", ("session 2",), "seq", [(3,), (4,), (5,), (6,), (7,), (8,)]),
    Question("transaction_trail", ("session 14",), "seq", []),
    Question("states", (), "state deliveries", [(State.QUEUED, 2), (State.DELIVERED, 3), (State.EXPIRED, 1)]),
]  # fmt: skip
