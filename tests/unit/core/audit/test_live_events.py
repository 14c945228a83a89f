"""What entries mean to those who watch, and the picture of it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from postroad.core.audit.live_events import LiveEvent, LiveEventKind, find_live_events
from postroad.core.audit.pictures.traffic_bars import SecondCount, traffic_svg
from postroad.core.model.journal import (
    AccessRecorded,
    AnsweredDelivery,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    DeliveryAttempted,
    DeliveryResent,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    MessageRefused,
)
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop

AT_US = 1_700_000_000_000_000
SEQ = 7
FIRST = SEQ << 16


def posted(**more: object) -> MessagePosted:
    facts: dict[str, object] = {
        "at_us": AT_US, "session": "s", "transaction": "t", "sender": "buyer", "type": MessageType.NOTIFICATION,
        "topic": "", "size": 1, "form": "json", "expires_at_us": 0, "directory": 1, "parts": (),
        "copies": (Copy("a", (Hop("seller"),)), Copy("b", (), "recipient.unknown"), Copy("c", (Hop("stamper"),))),
    }  # fmt: skip
    return MessagePosted(**(facts | more))  # type: ignore[arg-type]


def told(entry: object) -> list[tuple[str, str, int]]:
    return [(one.what.value, one.service, one.number) for one in find_live_events(SEQ, entry)]


@pytest.mark.req("C4")
def test_a_post_is_sent_and_arrives_where_it_was_queued() -> None:
    assert told(posted()) == [("sent", "buyer", 0), ("arrived", "seller", FIRST), ("arrived", "stamper", FIRST + 2)]


def test_a_response_delivers_what_it_answers_and_an_error_ends_it() -> None:
    answers = AnsweredDelivery(5 << 16, "s0")
    assert told(posted(copies=(), answers=answers))[-1] == ("delivered", "buyer", 5 << 16)
    ends = JourneyEnding(3 << 16, 5 << 16, "failed", "no ink")
    last = list(find_live_events(SEQ, posted(copies=(), answers=answers, ends=ends)))[-1]
    assert last == LiveEvent(LiveEventKind.FAILED, AT_US, "", 5 << 16, None, "no ink")


def test_every_other_entry_about_deliveries_is_told_by_its_number() -> None:
    returned = InvocationReturned(AT_US, 1, "s", "t", "stamper", 2, 0, 1, "seller", 9, 0, ())
    assert told(returned) == [("delivered", "stamper", 1), ("arrived", "seller", FIRST)]
    assert told(DeliveriesAcknowledged(AT_US, "seller", (1, 2))) == [
        ("delivered", "seller", 1),
        ("delivered", "seller", 2),
    ]
    assert told(DeliveryAttempted(AT_US, "seller", (1,), 503, 10, "busy", 5.0)) == [("try failed", "seller", 1)]
    for state in ("failed", "expired", "cancelled", "rejected"):
        assert told(DeliveriesEnded(AT_US, "network", state, "why", (1,))) == [(state, "", 1)]
    resent = DeliveryResent(AT_US, "p@x.example", "", 1, 1, "s", "t", "buyer", 2, 0, 0, 2, "seller", 0)
    assert told(resent) == [("arrived", "seller", FIRST)]
    assert told(MessageRefused(AT_US, "s", "buyer", "wire.malformed", "", 1, "json")) == [("refused", "buyer", 0)]
    assert told(AccessRecorded(AT_US, "p@x.example", "payload")) == []


def test_the_pulse_is_drawn_to_the_busiest_second_and_says_so() -> None:
    drawing = ElementTree.fromstring(traffic_svg([SecondCount(0, 0), SecondCount(4, 0), SecondCount(1, 1)]))
    assert drawing.attrib["aria-label"].endswith("4 in the busiest")
    bars = [(bar.attrib["class"], bar.attrib["height"]) for bar in drawing.iter() if bar.tag.endswith("rect")]
    assert bars == [("moved", "76.0"), ("moved", "19.0"), ("failed", "19.0")]
    assert "style" not in traffic_svg([SecondCount(1, 0)])
    assert "0 in the busiest" in traffic_svg([])
