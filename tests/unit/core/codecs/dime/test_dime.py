"""DIME: what is written, what is refused and where, and what is read although it is not as it should be."""

from __future__ import annotations

from struct import pack

import pytest

from postroad.core.codecs.dime import DimeRecord, TypeFormat, looks_like_dime, read_dime, write_dime
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Refused

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
FIRST, LAST, MORE = 4, 2, 1


def raw(
    flags: int, type_format: int, *, type_: bytes = b"", id_: bytes = b"", data: bytes = b"", options: bytes = b"",
    version: int = 1, reserved: int = 0, pad: bytes = b"\0",
) -> bytes:  # fmt: skip
    """One record, right or wrong as asked."""
    lengths = (len(options), len(id_), len(type_), len(data))
    fields = (field + pad * (-len(field) % 4) for field in (options, id_, type_, data))
    return pack(">BBHHHI", version << 3 | flags, type_format << 4 | reserved, *lengths) + b"".join(fields)


TEXT = raw(FIRST | LAST, 1, type_=b"text/plain", id_=b"cid:a", data=b"hello")
ROOT = DimeRecord(type_format=TypeFormat.URI, type=SOAP, id="cid:root", data=b"<a/>")
IMAGE = DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="image/jpeg", id="cid:image", data=bytes(range(11)))


def refusal(body: bytes, limits: WireLimits | None = None) -> Refused:
    with pytest.raises(Refused) as refused:
        read_dime(body, limits or WireLimits())
    return refused.value


@pytest.mark.req("T4")
def test_the_bytes_of_a_message() -> None:
    assert b"".join(write_dime([ROOT, IMAGE])) == (
        b"\x0c\x20\x00\x00\x00\x08\x00\x29\x00\x00\x00\x04" + b"cid:root" + SOAP.encode() + b"\0\0\0" + b"<a/>"
        b"\x0a\x10\x00\x00\x00\x09\x00\x0a\x00\x00\x00\x0b" + b"cid:image\0\0\0" + b"image/jpeg\0\0" + bytes(range(11)) + b"\0"
    )  # fmt: skip


@pytest.mark.req("T4")
def test_a_large_payload_is_written_in_chunks_of_which_only_the_first_says_type_and_id() -> None:
    assert b"".join(write_dime([ROOT, IMAGE], chunk_bytes=3)) == b"".join(
        [
            raw(FIRST, 2, type_=SOAP.encode(), id_=b"cid:root", data=b"<a/>"),
            raw(MORE, 1, type_=b"image/jpeg", id_=b"cid:image", data=bytes(range(4))),
            raw(MORE, 0, data=bytes(range(4, 8))),
            raw(LAST, 0, data=bytes(range(8, 11))),
        ]
    )


@pytest.mark.req("T5")
def test_chunks_are_joined_and_their_sizes_remembered() -> None:
    read = read_dime(b"".join(write_dime([IMAGE, ROOT], chunk_bytes=4))).records
    assert [record.data for record in read] == [IMAGE.data, ROOT.data]
    assert [record.chunks for record in read] == [(4, 4, 3), ()]


def test_the_first_chunk_alone_begins_the_message_and_the_last_alone_ends_it() -> None:
    heads = write_dime([IMAGE], chunk_bytes=4)[::3]
    assert [head[0] & 7 for head in heads] == [FIRST | MORE, MORE, LAST]


def test_data_are_handed_on_without_a_copy() -> None:
    body = b"".join(write_dime([ROOT, IMAGE]))
    views = [record.data for record in read_dime(body).records]
    assert all(isinstance(view, memoryview) and view.obj is body for view in views)
    assert write_dime([IMAGE])[1] is IMAGE.data
    chunk = write_dime([IMAGE], chunk_bytes=4)[1]
    assert isinstance(chunk, memoryview)
    assert chunk.obj is IMAGE.data


def test_a_message_without_anything_says_so() -> None:
    body = b"".join(write_dime([]))
    assert body == b"\x0e\x40" + bytes(10)
    assert [record.type_format for record in read_dime(body).records] == [TypeFormat.NONE]


@pytest.mark.parametrize(
    ("body", "at", "says"),
    [
        pytest.param(b"", 0, "begins with 12 bytes", id="empty"),
        pytest.param(TEXT[:11], 0, "begins with 12 bytes, and only 11", id="half a header"),
        pytest.param(raw(FIRST | LAST, 1, type_=b"a/b", version=2), 0, "version 2", id="another version"),
        pytest.param(
            raw(FIRST, 1, type_=b"a/b") + raw(LAST, 1, type_=b"a/b", version=3), 16, "version 3", id="later version"
        ),
        pytest.param(raw(FIRST | LAST, 1, type_=b"a/b", reserved=1), 0, "reserved bits", id="reserved bits"),
        pytest.param(raw(LAST, 1, type_=b"a/b"), 0, "flag MB", id="no first record"),
        pytest.param(raw(FIRST, 1, type_=b"a/b") + raw(FIRST | LAST, 1, type_=b"a/b"), 16, "flag MB", id="first twice"),
        pytest.param(
            raw(FIRST | LAST | MORE, 1, type_=b"a/b"), 0, "(ME) and as continued (CF)", id="last and continued"
        ),
        pytest.param(raw(FIRST, 1, type_=b"a/b"), 16, "flag ME", id="no last record"),
        pytest.param(TEXT + b"\0", 40, "1 bytes follow", id="bytes behind"),
        pytest.param(raw(FIRST | LAST, 0, data=b"x"), 0, "none is unfinished", id="continues nothing"),
        pytest.param(
            raw(FIRST | MORE, 1, type_=b"a/b") + raw(LAST, 1, data=b"x"), 16, "of its own", id="chunk of a type"
        ),
        pytest.param(
            raw(FIRST | MORE, 1, type_=b"a/b") + raw(LAST, 0, type_=b"a/b"), 16, "of its own", id="chunk with a type"
        ),
        pytest.param(
            raw(FIRST | MORE, 1, type_=b"a/b") + raw(LAST, 0, id_=b"c:d"), 16, "of its own", id="chunk with an id"
        ),
        pytest.param(raw(FIRST | LAST, 4, data=b"x"), 0, "format 4 (none)", id="none with data"),
        pytest.param(raw(FIRST | LAST, 4, type_=b"x"), 0, "format 4 (none)", id="none with a type"),
        pytest.param(
            raw(FIRST | MORE, 4) + raw(LAST, 0, data=b"x"), 12, "format 4 (none)", id="none with data in a chunk"
        ),
        pytest.param(TEXT[:12] + b"cid:", 0, "specifies 37 bytes, but only 16", id="cut short"),
        pytest.param(pack(">BBHHHI", 14, 16, 0, 0, 0, 0xFFFFFFFF), 0, "4294967307 bytes", id="claims four gigabytes"),
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/\xff"), 0, "type of a DIME record is neither", id="type in no charset"
        ),
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/b\r\nX: y"), 0, "type of a DIME record has a control", id="line in a type"
        ),
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/b", id_=b"c:\0"), 0, "id of a DIME record has a control", id="zero in an id"
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(body: bytes, at: int, says: str) -> None:
    refused = refusal(body)
    assert refused.code == "wire.malformed"
    assert refused.detail.startswith(f"byte {at}: ")
    assert says in refused.detail


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/b", pad=b" "), "padding is not zero (first at byte 15)", id="padding"
        ),
        pytest.param(TEXT[:-3], "padding is missing at the end (first at byte 37)", id="no padding"),
        pytest.param(TEXT[:-1], "padding is missing at the end (first at byte 37)", id="less padding"),
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/b")[:-1],
            "padding is missing at the end (first at byte 15)",
            id="behind the type",
        ),
        pytest.param(
            raw(FIRST | LAST, 3, type_=b"a/b"), "type format 3 (unknown) has a type (first at byte 0)", id="Net_DIME"
        ),
        pytest.param(raw(FIRST | LAST, 1, type_=b"a/b", id_=b"a@b"), "an id is not a URI (first at byte 0)", id="Axis"),
        pytest.param(
            raw(FIRST | LAST, 1, type_=b"a/b", options=b"12"), "options were skipped (first at byte 0)", id="options"
        ),
        pytest.param(
            raw(FIRST | LAST, 9, data=b"x"),
            "type format 9 is reserved and was read as unknown (first at byte 0)",
            id="9",
        ),
        pytest.param(
            raw(FIRST | LAST, 2), "type format 2 has no type and was read as unknown (first at byte 0)", id="no type"
        ),
    ],
)
def test_what_others_write_is_read_and_noted(body: bytes, noted: str) -> None:
    read = read_dime(body)
    assert read.tolerated == (noted,)
    assert len(read.records) == 1
    assert read_dime(b"".join(write_dime(read.records))).records[0].data == read.records[0].data


def test_a_note_is_made_once() -> None:
    body = (
        raw(FIRST, 1, type_=b"a/b", id_=b"a") + raw(0, 1, type_=b"a/b", id_=b"b") + raw(LAST, 1, type_=b"a/b", id_=b"c")
    )
    assert read_dime(body).tolerated == ("an id is not a URI (first at byte 0)",)


def test_options_are_kept_beside_the_record_and_never_written() -> None:
    body = raw(FIRST | MORE, 1, type_=b"a/b", options=b"\0\1\0\1x") + raw(LAST, 0, options=b"\0\2\0\0", data=b"y")
    (record,) = read_dime(body).records
    assert (record.options, record.data) == (b"\0\1\0\1x\0\2\0\0", b"y")
    assert b"".join(write_dime([record])) == raw(FIRST | LAST, 1, type_=b"a/b", data=b"y")


def test_limits() -> None:
    many = raw(FIRST, 1, type_=b"a/b") + raw(0, 1, type_=b"a/b") * 98
    assert len(read_dime(many + raw(LAST, 1, type_=b"a/b")).records) == 100
    assert refusal(many + raw(0, 1, type_=b"a/b") + raw(LAST, 1, type_=b"a/b")).code == "wire.too-complex"
    run = raw(FIRST | MORE, 1, type_=b"a/b") + raw(MORE, 0, data=b"abcd") * 9_998
    assert len(read_dime(run + raw(LAST, 0)).records[0].chunks) == 10_000
    assert refusal(run + raw(MORE, 0) + raw(LAST, 0)).code == "wire.too-complex"
    assert refusal(TEXT, WireLimits(body_bytes=39)).code == "wire.too-large"


def test_names_longer_than_the_format_has_room_for_are_refused() -> None:
    with pytest.raises(Refused, match="DIME allows 65535") as refused:
        write_dime([DimeRecord(type_format=TypeFormat.UNKNOWN, type="", id="é" * 32_768, data=b"")])
    assert refused.value.code == "wire.too-large"


@pytest.mark.parametrize(
    ("type_format", "data"), [(TypeFormat.UNCHANGED, b""), (TypeFormat.NONE, b"x")], ids=["unchanged", "none with data"]
)
def test_a_record_that_cannot_be_written_is_a_mistake_of_the_caller(type_format: TypeFormat, data: bytes) -> None:
    with pytest.raises(ValueError, match="cannot have the type format"):
        write_dime([DimeRecord(type_format=type_format, type="", id="", data=data)])


def test_chunks_of_nothing_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        write_dime([ROOT], chunk_bytes=0)


def test_what_is_unknown_is_written_without_a_type() -> None:
    net_dime = DimeRecord(type_format=TypeFormat.UNKNOWN, type="a/b", id="", data=b"x")
    untyped = DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="", id="", data=b"x")
    for record in (net_dime, untyped):
        assert b"".join(write_dime([record])) == raw(FIRST | LAST, 3, data=b"x")


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(TEXT, id="one record"),
        pytest.param(TEXT[:-3], id="without the last padding"),
        pytest.param(raw(FIRST, 2, type_=b"urn:a") + raw(LAST, 3, data=b"x"), id="two records"),
        pytest.param(raw(FIRST | MORE, 3) + raw(LAST, 0), id="chunks"),
        pytest.param(raw(FIRST | LAST, 4), id="nothing"),
    ],
)
def test_a_message_is_recognized(body: bytes) -> None:
    assert looks_like_dime(body)
    assert looks_like_dime(memoryview(body))
    read_dime(body)


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(TEXT[:11], id="too short"),
        pytest.param(TEXT[:-4], id="cut short"),
        pytest.param(TEXT + b"\0", id="something behind"),
        pytest.param(raw(FIRST | LAST, 1, type_=b"text"), id="no media type"),
        pytest.param(raw(FIRST | LAST, 2, type_=b"text"), id="not a URI"),
        pytest.param(raw(FIRST | LAST, 0), id="unchanged"),
        pytest.param(raw(FIRST | LAST, 7, type_=b"a/b"), id="reserved type format"),
        pytest.param(raw(FIRST | LAST, 1, type_=b"a/b", reserved=8), id="reserved bits"),
        pytest.param(raw(FIRST | LAST, 4, data=b"x"), id="none with data"),
        pytest.param(raw(FIRST | LAST | MORE, 3), id="last and continued"),
        pytest.param(raw(LAST, 3), id="not the first"),
        pytest.param(raw(FIRST, 3), id="not the last"),
        pytest.param(raw(FIRST, 3) + raw(FIRST | LAST, 3), id="first twice"),
        pytest.param(raw(FIRST, 3) + raw(LAST, 3, version=2), id="second of another version"),
        pytest.param(pack(">BBHHHI", 14, 16, 0, 0, 60_000, 0) + b"a/b", id="type beyond the end"),
        pytest.param(b"\x0c                               ", id="a form feed and spaces"),
        pytest.param(b"<soap:Envelope/>", id="XML"),
    ],
)
def test_what_is_no_message_is_not_taken_for_one(body: bytes) -> None:
    assert not looks_like_dime(body)
