"""MIME into DIME and back, point by point as the specification has it (T4, T5)."""

from __future__ import annotations

import pytest

from postroad.core.codecs.dime import DimeRecord, TypeFormat, read_dime, write_dime
from postroad.core.codecs.mime import encode_content, read_related
from postroad.core.mediation.formats import decode_wire, encode_message
from postroad.core.mediation.model import OutgoingMessage, Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from postroad.errors import Refused
from tests.samples.external_messages import SOAP_11, SOAP_12, envelope, given_again, posted, related
from tests.samples.mediation_strategies import wire_of

PICTURE = bytes(range(256)) * 3
BODY = "<a href='cid:pic@x'/>"
MIME = related(
    ("Content-Type: text/plain; charset=utf-8\nContent-ID: <note%1>\nContent-Transfer-Encoding: quoted-printable", b"gr=C3=BCn"),
    ("Content-Type: text/xml\nContent-ID: <the root>\nContent-Transfer-Encoding: base64", encode_content(envelope(BODY),
        "base64")),
    ("Content-Type: image/png; name=\"a b\"\nContent-ID: <pic@x>\nContent-Transfer-Encoding: BASE64\nX-Width: 3",
     encode_content(PICTURE, "base64")),
    ("Content-Type: text/plain\nContent-Location: http://x.example/note", b"--b-is-no-boundary"),
    ("Content-Transfer-Encoding: 8bit", b""),
    start="<the root>",
)  # fmt: skip


@pytest.mark.req("T4")
def test_mime_becomes_dime() -> None:
    given = given_again(decode_wire(MIME), Format.DIME)
    root, *others = read_dime(given.data).records
    assert given.media_type == "application/dime"
    assert (root.type_format, root.type, root.id) == (TypeFormat.URI, SOAP_11, "cid:the%20root")
    assert bytes(root.data) == envelope(BODY)
    assert [(one.type_format, one.type, one.id, bytes(one.data)) for one in others] == [
        (TypeFormat.MEDIA_TYPE, "text/plain; charset=utf-8", "cid:note%251", "grün".encode()),
        (TypeFormat.MEDIA_TYPE, 'image/png; name="a b"', "cid:pic@x", PICTURE),
        (TypeFormat.MEDIA_TYPE, "text/plain", "http://x.example/note", b"--b-is-no-boundary"),
        (TypeFormat.MEDIA_TYPE, "text/plain", "", b""),
    ]
    assert [one.headers for one in others] == [(), (("X-Width", "3"),), (), ()]
    assert given.dropped == ()


@pytest.mark.req("T4")
def test_headers_come_back_from_dime() -> None:
    came = decode_wire(MIME)
    there = decode_wire(Wire([("content-type", "application/dime")], given_again(came, Format.DIME).data))
    assert [part.headers for part in there.parts] == [part.headers for part in came.parts]
    back = decode_wire(wire_of(given_again(there, Format.SWA)))
    assert [dict(part.headers).get("X-Width") for part in back.parts] == [None, None, "3", None, None]


@pytest.mark.req("T4")
def test_headers_that_do_not_fit_into_options_are_said_to_be_lost() -> None:
    part = Part(id="1", content_type="image/png", data=b"x", headers=(("X-Long", "x" * 60_000),))
    given = encode_message(OutgoingMessage(parts=(part,)), Format.DIME)
    assert given.dropped == ("part 1: X-Long cannot be represented in DIME",)
    assert read_dime(given.data).records[0].options == b""


@pytest.mark.req("T4")
def test_the_version_of_soap_is_the_type_of_the_root() -> None:
    wire = related(("Content-Type: application/soap+xml", envelope("<a/>", namespace=SOAP_12)))
    [root] = read_dime(given_again(decode_wire(wire), Format.DIME).data).records
    assert (root.type_format, root.type, root.id) == (TypeFormat.URI, SOAP_12, "")


@pytest.mark.req("T4")
@pytest.mark.parametrize(("size", "chunks"), [(1 << 20, ()), ((1 << 20) + 1, (1 << 20, 1))])
def test_large_parts_go_in_chunks(size: int, chunks: tuple[int, ...]) -> None:
    part = Part(id="1", content_type="image/png", data=b"x" * size)
    [record] = read_dime(encode_message(OutgoingMessage(parts=(part,)), Format.DIME).data).records
    assert (record.chunks, len(record.data)) == (chunks, size)


DIME = b"".join(
    write_dime(
        [
            DimeRecord(type_format=TypeFormat.URI, type=SOAP_11, id="uuid:root", data=envelope(BODY)),
            DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="image/png", id="cid:pic%40x", data=PICTURE),
            DimeRecord(type_format=TypeFormat.URI, type="urn:schema", id="uuid:1-2", data=b"<b/>"),
            DimeRecord(type_format=TypeFormat.UNKNOWN, type="", id="", data=b"?"),
            DimeRecord(type_format=TypeFormat.NONE, type="", id="axis@id", data=b""),
        ],
        chunk_bytes=400,
    )
)


@pytest.mark.req("T5")
def test_dime_becomes_mime() -> None:
    given = given_again(decode_wire(posted(DIME, "application/dime")), Format.SWA)
    related_ = read_related(given.media_type, given.data)
    assert given.media_type.startswith('multipart/related; type="text/xml"; boundary="=_')
    assert bytes(related_.root.data()) == envelope(BODY)
    assert related_.root.headers() == (
        ("Content-Type", "text/xml; charset=utf-8"),
        ("Content-Location", "uuid:root"),
        ("Content-Length", str(len(envelope(BODY)))),
    )
    assert [(dict(part.headers()), bytes(part.data())) for part in related_.others] == [
        ({"Content-Type": "image/png", "Content-ID": "<pic@x>"}, PICTURE),  # came in chunks, so nobody knew its length
        (
            {
                "Content-Type": "text/xml",
                "Content-Location": "uuid:1-2",
                "X-Dime-Type": "urn:schema",
                "Content-Length": "4",
            },
            b"<b/>",
        ),
        ({"Content-Type": "application/octet-stream", "Content-Length": "1"}, b"?"),
        ({"Content-Type": "application/octet-stream", "Content-ID": "<axis@id>", "Content-Length": "0"}, b""),
    ]
    assert given.dropped == ()


@pytest.mark.req("T5")
def test_a_root_in_chunks_has_no_length_either() -> None:
    record = DimeRecord(type_format=TypeFormat.URI, type=SOAP_11, id="", data=envelope(BODY))
    given = given_again(decode_wire(posted(b"".join(write_dime([record], 40)))), Format.SWA)
    assert read_related(given.media_type, given.data).root.header("Content-Length") == ""


@pytest.mark.req("T5")
def test_each_delivery_has_a_boundary_of_its_own_and_keeps_it() -> None:
    taken = decode_wire(posted(DIME))
    first, again, other = (
        encode_message(OutgoingMessage(parts=taken.parts, wrapper=taken.wrapper, seed=seed), Format.SWA).media_type
        for seed in (b"1", b"1", b"2")
    )
    assert first == again != other


@pytest.mark.req("T3")
def test_dime_is_given_again_as_it_came_whatever_its_chunks() -> None:
    taken = decode_wire(posted(DIME, "application/dime", soapaction='"x"'))
    given = given_again(taken, Format.DIME)
    assert (given.data, given.headers) == (DIME, (("SOAPAction", '"x"'),))


@pytest.mark.req("T9")
def test_types_that_are_uris_come_back_from_mime() -> None:
    there = given_again(decode_wire(posted(DIME)), Format.SWA)
    records = read_dime(given_again(decode_wire(posted(there.data, there.media_type)), Format.DIME).data).records
    assert [(one.type_format, one.type, one.id) for one in records] == [
        (TypeFormat.URI, SOAP_11, "uuid:root"),
        (TypeFormat.MEDIA_TYPE, "image/png", "cid:pic@x"),
        (TypeFormat.URI, "urn:schema", "uuid:1-2"),
        (TypeFormat.MEDIA_TYPE, "application/octet-stream", ""),
        (TypeFormat.MEDIA_TYPE, "application/octet-stream", "cid:axis@id"),
    ]


def test_records_without_soap_are_all_parts() -> None:
    records = [
        DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="text/xml", id="", data=data) for data in (b"<a/> ", b"<b/>")
    ]
    taken = decode_wire(posted(b"".join(write_dime(records))))
    assert [(part.data, part.attachment) for part in taken.parts] == [(b"<a/> ", False), (b"<b/>", True)]
    for format, kind in ((Format.MIME, "multipart/related; boundary"), (Format.SWA, "multipart/related; type=")):
        given = given_again(taken, format)
        assert given.media_type.startswith(kind)
        again = decode_wire(posted(given.data, given.media_type))
        assert (again.format, again.parts) == (format, taken.parts)


def test_an_empty_message_is_one_record_that_says_so() -> None:
    given = encode_message(OutgoingMessage(parts=()), Format.DIME)
    assert [record.type_format for record in read_dime(given.data).records] == [TypeFormat.NONE]
    assert decode_wire(posted(given.data, given.media_type)).parts == ()


def test_an_envelope_that_is_no_envelope_is_refused_where_its_type_says_that_it_is_one() -> None:
    broken = envelope("<a>")
    records = [DimeRecord(type_format=TypeFormat.URI, type=SOAP_11, id="", data=broken)]
    with pytest.raises(Refused):
        decode_wire(posted(b"".join(write_dime(records))))
    records = [DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="text/xml", id="", data=broken)]
    assert decode_wire(posted(b"".join(write_dime(records)))).parts[0].data == broken
