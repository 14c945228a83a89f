"""DIME that Axis, gSOAP and Perl wrote: read as they meant it, and written as they would have.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.core.codecs.dime import looks_like_dime, read_dime, write_dime
from postroad.core.codecs.dime.records import DimeRecord

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
DIME = FIXTURES / "dime"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
IMAGE_ID = "uuid:6f1c2d5a-0000-11d8-8000-0123456789ab"
Payload = tuple[int, str, str | None, int | bytes]  # type format, type, id (None: any), data or how many

pytestmark = pytest.mark.skipif(
    not DIME.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)


def pattern(size: int) -> bytes:
    return bytes((i * 7 + 3) % 256 for i in range(size))


GSOAP: list[Payload] = [
    (2, SOAP, "cid:id0", 380),
    (1, "image/jpeg", "uuid:09233523-345b-4351-b623-5dsf35sgs5d6", pattern(9999)),
    (1, "text/plain", "cid:note-1", b"hello"),
]
EXPECTED: dict[str, list[Payload]] = {
    "debian_dime_tools_example.dime": [
        (1, "text/plain", None, b"This is a text file.\n"),
        (1, "text/plain", None, b"Hello World!!!"),
    ],
    "perl_soap_jpeg.dime": [(2, SOAP, None, 253), (1, "image/jpeg", IMAGE_ID, pattern(9999))],
    "perl_soap_jpeg_chunked.dime": [(2, SOAP, None, 253), (1, "image/jpeg", IMAGE_ID, pattern(9999))],
    "axis14_dime_2att.dime": [
        (2, SOAP, None, 256),
        (1, "text/plain", "att-1@example.com", b"ISA*00*one,two\n"),
        (1, "image/jpeg", "att-2@example.com", pattern(5001)),
    ],
    "axis14_dime_empty_att.dime": [(2, SOAP, None, 256), (1, "application/octet-stream", None, b"")],
    "gsoap_dime.dime": GSOAP,
}


def check(records: tuple[DimeRecord, ...], expected: list[Payload]) -> None:
    assert len(records) == len(expected)
    for record, (type_format, type_, id_, data) in zip(records, expected, strict=True):
        assert (record.type_format, record.type) == (type_format, type_)
        assert id_ is None or record.id == id_
        assert (record.data if isinstance(data, bytes) else len(record.data)) == data


def test_every_message_of_the_collection_is_known() -> None:
    assert {path.name for path in DIME.glob("*.dime")} == set(EXPECTED)


@pytest.mark.req("T2", "T5")
@pytest.mark.parametrize("name", EXPECTED)
def test_messages_of_others_are_read(name: str) -> None:
    body = (DIME / name).read_bytes()
    read = read_dime(body)
    check(read.records, EXPECTED[name])
    assert looks_like_dime(body)
    assert [note.partition(" (")[0] for note in read.tolerated] == (["an id is not a URI"] if "axis" in name else [])


@pytest.mark.req("T4")
@pytest.mark.parametrize("name", EXPECTED)
def test_dime_messages_equal_those_of_other_products_byte_for_byte(name: str) -> None:
    body = (DIME / name).read_bytes()
    assert b"".join(write_dime(read_dime(body).records, 1024 if "chunked" in name else 1 << 20)) == body


@pytest.mark.req("T5")
def test_perl_chunks_are_joined() -> None:
    image = read_dime((DIME / "perl_soap_jpeg_chunked.dime").read_bytes()).records[1]
    assert image.chunks == (1024,) * 9 + (783,)


@pytest.mark.req("T5")
def test_the_body_of_a_request_of_gsoap_is_read() -> None:
    head, _, body = (DIME / "gsoap_dime.http").read_bytes().partition(b"\r\n\r\n")
    assert b"Content-Type: application/dime\r\n" in head
    assert b"Content-Length: %d\r\n" % len(body) in head
    check(read_dime(body).records, GSOAP)


@pytest.mark.req("T2")
def test_nothing_else_in_the_collection_is_taken_for_dime() -> None:
    others = [path for path in FIXTURES.rglob("*") if path.is_file() and path.suffix != ".dime"]
    assert len(others) > 500
    assert [str(path) for path in others if looks_like_dime(path.read_bytes())] == []
