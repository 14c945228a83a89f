"""Messages for the tests of mediation, small enough to be read."""

from __future__ import annotations

from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part, Property, PropertyType

SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
OURS = "urn:postroad:message:1"
ORDER = Part(id="1", content_type="application/xml", data=b'<Order xmlns="urn:shop"><Total>100</Total></Order>')
DRAWING = Part(
    id="drawing@acme",
    content_type="image/x-dxf",
    data=bytes(range(64)) * 2,
    attachment=True,
    headers=(("Content-Description", "Größe"),),
)
NOTE = Part(
    id="3", content_type="text/plain; charset=utf-8", data=b"", expires_at_us=1_800_000_000_000_000, attachment=True
)
MESSAGE = OutgoingMessage(
    parts=(ORDER, DRAWING, NOTE),
    seed=b"a seed",
    sender="MyBiz/Purchasing",
    topic="orders.new",
    handle="PO-1",
    session="0191f5a2",
    posted_at_us=1_700_000_000_000_000,
    properties=(
        Property("ce.subject", "PO-1"),
        Property("ce.retries", "3", PropertyType.NUMBER),
        Property("other", "x"),
    ),
)


def envelope(body: str, header: str = "", namespace: str = SOAP_11, outer: str = "") -> bytes:
    """An envelope as others write it."""
    head = f"<s:Header>{header}</s:Header>" if header else ""
    return f'<s:Envelope xmlns:s="{namespace}"{outer}>{head}<s:Body>{body}</s:Body></s:Envelope>'.encode()


def posted(body: bytes, content_type: str = "", **headers: str) -> Wire:
    declared = [("content-type", content_type)] if content_type else []
    return Wire([*declared, *[(name.replace("_", "-"), value) for name, value in headers.items()]], body)


def given_again(taken: DecodedMessage, format: Format) -> EncodedMessage:
    return encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, seed=b"a seed"), format)


def related(*entities: tuple[str, bytes], start: str = "", boundary: str = "b") -> Wire:
    """SOAP with attachments, from header lines and contents."""
    body = b"".join(
        b"--%b\r\n%b\r\n\r\n%b\r\n" % (boundary.encode(), head.replace("\n", "\r\n").encode("utf-8"), data)
        for head, data in entities
    )
    named = f'; start="{start}"' if start else ""
    return posted(
        body + b"--%b--\r\n" % boundary.encode(), f'multipart/related; type="text/xml"{named}; boundary={boundary}'
    )


def taken_from(body: bytes, content_type: str = "", **headers: str) -> DecodedMessage:
    return decode_wire(posted(body, content_type, **headers))
