"""What is posted: one purchase order of 2 KB and some forty elements, in every wire form, as whole HTTP requests.

The load generator fills in two placeholders of fixed width for every message it sends: the time, by which the receiver knows how
long the message was under way, and a handle that was never used, so that the duplicate check does its full work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

STAMP = "{{stamp-nanosecond}}"
HANDLE = "{{unique-handle-id}}"
BODY_BYTES = 2048
BULK = 100
BOUNDARY = "postroad-benchmark-part"
ENVELOPES = "application/vnd.postroad.envelopes+msgpack"

SENDER = "Meadow/Orders"
RECEIVER = "Harbour/Supply"


def purchase_order() -> str:
    """2048 bytes of XML with 41 elements and the time of posting in its root."""
    lines = "".join(
        f'<item line="{number}"><sku>HB-{number:05}</sku><name>Hex bolt M{number} zinc plated</name>'
        f"<quantity>{number * 25}</quantity><price>{number}.{number:02}</price></item>"
        for number in range(1, 7)
    )
    parties = "".join(
        f"<{role}><name>{name}</name><street>{street}</street><city>{city}</city></{role}>"
        for role, name, street, city in (
            ("buyer", "Meadow Machines", "12 Mill Lane", "Ashford"),
            ("seller", "Harbour Supply", "3 Quay Street", "Portwell"),
        )
    )
    head = f'<order xmlns="urn:example:order:1" placed="{STAMP}">{parties}<items>{lines}</items><note>'
    tail = "</note></order>"
    filling = "Deliver to the back gate before noon; ring twice. "
    room = BODY_BYTES - len(head) - len(tail)
    return head + (filling * (room // len(filling) + 1))[:room] + tail


def soap_post() -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:pr="urn:postroad:message:1">'
        f'<soap:Body><pr:Post><pr:Header><pr:To><pr:Service name="{RECEIVER}"/></pr:To>'
        f"<pr:Handle>{HANDLE}</pr:Handle></pr:Header>"
        f'<pr:Document id="1" contentType="application/xml"><pr:Xml>{purchase_order()}</pr:Xml></pr:Document>'
        "</pr:Post></soap:Body></soap:Envelope>"
    ).encode()


def json_post(to: str = RECEIVER) -> bytes:
    document = {"contentType": "application/xml", "text": purchase_order()}
    return msgspec.json.encode({"to": [to], "handle": HANDLE, "documents": [document]})


def envelope_bulk() -> bytes:
    envelope = [RECEIVER, purchase_order().encode(), "application/xml", "notification", "", HANDLE]
    return msgspec.msgpack.encode([envelope] * BULK)


def xml_bulk() -> bytes:
    part = f"--{BOUNDARY}\r\nContent-Type: text/xml; charset=utf-8\r\n\r\n".encode() + soap_post() + b"\r\n"
    return part * BULK + f"--{BOUNDARY}--\r\n".encode()


def ndjson_bulk() -> bytes:
    return (json_post() + b"\n") * BULK


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A way to post: where to, as what, how many at once."""

    path: str
    content_type: str
    body: Callable[[], bytes]
    messages: int = 1


FORMS = {
    "soap": Form(path="/v1/messages", content_type="text/xml; charset=utf-8", body=soap_post),
    "json": Form(path="/v1/messages", content_type="application/json", body=json_post),
    "xml-bulk": Form(
        path="/v1/messages/bulk", content_type=f'multipart/mixed; boundary="{BOUNDARY}"', body=xml_bulk, messages=BULK
    ),
    "envelope-bulk": Form(path="/v1/messages/bulk", content_type=ENVELOPES, body=envelope_bulk, messages=BULK),
    "ndjson-bulk": Form(path="/v1/messages/bulk", content_type="application/x-ndjson", body=ndjson_bulk, messages=BULK),
}

POLL_ACCEPT = ENVELOPES
TOKEN_MARKER = b"\xa5token"  # the key of a token in a msgpack map


def _head(path: str, key: str, content_type: str, *more: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {key}",
        f"Content-Type: {content_type}",
        *more,
        "Content-Length: ",
    ]
    return "\r\n".join(lines).encode()


def _whole(head: bytes, body: bytes) -> bytes:
    return head + f"{len(body)}\r\n\r\n".encode() + body


def post_request(form: Form, key: str, *headers: str) -> bytes:
    return _whole(_head(form.path, key, form.content_type, *headers), form.body())


def json_post_request(key: str, to: str) -> bytes:
    return _whole(_head("/v1/messages", key, "application/json"), json_post(to))


def poll_request(key: str, most: int, wait_s: float) -> bytes:
    body = msgspec.json.encode({"max": most, "waitSeconds": wait_s, "leaseSeconds": 60.0})
    return _whole(_head("/v1/poll", key, "application/json", f"Accept: {POLL_ACCEPT}"), body)


def acknowledge_head(key: str) -> bytes:
    """Up to the length, which depends on the tokens."""
    return _head("/v1/ack", key, "application/json")
