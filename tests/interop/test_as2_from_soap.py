"""SOAP with attachments sent to an AS2 partner that others wrote: it gets the attachments, and never the envelope."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.model.message import Message, MessageType
from tests.interop.test_as2_partner import ServedPartnership, fresh, partnership
from tests.samples.served_network import succeeded
from tests.samples.soap_attachments import INVOICE, NETWORK_HEADER, ONE, TWO, X12, swa
from tests.waiting import eventually

__all__ = ["partnership"]

# pyas2lib writes a multipart again before it looks at its signature, so these are not signed.
PLAIN = ("Content-Type: application/edi-x12", b"ISA*00*~IEA*1~")
UNSIGNED = {"sign": "", "mdn": "none", "mdnSigned": False}


def post(partnership: ServedPartnership, body: str, *attachments: tuple[str, bytes], header: str = "") -> str:
    wire = swa(body, *attachments, header=header)
    return partnership.orders.post_wire(wire.body, wire.content_type, to="Aster/Acme").session


@pytest.mark.req("T6")
@pytest.mark.parametrize("agreed", [{}, {"sign": "sha512", "encrypt": ""}, {"mdn": "async"}])
@pytest.mark.parametrize("header", ["", NETWORK_HEADER])
def test_an_attachment_arrives_as_it_is(partnership: ServedPartnership, agreed: dict[str, Any], header: str) -> None:
    partner = fresh(partnership, **agreed)
    session = post(partnership, "", ONE, header=header)
    partnership.ends(session, "delivered")
    assert partner.taken == [X12]
    assert partner.types == ["application/edi-x12"]


@pytest.mark.req("T6")
def test_two_attachments_arrive_in_one_message_without_the_envelope(partnership: ServedPartnership) -> None:
    partner = fresh(partnership, **UNSIGNED)
    partnership.ends(post(partnership, "", PLAIN, TWO), "delivered")
    [taken] = partner.taken
    assert partner.types[0].startswith("multipart/")
    assert PLAIN[1] in taken
    assert INVOICE in taken
    assert b"Envelope" not in taken


@pytest.mark.req("T6")
@pytest.mark.parametrize("mdn", ["sync", "async"])
def test_two_attachments_arrive_as_two_messages_where_that_was_agreed_on(
    partnership: ServedPartnership, mdn: str
) -> None:
    partner = fresh(partnership, messagePerPart=True, mdn=mdn)
    session = post(partnership, "", ONE, TWO)
    partnership.ends(session, "delivered")
    eventually(lambda: len(partner.taken) == 2)
    assert sorted(zip(partner.types, partner.taken, strict=True)) == [
        ("application/edi-x12", X12),
        ("application/xml", INVOICE),
    ]
    assert len({pushed.headers["message-id"] for pushed in partner.server.at("/as2")}) == 2
    sessions = [one.detail.rpartition(" ")[2] for one in partnership.stop(session).events if one.what == "forwarded"]
    assert len(set(sessions)) == 2
    assert partner.statuses == ["processed", "processed"]


@pytest.mark.req("T6")
def test_a_filled_body_is_dropped_and_the_trail_says_so(partnership: ServedPartnership) -> None:
    partner = fresh(partnership)
    session = post(partnership, "<order xmlns='urn:o'/>", ONE)
    partnership.ends(session, "delivered")
    assert partner.taken == [X12]
    assert "is not sent beside its attachments" in str(partnership.orders.trace(session))
    trail = succeeded("trace", session, "--data", partnership.network.data)
    assert "the SOAP Body order (" in " ".join(trail.split())


@pytest.mark.req("T6")
def test_a_filled_body_is_a_part_where_that_was_agreed_on(partnership: ServedPartnership) -> None:
    partner = fresh(partnership, soapBody="keep", **UNSIGNED)
    partnership.ends(post(partnership, "<order xmlns='urn:o'/>", PLAIN), "delivered")
    [taken] = partner.taken
    assert partner.types[0].startswith("multipart/")
    assert b"<order xmlns='urn:o'/>" in taken
    assert PLAIN[1] in taken


@pytest.mark.req("T6")
@pytest.mark.parametrize("changed", [False, True])
def test_the_envelope_does_not_reach_the_partner_after_a_service_in_transit(
    partnership: ServedPartnership, changed: bool
) -> None:
    partner = fresh(partnership)
    if not partnership.network.key("Trans/Stamp").exists():
        partnership.network.register("Trans/Stamp")
    wire = swa("", ONE)
    session = partnership.orders.post_wire(
        wire.body, wire.content_type, to="Aster/Acme", route=("Trans/Stamp",)
    ).session
    with partnership.network.client("Trans/Stamp") as stamp:
        [asked] = stamp.poll(wait_s=60)
        envelope, attachment = asked.parts
        parts = (envelope, replace(attachment, data=attachment.data + b"stamped")) if changed else ()
        stamp.post_message(Message(type=MessageType.RESPONSE, reference=asked.token, parts=parts))
    partnership.ends(session, "delivered")
    assert partner.taken == [X12 + b"stamped" if changed else X12]
    assert partner.types == ["application/edi-x12"]
