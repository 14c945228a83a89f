"""SOAP posts as clients spell them: documents cut out exactly, encodings, header blocks and faults."""

from __future__ import annotations

import pytest
from lxml import etree
from msgspec import structs

from postroad.core.codecs.codec import refusal_bytes
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.model.message import Message, Part
from postroad.errors import Refused
from tests.samples.wire_messages import CANONICAL, DELIVERED, FULL, SIMPLE
from tests.unit.core.codecs.test_hostile import soap


def document_of(body: bytes) -> bytes:
    return SOAP11.decode_post(body).parts[0].data


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    "document",
    [
        b"<a/>",
        b"<a  b = 'x>y' ><!-- c --><![CDATA[</pr:Xml>]]><?pi d?>\r\n\t&#13;&amp;</a >",
        b"<a xmlns='urn:a' xmlns:pr='urn:other'><pr:Xml></pr:Xml></a>",
        b"<a>pr:Post and s:Body are only text here</a>",
        b"<a b='s:Body'>pr:Xml</a>",
        "<ä>漢字 😀</ä>".encode(),
        b"<!-- before --><a/><!-- after -->",
    ],
)
def test_an_inline_document_keeps_its_bytes(document: bytes) -> None:
    assert document_of(soap(document)) == document
    assert document_of(soap(b"\n  " + document + b"\n")) == document


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    ("attributes", "document", "expected"),
    [
        (b' xmlns:x="urn:x"', b"<x:a/>", b'<x:a xmlns:x="urn:x"/>'),
        (b' xmlns:x="urn:x"', b"<a x:b='1'/>", b"<a xmlns:x=\"urn:x\" x:b='1'/>"),
        (b' xmlns:x="urn:x"', b"<a><b xmlns:x='urn:y'><x:c/></b></a>", b"<a><b xmlns:x='urn:y'><x:c/></b></a>"),
        (
            b' xmlns:x="urn:x"',
            b"<a><b xmlns:x='urn:y'/><x:c/></a>",
            b"<a xmlns:x=\"urn:x\"><b xmlns:x='urn:y'/><x:c/></a>",
        ),
        (b' xmlns:x="urn:x"', b"<a t='x:string'/>", b"<a xmlns:x=\"urn:x\" t='x:string'/>"),
        (b' xmlns:x="urn:x"', b"<a t='x:string[2]'/>", b"<a xmlns:x=\"urn:x\" t='x:string[2]'/>"),
        (b' xmlns:x="urn:x"', b"<a>//x:b[x:c]</a>", b'<a xmlns:x="urn:x">//x:b[x:c]</a>'),
        (b' xmlns:x="urn:x"', b"<a>y:b <!-- --> x:c</a>", b'<a xmlns:x="urn:x">y:b <!-- --> x:c</a>'),
        (b' xmlns:x="urn:x"', b"<a>%bx:c</a>" % (b" " * 8191), b'<a xmlns:x="urn:x">%bx:c</a>' % (b" " * 8191)),
        (b' xmlns:x="urn:x"', b"<a>max:c 10.x:30 x: x::y</a>", b"<a>max:c 10.x:30 x: x::y</a>"),
        (b' xmlns:x="urn:x"', b"<a>http://x:80/ is text</a>", b"<a>http://x:80/ is text</a>"),
        (b' xmlns="urn:d"', b"<a/>", b'<a xmlns="urn:d"/>'),
        (b' xmlns="urn:d"', b"<a xmlns=''/>", b"<a xmlns=''/>"),
        (b' xmlns="urn:d"', b"<p:a xmlns:p='urn:p'><b/></p:a>", b"<p:a xmlns=\"urn:d\" xmlns:p='urn:p'><b/></p:a>"),
        (b' xmlns:x="urn:x?a&amp;b"', b"<x:a/>", b'<x:a xmlns:x="urn:x?a&amp;b"/>'),
        (b' xmlns:x="urn:x" xmlns:unused="urn:u"', b"<x:a/>", b'<x:a xmlns:x="urn:x"/>'),
    ],
)
def test_only_missing_declarations_are_added(attributes: bytes, document: bytes, expected: bytes) -> None:
    assert document_of(soap(document, attributes=attributes)) == expected
    etree.fromstring(expected)


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("UTF-16", "utf-16"),
        ("utf-16", "utf-16-le"),
        ("ISO-8859-1", "latin-1"),
        ("windows-1252", "cp1252"),
    ],
)
def test_known_encodings_are_read_as_utf_8(declared: str, codec: str) -> None:
    text = soap("<a>Müller</a>".encode(), prolog=f'<?xml version="1.0" encoding="{declared}"?>'.encode()).decode()
    assert document_of(text.encode(codec)) == "<a>Müller</a>".encode()


@pytest.mark.parametrize("message", [FULL, CANONICAL, SIMPLE])
@pytest.mark.parametrize(("codec", "namespace"), [(SOAP11, SOAP_11), (SOAP12, SOAP_12)])
def test_spelling_does_not_matter(codec: SoapCodec, namespace: str, message: Message) -> None:
    body = codec.encode_post(message)
    spellings = [
        body.replace(b"<pr:Topic>", b"<!-- c --><pr:Topic >").replace(b"</pr:Topic>", b"</pr:Topic\n>"),
        body.replace(b"pr:", b"ns0:").replace(b":pr=", b":ns0="),
        body.replace(b"soap:", b"S-E.1:").replace(b":soap=", b":S-E.1="),
        body.replace(b"><pr:H", b">\n  <pr:H").replace(b"</pr:To>", b"</pr:To>\n\t"),
        body.replace(b"<soap:Body>", b"<soap:Header><x xmlns='urn:x'>y</x></soap:Header><soap:Body>"),
        body.replace(b'<?xml version="1.0" encoding="UTF-8"?>\n', b""),
        body.replace(b"orders", b"&#111;rders").replace(b"h-1", b"<![CDATA[h-1]]>"),
    ]
    for spelled in spellings:
        assert codec.decode_post(spelled) == message, spelled


@pytest.mark.req("M5")
def test_a_fault_names_the_place() -> None:
    body = SOAP11.encode_post(SIMPLE).replace(b"<pr:Topic>orders.new</pr:Topic>", b"<pr:Topic><b/></pr:Topic>")
    with pytest.raises(Refused) as refused:
        SOAP11.decode_post(body)
    assert refused.value.pointer == "/Envelope/Body/Post/Header/Topic/b"
    with pytest.raises(Refused) as refused:
        SOAP11.decode_post(body.replace(b"<b/>", b"<b>"))
    assert refused.value.pointer.startswith("line 2, column ")


@pytest.mark.parametrize(
    ("code", "pointer", "status", "in_11", "in_12"),
    [
        ("wire.malformed", "", 400, b"soap:Client", b"soap:Sender"),
        ("network.busy", "", 503, b"soap:Server", b"soap:Receiver"),
        ("wire.unsupported", "/Envelope/Header/{urn:x}y", 415, b"soap:MustUnderstand", b"soap:MustUnderstand"),
        ("wire.unsupported", "/Envelope", 415, b"soap:VersionMismatch", b"soap:VersionMismatch"),
    ],
)
def test_faults_carry_the_fault_code_of_their_version(
    code: str, pointer: str, status: int, in_11: bytes, in_12: bytes
) -> None:
    refused = Refused(code, "because", pointer=pointer)
    assert b"<faultcode>%b</faultcode>" % in_11 in refusal_bytes(SOAP11, refused)
    assert b"<soap:Value>%b</soap:Value>" % in_12 in refusal_bytes(SOAP12, refused)


def test_header_blocks_for_others_need_not_be_understood() -> None:
    block = b"<s:Header><y xmlns='urn:y' s:mustUnderstand='1' s:actor='urn:someone-else'/></s:Header>"
    assert document_of(soap(b"<a/>", header=block)) == b"<a/>"


def test_a_client_is_told_of_a_fault_where_it_expects_an_answer() -> None:
    answer = refusal_bytes(SOAP12, Refused("recipient.unknown", "no such service"))
    with pytest.raises(Refused, match="no such service") as refused:
        SOAP12.decode_result(answer)
    assert refused.value.code == "recipient.unknown"


@pytest.mark.req("K3")
def test_a_service_may_be_named_as_it_was_delivered() -> None:
    """The schema has one type for both, so clients hand the service of a From on as a To, with its GCID."""
    body = SOAP11.encode_post(SIMPLE).replace(b'<pr:Service name="', b'<pr:Service gcid="gcid-1" name="')
    assert SOAP11.decode_post(body) == SIMPLE


def test_the_operation_is_told_from_the_body() -> None:
    assert SOAP11.operation_of(SOAP11.encode_post(SIMPLE)) == "Post"


@pytest.mark.req("M3", "Z2")
@pytest.mark.parametrize(
    "document",
    [
        b"<a xmlns='urn:\"x'/>",
        b"<a xmlns:x='http://host:port/'><x:b/></a>",
        b"<" + b"n" * 60_000 + b"/>",
        b"<a>" * 250 + b"</a>" * 250,
    ],
)
def test_a_document_that_only_some_parsers_take_cannot_spoil_an_answer(document: bytes) -> None:
    part = Part(id="1", content_type="application/xml", data=document)
    answer = SOAP11.encode_delivered([structs.replace(DELIVERED, parts=(part,)), DELIVERED])
    etree.fromstring(answer)
    assert SOAP11.decode_delivered(answer)[0].parts == (part,)
