"""A header block, an empty line, a body: what is read of them, and what is refused."""

from __future__ import annotations

import pytest

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import (
    Entity,
    encode_content,
    entity_of,
    find_parameter,
    read_entity,
    read_parameters,
    write_head,
)
from postroad.core.codecs.mime.entity import CUT_HEADER
from postroad.core.codecs.mime.fields import LF_LINES, SPACED_NAME, TWICE
from postroad.core.codecs.mime.transfer import Encoding
from postroad.errors import Refused

ORDER = b"<po/>"


def refusal(data: bytes, limits: WireLimits | None = None) -> Refused:
    with pytest.raises(Refused) as refused:
        read_entity(data, limits or WireLimits())
    return refused.value


def with_encoding(encoding: str, body: bytes) -> Entity:
    return read_entity(b"Content-Transfer-Encoding: %b\r\n\r\n%b" % (encoding.encode(), body))


def test_an_entity_is_views_into_the_bytes_it_was_read_from() -> None:
    head = b"Content-Type: text/xml\r\nContent-ID: <po@example.com>\r\nX-Note: a\r\n"
    wire = head + b"\r\n" + ORDER
    entity = read_entity(wire)
    assert (entity.head, bytes(entity.body), bytes(entity.raw)) == (head, ORDER, wire)
    assert entity.body.obj is wire
    assert entity.raw.obj is wire
    assert (entity.content_type, entity.content_id, entity.transfer_encoding) == ("text/xml", "po@example.com", "")
    assert entity.headers() == (
        ("Content-Type", "text/xml"),
        ("Content-ID", "<po@example.com>"),
        ("X-Note", "a"),
    )
    assert (entity.header("x-NOTE"), entity.header("X-Other"), entity.tolerated) == ("a", "", ())


def test_a_view_of_a_part_of_something_is_read_as_well() -> None:
    around = b"<<<A: b\r\n\r\nbody>>>"
    entity = read_entity(memoryview(around)[3:-3])
    assert (entity.headers(), bytes(entity.body)) == ((("A", "b"),), b"body")


@pytest.mark.parametrize(
    ("wire", "head", "body"),
    [
        (b"\r\nbody", b"", b"body"),
        (b"\nbody", b"", b"body"),
        (b"", b"", b""),
        (b"\r\n", b"", b""),
        (b"A: b\r\n\r\n", b"A: b\r\n", b""),
        (b"A: b\r\n\r\n\r\n", b"A: b\r\n", b"\r\n"),
        (b"A: b\n\nC: d\r\n\r\n", b"A: b\n", b"C: d\r\n\r\n"),
        (b"A: b\r\n\nbody", b"A: b\r\n", b"body"),
        (b"A: b\n\r\nbody", b"A: b\n", b"body"),
        (b"A: b\r\n c\r\n\r\nbody", b"A: b\r\n c\r\n", b"body"),
        (b"\r\nA: b\r\n\r\nbody", b"", b"A: b\r\n\r\nbody"),
    ],
)
def test_the_first_empty_line_ends_the_header(wire: bytes, head: bytes, body: bytes) -> None:
    entity = read_entity(wire)
    assert (entity.head, bytes(entity.body), bytes(entity.raw)) == (head, body, wire)


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        (b"A: b\r\n  c\r\n\td\r\nE: f\r\n", (("A", "b  c\td"), ("E", "f"))),
        (b"A:\r\n b\r\n", (("A", "b"),)),
        (b"A:b\r\nA: c\r\na:\td \t\r\n", (("A", "b"), ("A", "c"), ("a", "d"))),
        (b"A:\r\nB: \r\n", (("A", ""), ("B", ""))),
        (b"A \t: b\r\n", (("A", "b"),)),
        (b"A: b\r\n   \r\n c\r\n", (("A", "b    c"),)),
        (b"A: b: c\r\n", (("A", "b: c"),)),
        (b"Subject: Gr\xc3\xbc\xdfe\r\n", (("Subject", "Gr\u00c3\u00bc\u00dfe"),)),
        (b"--not-a-boundary: x\r\n", (("--not-a-boundary", "x"),)),
    ],
)
def test_headers_are_unfolded_and_keep_their_order(block: bytes, fields: tuple[tuple[str, str], ...]) -> None:
    entity = read_entity(block + b"\r\nbody")
    assert entity.headers() == fields
    assert entity.head == block
    read_again = read_entity(write_head(entity.headers()) + b"\r\nbody")
    assert read_again.headers() == fields


@pytest.mark.parametrize(
    ("wire", "tolerated"),
    [
        (b"A: b\n\nbody", (LF_LINES,)),
        (b"A: b\r\nC: d\n\r\nbody", (LF_LINES,)),
        (b"A : b\r\n\r\nbody", (SPACED_NAME,)),
        (b"A : b\n\nbody", (LF_LINES, SPACED_NAME)),
        (b"A: b\r\n", (CUT_HEADER,)),
        (b"A: b", (CUT_HEADER,)),
        (b"A: b\r\n c\r\n\r\nbody", ()),
        (b"\r\nbody", ()),
    ],
)
def test_what_is_tolerated_is_said(wire: bytes, tolerated: tuple[str, ...]) -> None:
    assert read_entity(wire).tolerated == tolerated


@pytest.mark.parametrize(
    "wire",
    [
        b"no header at all",
        b"A: b\r\nno header\r\n\r\nbody",
        b" A: b\r\n\r\nbody",
        b"A b: c\r\n\r\nbody",
        b": b\r\n\r\nbody",
        b"A\x00: b\r\n\r\nbody",
        b"A: b\x00c\r\n\r\nbody",
        b"A: b\rC: d\r\n\r\nbody",
        b"A: b\x7f\r\n\r\nbody",
        b"Gr\xfc\xdfe: b\r\n\r\nbody",
        b"From somebody Thu Jun 20 08:35:23 1996\r\nA: b\r\n\r\nbody",
    ],
)
def test_a_line_that_is_no_header_is_refused_and_named(wire: bytes) -> None:
    refused = refusal(wire)
    assert refused.code == "wire.malformed"
    assert "cannot be read" in refused.detail
    assert "byte 0" in refused.detail


def test_the_first_of_two_headers_counts() -> None:
    entity = read_entity(b"Content-Type: a/b\r\nCONTENT-TYPE: c/d\r\nContent-Id: <1>\r\nContent-Id: <2>\r\n\r\n")
    assert (entity.content_type, entity.content_id, entity.header("content-type")) == ("a/b", "1", "a/b")
    assert entity.tolerated == (TWICE,)
    assert read_entity(b"Received: a\r\nReceived: b\r\n\r\n").tolerated == ()


@pytest.mark.parametrize(
    ("text", "id_"),
    [("<a@b>", "a@b"), ("a@b", "a@b"), (" < a@b > ", "a@b"), ("", ""), ("<>", ""), ("<a", "<a"), ("<a>b>", "a>b")],
)
def test_an_id_is_read_with_and_without_brackets(text: str, id_: str) -> None:
    assert read_entity(b"Content-ID: %b\r\n\r\n" % text.encode()).content_id == id_


def test_headers_that_came_by_another_way_make_an_entity_too() -> None:
    entity = entity_of(b"Content-Type: text/xml\r\nContent-Transfer-Encoding: BASE64\r\n", b"PHBvLz4=")
    assert (entity.content_type, entity.data(), bytes(entity.raw)) == ("text/xml", ORDER, b"PHBvLz4=")
    assert entity_of(b"", ORDER).headers() == ()


@pytest.mark.req("Z2")
def test_headers_are_limited_in_number_and_size() -> None:
    limits = WireLimits(mime_headers=3, mime_header_bytes=100)
    assert len(read_entity(b"A: b\r\n" * 3 + b"\r\n", limits).headers()) == 3
    assert refusal(b"A: b\r\n" * 4 + b"\r\n", limits).code == "wire.too-complex"
    assert refusal(b"A:\r\n" * 4 + b"\r\n", limits).code == "wire.too-complex"
    assert read_entity(b"A: %b\r\n\r\n" % (b"x" * 95), limits).header("a") == "x" * 95
    assert refusal(b"A: %b\r\n\r\n" % (b"x" * 96), limits).code == "wire.too-complex"
    assert refusal(b"A: %b\r\n\r\n" % (b"x" * 200), limits).code == "wire.too-complex"
    assert refusal(b"x" * 200, limits).code == "wire.too-complex"
    assert refusal(b"\r\nbody", WireLimits(body_bytes=5)).code == "wire.too-large"


@pytest.mark.req("T4")
@pytest.mark.parametrize("encoding", ["", "7bit", "8BIT", "Binary", "binary (as it is)", "8bit;"])
def test_content_that_was_sent_as_it_is_is_not_copied(encoding: str) -> None:
    entity = with_encoding(encoding, ORDER)
    assert entity.data() is entity.body


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"PHBvLz4=", ORDER),
        (b"PHBv\r\nLz4=\r\n", ORDER),
        (b"PH Bv\tLz\n4\r=", ORDER),
        (b"", b""),
        (b"\r\n", b""),
    ],
)
def test_base64_is_undone_whatever_its_lines(body: bytes, data: bytes) -> None:
    assert with_encoding("Base64", body).data() == data


@pytest.mark.parametrize("body", [b"PHBvLz4", b"PHBvLz4=PHBvLz4=", b"PHB*Lz4=", b"=", b"PHBv\x00Lz4=", b"PHBvLz4==="])
def test_what_is_no_base64_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        with_encoding("base64", body).data()
    assert refused.value.code == "wire.malformed"


@pytest.mark.req("T4")
@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"a=3Db", b"a=b"),
        (b"a=\r\nb=\nc", b"abc"),
        (b"a=c3=9f", b"a\xc3\x9f"),
        (b"line  \r\nnext\t\nlast ", b"line\r\nnext\nlast"),
        (b"soft = \r\nbreak", b"soft break"),
        (b"kept=20\r\nnext", b"kept \r\nnext"),
        (b"_?=5F", b"_?_"),
        (b"end=", b"end"),
        (b"", b""),
        (b"a\rb \rc", b"a\rb \rc"),
    ],
)
def test_quoted_printable_is_undone(body: bytes, data: bytes) -> None:
    assert with_encoding("Quoted-Printable", body).data() == data


@pytest.mark.parametrize("body", [b"a=b", b"a==3D", b"=3", b"a=\rb\n", b"=G0", b"= 3D"])
def test_an_escape_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        with_encoding("quoted-printable", body).data()
    assert refused.value.code == "wire.malformed"


@pytest.mark.parametrize("encoding", ["x-uuencode", "uuencode", "x-gzip64", "base-64", "binary, base64"])
def test_an_unknown_transfer_encoding_is_refused_when_the_content_is_wanted(encoding: str) -> None:
    entity = with_encoding(encoding, b"x")
    with pytest.raises(Refused) as refused:
        entity.data()
    assert refused.value.code == "wire.unsupported"


def test_undoing_an_encoding_keeps_to_the_limits() -> None:
    entity = with_encoding("base64", b"PHBvLz4=")
    with pytest.raises(Refused) as refused:
        entity.data(WireLimits(body_bytes=7))
    assert refused.value.code == "wire.too-large"


def test_a_length_in_a_part_is_not_believed() -> None:
    assert bytes(read_entity(b"Content-Length: 2\r\n\r\n<po/>").body) == ORDER


@pytest.mark.parametrize(
    ("encoding", "data", "written"),
    [
        ("base64", b"", b""),
        ("base64", b"\x00\xff", b"AP8="),
        ("base64", b"a" * 58, b"YWFh" * 19 + b"\r\nYQ=="),
        ("quoted-printable", b"a=b \r\n\t", b"a=3Db =0D=0A=09"),
        ("quoted-printable", b"x" * 80, b"x" * 75 + b"=\r\n" + b"x" * 5),
        ("quoted-printable", b"\xc3\x9f\n", b"=C3=9F=0A"),
        ("binary", b"\r\n\x00", b"\r\n\x00"),
    ],
)
def test_content_is_written_in_a_transfer_encoding(encoding: Encoding, data: bytes, written: bytes) -> None:
    assert encode_content(data, encoding) == written
    assert encode_content(memoryview(data), encoding) == written
    assert with_encoding(encoding, written).data() == data


@pytest.mark.parametrize(
    ("name", "value"),
    [("A", "b\r\nC: d"), ("A", "\x00"), ("A B", "c"), ("A:", "b"), ("", "b"), ("A", "\u20ac"), ("A", "b\n")],
)
def test_a_header_that_would_be_read_as_another_is_never_written(name: str, value: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - a programming mistake has no code
        write_head([(name, value)])


def test_headers_are_written_as_lines() -> None:
    assert (
        write_head([("Content-Type", "text/xml"), ("X", "Gr\u00fc\u00dfe")])
        == b"Content-Type: text/xml\r\nX: Gr\xfc\xdfe\r\n"
    )
    assert write_head([]) == b""


@pytest.mark.parametrize(
    ("value", "parameters"),
    [
        ("a/b", ()),
        ('a/b; C="d"', (("c", "d"),)),
        ("a/b; c=d; e = f ;g=h", (("c", "d"), ("e", "f"), ("g", "h"))),
        ("multipart/related; type=text/xml; start=<a@b>", (("type", "text/xml"), ("start", "<a@b>"))),
        ('a/b; c="d;e=f"; g=h', (("c", "d;e=f"), ("g", "h"))),
        (r'a/b; c="d\"e\\"', (("c", 'd"e\\'),)),
        ('a/b; c="d; e=f', (("c", "d; e=f"),)),
        ("a/b;; ;c=d;", (("c", "d"),)),
        ('a/b; c=""; d=', (("c", ""), ("d", ""))),
        ("a/b; c; =d; e=f", (("e", "f"),)),
        ("a/b;\tc=d;\r\n e=f", (("c", "d"), ("e", "f"))),
        ("a/b; c*0=d; c*1=e; f*=utf-8''g", (("c*0", "d"), ("c*1", "e"), ("f*", "utf-8''g"))),
        ('a/b; c="d" junk; e=f', (("c", "d"), ("e", "f"))),
        ("a/b; c=d e=f; g=h", (("c", "d"), ("g", "h"))),
        ('a/b; c="d\\', (("c", "d"),)),
    ],
)
def test_parameters_are_read(value: str, parameters: tuple[tuple[str, str], ...]) -> None:
    assert read_parameters(value) == parameters


def test_the_first_parameter_of_a_name_counts() -> None:
    assert find_parameter(read_parameters("a/b; c=d; C=e"), "c") == "d"
    assert find_parameter((), "c") == ""


@pytest.mark.req("Z2")
def test_parameters_are_limited_in_number() -> None:
    assert len(read_parameters("a/b" + "; c=d" * 64)) == 64
    with pytest.raises(Refused) as refused:
        read_parameters("a/b" + "; c=d" * 65)
    assert refused.value.code == "wire.too-complex"
