"""What a history tells of formats: how a message came, and what was left out for whom; and to whom it tells that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.audit.history.builder import build_history
from postroad.core.model.directory import Service
from postroad.core.model.history import ArrivalNotes, HistoryEvent, MessageHistory
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesLeased, DeliveryTranslated, Entry, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.part_facts import MessageArrival
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.pseudonyms import Pseudonyms

BUYER, SELLER, BANK = "b" * 16, "5" * 16, "ba" * 8
DIRECTORY = Directory(
    services={
        gcid: Service(gcid=gcid, organization=organization, name="Orders")
        for gcid, organization in ((BUYER, "Buyer"), (SELLER, "Seller"), (BANK, "Bank"))
    }
)
SESSION = f"{1:032x}"
PSEUDONYMS = Pseudonyms(b"only for tests")
CAME = MessageArrival(40, ("declared as text/xml, but is dime",), "<1@buyer>", "abc=, sha256", ("encrypted", "signed"))
POSTED = MessagePosted(
    at_us=1000, session=SESSION, transaction=SESSION, sender=BUYER, type=MessageType.NOTIFICATION, topic="", size=900,
    form="dime", expires_at_us=0, directory=1, parts=(), copies=(Copy("Seller/Orders", (Hop(SELLER),)),), arrival=CAME,
)  # fmt: skip
AT_SELLER = delivery_number(1, 0)
LEFT_OUT = ("part 1: its id cannot be represented in mime", "part 2: its id cannot be represented in mime")
STORY: list[tuple[int, Entry]] = [
    (1, POSTED),
    (2, DeliveriesLeased(2000, SELLER, 30.0, (AT_SELLER,))),
    (3, DeliveryTranslated(3000, SELLER, AT_SELLER, "dime", "mime", LEFT_OUT)),
]


def _told(organization: str | None, story: list[tuple[int, Entry]], asked: str = SESSION) -> MessageHistory:
    history = build_history(story, DIRECTORY, organization, asked, PSEUDONYMS)
    assert history is not None
    [message] = history.messages
    return message


def _translation(organization: str | None, **more: Any) -> HistoryEvent:
    [copy] = _told(organization, STORY, **more).copies
    [stop] = copy.stops
    assert stop.state == "queued"  # a translation changes nothing about that
    assert [event.what for event in stop.events] == ["handed out", "translated"]
    return stop.events[-1]


@pytest.mark.req("T9")
@pytest.mark.parametrize("viewer", ["seller", None])
def test_the_receiver_and_operators_are_told_what_was_left_out(viewer: str | None) -> None:
    event = _translation(viewer)
    assert (event.seq, event.at_us, event.by) == (3, 3000, "network")
    assert event.detail == f"from dime to mime; omitted: {LEFT_OUT[0]}; {LEFT_OUT[1]}"


@pytest.mark.req("T9")
def test_the_sender_is_told_that_something_was_left_out_and_how_much() -> None:
    assert _translation("buyer").detail == "from dime to mime; 2 omitted"


def test_who_is_kept_from_the_wider_route_is_told_about_its_own_delivery() -> None:
    isolated = Hop(SELLER, (), BANK, Context(1, shown_sender=BANK, isolated=True))
    hidden = replace(POSTED, copies=(Copy("Bank/Orders", (isolated, Hop(BANK))),))
    message = _told("seller", [(1, hidden), *STORY[1:]], PSEUDONYMS.session(SESSION))
    assert (message.sender, message.came) == ("Bank/Orders", None)
    [copy] = message.copies
    assert copy.stops[0].events[-1].detail.endswith(LEFT_OUT[1])


@pytest.mark.req("T2")
@pytest.mark.parametrize("viewer", ["buyer", None])
def test_how_a_message_came_is_told_to_its_sender_and_to_operators(viewer: str | None) -> None:
    message = _told(viewer, STORY)
    assert message.form == "dime"
    assert message.came == ArrivalNotes(
        notes=["declared as text/xml, but is dime"], message_id="<1@buyer>", mic="abc=, sha256",
        layers=["encrypted", "signed"],
    )  # fmt: skip


def test_how_a_message_came_is_no_business_of_its_receiver() -> None:
    assert _told("seller", STORY).came is None


def test_a_message_in_one_of_the_networks_own_forms_came_in_no_way_worth_telling() -> None:
    assert _told("buyer", [(1, replace(POSTED, arrival=None))]).came is None
