"""A short journal in which every kind of event happens once, and the expected rows of each query.

Rule: every query of ``core.projection.queries.QUERIES`` is tested here, with hand-written expected rows.
"""

from __future__ import annotations

from typing import Any

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    AccessRecorded,
    AnsweredDelivery,
    ConfigurationChanged,
    CrossReferenceChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesLeased,
    DeliveriesReleased,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    DeliveryTranslated,
    Entry,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
    NetworkRestored,
    ObjectChange,
    ReturnedContext,
)
from postroad.core.model.message import MessageType, Property, Status
from postroad.core.model.part_facts import MessageArrival, PartFacts
from postroad.core.model.reason import Reason
from postroad.core.model.route import Context, Copy, Hop
from postroad.testing.contracts.index.story_batches import (
    BATCHES,
)
from postroad.testing.contracts.index.story_billing import BILLING
from postroad.testing.contracts.index.story_secrets import SECRETS

BUYER, SELLER, STAMPER, BANK = "b" * 16, "5" * 16, "57a3" * 4, "ba" * 8
LATER = 2**62  # larger than all other numbers: starts a page of the newest


def _post(number: int, sender: str, *copies: Copy, **more: Any) -> MessagePosted:
    facts: dict[str, Any] = {
        "transaction": f"session {number}",
        "type": MessageType.REQUEST,
        "topic": "orders",
        "expires_at_us": 0,
    }
    return MessagePosted(
        at_us=number * 1000,
        session=f"session {number}",
        sender=sender,
        size=10,
        form="json",
        directory=1,
        parts=(PartFacts("p", "text/plain", 4),),
        copies=copies,
        **facts | more,
    )


def _to(*services: str) -> Copy:
    return Copy(services[-1], tuple(Hop(service) for service in services))


AT_STAMPER, AT_BANK = delivery_number(2, 0), delivery_number(2, 1)
STAMPED, ANSWER, EXPIRED, WAITING = (delivery_number(seq, 0) for seq in (4, 7, 9, 14))
# The second half: a copy with contexts on its route, answered and acknowledged; one that the network ends with an error
# response; one that expires while nothing waits; and three that are still in transit.
ROUND_TRIP, GIVEN_UP = delivery_number(15, 0), delivery_number(15, 1)
ROUTED, RESPONSE, ERROR, SILENT, ANNOUNCED, ASKED = (delivery_number(seq, 0) for seq in (16, 17, 19, 20, 23, 24))
# The end: an open dead letter, one that was dropped, and one that was resent.
LOST, SPOILT, AGAIN = (delivery_number(seq, 0) for seq in (31, 33, 36))
SELLERS, BUYERS, BANKS, NOBODYS = (
    Key(gcid, "no", value) for gcid, value in ((SELLER, "3489"), (BUYER, "BX0045012"), (BANK, "7"), (STAMPER, "?"))
)
_NEW_ROUTE = (Hop(STAMPER, (), SELLER, Context(1, topic="stamps", absorbs=True, rule="r1", dynamic=True)), Hop(SELLER))

RESTORED_SEQ = 40 + len(BATCHES) + len(BILLING)

STORY: list[Entry] = [
    ConfigurationChanged(
        at_us=1000,
        by="ada",
        reason="new",
        objects=(ObjectChange("service", "a", 1, {"name": "A"}), ObjectChange("rule", "z", 1, {})),
    ),
    _post(2, BUYER, _to(STAMPER, SELLER), _to(BANK), Copy("nobody", code="recipient.unknown"), handle="h1"),
    DeliveriesLeased(at_us=3000, by=STAMPER, lease_s=30.0, deliveries=(AT_STAMPER, AT_BANK)),
    InvocationReturned(
        at_us=4000,
        delivery=AT_STAMPER,
        session="session 4",
        transaction="session 2",
        by=STAMPER,
        message=2,
        copy=0,
        hop=1,
        next=SELLER,
        size=12,
        expires_at_us=0,
        parts=(PartFacts("p", "x/y", 4),),
    ),
    DeliveriesReturned(at_us=5000, by=BANK, reason="busy", delay_s=1.5, deliveries=(AT_BANK,)),
    DeliveriesLeased(at_us=6000, by=BANK, lease_s=30.0, deliveries=(AT_BANK,)),
    _post(
        7,
        BANK,
        _to(BUYER),
        transaction="session 2",
        answers=AnsweredDelivery(AT_BANK, "session 2", "h1"),
        idempotency="i1",
    ),
    DeliveriesAcknowledged(at_us=8000, by=SELLER, deliveries=(STAMPED,)),
    _post(9, BUYER, _to(BANK)),
    DeliveriesEnded(at_us=10_000, by="network", state="expired", reason="too late", deliveries=(EXPIRED,)),
    MessageRefused(
        at_us=11_000,
        session="session 11",
        sender=BUYER,
        code="topic.unknown",
        detail="no such topic",
        size=7,
        form="soap12",
        handle="h2",
    ),
    ConfigurationChanged(at_us=12_000, by="ada", reason="gone", objects=(ObjectChange("service", "a", 2, None),)),
    AccessRecorded(at_us=13_000, by="eve", what="login.failed", detail="wrong password"),
    _post(14, BUYER, _to(BANK), topic="ä ☃"),
    _post(15, BUYER, Copy("S", _NEW_ROUTE, logical=(Hop(BANK),)), _to(BANK), expires_at_us=90_000, explained=3),
    InvocationReturned(
        at_us=16_000,
        delivery=ROUND_TRIP,
        session="session 16",
        transaction="session 15",
        by=STAMPER,
        message=15,
        copy=0,
        hop=1,
        next=SELLER,
        size=12,
        expires_at_us=80_000,
        parts=(PartFacts("p", "x/y", 4),),
        journey=ROUND_TRIP,
        hops=_NEW_ROUTE,
        logical=(Hop(BANK),),
        returned=(ReturnedContext(1, (Property("stamp", "red"),)),),
        status=Status("late", "too late"),
        explained=2,
        directory=1,
    ),
    _post(
        17,
        SELLER,
        _to(BUYER),
        transaction="session 15",
        type=MessageType.RESPONSE,
        expires_at_us=70_000,
        answers=AnsweredDelivery(ROUTED, "session 15", journey=ROUND_TRIP),
        shown_sender=BANK,
    ),
    DeliveriesAcknowledged(at_us=18_000, by=BUYER, deliveries=(RESPONSE,), journeys=(ROUND_TRIP,)),
    _post(
        19,
        BANK,
        _to(BUYER),
        transaction="session 15",
        type=MessageType.RESPONSE,
        expires_at_us=60_000,
        answers=AnsweredDelivery(GIVEN_UP, "session 15", journey=GIVEN_UP),
        ends=JourneyEnding(GIVEN_UP, GIVEN_UP, "failed", "no answer", Reason("push.no-answer")),
    ),
    _post(20, BUYER, _to(SELLER), expires_at_us=21_500),
    DeliveriesAcknowledged(at_us=21_000, by=SELLER, deliveries=(SILENT,)),
    DeliveriesEnded(
        at_us=22_000, by="network", state="expired", reason="no response", deliveries=(), journeys=(SILENT,)
    ),
    _post(
        23,
        BUYER,
        _to(BANK),
        type=MessageType.NOTIFICATION,
        expires_at_us=60_000,
        arrival=MessageArrival(2, ("said to be text/xml",), "<1@acme>"),
        search_keys=(("order", "po 4711"), ("again", "Po 4711")),
    ),
    _post(
        24,
        BUYER,
        _to(STAMPER, BANK),
        type=MessageType.NOTIFICATION,
        expires_at_us=90_000,
        search_keys=(("order", "PO 4711"), ("invoice", "00815")),
    ),
    InvocationReturned(
        at_us=25_000,
        delivery=ASKED,
        session="session 25",
        transaction="session 24",
        by=STAMPER,
        message=24,
        copy=0,
        hop=1,
        next=BANK,
        size=12,
        expires_at_us=85_000,
        parts=(),
        journey=ASKED,
    ),
    CrossReferenceChanged(
        at_us=26_000,
        by=SELLER,
        owner=STAMPER,
        map="Customers",
        records=(CrossReferenceRecord(SELLERS, (("tone", "polite"),)),),
    ),
    CrossReferenceChanged(
        at_us=27_000,
        by=BUYER,
        owner=STAMPER,
        map="customers",
        records=tuple(CrossReferenceRecord(key) for key in (BUYERS, BANKS)),
        relations=((SELLERS, BUYERS), (BUYERS, NOBODYS), (NOBODYS, BANKS), (BANKS, SELLERS)),
        session="session 24",
    ),
    CrossReferenceChanged(
        at_us=28_000,
        by=SELLER,
        owner=STAMPER,
        map="CUSTOMERS",
        records=(CrossReferenceRecord(SELLERS, (("tone", "curt"),)),),
    ),
    CrossReferenceChanged(
        at_us=29_000,
        by=SELLER,
        owner=BANK,
        map="customers",
        records=(CrossReferenceRecord(SELLERS),),
        relations=((BANKS, BUYERS),),
    ),
    DeliveryAttempted(
        at_us=30_000,
        by=BANK,
        deliveries=(ANNOUNCED,),
        status=503,
        duration_ms=12,
        fault="HTTP 503",
        delay_s=5.0,
        why=Reason("push.server-error", (("status", "503"),)),
    ),
    _post(31, STAMPER, _to(SELLER), type=MessageType.NOTIFICATION),
    DeliveriesEnded(
        at_us=32_000,
        by="network",
        state="failed",
        reason="handed out 20 times",
        deliveries=(LOST,),
        why=Reason("delivery.not-acknowledged", (("count", "20"),)),
    ),
    _post(33, STAMPER, _to(SELLER), type=MessageType.NOTIFICATION),
    DeliveriesEnded(at_us=34_000, by="network", state="failed", reason="gone", deliveries=(SPOILT,)),
    DeliveriesDropped(at_us=35_000, by="ada", reason="too old", deliveries=(SPOILT,)),
    DeliveryResent(
        at_us=36_000,
        by="ada",
        reason="fixed",
        delivery=GIVEN_UP,
        origin=GIVEN_UP,
        session="session 15",
        transaction="session 15",
        sender=BUYER,
        message=15,
        copy=1,
        hop=0,
        content=15,
        next=BANK,
        expires_at_us=95_000,
        followed=True,
    ),
    DeliveryTranslated(
        at_us=37_000,
        by=BANK,
        delivery=ANNOUNCED,
        form="dime",
        format="mime",
        dropped=("the options of record 1 have no place in MIME",),
    ),
    DeliveriesReleased(at_us=38_000, by="ada", service=BANK, reason="on request", up_to=ANNOUNCED, waiting=2),
    DeliveriesReleased(at_us=39_000, by="network", service=BANK, reason="2 were waiting", up_to=WAITING, waiting=1),
    *BATCHES,
    *BILLING,
    NetworkRestored(
        at_us=90_000,
        by="network",
        cut=RESTORED_SEQ - 1,
        chain=bytes(32),
        reason="a lost disk",
        skip_numbers=1_000,
        backup=RESTORED_SEQ + 5,
    ),
    *SECRETS,
]
