"""SOAP with attachments for an AS2 partner: the envelope is not sent, the attachments are, and what is dropped is said."""

from __future__ import annotations

import pytest

from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.model import EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.wrapper import pack_wrapper, unpack_wrapper
from postroad.core.model.formats import Format
from tests.samples.soap_attachments import INVOICE, NETWORK_HEADER, ONE, SOAP, TWO, X12, swa


def as_as2(wire: Wire, soap_body: str = "") -> EncodedMessage:
    taken = decode_wire(wire)
    assert taken.format is Format.SWA
    assert taken.wrapper is not None
    wrapper = unpack_wrapper(pack_wrapper(taken.wrapper))
    return encode_message(
        OutgoingMessage(parts=taken.parts, wrapper=wrapper, seed=b"s", form="swa", soap_body=soap_body), Format.AS2
    )


@pytest.mark.req("T6")
@pytest.mark.parametrize("header", ["", NETWORK_HEADER, "<s:Header/>"])
@pytest.mark.parametrize("soap_body", ["", "strip", "keep"])
def test_one_attachment_beside_an_empty_body_is_the_message(header: str, soap_body: str) -> None:
    given = as_as2(swa("", ONE, header=header), soap_body)
    assert (given.media_type, given.data) == ("application/edi-x12", X12)
    assert dict(given.headers)["Content-Disposition"] == "attachment; filename=po.x12"
    assert given.dropped == ()


@pytest.mark.req("T6")
def test_two_attachments_are_one_message_of_two_parts() -> None:
    given = as_as2(swa("", ONE, TWO))
    assert given.media_type.startswith("multipart/")
    assert X12 in given.data
    assert INVOICE in given.data
    assert b"Envelope" not in given.data
    assert given.data.count(b"Content-Type:") == 2
    assert given.dropped == ()


@pytest.mark.req("T6")
def test_a_filled_body_is_dropped_and_that_is_said() -> None:
    given = as_as2(swa("<order xmlns='urn:o'><n>7</n></order>", ONE))
    assert (given.media_type, given.data) == ("application/edi-x12", X12)
    [dropped] = given.dropped
    assert dropped.startswith("the SOAP Body order (")
    assert dropped.endswith("bytes) is not sent beside its attachments")


@pytest.mark.req("T6")
def test_header_blocks_of_others_are_said_to_be_dropped() -> None:
    header = "<s:Header><w:To xmlns:w='urn:w'>x</w:To></s:Header>"
    given = as_as2(swa("", ONE, header=header))
    assert given.data == X12
    assert given.dropped[0].startswith("the SOAP envelope with To (")


@pytest.mark.req("T6")
def test_a_filled_body_is_kept_where_the_profile_says_so() -> None:
    given = as_as2(swa("<order xmlns='urn:o'/>", ONE), "keep")
    assert given.media_type.startswith("multipart/")
    assert b"<order" in given.data
    assert X12 in given.data
    assert given.dropped == ()


def test_a_message_without_attachments_keeps_its_document() -> None:
    envelope = f'<s:Envelope xmlns:s="{SOAP}"><s:Body><o xmlns="urn:o"/></s:Body></s:Envelope>'.encode()
    taken = decode_wire(Wire([("content-type", "text/xml")], envelope))
    given = encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, form="soap"), Format.AS2)
    assert given.data == taken.parts[0].data


def test_an_envelope_that_was_posted_as_a_document_is_one() -> None:
    parts = decode_wire(swa("", ONE)).parts
    given = encode_message(OutgoingMessage(parts=parts, seed=b"s", form="json"), Format.AS2)
    assert b"Envelope" in given.data


def test_other_formats_keep_the_soap_part() -> None:
    taken = decode_wire(swa("", ONE))
    given = encode_message(
        OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, seed=b"s", form="swa"), Format.MIME
    )
    assert b"Envelope" in given.data
