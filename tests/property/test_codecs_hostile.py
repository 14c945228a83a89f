"""Cut, mutated or random bytes: a decoder answers with a message or with ``Refused``, and with nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from postroad.core.codecs.bulk import decode_bulk
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.native_formats import codec_for
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.canonical_posts import read_canonical
from postroad.core.codecs.soap.names import SOAP_11
from postroad.core.codecs.soap.post_reader import read_post
from postroad.core.codecs.soap.reader import operation_in, read_tree
from postroad.core.codecs.xml import is_embeddable, parse
from postroad.core.model.message import Message
from postroad.errors import Refused
from tests.samples.message_strategies import MESSAGES
from tests.samples.wire_messages import CANONICAL, FULL, ORDER, RESPONSE, SIMPLE

every_codec = pytest.mark.parametrize(
    "codec",
    [
        pytest.param(JSON_FORM, id="json"),
        pytest.param(SOAP11, id="soap11"),
        pytest.param(SOAP12, id="soap12"),
        pytest.param(ENVELOPE_FORM, id="envelope"),
    ],
)
BOUNDARY = "multipart/mixed; boundary=gap"
SEEDS = [
    codec.encode_post(message) for codec in (JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM) for message in (FULL, SIMPLE)
]
TOKENS = [
    b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?x?>", b"<!DOCTYPE a [", b"&#0;", b"&lt;", b"&x;", b"</pr:Xml>",
    b"<pr:Xml>", b"<a>", b"</a>", b" xmlns='urn:x'", b" xmlns:pr='urn:y'", b"\r\n", b"\t", b"\x00", b"\xff",
    b"\xef\xbb\xbf", b'"', b"'", b">", b"<", b"/", b"{", b"}", b"[", b"]", b"\\u0000", b"\\ud800", b"1e999", b":",
    b",", b"\xc1", b"\xdd\xff\xff\xff\xff", b"\x91", b"\xc6\xff\xff\xff\xff", b"pr:x", b"</pr:Document>",
    b"<pr:Property name='a'>", b"\xef\xbf\xbe", b"\xed\xa0\x80", b"soap:", b"<po/>",
]  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    body = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(body)))
        gone = draw(st.integers(0, 12))
        body = body[:at] + draw(st.sampled_from(TOKENS) | st.binary(max_size=4)) + body[at + gone :]
    return body


def outcome(decode: Callable[[], object]) -> object:
    """What came out; anything but a result or a refusal with a wire code fails the test."""
    try:
        return decode()
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
        return None


@pytest.mark.req("M5", "Z2")
@every_codec
@pytest.mark.parametrize("message", [FULL, SIMPLE, RESPONSE])
def test_a_post_cut_at_any_byte_is_refused(codec: Codec, message: Message) -> None:
    body = codec.encode_post(message)
    for length in range(len(body)):
        with pytest.raises(Refused) as refused:
            codec.decode_post(body[:length])
        assert refused.value.code == "wire.malformed", length


@pytest.mark.req("Z2")
@given(body=mutations(SEEDS) | st.binary(max_size=60))
@settings(max_examples=600, deadline=None)
def test_mutated_and_random_bytes_are_read_or_refused(body: bytes) -> None:
    for codec in (JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM):
        outcome(lambda codec=codec: codec.decode_post(body))  # type: ignore[misc]
    for decode in (
        SOAP11.decode_poll,
        JSON_FORM.decode_settlement,
        ENVELOPE_FORM.decode_delivered,
        SOAP12.decode_refusal,
    ):
        outcome(lambda decode=decode: decode(body))  # type: ignore[misc]
    for content_type in ("application/json", "text/xml", "application/xml", ENVELOPES):
        outcome(lambda content_type=content_type: codec_for(content_type, body))  # type: ignore[misc]
    outcome(lambda: parse(body))


@pytest.mark.req("Z2")
@given(
    body=mutations(
        [b"--gap\r\nContent-Type: text/xml\r\n\r\n" + SEEDS[2] + b"\r\n--gap--\r\n", SEEDS[0] + b"\n" + SEEDS[1]]
    )
)
@settings(max_examples=200, deadline=None)
def test_mutated_bulk_bodies_are_read_or_refused(body: bytes) -> None:
    for content_type in (BOUNDARY, "application/x-ndjson", ENVELOPES):
        results = outcome(lambda content_type=content_type: decode_bulk(content_type, body))  # type: ignore[misc]
        for result in results if isinstance(results, list) else []:
            assert isinstance(result, Message) or result.code.startswith("wire.")


@pytest.mark.req("M4", "M5")
@given(body=MESSAGES.map(SOAP11.encode_post) | mutations([SEEDS[3], SOAP11.encode_post(CANONICAL)]))
@settings(max_examples=1000, deadline=None)
def test_the_quick_reader_agrees_with_the_general_one(body: bytes) -> None:
    quick = outcome(lambda: read_canonical(body, SOAP_11, DEFAULT_LIMITS))
    if quick is not None:
        assert quick == general(body)


@pytest.mark.parametrize("token", TOKENS)
def test_the_quick_reader_agrees_wherever_something_is_put_in(token: bytes) -> None:
    body = SOAP11.encode_post(CANONICAL)
    for at in range(len(body) + 1):
        changed = body[:at] + token + body[at:]
        quick = outcome(lambda changed=changed: read_canonical(changed, SOAP_11, DEFAULT_LIMITS))  # type: ignore[misc]
        if quick is not None:
            assert quick == general(changed)


def test_the_quick_reader_reads_what_we_write() -> None:
    assert read_canonical(SOAP11.encode_post(CANONICAL), SOAP_11, DEFAULT_LIMITS) == CANONICAL
    assert read_canonical(SOAP11.encode_post(SIMPLE), SOAP_11, DEFAULT_LIMITS) == SIMPLE


def general(body: bytes) -> Message:
    return read_post(operation_in(read_tree(body, DEFAULT_LIMITS), SOAP_11, role="Post"), DEFAULT_LIMITS)


@pytest.mark.req("Z2")
@given(document=mutations([ORDER, b'<a xmlns="http://x.example:80/y?z#w" xmlns:b="urn:b"><b:c b:d="e">f</b:c></a>']))
@settings(max_examples=1000, deadline=None)
def test_what_is_put_inline_can_be_parsed_by_other_parsers(document: bytes) -> None:
    if is_embeddable(document):
        etree.fromstring(b"<around>%b</around>" % document)


@given(pairs=st.lists(st.tuples(st.text('a":,{\\ é', max_size=3), st.text('a":,{\\ ', max_size=3)), max_size=6))
@settings(max_examples=500, deadline=None)
def test_a_json_name_that_comes_twice_is_always_found(pairs: list[tuple[str, str]]) -> None:
    inside = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value)}" for name, value in pairs)
    names = [name for name, _ in pairs]
    read = outcome(lambda: JSON_FORM.decode_post(b'{"properties": {%b}}' % inside.encode()))
    assert (read is None) == (len(set(names)) < len(names) or "" in names)
