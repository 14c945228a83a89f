"""JSON details, envelopes, bulk framings, and the choice of a codec."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.codecs.bulk import decode_bulk
from postroad.core.codecs.codec import Codec, refusal_bytes
from postroad.core.codecs.dime import DimeRecord, TypeFormat, write_dime
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.native_formats import (
    choose_answer_form,
    codec_for,
    decode_native_post,
    detect_native_form,
    find_operation,
    is_external_format,
)
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Message, Part, PropertyType, Recipient
from postroad.errors import Refused
from tests.samples.wire_messages import FULL, RESPONSE, SIMPLE

MULTIPART = 'multipart/mixed; boundary="a b"'
MANY = b"".join(b' xmlns:n%d="http://example.com/services/orders/%d"' % (n, n) for n in range(30))


def declaring(envelope: bytes, *, before: bytes = MANY) -> bytes:
    """An envelope that declares all of these before its own namespace, as generated clients do."""
    return envelope.replace(b"Envelope xmlns", b"Envelope%b xmlns" % before, 1)


def refusal(content_type: str, body: bytes) -> Refused:
    with pytest.raises(Refused) as refused:
        codec_for(content_type, body).decode_post(body)
    return refused.value


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"to":[1]}', "/to/0"),
        (b'{"to":[{"service":"a","arguments":{"b":1}}]}', "/to/0/arguments/*"),
        (b'{"documents":[{"text":1}]}', "/documents/0/text"),
        (b'{"documents":[{"text":"a"},{"base64":"?"}]}', "/documents/1/base64"),
        (b'{"expiration":"soon"}', "/expiration"),
        (b'{"properties":{"a":{"date":"soon"}}}', "/properties/a"),
        (b'{"status":{"code":"a","code":"b"}}', "/status/code"),
    ],
)
def test_json_faults_point_at_the_place(body: bytes, pointer: str) -> None:
    assert refusal("application/json", body).pointer == pointer


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("body", "said"),
    [
        (rb'{"topic":"\uD83D"}', r"\uD83D is an unpaired surrogate"),
        (rb'{"documents":[{"json":{"a":"\ud83d\ude00 \\\\ud83d \ude00"}}]}', r"\ude00 is an unpaired surrogate"),
        (rb'{"topic":"\ud83d\ude00', "truncated"),
        (rb'{"topic":"\\\\ud83d"', "truncated"),
    ],
)
def test_half_of_a_character_is_called_by_its_name(body: bytes, said: str) -> None:
    refused = refusal("application/json", body)
    assert refused.code == "wire.malformed"
    assert said in refused.detail


@pytest.mark.req("R10")
@pytest.mark.parametrize("codec", [JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM], ids=lambda codec: codec.media_type)
def test_a_message_is_routed_statically_or_dynamically_and_no_other_way(codec: Codec) -> None:
    body = codec.encode_post(msgspec.structs.replace(SIMPLE, routing="eventually"))
    with pytest.raises(Refused) as refused:
        codec.decode_post(body)
    assert refused.value.code == "wire.malformed"
    assert refused.value.pointer.lower().endswith("/routing")
    assert "use static or dynamic" in refused.value.detail


@pytest.mark.req("M3")
def test_json_documents_and_numbers_keep_their_digits_and_spaces() -> None:
    message = JSON_FORM.decode_post(
        b'{"to": ["a"], "properties": {"n": -12.500e+02}, "documents": [{"json": { "x" : 1.0,\n"y": [ ] } }]}'
    )
    assert message.parts == (Part(id="1", content_type="application/json", data=b'{ "x" : 1.0,\n"y": [ ] }'),)
    assert (message.properties[0].value, message.properties[0].type) == ("-12.500e+02", PropertyType.NUMBER)


@pytest.mark.req("K3")
@pytest.mark.parametrize("codec", [SOAP11, SOAP12])
def test_an_encoding_that_only_the_content_type_names_is_believed(codec: Codec) -> None:
    message = Message(to=(Recipient("Acme/Supply"),), topic="Größe")
    body = codec.encode_post(message).partition(b"?>")[2].strip().decode().encode("latin-1")
    declared = f"{codec.media_type.partition(';')[0]}; charset=ISO-8859-1"
    own = detect_native_form(declared, body)
    assert decode_native_post(own, body, content_type=declared) == message
    for said in ("text/xml", "text/xml; charset=utf-8", "text/xml; charset=klingon"):
        with pytest.raises(Refused):
            decode_native_post(own, body, content_type=said)


@pytest.mark.req("K3")
def test_a_byte_order_mark_before_json_is_passed_over() -> None:
    marked = b"\xef\xbb\xbf" + JSON_FORM.encode_post(FULL)
    assert detect_native_form("application/json", marked) == (JSON_FORM, "")
    assert JSON_FORM.decode_post(marked) == FULL
    assert decode_bulk("application/x-ndjson", marked + b"\n" + JSON_FORM.encode_post(SIMPLE)) == [FULL, SIMPLE]


def test_missing_ids_are_numbered_over_documents_and_attachments() -> None:
    message = JSON_FORM.decode_post(
        b'{"documents":[{"text":"a"},{"text":"b","id":"x"}],"attachments":[{"base64":"YQ=="}]}'
    )
    assert [(part.id, part.attachment) for part in message.parts] == [("1", False), ("x", False), ("3", True)]


@pytest.mark.req("M5")
def test_problem_details_point_to_their_page() -> None:
    problem = msgspec.json.decode(refusal_bytes(JSON_FORM, Refused("recipient.unknown", "Nobody", pointer="/to/0")))
    assert problem == {
        "type": "/docs/errors#recipient.unknown",
        "title": "The recipient does not exist",
        "status": 422,
        "detail": "Nobody",
        "code": "recipient.unknown",
        "pointer": "/to/0",
    }


@pytest.mark.req("D1")
def test_the_shortest_envelope() -> None:
    assert decode_bulk(ENVELOPES, msgspec.msgpack.encode([["Acme/Supply", b"<a/>"]])) == [
        Message(
            to=(Recipient("Acme/Supply"),),
            parts=(Part(id="1", content_type="application/octet-stream", data=b"<a/>"),),
        )
    ]


@pytest.mark.req("D1")
def test_one_bad_message_does_not_spoil_the_others() -> None:
    good = [FULL, SIMPLE, RESPONSE]
    lines = b'{"bad": 1}\n' + b"\n\n".join(JSON_FORM.encode_post(message) for message in good) + b"\r\n{"
    envelopes = msgspec.msgpack.encode(
        [[1, 2], *[msgspec.Raw(ENVELOPE_FORM.encode_post(message)) for message in good], ["a\x00", b""]]
    )
    codecs: tuple[Codec, ...] = (SOAP11, SOAP12, JSON_FORM)
    parts = [
        (b"text/plain", b"hello"),
        *[(codec.media_type.encode(), codec.encode_post(m)) for codec, m in zip(codecs, good, strict=True)],
        (b"text/xml", b"<broken"),
    ]
    multipart = (
        b"preamble"
        + b"".join(b"\r\n--a b\r\nContent-Type: %b\r\n\r\n%b" % part for part in parts)
        + b"\r\n--a b--\r\nepilogue"
    )
    for content_type, body in (("application/x-ndjson", lines), (ENVELOPES, envelopes), (MULTIPART, multipart)):
        first, *messages, last = decode_bulk(content_type, body)
        assert messages == good, content_type
        assert isinstance(first, Refused)
        assert isinstance(last, Refused)


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("multipart/mixed", b"", "wire.malformed"),
        (MULTIPART, b"nothing here", "wire.malformed"),
        (MULTIPART, b"--a b\r\n\r\n{}", "wire.malformed"),
        (ENVELOPES, b"\x93\x92", "wire.malformed"),
        (ENVELOPES, b"{}", "wire.malformed"),
        (ENVELOPES, b"\xdd\xff\xff\xff\xff", "wire.too-complex"),
        ("application/x-ndjson", b"{}\n" * 10_001, "wire.too-complex"),
        ("text/plain", b"", "wire.unsupported"),
    ],
)
def test_a_broken_framing_is_refused_as_a_whole(content_type: str, body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        decode_bulk(content_type, body)
    assert refused.value.code == code


def test_a_boundary_inside_a_part_only_counts_at_the_start_of_a_line() -> None:
    body = b'--b\r\nContent-Type: application/json\r\n\r\n{"topic":"--b"}\r\n--b--'
    assert decode_bulk("multipart/mixed; boundary=b", body) == [Message(topic="--b")]


def test_lines_of_a_bulk_may_end_in_lf_alone() -> None:
    parts = b"".join(
        b"--b\nContent-Type: application/json\n\n%b\n" % JSON_FORM.encode_post(one) for one in (FULL, SIMPLE)
    )
    assert decode_bulk("multipart/mixed; boundary=b", parts + b"--b--\n") == [FULL, SIMPLE]


@pytest.mark.parametrize(
    ("content_type", "body", "codec"),
    [
        ("application/json; charset=utf-8", b" {}", JSON_FORM),
        ("TEXT/XML", SOAP11.encode_post(SIMPLE), SOAP11),
        ("text/xml", SOAP11.encode_post(SIMPLE).decode().encode("utf-16"), SOAP11),
        ("application/soap+xml; action=x", SOAP12.encode_post(SIMPLE), SOAP12),
        ("application/xml", SOAP12.encode_post(SIMPLE), SOAP12),
        (ENVELOPES, ENVELOPE_FORM.encode_post(SIMPLE), ENVELOPE_FORM),
        ("application/xml", b"<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'/>", SOAP11),
        ("application/xml", declaring(SOAP12.encode_post(SIMPLE)), SOAP12),
        ("text/xml", declaring(SOAP11.encode_post(SIMPLE), before=b' xmlns:t="http://www.w3.org/2003/05/soap-envelope"'), SOAP11),
    ],
)  # fmt: skip
def test_the_codec_is_found(content_type: str, body: bytes, codec: Codec) -> None:
    assert codec_for(content_type, body) is codec


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("content_type", "body", "codec", "note"),
    [
        ("text/xml", b"{}", JSON_FORM, "declared as text/xml, but is JSON"),
        ("text/xml", SOAP12.encode_post(SIMPLE), SOAP12, "declared as text/xml, but is SOAP 1.2"),
        ("application/soap+xml", SOAP11.encode_post(SIMPLE), SOAP11, "declared as application/soap+xml, but is SOAP 1.1"),
        ("application/json", SOAP11.encode_post(SIMPLE), SOAP11, "declared as application/json, but is SOAP 1.1"),
        ("application/json", ENVELOPE_FORM.encode_post(SIMPLE), ENVELOPE_FORM, "declared as application/json, but is msgpack"),
        (ENVELOPES, b"{}", JSON_FORM, f"declared as {ENVELOPES}, but is JSON"),
        ("text/plain", b'{"to":["A/B"]}', JSON_FORM, "declared as text/plain, but is JSON"),
        ("", SOAP12.encode_post(SIMPLE), SOAP12, "declared as nothing, but is SOAP 1.2"),
        ("application/xml", SOAP12.encode_post(SIMPLE), SOAP12, ""),
        ("application/json", b'{"documents":[{"json":{"specversion":"1.0"}}]}', JSON_FORM, ""),
    ],
)  # fmt: skip
def test_the_bytes_decide_and_a_contradiction_is_noted(content_type: str, body: bytes, codec: Codec, note: str) -> None:
    assert detect_native_form(content_type, body) == (codec, note)


BUSINESS = b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><Post xmlns="urn:x"/></s:Body></s:Envelope>'
ADDRESSED = BUSINESS.replace(
    b"<s:Body>", b'<s:Header><pr:Header xmlns:pr="urn:postroad:message:1"/></s:Header><s:Body>'
)


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/xml", BUSINESS),
        ("text/xml", ADDRESSED),
        ("text/xml", declaring(BUSINESS)),
        ("application/soap+xml", declaring(BUSINESS.replace(b"http://schemas.xmlsoap.org/soap/envelope/", b"http://www.w3.org/2003/05/soap-envelope"))),
        ("application/xml", BUSINESS.decode().encode("utf-16")),
        ("application/json", b'{"specversion":"1.0","type":"a","source":"b","id":"c"}'),
        ("application/json", bytes(b"".join(write_dime([DimeRecord(type_format=TypeFormat.NONE, type="", id="", data=b"")])))),
        ("multipart/related; boundary=b", b"--b\r\n\r\n--b--"),
        ("image/png", b"\x89PNG"),
        ("", b'{"anything":"else"}'),
        ("text/plain", b""),
    ],
)  # fmt: skip
def test_what_is_in_no_own_form_is_left_to_the_plain_formats(content_type: str, body: bytes) -> None:
    own = detect_native_form(content_type, body)
    assert own is None or is_external_format(own.codec, body)


@pytest.mark.parametrize(
    ("codec", "body"),
    [(JSON_FORM, b'{"to":1}'), (SOAP11, SOAP11.encode_post(SIMPLE)), (SOAP11, b"<a/>"), (ENVELOPE_FORM, b"\x80")],
)
def test_a_bad_post_stays_one(codec: Codec, body: bytes) -> None:
    assert not is_external_format(codec, body)


@pytest.mark.parametrize(
    ("envelope", "operation"),
    [
        (b'<s:Envelope xmlns:p="urn:postroad:message:1"><s:Body><p:Poll/>', "Poll"),
        (b"<s:Envelope xmlns = 'urn:postroad:message:1'><s:Body><Acknowledge>", "Acknowledge"),
        (b'<x:Post xmlns:x="urn:x"/><p:Post xmlns:p="urn:postroad:message:1">', "Post"),
        (ADDRESSED, ""),
        (b"<p:Post>", ""),
    ],
)
def test_an_operation_is_one_only_in_the_networks_namespace(envelope: bytes, operation: str) -> None:
    assert find_operation(envelope) == operation


@pytest.mark.parametrize(
    ("content_type", "body", "code", "said"),
    [
        ("application/json", b"<a/>", "wire.malformed", "the body is XML"),
        ("text/xml", b"3 anvils", "wire.malformed", "the body is something else"),
        ("application/json", b"", "wire.malformed", "the body is empty"),
        ("image/png", b"", "wire.unsupported", "use one of"),
        ("", b"{}", "wire.unsupported", "use one of"),
    ],
)
def test_what_can_be_no_form_says_what_was_found(content_type: str, body: bytes, code: str, said: str) -> None:
    refused = refusal(content_type, body)
    assert refused.code == code
    assert said in refused.detail


@pytest.mark.parametrize(
    ("accept", "posted", "codec"),
    [
        ("", SOAP12, SOAP12),
        ("*/*", SOAP11, SOAP11),
        ("application/json;q=0.5, text/xml", JSON_FORM, SOAP11),
        ("application/json, text/xml;q=0.5", SOAP11, JSON_FORM),
        ("text/html, application/*;q=0.8", SOAP11, JSON_FORM),
        ("text/*", SOAP11, SOAP11),
        (ENVELOPES, JSON_FORM, ENVELOPE_FORM),
    ],
)
def test_the_answer_comes_as_it_is_wanted(accept: str, posted: Codec, codec: Codec) -> None:
    assert choose_answer_form(accept, posted) is codec


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0"])
def test_an_answer_that_cannot_be_given_is_refused(accept: str) -> None:
    if accept.endswith("q=0"):
        assert choose_answer_form(accept, SOAP11) is SOAP11  # nothing is asked for, so the poster's native format it is
        return
    with pytest.raises(Refused) as refused:
        choose_answer_form(accept, SOAP11)
    assert refused.value.code == "wire.not-acceptable"


@pytest.mark.parametrize("codec", [JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM])
def test_an_operators_limits_hold(codec: Codec) -> None:
    body = codec.encode_post(FULL)
    assert (
        codec.decode_post(body, WireLimits(body_bytes=len(body), parts=4, properties=4, recipients=2, arguments=2))
        == FULL
    )
    for tighter in (
        WireLimits(body_bytes=len(body) - 1),
        WireLimits(parts=3),
        WireLimits(properties=3),
        WireLimits(recipients=1),
        WireLimits(arguments=1),
        WireLimits(text_chars=10),
    ):
        with pytest.raises(Refused, match=r"^wire\.too-"):
            codec.decode_post(body, tighter)


@pytest.mark.parametrize("codec", [JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM])
def test_polls_out_of_bounds_are_refused(codec: Codec) -> None:
    for change in ({"max": 0}, {"max": 1001}, {"wait_s": -1.0}, {"wait_s": 61.0}, {"lease_s": 1e9}):
        request = msgspec.structs.replace(codec.decode_poll(codec.encode_poll(_POLL)), **change)
        with pytest.raises(Refused) as refused:
            codec.decode_poll(codec.encode_poll(request))
        assert refused.value.code == "wire.malformed"


_POLL = JSON_FORM.decode_poll(b'{"max": 5}')


def test_a_json_document_stays_json_however_many_brackets_it_has() -> None:
    document = b'{"lines": [' + b", ".join([b'{"sku": "A-%d", "tags": []}' % n for n in range(300)]) + b"]}"
    message = Message(
        to=(Recipient("Acme/Supply"),), parts=(Part(id="1", content_type="application/json", data=document),)
    )
    wire = JSON_FORM.encode_post(message)
    assert b'"json":{"lines"' in wire
    assert JSON_FORM.decode_post(wire).parts[0].data == document
