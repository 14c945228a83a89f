"""Reading BER: every way of writing an element, and the ways that are none. Bad lengths, depths and numbers cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from postroad.core.codecs.cms import content_kind, decompress, decrypt, oids, verify
from postroad.core.codecs.cms.ber import MAX_DEPTH, MAX_ELEMENTS, canonical, read
from postroad.core.codecs.cms.der import (
    OCTET_STRING,
    SEQUENCE,
    element,
    header,
    object_identifier,
    sequence,
    set_of,
    small_integer,
)
from postroad.errors import Refused
from tests.samples.cms_people import clerk
from tests.samples.crafted_cms import as_ber

END = b"\0\0"


def refusal(buffer: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read(buffer).octets()
    return caught.value


@pytest.mark.parametrize(
    "buffer",
    [
        b"\x04\x03abc",
        b"\x04\x81\x03abc",  # longer lengths than needed are BER, though not DER
        b"\x04\x88\0\0\0\0\0\0\0\x03abc",
        b"\x24\x05\x04\x03abc",
        b"\x24\x80\x04\x03abc" + END,
        b"\x24\x80\x04\x01a\x24\x80\x04\x01b\x04\x00" + END + b"\x24\x03\x04\x01c" + END,
        b"\x04\x03abc\r\n",
        b"\x04\x03abc" + bytes(64),
    ],
)
def test_a_string_is_read_however_it_is_written(buffer: bytes) -> None:
    assert read(buffer).octets() == read(memoryview(buffer)).octets() == b"abc"
    assert canonical(read(buffer)) == b"\x04\x03abc"


@pytest.mark.parametrize(
    ("buffer", "offset"),
    [
        (b"", 0),
        (b"\x04", 1),
        (b"\x04\x01", 0),  # a length beyond the end
        (b"\x04\x84\xff\xff\xff\xff", 0),
        (b"\x04\x88" + b"\xff" * 8, 0),
        (b"\x04\x89" + bytes(9), 0),  # a length of too many octets
        (b"\x04\xff" + bytes(200), 0),
        (b"\x04\x82\x01", 0),
        (b"\x04\x80abc" + END, 0),  # a plain value without a length
        (b"\x1f\x81\x01\x00", 0),  # a long tag
        (b"\x00\x01a", 0),
        (b"\x24\x80\x04\x03abc", 7),  # no end mark
        (b"\x24\x80\x04\x03abc\0", 8),
        (b"\x24\x03\x04\x03a", 2),  # a child that is longer than its parent
        (b"\x24\x05\x0c\x03abc", 2),  # a piece that is no string
        (b"\x24\x02" + END, 2),  # an end mark where there is a length
        (b"\x04\x03abcd", 5),
        (b"\x04\x03abc" + bytes(65), 5),
    ],
)
def test_what_is_not_ber_is_refused_with_the_place(buffer: bytes, offset: int) -> None:
    found = refusal(buffer)
    assert found.code == "cms.malformed"
    assert f"(byte {offset})" in found.detail


def nested(levels: int, innermost: bytes = b"\x04\0") -> bytes:
    return b"\x24\x80" * levels + innermost + END * levels


def nested_with_lengths(levels: int) -> bytes:
    found = b"\x04\0"
    for _ in range(levels):
        found = element(0x24, found)
    return found


@pytest.mark.parametrize("make", [nested, nested_with_lengths])
def test_depth_is_limited(make: Callable[[int], bytes]) -> None:
    assert read(make(MAX_DEPTH)).octets() == b""
    assert refusal(make(MAX_DEPTH + 1)).code == "cms.too-complex"
    assert refusal(make(5000)).code == "cms.too-complex"


@pytest.mark.parametrize("levels", [1, MAX_DEPTH])
def test_the_number_of_elements_is_limited_and_depth_does_not_multiply_the_work(levels: int) -> None:
    pieces = b"\x04\0" * (MAX_ELEMENTS - levels)
    started = process_time()
    assert read(nested(levels, pieces)).octets() == b""
    assert refusal(nested(levels, pieces + b"\x04\0" * levels + b"\x04\0" * 5_000_000)).code == "cms.too-complex"
    assert process_time() - started < 5


def test_every_function_refuses_what_is_too_deep() -> None:
    whole = b"\x30\x80" + oids.SIGNED_DATA + b"\xa0\x80" + nested(100_000) + END + END
    for reading in (
        lambda: verify(whole, [b""], [clerk().certificate]),
        lambda: decrypt(whole, [clerk()]),
        lambda: decompress(whole),
    ):
        with pytest.raises(Refused) as caught:
            reading()
        assert caught.value.code == "cms.too-complex"


@pytest.mark.parametrize(
    ("oid", "kind"),
    [
        (oids.DATA, "data"),
        (oids.SIGNED_DATA, "signed"),
        (oids.ENVELOPED_DATA, "enveloped"),
        (oids.AUTH_ENVELOPED_DATA, "auth-enveloped"),
        (oids.COMPRESSED_DATA, "compressed"),
    ],
)
def test_the_kind_of_a_message_is_told_from_its_beginning(oid: bytes, kind: str) -> None:
    assert content_kind(sequence(oid)) == kind
    assert content_kind(b"\x30\x80" + oid + b"\xff" * 10) == kind


@pytest.mark.parametrize("buffer", [b"", b"ISA*00", b"\x04\x02ab", sequence(b"\x02\x01\x00"), sequence(), b"\x30\x80"])
def test_what_is_not_cms_has_no_kind(buffer: bytes) -> None:
    with pytest.raises(Refused) as caught:
        content_kind(buffer)
    assert caught.value.code == "cms.malformed"


def test_other_cms_content_is_not_supported() -> None:
    with pytest.raises(Refused) as caught:
        content_kind(sequence(object_identifier("1.2.840.113549.1.7.6")))
    assert caught.value.code == "cms.unsupported"


@pytest.mark.parametrize("kind", [oids.DATA, oids.ENVELOPED_DATA, oids.COMPRESSED_DATA])
def test_another_kind_than_expected_is_named(kind: bytes) -> None:
    with pytest.raises(Refused, match="signed content is expected"):
        verify(sequence(kind, element(0xA0, sequence())), [b""], [clerk().certificate])


@pytest.mark.parametrize(
    ("dotted", "content"),
    [("1.2.840.113549", "2a864886f70d"), ("2.16.840.1.101.3.4.1.42", "60864801650304012a"), ("1.2.128", "2a8100")],
)
def test_object_identifiers_are_written_as_the_standard_has_it(dotted: str, content: str) -> None:
    assert object_identifier(dotted) == element(0x06, bytes.fromhex(content))


@pytest.mark.parametrize(
    ("length", "written"),
    [(0, "3000"), (127, "307f"), (128, "308180"), (255, "3081ff"), (256, "30820100"), (65536, "3083010000")],
)
def test_lengths_are_as_short_as_can_be(length: int, written: str) -> None:
    assert header(SEQUENCE, length).hex() == written


@pytest.mark.parametrize(("value", "written"), [(0, "020100"), (16, "020110"), (127, "02017f"), (128, "02020080")])
def test_numbers(value: int, written: str) -> None:
    assert small_integer(value).hex() == written
    assert read(small_integer(value)).integer() == value


def test_sets_are_in_the_order_of_their_bytes() -> None:
    assert set_of([b"\x04\x01b", b"\x04\x01a", b"\x02\x01z"]) == b"\x31\x09\x02\x01z\x04\x01a\x04\x01b"
    unordered = element(0x31, b"\x04\x01b", b"\x04\x01a")
    assert canonical(read(as_ber(unordered))) == b"\x31\x06\x04\x01a\x04\x01b"


def test_there_is_no_number_without_octets() -> None:
    for buffer in (b"\x02\x00", b"\x02\x09" + bytes(9), element(OCTET_STRING, b"\x01")):
        with pytest.raises(Refused, match="number"):
            read(buffer).integer()
