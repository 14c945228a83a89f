"""Translations on the bench: whatever is pasted is read, and given in every format."""

from __future__ import annotations

import pytest

from postroad.core.mediation.format_trial import convert_message, read_any_message
from postroad.core.model.formats import Format

SOAP = b"""<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><Order>5</Order></s:Body></s:Envelope>"""
POST = b'{"to": [{"service": "A/b"}], "topic": "orders", "documents": [{"id": "1", "json": {"a": 1}}]}'
RELATED = (
    b"--x\r\nContent-Type: text/xml\r\nContent-ID: <a>\r\n\r\n" + SOAP + b"\r\n--x\r\nContent-Type: image/png\r\n"
    b"Content-ID: <b>\r\n\r\nPNG\r\n--x--\r\n"
)
ADDRESSED = SOAP.replace(b"<s:Body>", b'<s:Header><p:Header xmlns:p="urn:postroad:message:1"/></s:Header><s:Body>')
PASTED = [
    ("text/xml", SOAP, "soap"),
    ('multipart/related; boundary=x; type="text/xml"', RELATED, "swa"),
    ("application/xml", b"<Order/>", "mime"),
    ("", b"hello", "mime"),
    ("application/json", b'{"a": 1}', "mime"),
    ("application/json", POST, "json"),
    ("", b"\xef\xbb\xbf" + POST, "json"),
    ("text/xml", ADDRESSED, "soap"),
    (
        "application/json",
        b'{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "to": "x", "data": 1}',
        "cloudevents",
    ),
]


@pytest.mark.parametrize(("content_type", "body", "came"), PASTED)
@pytest.mark.parametrize("format", Format)
def test_everything_is_given_in_every_format(content_type: str, body: bytes, came: str, format: Format) -> None:
    read = read_any_message(content_type, body)
    assert read.format == came
    made = convert_message(read, format, 1_767_600_000_000_000)
    assert made.data
    assert made.media_type


@pytest.mark.parametrize(("content_type", "body", "came"), PASTED[:2])
def test_the_same_format_gives_the_same_bytes(content_type: str, body: bytes, came: str) -> None:
    made = convert_message(read_any_message(content_type, body), Format(came), 0)
    assert made.data == body
    assert not made.dropped


def test_what_has_no_place_in_a_format_is_named() -> None:
    shown = RELATED.replace(b"image/png\r\n", b"image/png\r\nContent-Disposition: inline\r\n")
    made = convert_message(read_any_message(PASTED[1][0], shown), Format.DIME, 0)
    assert made.dropped
