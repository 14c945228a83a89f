"""Members of a batch as their batcher's organization may know them, openly or kept from the wider route."""

from __future__ import annotations

import pytest

from postroad.core.model.batch import Batch, BatchMember
from postroad.core.model.delivery import DeliveryContent, DeliveryState, FoundDelivery, Queued
from postroad.core.model.directory import Service
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition
from postroad.core.model.journal import InterchangeAnswered, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.batch_membership import KnownBatch
from postroad.core.visibility.pseudonyms import Pseudonyms
from postroad.core.visibility.redact_batch_member import BatchMemberRedactor, RedactedMember
from postroad.core.visibility.viewer import Viewer

BUYER, BATCHER, BANK = "b" * 16, "ba" * 8, "5" * 16
DIRECTORY = Directory(
    services={
        gcid: Service(gcid=gcid, organization=organization, name="Orders")
        for gcid, organization in ((BUYER, "Buyer"), (BATCHER, "Hub"), (BANK, "Bank"))
    }
)
PSEUDONYMS = Pseudonyms(b"only for tests")
SESSION, NUMBER, SINCE_US = f"{1:032x}", delivery_number(1, 0), 1_500_000
FACTS = BatchMember(number=NUMBER, bytes=9, kind="850")
OPEN = Batch(id="0" * 20, key=(), opened_at_us=1, latest_at_us=1, changed_at_us=1, count=1, service=BATCHER)
SENT = Batch(
    id="0" * 20, key=(), opened_at_us=1, latest_at_us=1, changed_at_us=1, count=1, service=BATCHER, interchange="c" * 32
)
FILED = (DocumentPosition(NUMBER, "42", "7", "850", "0001"), DocumentPosition(NUMBER, "42", "7", "850", "0002"))
REJECTED = InterchangeAnswered(
    2, BATCHER, "d" * 32, "x12", "0" * 20, "accepted", (AnsweredMember(NUMBER, "rejected", ("no price",)),)
)


def found(hop: Hop, state: DeliveryState = DeliveryState.QUEUED) -> FoundDelivery:
    message = MessagePosted(
        at_us=1, session=SESSION, transaction=SESSION, sender=BUYER, type=MessageType.NOTIFICATION, topic="", size=9,
        form="json", expires_at_us=0, directory=1, parts=(), copies=(Copy("Hub/Orders", (hop,)),),
    )  # fmt: skip
    queued = Queued(
        number=NUMBER, message_seq=1, message=message, copy=0, hop=0, recipient=BATCHER, content=DeliveryContent((), None),
        expires_at_us=0,
    )  # fmt: skip
    return FoundDelivery(queued, state)


def member(
    known: KnownBatch, hop: Hop, state: DeliveryState = DeliveryState.QUEUED, owner: str | None = "Hub"
) -> RedactedMember:
    return BatchMemberRedactor(Viewer(DIRECTORY, owner), PSEUDONYMS, known).member(FACTS, found(hop, state), SINCE_US)


def test_a_member_of_an_open_batch_is_told_as_it_came() -> None:
    told = member(KnownBatch(OPEN), Hop(BATCHER))
    assert (told.id, told.session, told.sender, told.since_us) == (NUMBER, SESSION, "Buyer/Orders", SINCE_US)
    assert (told.kind, told.bytes, told.state, told.is_in_it, told.document) == ("850", 9, "queued", True, "")


def test_the_first_document_of_a_message_stands_for_it_with_what_the_partner_says() -> None:
    told = member(
        KnownBatch(SENT, AssembledInterchange("x12", (), SENT, FILED), (REJECTED,)),
        Hop(BATCHER),
        DeliveryState.DELIVERED,
    )
    assert (told.group, told.document, told.verdict, told.reasons) == ("7", "0001", "rejected", ("no price",))


def test_what_has_left_stands_nowhere_in_the_interchange() -> None:
    told = member(
        KnownBatch(SENT, AssembledInterchange("x12", (), SENT, FILED), (REJECTED,)), Hop(BATCHER), DeliveryState.FAILED
    )
    assert (told.state, told.is_in_it, told.document, told.verdict) == ("failed", False, "", "")


@pytest.mark.req("Z5")
def test_a_batcher_that_is_kept_from_the_wider_route_knows_its_members_under_pseudonyms() -> None:
    hidden = Hop(BATCHER, (), BANK, Context(1, shown_sender=BANK, isolated=True))
    told = member(KnownBatch(OPEN), hidden)
    assert (told.sender, told.since_us) == ("Bank/Orders", 1_000_000)
    assert (PSEUDONYMS.real_session(told.session), PSEUDONYMS.real_number(told.id)) == (SESSION, NUMBER)
    assert SESSION not in told.session
    for owner in ("Bank", None):
        assert member(KnownBatch(OPEN), hidden, owner=owner).sender == "Buyer/Orders"
