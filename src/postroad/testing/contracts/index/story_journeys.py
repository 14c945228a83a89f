"""Short journals of one journey or two, and the expected rows after each.

Rule: the rows are hand-written, and are the same for every division of the entries into batches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from postroad.core.model.cross_reference import CrossReferenceRecord, Key
from postroad.core.model.delivery import DeliveryState, JourneyLeg
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import (
    AnsweredDelivery,
    CrossReferenceChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveriesLeased,
    Entry,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
)
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop

BUYER, SELLER, STAMPER, PRINTER = "b" * 16, "5" * 16, "57a3" * 4, "9" * 16
EXPIRES_AT_US = 900_000
JOURNEY = delivery_number(1, 0)
AT_2, AT_3, AT_4, AT_5 = (delivery_number(seq, 0) for seq in (2, 3, 4, 5))


class JourneyCourse(NamedTuple):
    """A list of entries, the expected rows of ``journey``, and the expected state of each delivery."""

    name: str
    entries: list[Entry]
    journeys: list[tuple[Any, ...]]
    states: dict[int, DeliveryState]


def _post(seq: int, *route: str, kind: MessageType = MessageType.REQUEST, **more: Any) -> MessagePosted:
    return MessagePosted(
        at_us=seq * 1000, session=f"s{seq}", transaction="s1", sender=BUYER, type=kind, topic="", size=1, form="json",
        expires_at_us=EXPIRES_AT_US, directory=1, parts=(), copies=(Copy("X", tuple(map(Hop, route))),), **more,
    )  # fmt: skip


def _response(seq: int, answers: int, **more: Any) -> MessagePosted:
    return _post(
        seq, BUYER, kind=MessageType.RESPONSE, answers=AnsweredDelivery(answers, "s1", journey=JOURNEY), **more
    )


def _returned(seq: int, delivery: int, hop: int, next_: str) -> InvocationReturned:
    return InvocationReturned(
        at_us=seq * 1000,
        delivery=delivery,
        session=f"s{seq}",
        transaction="s1",
        by=STAMPER,
        message=1,
        copy=0,
        hop=hop,
        next=next_,
        size=1,
        expires_at_us=EXPIRES_AT_US,
        parts=(),
        journey=JOURNEY,
    )


def _acknowledged(seq: int, delivery: int, *journeys: int) -> DeliveriesAcknowledged:
    return DeliveriesAcknowledged(at_us=seq * 1000, by=BUYER, deliveries=(delivery,), journeys=journeys)


def _ended(seq: int, state: str, *deliveries: int) -> DeliveriesEnded:
    return DeliveriesEnded(
        at_us=seq * 1000, by="network", state=state, reason=state, deliveries=deliveries, journeys=(JOURNEY,)
    )


def _row(at: int, leg: JourneyLeg, state: DeliveryState, settled: int, reason: str, moved: int) -> tuple[Any, ...]:
    return (JOURNEY, at, leg, state, EXPIRES_AT_US, settled * 1000, reason, moved, settled)


DONE = DeliveryState.DELIVERED
_OUT_AND_BACK: list[Entry] = [
    _post(1, STAMPER, PRINTER, SELLER),
    _returned(2, JOURNEY, 1, PRINTER),
    _returned(3, AT_2, 2, SELLER),
    _response(4, AT_3),
]

_OLDER = [
    JourneyCourse(
        "as it was written before journeys were followed",
        [_post(1, STAMPER, SELLER), msgspec.structs.replace(_returned(2, JOURNEY, 1, SELLER), journey=0)],
        [_row(AT_2, JourneyLeg.OUT, DeliveryState.QUEUED, 0, "", 2)],
        {JOURNEY: DONE, AT_2: DeliveryState.QUEUED},
    ),
    JourneyCourse(
        "answered before responses were followed",
        [_post(1, SELLER), _post(2, BUYER, kind=MessageType.RESPONSE, answers=AnsweredDelivery(JOURNEY, "s1"))],
        [_row(JOURNEY, JourneyLeg.OUT, DONE, 2, "answered", 0)],
        {JOURNEY: DONE, AT_2: DeliveryState.QUEUED},
    ),
]

JOURNEYS = [
    *_OLDER,
    JourneyCourse("it has begun", [_post(1, SELLER)], [_row(JOURNEY, JourneyLeg.OUT, DeliveryState.QUEUED, 0, "", 0)],
        {JOURNEY: DeliveryState.QUEUED}),
    JourneyCourse(
        "a notification on a route",
        [_post(1, STAMPER, SELLER, kind=MessageType.NOTIFICATION), _returned(2, JOURNEY, 1, SELLER),
         _acknowledged(3, AT_2, JOURNEY)],
        [_row(AT_2, JourneyLeg.OUT, DONE, 3, "acknowledged", 2)],
        {JOURNEY: DONE, AT_2: DONE},
    ),
    JourneyCourse("a notification without one", [_post(1, SELLER, kind=MessageType.NOTIFICATION)], [],
        {JOURNEY: DeliveryState.QUEUED}),
    JourneyCourse(
        "posted, answered and acknowledged",
        [_post(1, SELLER), _response(2, JOURNEY),
         DeliveriesLeased(at_us=3000, by=BUYER, lease_s=30.0, deliveries=(AT_2,)), _acknowledged(4, AT_2, JOURNEY)],
        [_row(AT_2, JourneyLeg.BACK, DONE, 4, "acknowledged", 2)],
        {JOURNEY: DONE, AT_2: DONE},
    ),
    JourneyCourse(
        "out through two services and back",
        [*_OUT_AND_BACK, _acknowledged(5, AT_4, JOURNEY)],
        [_row(AT_4, JourneyLeg.BACK, DONE, 5, "acknowledged", 4)],
        {JOURNEY: DONE, AT_2: DONE, AT_3: DONE, AT_4: DONE},
    ),
    JourneyCourse(
        "back through a service: the leg stays",
        [*_OUT_AND_BACK, _returned(5, AT_4, 1, BUYER)],
        [_row(AT_5, JourneyLeg.BACK, DeliveryState.QUEUED, 0, "", 5)],
        {JOURNEY: DONE, AT_2: DONE, AT_3: DONE, AT_4: DONE, AT_5: DeliveryState.QUEUED},
    ),
    JourneyCourse(
        "the network gives up and says so",
        [_post(1, SELLER), _response(2, JOURNEY, ends=JourneyEnding(JOURNEY, JOURNEY, "failed", "given up"))],
        [_row(JOURNEY, JourneyLeg.OUT, DeliveryState.FAILED, 2, "given up", 0)],
        {JOURNEY: DeliveryState.FAILED, AT_2: DeliveryState.QUEUED},
    ),
    JourneyCourse(
        "given up after it was acknowledged, with nothing waiting",
        [_post(1, SELLER), _acknowledged(2, JOURNEY),
         _post(3, BUYER, kind=MessageType.RESPONSE, ends=JourneyEnding(JOURNEY, 0, "expired", "silence"))],
        [_row(JOURNEY, JourneyLeg.OUT, DeliveryState.EXPIRED, 3, "silence", 0)],
        {JOURNEY: DONE, AT_3: DeliveryState.QUEUED},
    ),
    *(
        JourneyCourse(
            f"{state} where it is",
            [_post(1, STAMPER, SELLER), _returned(2, JOURNEY, 1, SELLER), _ended(3, state, AT_2)],
            [_row(AT_2, JourneyLeg.OUT, DeliveryState[state.upper()], 3, state, 2)],
            {JOURNEY: DONE, AT_2: DeliveryState[state.upper()]},
        )
        for state in ("rejected", "failed", "expired", "cancelled")
    ),
    JourneyCourse(
        "the first end counts, and a late answer moves what has ended",
        [_post(1, SELLER), _acknowledged(2, JOURNEY), _ended(3, "cancelled"), _ended(4, "expired"), _response(5, JOURNEY)],
        [_row(AT_5, JourneyLeg.BACK, DeliveryState.CANCELLED, 3, "cancelled", 5)],
        {JOURNEY: DONE, AT_5: DeliveryState.QUEUED},
    ),
]  # fmt: skip

_KEY = Key(SELLER, "no", "3489")
RECORD_SAVED_TWICE: list[Entry] = [
    CrossReferenceChanged(
        at_us=seq * 1000, by=SELLER, owner=STAMPER, map="map", records=(CrossReferenceRecord(_KEY, (("a", str(seq)),)),)
    )
    for seq in (1, 2)
]
