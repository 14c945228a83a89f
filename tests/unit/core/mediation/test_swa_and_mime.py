"""SOAP with attachments, and MIME without SOAP: ids, headers, dispositions, transfer encodings."""

from __future__ import annotations

import pytest

from postroad.core.codecs.mime import encode_content, entity_of, read_entity, read_related
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.mime_format import decode_entity
from postroad.core.mediation.model import OutgoingMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from tests.samples.external_messages import envelope, given_again, posted, related, taken_from

XOP = "<a><x:Include xmlns:x='http://www.w3.org/2004/08/xop/include' href='cid:pic'/></a>"


@pytest.mark.req("T3", "T9")
def test_a_root_keeps_its_id_and_its_headers() -> None:
    wire = related(
        ("Content-Type: text/xml\nContent-ID: <root@x>\nContent-Description: the order", envelope("<a/>")),
        ("Content-Type: text/plain\nContent-ID: <urn:uuid:1@apache.org>\nContent-Disposition: inline", b"x"),
    )
    taken = decode_wire(wire)
    assert taken.parts[0].headers == (("Content-Description", "the order"),)
    assert [(part.id, part.attachment) for part in taken.parts] == [("root@x", False), ("urn:uuid:1@apache.org", True)]
    canonical = encode_message(OutgoingMessage(parts=taken.parts), Format.SWA)
    assert (
        b"Content-ID: <urn:uuid:1@apache.org>" in canonical.data
    )  # so that cid:urn:uuid:1@apache.org still leads there
    assert decode_wire(posted(canonical.data, canonical.media_type)).parts == taken.parts


@pytest.mark.req("T3")
def test_mtom_stays_mtom_and_its_includes_stay_where_they_are() -> None:
    head = 'Content-Type: application/xop+xml; charset=utf-8; type="text/xml"\nContent-ID: <root>'
    wire = related((head, envelope(XOP)), ("Content-Type: image/png\nContent-ID: <pic>", b"x" * 70))
    taken = decode_wire(wire)
    assert taken.parts[0].data == XOP.encode()
    assert given_again(taken, Format.SWA).data == wire.body
    dime = given_again(taken, Format.DIME)
    back = given_again(decode_wire(posted(dime.data, dime.media_type)), Format.SWA)
    read = read_related(back.media_type, back.data)
    assert read.is_xop
    assert bytes(read.root.data()) == envelope(XOP)
    assert 'type="application/xop+xml"' in back.media_type
    assert 'start-info="text/xml"' in back.media_type


@pytest.mark.req("T3")
def test_with_the_networks_block_cut_out_the_rest_is_written_anew_around_the_same_envelope() -> None:
    block = "<p:Header xmlns:p='urn:postroad:message:1'><p:Topic>t</p:Topic></p:Header>"
    wire = related(
        ("Content-Type: text/xml", envelope("<a/>", block)), ("Content-Type: text/plain\nContent-ID: <n>", b"note")
    )
    taken = decode_wire(wire)
    given = given_again(taken, Format.SWA)
    assert b"urn:postroad" not in given.data
    assert bytes(read_related(given.media_type, given.data).root.data()) == envelope("<a/>").replace(
        b"<s:Body>", b"<s:Header></s:Header><s:Body>"
    )
    assert decode_wire(posted(given.data, given.media_type)).parts == taken.parts


def test_ids_and_types_that_no_header_can_hold_are_written_so_that_one_can() -> None:
    parts = (
        Part(id="1", content_type="text/plain", data=b"a"),
        Part(id="x\r\nX-Evil: 1", content_type="text/plain;\r\n name=y", data=b"b", attachment=True),
        Part(id=" é漢 ", content_type="text/é", data=b"c", attachment=True),
    )
    for format in (Format.SWA, Format.DIME, Format.MIME, Format.AS2):
        given = encode_message(OutgoingMessage(parts=parts), format)
        assert b"\nX-Evil" not in given.data
        assert len([sentence for sentence in given.dropped if "its ID is encoded" in sentence]) == 2
        assert len([sentence for sentence in given.dropped if "its type is written" in sentence]) == 1
    ids = [part.id for part in decode_wire(posted(given.data, given.media_type)).parts]
    assert ids == ["1", "x%0D%0AX-Evil:%201", "%20é漢%20"]


def test_headers_of_a_single_document_that_mean_something_to_http_are_not_given_to_it() -> None:
    headers = (("Content-Language", "de"), ("Transfer-Encoding", "chunked"), ("Postroad-To", "x"), ("X-A", "b"))
    part = Part(id="po@x", content_type="text/plain", data=b"a", headers=headers, expires_at_us=1_800_000_000_000_000)
    given = encode_message(OutgoingMessage(parts=(part,)), Format.MIME)
    assert given.headers == (
        ("Content-ID", "<po@x>"),
        ("Content-Language", "de"),
        ("Postroad-Expires", "2027-01-15T08:00:00Z"),
    )
    assert len(given.dropped) == 3
    again = decode_wire(Wire([("content-type", "text/plain"), *[(n.lower(), v) for n, v in given.headers]], b"a"))
    assert again.parts == (Part(id="po@x", content_type="text/plain", data=b"a", headers=headers[:1],
                                expires_at_us=part.expires_at_us),)  # fmt: skip
    assert encode_message(OutgoingMessage(parts=(part,)), Format.AS2).dropped == ()


@pytest.mark.parametrize(
    ("disposition", "attachment"), [("inline", False), ("ATTACHMENT; filename=x", True), ("", False)]
)
def test_the_disposition_says_what_is_an_attachment(disposition: str, attachment: bool) -> None:
    body = f"--b\r\nContent-Disposition: {disposition}\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--".encode()
    parts = taken_from(body, "multipart/mixed; boundary=b").parts
    assert [part.attachment for part in parts] == sorted([attachment, False])
    assert [part.id for part in parts] == ["1", "2"]


@pytest.mark.req("T3", "T9")
def test_a_multipart_of_a_special_kind_is_given_again_as_it_came_or_it_is_said() -> None:
    body = b"preamble\r\n--b\r\n\r\n1\r\n--b\r\nContent-Type: text/html\r\n\r\n2\r\n--b--\r\nepilogue"
    taken = taken_from(body, "multipart/alternative; boundary=b")
    given = given_again(taken, Format.MIME)
    assert (given.data, given.media_type, given.dropped) == (body, "multipart/alternative; boundary=b", ())
    for format in (Format.SOAP, Format.SWA, Format.DIME, Format.CLOUDEVENTS):
        assert "that the parts came as multipart/alternative" in given_again(taken, format).dropped


@pytest.mark.req("T6")
def test_an_entity_is_given_again_with_its_header_block() -> None:
    head = b"Subject: Order\r\nContent-Type: multipart/mixed;\r\n boundary=b\r\nMIME-Version: 1.0\r\n"
    body = b"--b\r\n\r\n1\r\n--b\r\n\r\n2\r\n--b--"
    taken = taken_from(head + b"\r\n" + body)
    assert given_again(taken, Format.MIME).data == head + b"\r\n" + body
    assert given_again(taken, Format.MIME).media_type == "message/rfc822"
    as2 = given_again(taken, Format.AS2)
    assert (as2.entity_head, as2.data) == (head, body)
    assert (
        given_again(taken, Format.DIME).dropped[-1]
        == "Subject of the message as a whole cannot be represented beside its parts"
    )


@pytest.mark.req("T6")
def test_what_came_by_as2_is_given_in_mime_with_what_http_has_place_for() -> None:
    entity = read_entity(
        b"Content-Type: application/edi-x12\r\nContent-Disposition: attachment; filename=po.x12\r\n\r\nISA*"
    )
    taken = decode_entity(entity, format=Format.AS2)
    given = given_again(taken, Format.MIME)
    assert (given.media_type, given.data) == ("application/edi-x12", b"ISA*")
    assert given.headers == (("Content-Disposition", "attachment; filename=po.x12"),)
    coded = read_entity(
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n" + encode_content(b"x" * 99, "base64")
    )
    taken = decode_entity(coded, format=Format.AS2)
    assert given_again(taken, Format.MIME).data == b"x" * 99
    again = given_again(taken, Format.AS2)
    assert (again.entity_head, again.data) == (coded.head, bytes(coded.body))


def test_headers_in_utf_8_and_latin_1_are_read_as_what_they_say() -> None:
    for encoding in ("utf-8", "latin-1"):
        body = (
            b"--b\r\nContent-Type: text/plain\r\nX-Name: \t"
            + "Größe".encode(encoding)
            + b"\r\nX-Name: 2\r\n\r\nx\r\n--b--"
        )
        [part] = taken_from(body, "multipart/mixed; boundary=b").parts
        assert part.headers == (("X-Name", "Größe, 2"),)


@pytest.mark.parametrize(
    "body", [b"A: b\r", b"A: b\r\n", b"A: b", b"A: b\n\n", b"A: b\r\n\r\n", b"\r\nx", b"\n", b"A: b\n\r\nx"]
)
def test_messages_of_others_end_their_headers_in_many_ways(body: bytes) -> None:
    taken = taken_from(body, "message/rfc822")
    assert given_again(taken, Format.MIME).data == body
    for format in Format.AS2, Format.DIME, Format.SOAP:
        given_again(taken, format)
    as2 = given_again(taken, Format.AS2)
    again = decode_entity(read_entity(as2.entity_head + b"\r\n" + as2.data), format=Format.AS2)
    assert (again.parts[0].data, again.parts[0].headers) == (taken.parts[0].data, taken.parts[0].headers)


@pytest.mark.req("T6", "T9")
def test_what_http_has_no_place_for_is_said_of_what_came_by_as2() -> None:
    single = read_entity(b"Content-Type: text/plain\r\nX-Batch: 7\r\n\r\nx")
    given = given_again(decode_entity(single, format=Format.AS2), Format.MIME)
    assert (given.data, given.dropped) == (
        b"x",
        ("part 1: X-Batch cannot be represented in a message of one document",),
    )
    several = read_entity(
        b"Content-Type: multipart/mixed; boundary=b\r\nSubject: s\r\nContent-Language: de\r\n\r\n--b\r\n\r\n1\r\n--b--"
    )
    given = given_again(decode_entity(several, format=Format.AS2), Format.MIME)
    assert (given.data, given.headers) == (bytes(several.body), (("Content-Language", "de"),))
    assert given.dropped == ("Subject of the message as a whole cannot be represented beside its parts",)


@pytest.mark.req("T6", "T7")
@pytest.mark.parametrize("head", [b"Content-Type: text/plain\nX-A: b\n", b"Content-Type: text/plain\nX-A: b\r\n"])
def test_the_header_of_what_as2_carries_ends_its_lines_as_signatures_want_it(head: bytes) -> None:
    """Whatever the line ends with which it came; those of the document are its own."""
    came = decode_entity(read_entity(head + b"\nA\nB"), format=Format.AS2)
    mailed = decode_wire(posted(head + b"\nA\nB", "message/rfc822"))
    for taken in (came, mailed):
        given = given_again(taken, Format.AS2)
        assert (given.head, given.data) == (b"Content-Type: text/plain\r\nX-A: b\r\n", b"A\nB")


def test_what_came_by_as2_without_a_header_is_not_called_text() -> None:
    [part] = decode_entity(entity_of(b"", b"\x00\xff"), format=Format.AS2).parts
    assert part.content_type == "application/octet-stream"
    [part] = decode_entity(read_entity(b"X-A: b\r\n\r\n\xff"), format=Format.AS2).parts
    assert part.content_type == "text/plain"  # as MIME has it
