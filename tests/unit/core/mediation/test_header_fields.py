"""The network's header in fields of HTTP: any text passes, lists are lists, and what is not known is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from postroad.core.mediation.formats import decode_wire, message_of
from postroad.core.mediation.header_fields import has_fields, read_fields, write_delivered, write_posted
from postroad.core.mediation.model import Wire
from postroad.core.model.message import Argument, Message, MessageType, Part, Property, PropertyType, Recipient, Status
from postroad.errors import Refused
from tests.samples.message_strategies import MESSAGES
from tests.samples.wire_messages import DELIVERED, FULL


def fields(**named: str) -> list[tuple[str, str]]:
    return [("postroad-" + name.replace("_", "-"), value) for name, value in named.items()]


@pytest.mark.req("T3")
def test_fields_are_read() -> None:
    read = read_fields(
        [
            *fields(type="request", topic="orders%20new", handle="PO-1", possible_duplicate="true", reference="r"),
            *fields(expiration="2026-11-16T10:00:00Z", routing="static", status="bad;text=So%20sad%3B%20really"),
            *fields(to="A/B; level=2 ;x=%C3%A9, C/D"),
            *fields(to="E%2CF/G"),
            *fields(route="T/U", property="a=1;type=number, b%3D=x%3By"),
            ("content-type", "text/plain"),
            ("postroad-expires", "2026-11-16T10:00:00Z"),
        ]
    )
    assert read == Message(
        type=MessageType.REQUEST,
        topic="orders new",
        handle="PO-1",
        possible_duplicate=True,
        reference="r",
        expires_at_us=1_794_823_200_000_000,
        routing="static",
        status=Status("bad", "So sad; really"),
        to=(
            Recipient("A/B", (Argument("level", "2"), Argument("x", "é"))),
            Recipient("C/D"),
            Recipient("E,F/G"),
        ),
        route=(Recipient("T/U"),),
        properties=(Property("a", "1", PropertyType.NUMBER), Property("b=", "x;y")),
    )


@given(message=MESSAGES)
@settings(max_examples=300, deadline=None)
def test_what_is_written_is_read_again(message: Message) -> None:
    written = write_posted(message)
    assert all(value.isascii() and value.isprintable() for _, value in written)
    assert read_fields([(name.lower(), value) for name, value in written]) == replace(message, parts=())


def test_lists_may_be_joined_into_one_field() -> None:
    joined: dict[str, str] = {}
    for name, value in write_posted(FULL):
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    assert read_fields([(name.lower(), value) for name, value in joined.items()]) == replace(FULL, parts=())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("postroad-unknown", "x"),
        ("postroad-type", "letter"),
        ("postroad-possible-duplicate", "perhaps"),
        ("postroad-expiration", "tomorrow"),
        ("postroad-routing", "scenic"),
        ("postroad-to", "A/B;level"),
        ("postroad-to", "A/B;=x"),
        ("postroad-to", ";a=b"),
        ("postroad-to", "A/B;a=1;a=2"),
        ("postroad-property", "a"),
        ("postroad-property", "a=x;type=number"),
        ("postroad-property", "a=x;type=colour"),
        ("postroad-property", "a=x;type=string;type=string"),
        ("postroad-property", "a=x;unit=kg"),
        ("postroad-property", "a=1, a=2"),
        ("postroad-status", "x;txt=y"),
        ("postroad-topic", "%ff"),
        ("postroad-topic", "a%00b"),
    ],
)
def test_what_cannot_be_understood_is_refused_and_named(name: str, value: str) -> None:
    with pytest.raises(Refused) as refused:
        read_fields([(name, value)])
    assert refused.value.code == "wire.malformed"


def test_a_field_that_comes_twice_is_refused() -> None:
    with pytest.raises(Refused, match="occurs twice"):
        read_fields([*fields(topic="a"), *fields(topic="b")])


def test_values_as_long_as_any_form_allows_pass() -> None:
    message = Message(properties=(Property("n" * 128, "v" * 4096),), topic="é" * 4096)
    assert read_fields([(name.lower(), value) for name, value in write_posted(message)]) == message


def test_a_single_documents_expiration_is_none_of_the_networks_fields() -> None:
    assert not has_fields([("postroad-expires", "2026-11-16T10:00:00Z"), ("content-type", "x")])
    assert has_fields([("postroad-to", "A/B")])


@pytest.mark.req("T3")
def test_fields_come_before_what_the_message_itself_says() -> None:
    headers = [("ce-specversion", "1.0"), ("ce-id", "7"), ("ce-source", "/x"), ("ce-type", "own"), ("ce-a", "1")]
    wire = Wire([*headers, *fields(topic="fields", to="A/B", property="ce.a=2")], b"x")
    message = message_of(wire, decode_wire(wire))
    assert (message.topic, message.handle, message.to) == ("fields", "7", (Recipient("A/B"),))
    assert message.properties == (Property("ce.source", "/x"), Property("ce.a", "2"))
    assert message.parts == (Part(id="1", content_type="application/octet-stream", data=b"x"),)


@pytest.mark.req("T3")
def test_what_is_handed_out_says_all_of_the_delivery() -> None:
    written = write_delivered(DELIVERED)
    assert all(value.isascii() and value.isprintable() for _, value in written)
    names = {name for name, _ in written}
    assert {"Postroad-Session", "Postroad-Token", "Postroad-From", "Postroad-To", "Postroad-Posted-At"} <= names
