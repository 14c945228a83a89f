"""SOAP of others: what is cut out of an envelope, what stays in it, and when it is a document itself."""

from __future__ import annotations

from time import process_time

import pytest

from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.codecs.soap.recognition import root_of, version_of
from postroad.core.mediation.formats import decode_wire, encode_message, message_of
from postroad.core.mediation.model import OutgoingMessage
from postroad.core.mediation.soap_format import quote_parameter
from postroad.core.model.formats import Format
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.errors import Refused
from tests.samples.external_messages import (
    ORDER,
    OURS,
    SOAP_11,
    SOAP_12,
    envelope,
    given_again,
    posted,
    related,
    taken_from,
)

HEADER = "<{0}:Header><{0}:To><{0}:Service name='Acme/Supply'/></{0}:To><{0}:Topic>orders</{0}:Topic></{0}:Header>"


def document(body: bytes, content_type: str = "text/xml", **headers: str) -> Part:
    [part] = taken_from(body, content_type, **headers).parts
    return part


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("body", "outer", "alone"),
    [
        ("<a/>", "", b"<a/>"),
        ("<a>1</a>", ' xmlns:x="urn:x"', b"<a>1</a>"),
        ('<x:a b="1"/>', ' xmlns:x="urn:x"', b'<x:a xmlns:x="urn:x" b="1"/>'),
        ("<a x:b='1'/>", ' xmlns:x="urn:x&amp;y"', b"<a xmlns:x=\"urn:x&amp;y\" x:b='1'/>"),
        ("<a/>", ' xmlns="urn:d"', b'<a xmlns="urn:d"/>'),
        ("\n <!-- one --> <a><![CDATA[</s:Body>]]></a> <!-- two -->\n", "", b"<a><![CDATA[</s:Body>]]></a>"),
        ("<a\n b = '>'\n/>", "", b"<a\n b = '>'\n/>"),
        ("<a><?pi in?></a>", "", b"<a><?pi in?></a>"),
        ("<x:Fault xmlns:x='urn:x'/>", "", b"<x:Fault xmlns:x='urn:x'/>"),
    ],
)
def test_the_child_of_the_body_is_the_document(body: str, outer: str, alone: bytes) -> None:
    wire = envelope(body, outer=outer)
    assert document(wire) == Part(id="1", content_type="application/xml", data=alone)
    assert given_again(taken_from(wire, "text/xml"), Format.SOAP).data == wire


@pytest.mark.parametrize(
    ("body", "header"),
    [
        ("<a/>", "<w:Action xmlns:w='urn:w'>go</w:Action>"),
        ("<a/><b/>", ""),
        ("", ""),
        ("<a/>text", ""),
        ("<s:Fault><faultcode>s:Server</faultcode></s:Fault>", ""),
    ],
)
@pytest.mark.req("T9")
def test_an_envelope_that_says_more_is_the_document(body: str, header: str) -> None:
    wire = envelope(body, header)
    taken = taken_from(wire, "text/xml; charset=utf-8", soapaction='"urn:go"')
    assert taken.parts == (Part(id="1", content_type="text/xml", data=wire),)
    given = given_again(taken, Format.SOAP)
    assert (given.data, given.media_type) == (wire, "text/xml; charset=utf-8")
    assert given.headers == (("SOAPAction", '"urn:go"'),)


def test_an_envelope_of_soap_11_may_have_elements_behind_its_body() -> None:
    wire = envelope("<a/>").replace(b"</s:Envelope>", b"<x:y xmlns:x='urn:x'><x:z/></x:y></s:Envelope>")
    assert document(wire).data == wire


@pytest.mark.req("T3")
@pytest.mark.parametrize(
    ("header", "outer"),
    [
        (HEADER.format("p").replace("<p:Header", f"<p:Header xmlns:p='{OURS}'", 1), ""),
        (HEADER.format("p"), f" xmlns:p='{OURS}'"),
        (HEADER.format("s").replace("<s:Header", f"<s:Header xmlns:s='{OURS}'", 1), ""),
        (HEADER.format("p").replace("<p:Topic>", "<q:Topic>").replace("</p:Topic>", "</q:Topic>"),
         f" xmlns:p='{OURS}' xmlns:q='{OURS}'"),
        (HEADER.replace("{0}:", "").replace("<Header", f"<Header xmlns='{OURS}' s:mustUnderstand='1'", 1), ""),
    ],
)  # fmt: skip
def test_the_networks_own_block_is_read_and_cut_out(header: str, outer: str) -> None:
    wire = posted(envelope("<a/>", header, outer=outer), "text/xml")
    taken = decode_wire(wire)
    expected = Message(to=(Recipient("Acme/Supply"),), topic="orders", parts=taken.parts)
    assert message_of(wire, taken) == expected
    assert given_again(taken, Format.SOAP).data == envelope("<a/>", outer=outer).replace(
        b"<s:Body>", b"<s:Header></s:Header><s:Body>"
    )


def test_beside_blocks_of_others_it_is_cut_out_too() -> None:
    other = "<w:Action xmlns:w='urn:w'>go</w:Action>"
    ours = HEADER.format("p").replace("<p:Header", f"<p:Header xmlns:p='{OURS}'", 1)
    taken = taken_from(envelope("<a/>", other + ours + other), "text/xml")
    assert taken.header == Message(to=(Recipient("Acme/Supply"),), topic="orders")
    assert taken.parts == (Part(id="1", content_type="text/xml", data=envelope("<a/>", other + other)),)


@pytest.mark.parametrize(
    "header",
    [f"<p:Header xmlns:p='{OURS}'/>" * 2, f"<p:Header xmlns:p='{OURS}'><p:Foo/></p:Header>", "<p:Header/>" * 5000],
)
def test_a_block_that_cannot_be_understood_is_refused(header: str) -> None:
    with pytest.raises(Refused) as refused:
        taken_from(envelope("<a/>", header, outer=f" xmlns:p='{OURS}'"), "text/xml")
    assert refused.value.code == "wire.malformed"


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (b"<!DOCTYPE s:Envelope [<!ENTITY e 'x'>]>" + envelope("<a>&e;</a>"), "wire.forbidden-markup"),
        (b"<?stylesheet x?>" + envelope("<a/>"), "wire.forbidden-markup"),
        (envelope("<a>"), "wire.malformed"),
        (envelope("<a/>").replace(b"s:Body", b"s:Boby"), "wire.malformed"),
        (envelope("<a/>").replace(b"</s:Envelope>", b"<s:Body/></s:Envelope>"), "wire.malformed"),
        (envelope("<a/>").replace(b"<s:Body><a/></s:Body>", b""), "wire.malformed"),
        (envelope("<a>" * 300 + "</a>" * 300), "wire.too-complex"),
    ],
)
@pytest.mark.req("Z2")
def test_what_is_no_good_envelope_is_refused(wire: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        taken_from(wire, "text/xml")
    assert refused.value.code == code


@pytest.mark.req("T2")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "utf-8-sig"])
def test_other_encodings_are_understood_and_given_again_as_they_came(encoding: str) -> None:
    declared = "utf-16" if "16" in encoding else encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?>" + envelope("<a>é</a>").decode()
    for more in ("", "<b/>"):
        wire = text.replace("</s:Body>", more + "</s:Body>").encode(encoding)
        taken = taken_from(wire, "text/xml")
        assert taken.format is Format.SOAP
        assert given_again(taken, Format.SOAP).data == wire
        again = decode_wire(posted(*_given(taken, Format.SWA)))
        assert again.parts[0].data == taken.parts[0].data
    assert document(text.encode(encoding)).data == "<a>é</a>".encode()


def _given(taken: object, format: Format) -> tuple[bytes, str]:
    given = given_again(taken, format)  # type: ignore[arg-type]
    return given.data, given.media_type


@pytest.mark.req("T2")
@pytest.mark.parametrize("more", ["", "<b/>"])
def test_an_encoding_that_only_the_content_type_names_is_believed_where_it_must_be(more: str) -> None:
    wire = envelope("<a>é</a>" + more).decode().encode("iso-8859-1")
    taken = taken_from(wire, "text/xml; charset=ISO-8859-1")
    assert given_again(taken, Format.SOAP).data == wire
    [part] = taken.parts
    assert part.data == ("<a>é</a>".encode() if not more else b'<?xml version="1.0" encoding="ISO-8859-1"?>' + wire)
    attached = related(("Content-Type: text/xml; charset=iso-8859-1", wire))
    assert len(decode_wire(attached).parts[0].data) == len(part.data)
    with pytest.raises(Refused, match="not accepted"):
        taken_from(wire, "text/xml; charset=klingon")
    assert document(envelope("<a>é</a>"), "text/xml; charset=iso-8859-1").data == "<a>é</a>".encode()


def test_soap_12_keeps_its_action_in_the_content_type() -> None:
    wire = envelope("<a/>", namespace=SOAP_12)
    declared = 'application/soap+xml; charset=utf-8; action="urn:go"'
    taken = taken_from(wire, declared)
    given = given_again(taken, Format.SOAP)
    assert (given.data, given.media_type, given.headers) == (wire, declared, ())
    dime = given_again(taken, Format.DIME)
    assert SOAP_12.encode() in dime.data
    assert dime.headers == (("SOAPAction", "urn:go"),)
    again = given_again(decode_wire(posted(dime.data, dime.media_type, soapaction="urn:go")), Format.SOAP)
    assert (again.data, again.media_type) == (wire, declared)


@pytest.mark.req("T3", "T9")
@pytest.mark.parametrize(
    "body", ["<a/>", '<a><i:Include xmlns:i="http://www.w3.org/2004/08/xop/include" href="cid:x"/></a>']
)
@pytest.mark.parametrize("action", ["urn:go", "urn:" + "long-" * 60, 'urn:a"b'])
def test_soap_12_keeps_its_action_beside_attachments(body: str, action: str) -> None:
    declared = f"application/soap+xml; charset=utf-8; action={quote_parameter(action)}"
    taken = taken_from(envelope(body, namespace=SOAP_12), declared)
    given = given_again(taken, Format.SWA)
    again = decode_wire(posted(given.data, given.media_type))
    assert again.wrapper is not None
    assert (again.wrapper.action, given.headers) == (action, ())
    assert given_again(again, Format.SOAP).media_type == declared


@pytest.mark.req("K3")
@pytest.mark.parametrize(
    ("outer", "root"),
    [
        ('; action="urn:go"', "application/soap+xml"),
        ('; start-info="application/soap+xml; action=\\"urn:go\\""', "application/xop+xml"),
        ("", 'application/xop+xml; charset=UTF-8; type="application/soap+xml; action=\\"urn:go\\""'),
        ("", 'application/soap+xml; action="urn:go"'),
    ],
)
def test_an_action_is_found_wherever_products_put_it(outer: str, root: str) -> None:
    wire = related((f"Content-Type: {root}", envelope("<a/>", namespace=SOAP_12)))
    taken = decode_wire(posted(wire.body, wire.content_type + outer))
    assert taken.wrapper is not None
    assert taken.wrapper.action == "urn:go"


@pytest.mark.parametrize(
    ("data", "version", "root"),
    [
        (envelope("<a/>"), SOAP11, f"{SOAP_11}}}Envelope"),
        (b" \n<!-- " + b"x" * 5000 + b" -->" + envelope("", namespace=SOAP_12), SOAP12, f"{SOAP_12}}}Envelope"),
        (envelope("<a/>", outer="".join(f" xmlns:n{i}='urn:{i}'" for i in range(200))), SOAP11, f"{SOAP_11}}}Envelope"),
        (b"<Envelope/>", None, "Envelope"),
        (f"<Letter><s:Envelope xmlns:s='{SOAP_11}'/></Letter>".encode(), None, "Letter"),
        (b"Envelope", None, ""),
        (b"", None, ""),
    ],
)  # fmt: skip
def test_an_envelope_is_known_by_its_first_tag(data: bytes, version: object, root: str) -> None:
    assert version_of(data) is version
    assert root_of(data) == root


POST = (
    f"<p:Post xmlns:p='{OURS}'><p:Header><p:To><p:Service name='Acme/Supply'/></p:To><p:Type>request</p:Type></p:Header>"
    "<p:Document id='1'><p:Xml><a/></p:Xml></p:Document></p:Post>"
)


@pytest.mark.req("T3")
@pytest.mark.parametrize("header", ["", "<w:Action xmlns:w='urn:w'>go</w:Action>"])
def test_attachments_join_a_post_of_the_network(header: str) -> None:
    wire = related(
        ("Content-Type: text/xml\nContent-ID: <root>", envelope(POST, header)),
        ("Content-Type: image/png\nContent-ID: <pic>", b"x" * 99),
    )
    taken = decode_wire(wire)
    message = message_of(wire, taken)
    assert (message.to, message.type) == ((Recipient("Acme/Supply"),), MessageType.REQUEST)
    assert [(part.id, part.data, part.attachment) for part in message.parts] == [
        ("1", b"<a/>", False),
        ("pic", b"x" * 99, True),
    ]
    assert OURS.encode() not in given_again(taken, Format.SWA).data.replace(b'xmlns:pr="urn:postroad:message:1"', b"")


@pytest.mark.req("T9")
@pytest.mark.parametrize("place", ["<s:Envelope", "<s:Body"])
@pytest.mark.parametrize("attribute", [f's:encodingStyle="{SOAP_11}"', 'xml:lang="de"', 'xmlns:w="urn:w" w:Id="b1"'])
def test_attributes_around_the_document_keep_it_in_its_envelope(place: str, attribute: str) -> None:
    wire = envelope("<a/>").replace(place.encode(), f"{place} {attribute}".encode(), 1)
    assert document(wire) == Part(id="1", content_type="text/xml", data=wire)


def test_documents_that_mean_something_in_a_body_are_never_put_into_one() -> None:
    for data in (POST.encode(), envelope(POST), f"<s:Fault xmlns:s='{SOAP_11}'/>".encode()):
        part = Part(id="1", content_type="application/xml", data=data)
        given = encode_message(OutgoingMessage(parts=(part,)), Format.SOAP)
        assert b"<pr:Message><pr:Document" in given.data
        assert decode_wire(posted(given.data, given.media_type)).parts == (part,)


def test_a_document_leaves_its_declaration_behind() -> None:
    data = b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>\n<a/>\n'
    given = encode_message(OutgoingMessage(parts=(Part(id="1", content_type="text/xml", data=data),)), Format.SOAP)
    assert b"<soap:Body><a/></soap:Body>" in given.data
    assert given.dropped == ()
    latin = b'<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>'
    part = Part(id="1", content_type="text/xml", data=latin)
    given = encode_message(OutgoingMessage(parts=(part,)), Format.SOAP)
    assert decode_wire(posted(given.data, given.media_type)).parts == (part,)


def test_soap_says_what_it_has_no_place_for() -> None:
    part = Part(
        id="po-1", content_type="application/xml; profile=x", data=ORDER.data, expires_at_us=1, headers=(("X-A", "b"),)
    )
    assert encode_message(OutgoingMessage(parts=(part,)), Format.SOAP).dropped == (
        "part po-1: its id cannot be represented in SOAP",
        "part po-1: its type application/xml; profile=x cannot be represented in SOAP",
        "part po-1: X-A cannot be represented in SOAP",
        "part po-1: its expiration cannot be represented in SOAP",
    )


@pytest.mark.req("Z2")
def test_lines_of_blanks_cost_no_more_than_others() -> None:
    def seconds(blank: bytes) -> float:
        body = envelope("<a/>").replace(b"<a/>", blank * 2_000_000 + b"<a/>")
        started = process_time()
        assert document(body).data == b"<a/>"
        return process_time() - started

    assert min(seconds(b"\n") for _ in range(3)) < 6 * max(seconds(b" ") for _ in range(2)) + 0.05
