"""The end of the index story: one batch sent and answered, one open, and the expected rows of the queries.

Rule: as in ``story``, the expected answers are written by hand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.batch import Batch, BatchMember, BatchState, Criterion
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition, DrawnNumber
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReturned,
    Entry,
    InterchangeAnswered,
    MessagePosted,
    encode,
)
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Copy, Hop
from postroad.core.projection.project import pack_facts
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.unique_keys import batch_key, number_key

FARMER, BATCHER, PARTNER = "fa" * 8, "ba7c" * 4, "9a" * 8
SERIES = "x12:farm:FARM:MILL:interchange"


class StoryQuestion(NamedTuple):
    """A query, and its expected rows in the relevant columns."""

    name: str
    parameters: tuple[Any, ...]
    columns: str
    rows: list[tuple[Any, ...]]

    def answered(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the relevant columns of an index's rows."""
        places = [QUERIES[self.name][1].index(column) for column in self.columns.split()]
        return [tuple(row[place] for place in places) for row in rows]


def _post(number: int, sender: str, to: str, **more: Any) -> MessagePosted:
    return MessagePosted(
        at_us=number * 1000,
        session=f"session {number}",
        transaction=f"session {number}",
        sender=sender,
        type=MessageType.NOTIFICATION,
        topic="milk",
        size=10,
        form="json",
        expires_at_us=0,
        directory=1,
        parts=(PartFacts("p", "text/plain", 4),),
        copies=(Copy("B", (Hop(to),)),),
        **more,
    )


def _member(number: int) -> BatchMember:
    return BatchMember(number=number, bytes=10, kind="850", sort=(("no", str(number)),))


MEMBER, OTHER, TAKEN_OUT, INTERCHANGE, GATHERED, FREE = (delivery_number(seq, 0) for seq in (40, 41, 42, 47, 50, 53))
OPENED = Batch(
    id="b-1",
    key=("MILL",),
    opened_at_us=44_000,
    latest_at_us=42_000,
    changed_at_us=44_000,
    count=3,
    bytes=30,
    service=BATCHER,
    version=1,
)
CLOSED = replace(
    OPENED, state=BatchState.CLOSED, changed_at_us=45_000, closed_at_us=45_000, closed_by=Criterion.COUNT, version=2
)
WITHOUT = replace(CLOSED, changed_at_us=46_000, count=2, bytes=20, version=3)
ASSEMBLED = replace(WITHOUT, state=BatchState.ASSEMBLED, changed_at_us=47_000, interchange="session 47", version=4)
SENT = replace(ASSEMBLED, state=BatchState.SENT, changed_at_us=49_000, delivery=INTERCHANGE, version=5)
STILL_OPEN = replace(OPENED, id="b-2", opened_at_us=51_000, changed_at_us=51_000, count=1, bytes=10)
_FILED = (DocumentPosition(MEMBER, "1", "1", "850", "0001"), DocumentPosition(OTHER, "1", "1", "850", "0002"))
_DRAWN = (DrawnNumber(SERIES, 1), DrawnNumber("x12:farm:FARM:MILL:group", 7))
_LIFE = "number state attempts leased_at_us available_at_us settled_at_us reason lease_seq settle_seq"
LATER = "~"  # an id after all others

BATCHES: list[Entry] = [  # from entry 40 on
    _post(40, FARMER, BATCHER),
    _post(41, FARMER, BATCHER),
    _post(42, FARMER, BATCHER),
    DeliveriesLeased(at_us=43_000, by=BATCHER, lease_s=30.0, deliveries=(MEMBER, OTHER, TAKEN_OUT)),
    BatchesChanged(
        at_us=44_000,
        by=BATCHER,
        service=BATCHER,
        what="joined",
        batches=(OPENED,),
        batch="b-1",
        joined=tuple(map(_member, (MEMBER, OTHER, TAKEN_OUT))),
    ),
    BatchesChanged(at_us=45_000, by=BATCHER, service=BATCHER, what="closed", batches=(CLOSED,)),
    DeliveriesEnded(at_us=46_000, by="ada", state="failed", reason="taken out", deliveries=(TAKEN_OUT,), batch=WITHOUT),
    _post(47, BATCHER, PARTNER, assembled=AssembledInterchange("x12", _DRAWN, ASSEMBLED, _FILED)),
    DeliveriesAcknowledged(at_us=48_000, by=PARTNER, deliveries=(INTERCHANGE,)),
    DeliveriesAcknowledged(at_us=49_000, by=BATCHER, deliveries=(MEMBER, OTHER), batch=SENT),
    _post(50, FARMER, BATCHER),
    BatchesChanged(
        at_us=51_000,
        by=BATCHER,
        service=BATCHER,
        what="joined",
        batches=(STILL_OPEN,),
        batch="b-2",
        joined=(_member(GATHERED),),
    ),
    InterchangeAnswered(
        at_us=52_000,
        by=PARTNER,
        session="session 52",
        standard="x12",
        batch="b-1",
        verdict="partly",
        members=(AnsweredMember(OTHER, "rejected", ("no",)),),
    ),
    _post(53, FARMER, BATCHER),
    DeliveriesReturned(at_us=54_000, by=BATCHER, reason="too late", delay_s=0.0, deliveries=(GATHERED,)),
]

QUESTIONS = [
    StoryQuestion(
        "batch",
        ("b-1",),
        "id service state opened_at_us changed_at_us interchange facts seq",
        [("b-1", BATCHER, "sent", 44_000, 49_000, "session 47", pack_facts(SENT), 49)],
    ),
    StoryQuestion("batch", ("b-3",), "id", []),
    StoryQuestion("unsettled_batches", (BATCHER,), "id state facts", [("b-2", "open", pack_facts(STILL_OPEN))]),
    StoryQuestion("unsettled_batches", (FARMER,), "id", []),
    StoryQuestion("gathering_services", (), "service", [(BATCHER,)]),
    StoryQuestion(
        "unsettled_batch_counts", (), "state batches oldest_opened_at_us", [("open", 1, STILL_OPEN.opened_at_us)]
    ),
    StoryQuestion("batches_at", (BATCHER, LATER, 10), "id", [("b-2",), ("b-1",)]),
    StoryQuestion("batches_at", (BATCHER, "b-2", 10), "id", [("b-1",)]),
    StoryQuestion("batches_at", (BATCHER, LATER, 1), "id", [("b-2",)]),
    StoryQuestion("batches_at", (FARMER, LATER, 10), "id", []),
    StoryQuestion("all_batches", (LATER, 10), "id", [("b-2",), ("b-1",)]),
    StoryQuestion("all_batches", ("b-2", 10), "id", [("b-1",)]),
    StoryQuestion("batch_of", (OTHER,), "id seq", [("b-1", 49)]),
    StoryQuestion("batch_of", (FREE,), "id", []),
    StoryQuestion(
        "batch_members",
        ("b-1", 0, 10),
        "member_facts number state body_length",
        [
            (pack_facts(_member(MEMBER)), MEMBER, DeliveryState.DELIVERED, 10),
            (pack_facts(_member(OTHER)), OTHER, DeliveryState.DELIVERED, 10),
            (pack_facts(_member(TAKEN_OUT)), TAKEN_OUT, DeliveryState.FAILED, 10),
        ],
    ),
    StoryQuestion("batch_members", ("b-1", MEMBER, 1), "number header", [(OTHER, encode(BATCHES[1]))]),
    StoryQuestion("batch_members", ("b-3", 0, 10), "number", []),
    StoryQuestion("latest_number", (SERIES,), "number seq", [(1, 47)]),
    StoryQuestion("latest_number", ("x12:farm:MILL:FARM:interchange",), "number", []),
    StoryQuestion(
        "control_number", (SERIES, 1), "series number session batch seq", [(SERIES, 1, "session 47", "b-1", 47)]
    ),
    StoryQuestion("control_number", (SERIES, 2), "number", []),
    StoryQuestion(
        "batch_answers",
        ("b-1",),
        "seq at_us batch session verdict facts",
        [(52, 52_000, "b-1", "session 52", "partly", encode(BATCHES[12]))],
    ),
    StoryQuestion("batch_answers", ("b-2",), "seq", []),
    # deliveries in a batch are not handed out, not even after a late return
    StoryQuestion("mailbox", (BATCHER, 0, 10), "number", [(FREE,)]),
    StoryQuestion("waiting_at", (BATCHER, 0, 10), "number", [(GATHERED,), (FREE,)]),
    StoryQuestion(
        "delivery",
        (GATHERED,),
        _LIFE,
        [(GATHERED, DeliveryState.QUEUED, 0, 54_000, IN_A_BATCH_US, 0, "in batch b-2", 54, 0)],
    ),
    StoryQuestion(
        "delivery",
        (MEMBER,),
        _LIFE,
        [(MEMBER, DeliveryState.DELIVERED, 1, 44_000, IN_A_BATCH_US, 49_000, "sent in batch b-1", 44, 49)],
    ),
    StoryQuestion(
        "delivery",
        (TAKEN_OUT,),
        _LIFE,
        [(TAKEN_OUT, DeliveryState.FAILED, 1, 44_000, IN_A_BATCH_US, 46_000, "taken out", 44, 46)],
    ),
    StoryQuestion(
        "dead_letter", (TAKEN_OUT,), "dealt_seq failure sender recipient", [(0, "taken out", FARMER, BATCHER)]
    ),
    StoryQuestion("transaction_trail", ("session 40",), "seq", [(43,), (44,), (49,)]),
    StoryQuestion("transaction_trail", ("session 50",), "seq", [(51,), (54,)]),
    StoryQuestion("seen", (batch_key(OPENED),), "session seq", [("", 44)]),
    StoryQuestion("seen", (batch_key(ASSEMBLED),), "session seq", [("session 47", 47)]),
    StoryQuestion("seen", (batch_key(SENT),), "session seq", [("", 49)]),
    StoryQuestion("seen", (number_key(DrawnNumber(SERIES, 1)),), "session seq", [("session 47", 47)]),
]
