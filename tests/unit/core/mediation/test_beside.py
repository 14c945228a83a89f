"""What stands beside a message can be read by any HTTP program; what is too long for that is left out, and said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.header_fields import MAX_FIELD_CHARS, fit_header_fields, write_delivered
from postroad.core.mediation.model import OutgoingMessage, Wire
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Argument, Cookie, Part, Property
from tests.samples.wire_messages import DELIVERED

LONG = "é" * 2_000


def test_what_is_usual_fits() -> None:
    assert fit_header_fields(DELIVERED) == (DELIVERED, ())


@pytest.mark.req("T9", "Z2")
def test_what_is_too_long_is_left_out_and_said() -> None:
    properties = tuple(Property(f"p{number}", LONG if number % 2 else "short") for number in range(6))
    arguments = (Argument("a", LONG), Argument("b", "short"))
    fits, dropped = fit_header_fields(
        replace(DELIVERED, properties=properties, arguments=arguments, cookie=Cookie("x" * 9_000))
    )
    assert [entry.name for entry in fits.properties] == ["p0", "p2", "p4"]
    assert fits.arguments == (Argument("b", "short"),)
    assert fits.cookie is None
    assert [sentence.rpartition(" is ")[0] for sentence in dropped] == [
        "the property p1", "the property p3", "the property p5", "the argument a", "the cookie",
    ]  # fmt: skip
    lines: dict[str, int] = {}
    for name, value in write_delivered(fits):
        lines[name] = lines.get(name, 0) + len(value) + 2
    assert max(lines.values()) <= MAX_FIELD_CHARS + 200


@pytest.mark.req("T9")
def test_as2_has_no_place_for_properties() -> None:
    part = Part(id="1", content_type="text/csv", data=b"a;b")
    message = OutgoingMessage(parts=(part,), seed=b"s", properties=(Property("customer", "4711"),))
    assert encode_message(message, Format.AS2).dropped == ("the property customer cannot be represented in AS2",)
    assert encode_message(message, Format.MIME).dropped == ()


@pytest.mark.req("T9")
@pytest.mark.parametrize("format", PLAIN)
def test_what_soap_wants_done_goes_with_its_envelope_or_is_said(format: Format) -> None:
    body = b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><a/></s:Body></s:Envelope>'
    taken = decode_wire(Wire([("content-type", "text/xml"), ("soapaction", '"urn:cancel"')], body))
    given = encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, seed=b"s"), format)
    is_said = [sentence for sentence in given.dropped if "SOAPAction urn:cancel" in sentence]
    assert bool(is_said) != (("SOAPAction", '"urn:cancel"') in given.headers)
