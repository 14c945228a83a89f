"""Plain Python values become the message that was meant."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from postroad.client import Part, json_of, message, text_of
from postroad.client.received_message import to_received
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Argument, MessageType, Property, PropertyType, Recipient
from tests.unit.client.scripted import delivered


@pytest.mark.parametrize(
    ("document", "content_type", "data"),
    [
        ("<Order/>", "application/xml", b"<Order/>"),
        ("  <Order/>", "application/xml", b"  <Order/>"),
        ("grüezi", "text/plain; charset=utf-8", "grüezi".encode()),
        (b"\x00\x01", "application/octet-stream", b"\x00\x01"),
        (b"<Order/>", "application/xml", b"<Order/>"),
        ({"order": 1}, "application/json", b'{"order":1}'),
        (None, "application/json", b"null"),
    ],
)
def test_a_document_is_recognised(document: object, content_type: str, data: bytes) -> None:
    [part] = message(to="A/B", document=document).parts
    assert (part.id, part.content_type, part.data) == ("1", content_type, data)


def test_no_document_makes_no_part() -> None:
    assert message(to="A/B").parts == ()


def test_documents_and_attachments_are_numbered_on() -> None:
    parts = message(documents=["a", "b"], attachments=[b"c"]).parts
    assert [(part.id, part.attachment) for part in parts] == [("1", False), ("2", False), ("3", True)]


def test_a_part_is_taken_as_it_is() -> None:
    part = Part(id="po", content_type="application/edi-x12", data=b"ISA")
    assert message(document=part).parts == (part,)


def test_recipients_are_named_by_text_or_with_arguments_of_their_own() -> None:
    special = Recipient("C/D", (Argument("op", "other"),))
    assert message(to=["A/B", special], arguments={"op": "usual"}).to == (
        Recipient("A/B", (Argument("op", "usual"),)),
        special,
    )


def test_properties_keep_their_type() -> None:
    properties = message(
        properties={
            "s": "x",
            "yes": True,
            "n": 12,
            "price": Decimal("12.50"),
            "day": date(2026, 11, 15),
            "at": datetime(2026, 11, 15, 10, tzinfo=UTC),
        }
    ).properties
    assert properties == (
        Property("s", "x"),
        Property("yes", "true", PropertyType.BOOLEAN),
        Property("n", "12", PropertyType.NUMBER),
        Property("price", "12.50", PropertyType.NUMBER),
        Property("day", "2026-11-15", PropertyType.DATE),
        Property("at", "2026-11-15T10:00:00+00:00", PropertyType.DATE),
    )


def test_what_is_composed_survives_the_wire() -> None:
    composed = message(
        to="A/B",
        type="request",
        topic="orders",
        handle="PO-1",
        expires_at=datetime(2030, 1, 1, tzinfo=UTC),
        route="X/Y",
        document={"a": [1, 2]},
        properties={"n": 3},
    )
    assert JSON_FORM.decode_post(JSON_FORM.encode_post(composed)) == composed
    assert composed.type is MessageType.REQUEST


def test_a_time_without_a_zone_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="time zone"):
        message(expires_at=datetime(2030, 1, 1))  # noqa: DTZ001 - the mistake


def test_documents_of_a_delivered_message_are_read() -> None:
    received = delivered(parts=message(documents=["hello", {"a": 1}]).parts)
    assert text_of(received) == "hello"
    assert json_of(received, 1) == {"a": 1}
    with pytest.raises(ValueError, match="2 documents"):
        text_of(received, 2)


@pytest.mark.parametrize(
    ("content_type", "data", "value"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/problem+json; charset=utf-8", b"[1]", [1]),
        ("application/xml", b"<a/>", "<a/>"),
        ("text/plain", "grüezi".encode(), "grüezi"),
        ("image/png", b"\x89", b"\x89"),
        ("application/json", b"{broken", b"{broken"),
        ("text/plain", b"\xff", b"\xff"),
    ],
)
def test_a_received_document_is_a_python_value(content_type: str, data: bytes, value: object) -> None:
    parts = (
        Part(id="0", content_type="image/png", data=b"", attachment=True),
        Part(id="1", content_type=content_type, data=data),
    )
    message = to_received(delivered(1, parts=parts))
    assert message.document == value
    assert message.documents == [value]
    assert to_received(delivered(1, parts=())).document is None


def test_a_field_that_a_message_does_not_have_is_no_silent_loss() -> None:
    with pytest.raises(TypeError, match="a message has no docment; it has to, document, "):
        message(to="A/B", docment={"order": "PO-1"})  # type: ignore[call-arg]
