"""The exact bytes of every kind of answer and request, kept in ``golden/``.

A change of these files is a change that clients see. ``python -m tests.unit.core.codecs.test_golden`` writes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from postroad.core.codecs import xml
from postroad.core.codecs.codec import Codec, refusal_bytes
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.schema import MESSAGES_XSD
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.errors import Refused
from tests.samples.wire_messages import (
    CANONICAL,
    DELIVERED,
    FULL,
    POLL,
    RESPONSE,
    RESULT,
    SETTLED,
    SETTLEMENT,
    SIMPLE,
)

GOLDEN = Path(__file__).parent / "golden"
FORMS: dict[str, Codec] = {"json": JSON_FORM, "soap11.xml": SOAP11, "soap12.xml": SOAP12, "msgpack": ENVELOPE_FORM}
REFUSED = Refused("recipient.unknown", "There is no <Nobody/Here>", pointer="/to/0", session="0191f5a2")
ENCODED: dict[str, Callable[[Codec], bytes]] = {
    "post-full": lambda codec: codec.encode_post(FULL),
    "post-simple": lambda codec: codec.encode_post(SIMPLE),
    "post-canonical": lambda codec: codec.encode_post(CANONICAL),
    "post-response": lambda codec: codec.encode_post(RESPONSE),
    "result": lambda codec: codec.encode_result(RESULT),
    "poll": lambda codec: codec.encode_poll(POLL),
    "delivered": lambda codec: codec.encode_delivered([DELIVERED]),
    "settlement": lambda codec: codec.encode_settlement(SETTLEMENT),
    "settled": lambda codec: codec.encode_settlement_result(SETTLED),
    "refusal": lambda codec: refusal_bytes(codec, REFUSED),
}
CASES = [(name, form) for name in ENCODED for form in FORMS]


@pytest.mark.req("M4")
@pytest.mark.parametrize(("name", "form"), CASES)
def test_what_is_written_is_what_it_was(name: str, form: str) -> None:
    assert ENCODED[name](FORMS[form]) == (GOLDEN / f"{name}.{form}").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_the_golden_posts_are_read(form: str) -> None:
    posts = {"post-full": FULL, "post-simple": SIMPLE, "post-canonical": CANONICAL, "post-response": RESPONSE}
    for name, message in posts.items():
        assert FORMS[form].decode_post((GOLDEN / f"{name}.{form}").read_bytes()) == message


@pytest.mark.req("M4")
@pytest.mark.parametrize(("name", "form"), [case for case in CASES if case[1].endswith("xml")])
def test_golden_soap_is_valid_by_the_published_schema(name: str, form: str) -> None:
    schema = etree.XMLSchema(xml.parse(MESSAGES_XSD))
    body = xml.parse((GOLDEN / f"{name}.{form}").read_bytes())[0][0]
    if name == "refusal":
        [body] = body.iterfind(".//{urn:postroad:message:1}Refusal")
    schema.assertValid(xml.parse(xml.serialize(body)))


if __name__ == "__main__":
    for golden_name, golden_form in CASES:
        (GOLDEN / f"{golden_name}.{golden_form}").write_bytes(ENCODED[golden_name](FORMS[golden_form]))
