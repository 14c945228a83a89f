"""What a history tells of batches: to whoever sent a member, to those whose batcher it is, and to the partner."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postroad.core.audit.history.builder import build_history
from postroad.core.model import interchange
from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.directory import Person, Service
from postroad.core.model.history import (
    BatchMembership,
    InterchangeContents,
    MessageHistory,
    NumberRange,
    PartnerAnswer,
    Stop,
)
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    Entry,
    InterchangeAnswered,
    MessagePosted,
)
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.batch_membership import KnownBatch
from postroad.core.visibility.pseudonyms import Pseudonyms

BUYER, BATCHER, PARTNER = "b" * 16, "ba" * 8, "5" * 16
DIRECTORY = Directory(
    services={
        gcid: Service(gcid=gcid, organization=organization, name=name)
        for gcid, organization, name in (
            (BUYER, "Buyer", "Orders"),
            (BATCHER, "Hub", "batched"),
            (PARTNER, "Partner", "edi"),
        )
    },
    people={"clerk@hub.example": Person(email="clerk@hub.example", organization="Hub")},
)
PSEUDONYMS = Pseudonyms(b"only for tests")
ORDER, STREAM, WORD = f"{1:032x}", f"{2:032x}", f"{3:032x}"
MINE, OTHER = delivery_number(1, 0), delivery_number(9, 0)
ID = "0123456789abcdef0123"
POSTED = MessagePosted(
    at_us=1000, session=ORDER, transaction=ORDER, sender=BUYER, type=MessageType.NOTIFICATION, topic="", size=900,
    form="json", expires_at_us=0, directory=1, parts=(), copies=(Copy("Hub/batched", (Hop(BATCHER),)),),
)  # fmt: skip
BATCH = Batch(
    id=ID, key=("group",), opened_at_us=1000, latest_at_us=2000, changed_at_us=9000, count=2, service=BATCHER,
    state=BatchState.SENT, interchange=STREAM,
)  # fmt: skip
ASSEMBLED = AssembledInterchange(
    "x12",
    (
        interchange.DrawnNumber("x12:mybiz:MYBIZ:ACME:interchange", 42),
        interchange.DrawnNumber("x12:mybiz:MYBIZ:ACME:group", 7),
        interchange.DrawnNumber("x12:mybiz:MYBIZ:ACME:group", 8),
    ),
    BATCH,
    (DocumentPosition(OTHER, "000000042", "7", "850", "0001"), DocumentPosition(MINE, "000000042", "7", "850", "0002")),
)
JOINED = BatchesChanged(
    2000, BATCHER, BATCHER, "joined", (), ID, tuple(BatchMember(number=number, bytes=9) for number in (OTHER, MINE))
)
SENT = DeliveriesAcknowledged(9000, BATCHER, (OTHER, MINE), batch=BATCH)
ACCEPTED = InterchangeAnswered(
    9500, PARTNER, WORD, "x12", ID, "accepted with errors", (AnsweredMember(MINE, "rejected", ("PO1 is missing",)),)
)
KNOWN = {ID: KnownBatch(BATCH, ASSEMBLED, (ACCEPTED,))}
MEMBER: list[tuple[int, Entry]] = [(1, POSTED), (2, JOINED), (3, SENT)]
INTERCHANGE: list[tuple[int, Entry]] = [
    (
        4,
        replace(
            POSTED,
            session=STREAM,
            transaction=STREAM,
            sender=BATCHER,
            copies=(Copy("Partner/edi", (Hop(PARTNER),)),),
            assembled=ASSEMBLED,
        ),
    )
]


def told(organization: str | None, story: list[tuple[int, Entry]] = MEMBER, asked: str = ORDER) -> MessageHistory:
    history = build_history(story, DIRECTORY, organization, asked, PSEUDONYMS, KNOWN)
    assert history is not None
    [message] = history.messages
    return message


def stop_of(message: MessageHistory) -> Stop:
    [copy] = message.copies
    [stop] = copy.stops
    return stop


@pytest.mark.req("B7")
@pytest.mark.parametrize("viewer", ["buyer", "hub", None])
def test_a_member_is_followed_into_its_interchange(viewer: str | None) -> None:
    stop = stop_of(told(viewer))
    assert [(event.what, event.by, event.detail) for event in stop.events] == [
        ("gathered", "Hub/batched", f"in batch {ID}"),
        ("sent", "Hub/batched", f"in interchange {STREAM} of batch {ID}"),
    ]
    assert (stop.state, stop.gathered) == (
        "delivered",
        BatchMembership(
            batch=ID,
            state="sent",
            interchange=STREAM,
            reference="000000042",
            document="0002",
            verdict="rejected",
            reasons=["PO1 is missing"],
        ),
    )


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ([("accepted", False)], "accepted"),
        ([("rejected", False)], "rejected"),
        ([("accepted with errors", False)], "accepted with errors"),
        ([("partly accepted", True)], "accepted"),
        ([("accepted with errors", True)], "accepted"),
        ([("received", False)], "received"),
        ([("rejected", False), ("accepted", False)], "accepted"),
        ([("rejected", False), ("received", False)], "rejected"),
        ([], ""),
    ],
)
def test_what_is_said_of_the_whole_holds_for_a_member_of_which_nothing_else_is_said(
    words: list[tuple[str, bool]], verdict: str
) -> None:
    other = (AnsweredMember(OTHER, "rejected"),)
    answers = tuple(
        replace(ACCEPTED, verdict=word, members=other if names_another else ()) for word, names_another in words
    )
    history = build_history(MEMBER, DIRECTORY, "buyer", ORDER, PSEUDONYMS, {ID: KnownBatch(BATCH, ASSEMBLED, answers)})
    assert history is not None
    found = stop_of(history.messages[0]).gathered
    assert found is not None
    assert (found.verdict, found.reasons) == (verdict, [])


@pytest.mark.req("B7")
@pytest.mark.parametrize("viewer", ["hub", None])
def test_an_interchange_says_what_it_was_made_of_and_what_the_partner_says(viewer: str | None) -> None:
    assert told(viewer, INTERCHANGE, STREAM).contained == InterchangeContents(
        batch=ID,
        members=2,
        standard="x12",
        numbers=[NumberRange(scope="interchange", first=42, last=42), NumberRange(scope="group", first=7, last=8)],
        answers=[PartnerAnswer(at_us=9500, session=WORD, verdict="accepted with errors", otherwise=1)],
    )


def test_who_gets_an_interchange_is_not_told_what_it_was_made_of() -> None:
    assert told("partner", INTERCHANGE, STREAM).contained is None


def test_who_sent_a_member_learns_nothing_of_the_interchange_itself() -> None:
    assert build_history(INTERCHANGE, DIRECTORY, "buyer", STREAM, PSEUDONYMS, KNOWN) is None


@pytest.mark.parametrize(("viewer", "by"), [("hub", "clerk@hub.example"), (None, "clerk@hub.example")])
def test_what_was_taken_out_has_left_its_batch(viewer: str | None, by: str) -> None:
    taken = DeliveriesEnded(9000, "clerk@hub.example", "failed", "taken out: a double", (MINE,), batch=BATCH)
    stop = stop_of(told(viewer, [*MEMBER[:2], (3, taken)]))
    assert (stop.state, stop.gathered) == ("failed", BatchMembership(batch=ID, state="left"))
    assert (stop.events[-1].by, stop.events[-1].detail) == (by, "taken out: a double")


def test_who_sent_it_is_not_told_which_person_took_it_out() -> None:
    taken = DeliveriesEnded(9000, "clerk@hub.example", "failed", "taken out: a double", (MINE,), batch=BATCH)
    assert stop_of(told("buyer", [*MEMBER[:2], (3, taken)])).events[-1].by == "another party"


def test_an_interchange_that_is_posted_once_more_shows_the_numbers_that_were_drawn_before() -> None:
    [(seq, posted)] = INTERCHANGE
    assert isinstance(posted, MessagePosted)
    again = replace(posted, assembled=replace(ASSEMBLED, numbers=()))
    shown = told("hub", [(seq, again)], STREAM).contained
    assert shown is not None
    assert [one.scope for one in shown.numbers] == ["interchange", "group"]
