"""Which format bytes are in, whatever is declared; and what is noted where the two disagree."""

from __future__ import annotations

import pytest

from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import Format
from postroad.errors import Refused
from tests.samples.external_messages import MESSAGE, envelope, posted

DIME = encode_message(MESSAGE, Format.DIME).data
SWA = encode_message(MESSAGE, Format.SWA)
EVENT = encode_message(MESSAGE, Format.CLOUDEVENTS).data
SOAP = envelope("<a/>")


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("body", "declared", "format", "note"),
    [
        (DIME, "", Format.DIME, ""),
        (DIME, "application/octet-stream", Format.DIME, ""),
        (DIME, "text/xml", Format.DIME, "declared as text/xml, but is dime"),
        (DIME, 'multipart/related; boundary="b"', Format.DIME, "declared as multipart/related, but is dime"),
        (SWA.data, SWA.media_type, Format.SWA, ""),
        (SWA.data, "", Format.SWA, ""),
        (SOAP, "", Format.SOAP, ""),
        (SOAP, "application/xml", Format.SOAP, ""),
        (SOAP, "application/dime", Format.SOAP, "declared as application/dime, but is soap"),
        (SOAP, "text/plain", Format.SOAP, "declared as text/plain, but is soap"),
        (EVENT, "application/cloudevents+json", Format.CLOUDEVENTS, ""),
        (EVENT, "application/json", Format.CLOUDEVENTS, ""),
        (EVENT, "", Format.CLOUDEVENTS, ""),
        (EVENT, "text/plain", Format.MIME, ""),
        (b'{"a": {"specversion": "1.0", "id": "", "source": "", "type": ""}}', "application/json", Format.MIME, ""),
        (b'{"specversion": "1.0"}', "application/json", Format.MIME, ""),
        (b'{"specversion"' + b"[" * 100_000, "", Format.MIME, ""),
        (b"--a: b\r\n--x\r\nA: b\r\n\r\nnever closed", "", Format.MIME, ""),
        (b"Dear: all\r\n\r\nthis is a letter", "", Format.MIME, ""),
        (b"", "", Format.MIME, ""),
        (b"\x00\xff", "multipart/mixed", Format.MIME, ""),
    ],
)
def test_the_bytes_decide(body: bytes, declared: str, format: Format, note: str) -> None:
    found = detect_format(posted(body, declared))
    assert (found.format, found.note) == (format, note)


@pytest.mark.req("T2")
def test_a_note_comes_with_what_is_taken() -> None:
    assert decode_wire(posted(SOAP, "application/dime")).notes == ("declared as application/dime, but is soap",)


@pytest.mark.parametrize(
    ("body", "declared", "action"),
    [
        (DIME[:40], "application/dime", ""),
        (b"<a/>", "application/soap+xml", ""),
        (SOAP[:30], "text/xml", '""'),
        (b"{}", "application/cloudevents+json", ""),
    ],
)
def test_what_shows_nothing_is_refused_by_the_reader_of_what_it_is_said_to_be(
    body: bytes, declared: str, action: str
) -> None:
    with pytest.raises(Refused):
        decode_wire(posted(body, declared, soapaction=action))


@pytest.mark.req("T2", "T8")
def test_events_in_binary_mode_may_hold_anything() -> None:
    headers = [
        ("ce-specversion", "1.0"),
        ("ce-id", "7"),
        ("ce-source", "/x"),
        ("ce-type", "t"),
        ("content-type", "text/xml"),
    ]
    taken = decode_wire(Wire(headers, SOAP))
    assert taken.format is Format.CLOUDEVENTS
    assert [(part.content_type, part.data) for part in taken.parts] == [("text/xml", SOAP)]


def test_as2_is_known_and_left_to_those_who_have_keys() -> None:
    wire = posted(b"x", "application/pkcs7-mime", as2_from="a", as2_to="b")
    assert detect_format(wire).format is Format.AS2
    with pytest.raises(Refused, match="keys of its recipient"):
        decode_wire(wire)
