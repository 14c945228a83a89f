"""Cut, mutated or random bytes under any headers: a message is taken or ``Refused``, looking never fails, and time is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.formats import ENCODERS, decode_wire, encode_message, message_of
from postroad.core.mediation.header_fields import read_fields
from postroad.core.mediation.model import DecodedMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from postroad.errors import Refused
from tests.samples.mediation_strategies import READABLE, outgoing_of, wire_of

PARTS = (
    Part(id="1", content_type="application/xml", data=b"<po xmlns='urn:po'>" + b"x" * 70 + b"</po>"),
    Part(id="a@b", content_type="image/jpeg", data=bytes(range(256)), attachment=True, headers=(("X-A", "b"),)),
)
ENVELOPE = (
    b'<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:p="urn:postroad:message:1">'
    b"<s:Header><p:Header><p:To><p:Service name='A/B'/></p:To><p:Topic>t</p:Topic></p:Header></s:Header>"
    b"<s:Body><o xmlns='urn:o' href='cid:a@b'>1</o></s:Body></s:Envelope>"
)
SEEDS = [wire_of(encode_message(outgoing_of(PARTS), format)) for format in READABLE]
SEEDS += [
    Wire([("content-type", "text/xml"), ("soapaction", '"go"')], ENVELOPE),
    Wire(
        [("content-type", "text/xml"), ("soapaction", '""')],
        ENVELOPE.decode().replace('"1.0"', '"1.0" encoding="utf-16"').encode("utf-16"),
    ),
    Wire([("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/"), ("ce-type", "t")], b"data"),
    Wire([("content-type", "message/rfc822")], b"Subject: a\r\nX: b\r"),
    Wire([], b"MIME-Version: 1.0\r\nContent-Type: text/plain\r\n\r\nhello"),
]
ENDING = [wire for wire in SEEDS if wire.content_type not in ("", "message/rfc822")]  # formats that know where they end
TOKENS = [
    b"\r\n", b"\n", b"\r\n\r\n", b"--", b"--=_", b"Content-ID: <a@b>\r\n", b"Content-Type: multipart/related\r\n", b": ",
    b"\t", b"Content-Transfer-Encoding: base64\r\n", b"=3D", b"<!DOCTYPE a [", b"<?x?>", b"<![CDATA[", b"]]>", b"<!--",
    b"-->", b"<p:Header/>", b"<p:Post>", b"<p:Message/>", b"</s:Body>", b"<s:Body/>", b"<s:Fault/>", b" xmlns=''", b"\x00",
    b"\xff", b"\xef\xbb\xbf", b"\x0c\x10\x00\x00", b"\x08", b"\x0a\x00", b"\xff\xff\xff\xff", b"%00", b"cid:", b"Envelope",
    b'{"specversion":"1.0"', b'"data_base64":"', b"[[[[", b"}",
]  # fmt: skip
NAMES = ["content-type", "soapaction", "ce-specversion", "ce-id", "ce-type", "ce-source", "ce-x", "as2-from", "as2-to",
         "content-id", "content-location", "content-disposition", "postroad-expires", "postroad-to", "postroad-property",
         "postroad-status", "postroad-type", "postroad-x"]  # fmt: skip
DECLARED = [
    "multipart/related; boundary=b", 'multipart/mixed; boundary=""', "multipart/related", "message/rfc822", "text/xml",
    "application/dime", "application/cloudevents+json", 'application/soap+xml; action="', "application/octet-stream",
    'multipart/related; boundary="é"',
]  # fmt: skip
SAID = ["1.0", "<a@b>", "a;b=c, d", "x=1;type=number", "%ff", "2026-11-16T10:00:00Z", "attachment", "a;text=b"]
TEXTS = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=30)  # what HTTP lets through
VALUES = TEXTS | st.sampled_from(DECLARED + SAID)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5)


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    """A good message with up to four changes, under its own headers or others."""
    headers, body = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 12))
        body = body[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=4)) + body[at + gone :]
    kept = list(headers) if draw(st.booleans()) else []
    return Wire([*kept, *draw(HEADERS)], body)


def taken_or_refused(wire: Wire) -> DecodedMessage | None:
    try:
        taken = decode_wire(wire)
        message_of(wire, taken)
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
        return None
    return taken


@pytest.mark.req("T2", "Z2")
@given(wire=wires() | st.builds(Wire, HEADERS, st.binary(max_size=80)))
@settings(max_examples=800, deadline=None)
def test_any_wire_is_taken_or_refused_and_what_was_taken_can_be_given_in_every_format(wire: Wire) -> None:
    assert isinstance(detect_format(wire).format, Format)
    taken = taken_or_refused(wire)
    if taken is None:
        return
    for format in ENCODERS:
        given = encode_message(outgoing_of(taken.parts, wrapper=taken.wrapper), format)
        assert isinstance(given.data, bytes)
        assert isinstance(given.entity_head, bytes)
        assert not any("\r" in value or "\n" in value for pair in given.headers for value in pair)


@pytest.mark.req("Z2")
@pytest.mark.parametrize("seed", ENDING, ids=lambda wire: wire.content_type[:30])
def test_a_message_cut_anywhere_is_never_a_shorter_one(seed: Wire) -> None:
    whole = decode_wire(seed)
    for length in range(len(seed.body)):
        taken = taken_or_refused(Wire(seed.headers, seed.body[:length]))
        if taken is not None:  # only what stands behind the last part may be missing
            assert (taken.format, taken.parts) == (whole.format, whole.parts)


@given(headers=HEADERS)
@settings(max_examples=500, deadline=None)
def test_header_fields_are_read_or_refused(headers: list[tuple[str, str]]) -> None:
    try:
        read_fields(headers)
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
