"""Multipart bodies, read and written: whose bytes are whose between the boundaries."""

from __future__ import annotations

import pytest

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.mime import Multipart, make_boundary, read_entity, read_multipart, write_head, write_multipart
from postroad.core.codecs.mime.entity import CUT_HEADER
from postroad.core.codecs.mime.fields import LF_LINES, SPACED_NAME
from postroad.core.codecs.mime.multipart import NO_PART
from postroad.core.codecs.mime.multipart_type import MultipartType, read_any_multipart_type, read_multipart_type
from postroad.errors import Refused

MIXED = "multipart/mixed; boundary=gap"
WRITTEN = (
    b"--gap\r\nContent-Type: text/xml\r\nContent-ID: <a>\r\n\r\n<a/>\r\n"
    b"--gap\r\nContent-Type: image/gif\r\n\r\n\x00\r\n\r\n--gap--\r\n"
)


def bodies(multipart: Multipart) -> list[tuple[bytes, bytes]]:
    return [(part.head, bytes(part.body)) for part in multipart.parts]


def refusal(body: bytes, content_type: str = MIXED, limits: WireLimits = DEFAULT_LIMITS) -> Refused:
    with pytest.raises(Refused) as refused:
        read_multipart(content_type, body, limits)
    return refused.value


def test_parts_are_views_and_what_a_signature_covers_is_exact() -> None:
    multipart = read_multipart(MIXED, WRITTEN)
    first, second = multipart.parts
    assert bytes(first.raw) == b"Content-Type: text/xml\r\nContent-ID: <a>\r\n\r\n<a/>"
    assert bytes(second.raw) == b"Content-Type: image/gif\r\n\r\n\x00\r\n"
    assert first.raw.obj is WRITTEN
    assert (first.content_id, second.content_type, bytes(second.data())) == ("a", "image/gif", b"\x00\r\n")
    assert (multipart.boundary, multipart.tolerated) == (b"gap", ())
    assert bytes(multipart.preamble) == b""
    assert bytes(multipart.epilogue) == b""


@pytest.mark.req("T3")
def test_a_multipart_is_written_as_it_is_read() -> None:
    parts: list[tuple[bytes, Buffer]] = [
        (write_head([("Content-Type", "text/xml"), ("Content-ID", "<a>")]), b"<a/>"),
        (write_head([("Content-Type", "image/gif")]), memoryview(b"\x00\r\n")),
    ]
    pieces = write_multipart(parts, b"gap")
    assert b"".join(pieces) == WRITTEN
    assert pieces[3] is parts[1][1]  # nobody copied it
    assert bodies(read_multipart(MIXED, WRITTEN)) == parts


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        (b"--gap\r\n\r\nbody\r\n--gap--", [(b"", b"body")]),
        (b"--gap\r\n\r\n\r\n--gap--", [(b"", b"")]),
        (b"--gap\r\n\r\n--gap--", [(b"", b"")]),
        (b"--gap\r\nA: b\r\n\r\n\r\n--gap--", [(b"A: b\r\n", b"")]),
        (b"--gap\r\n\r\n\r\n\r\n--gap--", [(b"", b"\r\n")]),
        (b"--gap\r\n\r\none\r\n--gap\r\n\r\ntwo\r\n--gap--", [(b"", b"one"), (b"", b"two")]),
        (b"--gap \t\r\n\r\nbody\r\n--gap-- \r\n", [(b"", b"body")]),
        (b"--gap\r\n\r\nbody\r\n--gap--\r", [(b"", b"body")]),
        (
            b"--gap\r\n\r\n--gapped\r\n--gap-\r\n--ga\r\n -gap\r\n--gap--",
            [(b"", b"--gapped\r\n--gap-\r\n--ga\r\n -gap")],
        ),
        (b"--gap\r\n\r\na--gap\r\n\r\r\n--gap--", [(b"", b"a--gap\r\n\r")]),
        (b"--gap\r\n\r\n--gap--x\r\n--gap--", [(b"", b"--gap--x")]),
        (b"--gap\r\n\r\n--GAP--\r\n--gap--", [(b"", b"--GAP--")]),
        (b"--gap\r\n\r\nbody\r\n--gap--\r\n--gap\r\n\r\nmore\r\n--gap--", [(b"", b"body")]),
        (b"--gap\r\nA: b\r\n c\r\n\r\nbody\r\n--gap--", [(b"A: b\r\n c\r\n", b"body")]),
    ],
)
def test_parts_end_where_the_next_boundary_line_begins(body: bytes, parts: list[tuple[bytes, bytes]]) -> None:
    multipart = read_multipart(MIXED, body)
    assert bodies(multipart) == parts
    assert multipart.tolerated == ()


def test_what_stands_around_the_parts_is_kept() -> None:
    multipart = read_multipart(MIXED, b"before\r\nit\r\n--gap\r\n\r\nbody\r\n--gap--  \r\nbehind\r\n--gap\r\n")
    assert bytes(multipart.preamble) == b"before\r\nit"
    assert bytes(multipart.epilogue) == b"behind\r\n--gap\r\n"
    assert bytes(read_multipart(MIXED, b"\r\n--gap\r\n\r\n\r\n--gap--").preamble) == b""
    assert bytes(read_multipart(MIXED, b"\n--gap\r\n\r\n\r\n--gap--").preamble) == b""


@pytest.mark.parametrize(
    ("body", "parts", "tolerated"),
    [
        (b"--gap\nA: b\n\none\n--gap\n\ntwo\r\n--gap--\n", [(b"A: b\n", b"one"), (b"", b"two")], (LF_LINES,)),
        (b"--gap\r\n\r\none\n--gap--", [(b"", b"one")], (LF_LINES,)),
        (b"--gap\r\n\r\none\r\n--gap--\n", [(b"", b"one")], (LF_LINES,)),
        (b"x\n--gap\r\n\r\none\r\n--gap--\r\n", [(b"", b"one")], (LF_LINES,)),
        (b"--gap\r\nA : b\r\n\r\none\r\n--gap--", [(b"A : b\r\n", b"one")], (SPACED_NAME,)),
        (b"--gap\r\nA: b\r\n\r\n--gap--", [(b"A: b\r\n", b"")], (CUT_HEADER,)),
        (b"--gap\r\nA: b\r\n--gap--", [(b"A: b", b"")], (CUT_HEADER,)),
        (b"--gap\r\n--gap\r\n\r\none\r\n--gap--", [(b"", b"one")], (NO_PART,)),
        (b"--gap\r\n\r\none\r\n--gap\r\n--gap--", [(b"", b"one")], (NO_PART,)),
    ],
)
def test_what_is_tolerated_is_said(body: bytes, parts: list[tuple[bytes, bytes]], tolerated: tuple[str, ...]) -> None:
    multipart = read_multipart(MIXED, body)
    assert bodies(multipart) == parts
    assert multipart.tolerated == tolerated


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "does not occur in the body"),
        (b"no boundary", "does not occur in the body"),
        (b"x--gap\r\n\r\n\r\n--gap--", "at least one part"),
        (b"--gap--", "at least one part"),
        (b"--gap\r\n--gap--", "at least one part"),
        (b"--gap\r\n\r\nbody", "may be truncated"),
        (b"--gap\r\n\r\nbody\r\n--gap\r\n", "may be truncated"),
        (b"--gap\r\n\r\nbody\r\n--gap-", "may be truncated"),
        (b"--gap\r\n\r\nbody\r\n--gap--junk", "may be truncated"),
        (b"--gap\r\n\r\nbody\r--gap--", "may be truncated"),
        (b"--gap\r\nno header\r\n--gap--", "line 1 of a header"),
        (b"--gap\r\n\r\none\r\n--gap\r\nA\x00: b\r\n\r\ntwo\r\n--gap--", "byte 21"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(body: bytes, says: str) -> None:
    refused = refusal(body)
    assert refused.code == "wire.malformed"
    assert says in refused.detail


@pytest.mark.parametrize(
    ("content_type", "code"),
    [
        ("multipart/mixed", "wire.malformed"),
        ("multipart/mixed; boundary=", "wire.malformed"),
        ('multipart/mixed; boundary="  "', "wire.malformed"),
        ('multipart/mixed; boundary="gr\u00fcn"', "wire.malformed"),
        ("multipart/mixed; boundary=%s" % ("x" * 201), "wire.malformed"),
        ('multipart/mixed; boundary="gap"; boundary="hole"', "wire.malformed"),
        ("multipart/mixed; boundary*=us-ascii''gap", "wire.malformed"),
        ("multipart/mixed; boundary*0=g; boundary*1=ap", "wire.malformed"),
        ("text/xml; boundary=gap", "wire.unsupported"),
        ("", "wire.unsupported"),
        ("multipart/mixed" + "; a=b" * 65 + "; boundary=gap", "wire.too-complex"),
    ],
)
def test_a_content_type_without_one_good_boundary_is_refused(content_type: str, code: str) -> None:
    assert refusal(WRITTEN, content_type).code == code


@pytest.mark.parametrize(
    ("content_type", "boundary", "start"),
    [
        ('multipart/related; boundary="gap"; start="<a>"', b"gap", "a"),
        ('Multipart/Related;Start="<a>";BOUNDARY="gap"', b"gap", "a"),
        ("multipart/related; boundary=gap; type=text/xml; start=<a>", b"gap", "a"),
        (' multipart/related ; boundary = "gap" ; ', b"gap", ""),
        ('multipart/related; type="a;boundary=b"; boundary="gap"', b"gap", ""),
        ('multipart/related; boundary="simple boundary"', b"simple boundary", ""),
        ('multipart/related; boundary="gap "', b"gap", ""),
        ('multipart/related; boundary="gap"; boundary=gap', b"gap", ""),
        ('multipart/related; start-info="text/xml"; startle=x; boundary="gap"', b"gap", ""),
        ('multipart/related; boundary="g\\ap"; start="\\<a>"', b"gap", "a"),
        ('multipart/related; start="<a>"; start="<b>"; boundary="gap"', b"gap", "a"),
        ("multipart/related; boundary=<gap@here*#$%>", b"<gap@here*#$%>", ""),
        ('multipart/related; boundary="gap', b"gap", ""),
        ('multipart/related;\tboundary="gap";\r\n\tstart="<a>"', b"gap", "a"),
    ],
)
def test_boundary_and_start_are_found_in_any_spelling(content_type: str, boundary: bytes, start: str) -> None:
    for read in (read_multipart_type, read_any_multipart_type):
        assert read(content_type, DEFAULT_LIMITS) == MultipartType("related", boundary, start)


@pytest.mark.req("Z2")
def test_parts_and_bytes_are_limited() -> None:
    limits = WireLimits(mime_parts=3)
    part = b"--gap\r\n\r\n\r\n"
    assert len(read_multipart(MIXED, part * 3 + b"--gap--", limits).parts) == 3
    assert refusal(part * 4 + b"--gap--", limits=limits).code == "wire.too-complex"
    assert refusal(b"--gap\r\n" * 6 + b"--gap--", limits=limits).code == "wire.too-complex"
    assert refusal(WRITTEN, limits=WireLimits(body_bytes=20)).code == "wire.too-large"
    assert (
        refusal(b"--gap\r\nA: b\r\nA: b\r\n\r\n\r\n--gap--", limits=WireLimits(mime_headers=1)).code
        == "wire.too-complex"
    )


def test_a_multipart_inside_of_a_part_is_read_by_whoever_wants_it() -> None:
    inner = b"--in\r\n\r\none\r\n--in\r\n\r\ntwo\r\n--in--\r\n"
    outer = b"--gap\r\nContent-Type: multipart/mixed; boundary=in\r\n\r\n" + inner + b"\r\n--gap--"
    (part,) = read_multipart(MIXED, outer).parts
    assert bytes(part.body) == inner
    assert bodies(read_multipart(part.content_type, part.body)) == [(b"", b"one"), (b"", b"two")]


def test_a_boundary_that_looks_like_a_header_is_a_boundary() -> None:
    body = b"--uuid:1\r\nA: b\r\n--uuid:1\r\n\r\ntwo\r\n--uuid:1--"
    multipart = read_multipart('multipart/mixed; boundary="uuid:1"', body)
    assert bodies(multipart) == [(b"A: b", b""), (b"", b"two")]


@pytest.mark.parametrize("boundary", [b"", b"x" * 71, b"gap ", b"g\r\nap", b'"'])
def test_nothing_is_written_with_a_boundary_that_others_cannot_read(boundary: bytes) -> None:
    with pytest.raises(ValueError, match="boundary"):
        write_multipart([(b"", b"")], boundary)


def test_a_multipart_of_no_parts_is_not_written() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        write_multipart([], b"gap")


def test_a_head_without_its_last_line_end_is_written_whole() -> None:
    written = b"".join(write_multipart([(b"A: b", b"x")], b"gap"))
    assert bodies(read_multipart(MIXED, written)) == [(b"A: b\r\n", b"x")]


def test_a_fresh_boundary_follows_from_the_seed_and_is_not_in_the_data() -> None:
    first = make_boundary([b"data"], b"seed")
    assert make_boundary([b"other data"], b"seed") == first
    assert make_boundary([b"data"], b"other seed") != first
    second = make_boundary([b"data", memoryview(b"<" + first + b">")[1:-1]], b"seed")
    assert second != first
    third = make_boundary([first, second], b"seed")
    assert third not in (first, second)
    assert len(third) <= 70
    assert read_entity(b"Content-Type: multipart/mixed; boundary=%b\r\n\r\n" % third).content_type.endswith(
        third.decode()
    )


def test_a_boundary_that_is_too_long_is_refused_with_its_length() -> None:
    with pytest.raises(Refused, match="the boundary has 201 characters; at most 200 are read"):
        read_multipart_type(f"multipart/mixed; boundary={'x' * 201}", DEFAULT_LIMITS)
    assert read_multipart_type(f"multipart/mixed; boundary={'x' * 200}", DEFAULT_LIMITS).boundary == b"x" * 200
