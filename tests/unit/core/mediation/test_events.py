"""CloudEvents: attributes are the network's header and properties, with their types, and come back as they were."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.codecs.native_formats import detect_native_form
from postroad.core.mediation.formats import decode_wire, encode_message, message_of
from postroad.core.mediation.model import OutgoingMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part, Property, PropertyType
from postroad.errors import Refused
from tests.samples.external_messages import given_again, posted, taken_from

EVENT = (
    b'{ "specversion": "1.0", "id": "A-1", "source": "/shop", "type": "order.placed", "subject": "PO-1",\n'
    b'  "time": "2026-11-16T10:00:00+01:00", "dataschema": "urn:s", "count": 3, "big": 2147483647, "vip": true, "note": "x y",\n'
    b'  "datacontenttype": "application/json", "data": {"total":  1.50} }'
)
PROPERTIES = (
    Property("ce.source", "/shop"),
    Property("ce.subject", "PO-1"),
    Property("ce.time", "2026-11-16T10:00:00+01:00"),
    Property("ce.dataschema", "urn:s"),
    Property("ce.count", "3", PropertyType.NUMBER),
    Property("ce.big", "2147483647", PropertyType.NUMBER),
    Property("ce.vip", "true", PropertyType.BOOLEAN),
    Property("ce.note", "x y"),
)


@pytest.mark.req("T8")
def test_an_event_is_taken_apart_and_made_again() -> None:
    wire = posted(EVENT, "application/cloudevents+json; charset=utf-8")
    taken = decode_wire(wire)
    message = message_of(wire, taken)
    assert (message.topic, message.handle, message.properties) == ("order.placed", "A-1", PROPERTIES)
    assert message.parts == (Part(id="1", content_type="application/json", data=b'{"total":  1.50}'),)
    assert given_again(taken, Format.CLOUDEVENTS).data == EVENT
    assert given_again(taken, Format.CLOUDEVENTS).media_type == "application/cloudevents+json; charset=utf-8"
    again = encode_message(
        OutgoingMessage(parts=message.parts, topic=message.topic, handle=message.handle, properties=message.properties),
        Format.CLOUDEVENTS,
    )
    assert msgspec.json.decode(again.data) == msgspec.json.decode(EVENT)
    assert again.dropped == ()


@pytest.mark.req("T8")
@pytest.mark.parametrize("declared", ["application/cloudevents+json", "application/json", ""])
def test_a_byte_order_mark_before_an_event_is_passed_over_and_kept(declared: str) -> None:
    marked = b"\xef\xbb\xbf" + EVENT
    assert detect_native_form(declared, marked) is None
    taken = decode_wire(posted(marked, declared))
    assert taken.parts == decode_wire(posted(EVENT, declared)).parts
    assert given_again(taken, Format.CLOUDEVENTS).data == marked


@pytest.mark.req("T8")
def test_binary_mode_says_the_same() -> None:
    headers = [("ce-specversion", "1.0"), ("ce-id", "A-1"), ("ce-source", "/shop"), ("ce-type", "order.placed")]
    wire = Wire([*headers, ("ce-note", "x%20y"), ("content-type", "application/edi-x12")], b"ISA*")
    message = message_of(wire, decode_wire(wire))
    assert (message.topic, message.handle) == ("order.placed", "A-1")
    assert message.properties == (Property("ce.source", "/shop"), Property("ce.note", "x y"))
    assert message.parts == (Part(id="1", content_type="application/edi-x12", data=b"ISA*"),)


@pytest.mark.req("T8")
def test_a_structured_event_may_repeat_its_attributes_as_headers() -> None:
    """As the specification's HTTP binding (3.2.3) allows; the content type says which mode it is."""
    alone = posted(EVENT, "application/cloudevents+json")
    repeated = Wire([*alone.headers, ("ce-specversion", "1.0"), ("ce-id", "A-1"), ("ce-source", "/shop")], EVENT)
    assert decode_wire(repeated) == decode_wire(alone)


@pytest.mark.req("T8", "K3")
@pytest.mark.parametrize(
    ("sender", "source"),
    [("MyBiz/Purchasing", "/MyBiz/Purchasing"), ("A & B/Größe 1", "/A%20&%20B/Gr%C3%B6%C3%9Fe%201"), ("", "/")],
)
def test_the_source_is_a_reference_whatever_the_name_of_the_sender(sender: str, source: str) -> None:
    """Software that takes the source apart as a URI, as the specification lets it, would refuse a blank."""
    given = encode_message(OutgoingMessage(parts=(), sender=sender), Format.CLOUDEVENTS)
    assert msgspec.json.decode(given.data)["source"] == source


@pytest.mark.req("T8", "T9")
def test_properties_that_are_no_attributes_are_left_out_and_said() -> None:
    misfits = ("ce.id", "ce.type", "ce.data", "ce.Upper", "ce.a-b", "ce.", "ce.line", "ce.time", "ce.subject")
    values = {"ce.line": "a\nb", "ce.time": "yesterday", "ce.subject": ""}
    given = encode_message(
        OutgoingMessage(
            parts=(),
            topic="a\tb",
            handle="\n",
            session="s",
            sender="A/B",
            properties=(
                *[Property(name, values.get(name, "x")) for name in misfits],
                Property("ce.half", "0.5", PropertyType.NUMBER),
                Property("ce.huge", "99999999999", PropertyType.NUMBER),
                Property("ce.day", "2026-11-16", PropertyType.DATE),
                Property("plain", "x"),
            ),
        ),
        Format.CLOUDEVENTS,
    )
    assert given.dropped == tuple(f"the property {name} cannot be represented in CloudEvents" for name in misfits)
    assert msgspec.json.decode(given.data) == {
        "specversion": "1.0", "id": "s", "source": "/A/B", "type": "postroad.message",
        "half": "0.5", "huge": "99999999999", "day": "2026-11-16",
    }  # fmt: skip
    assert decode_wire(posted(given.data, given.media_type)).parts == ()


@pytest.mark.req("T9")
def test_one_document_is_the_data_and_several_are_a_list() -> None:
    single = Part(id="po", content_type="text/plain", data=b"x", headers=(("X-A", "b"),), expires_at_us=1)
    given = encode_message(OutgoingMessage(parts=(single,)), Format.CLOUDEVENTS)
    assert given.dropped == (
        "part po: its id cannot be represented in CloudEvents",
        "part po: X-A cannot be represented in CloudEvents",
        "part po: its expiration cannot be represented in CloudEvents",
    )
    for parts in (
        (single, Part(id="2", content_type="text/plain", data=b"\xff", attachment=True)),
        (Part(id="1", content_type="text/plain; name=é", data=b"x"),),
        (Part(id="1", content_type="application/vnd.postroad.parts+json", data=b"{}"),),
        (Part(id="1", content_type="text/plain", data=b"x", attachment=True),),
    ):
        given = encode_message(OutgoingMessage(parts=parts), Format.CLOUDEVENTS)
        assert given.dropped == ()
        assert decode_wire(posted(given.data, given.media_type)).parts == parts


@pytest.mark.parametrize("data", [b"{", b'{"documents": 1}', b'{"x": []}', b"[" * 50_000, b'{"documents": [{}]}'])
def test_a_list_that_is_none_is_refused(data: bytes) -> None:
    headers = {"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/", "ce_type": "t"}
    with pytest.raises(Refused) as refused:
        taken_from(data, "application/vnd.postroad.parts+json", **headers)
    assert refused.value.code in ("wire.malformed", "wire.too-complex")
