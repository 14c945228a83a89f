"""DIME, whatever the payloads: what is written is read again, what is cut or changed is refused, and nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.core.codecs.dime import DimeMessage, DimeRecord, TypeFormat, looks_like_dime, read_dime, write_dime
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Refused

LIMITS = WireLimits(parts=1000)
LONGEST_ID = "cid:" + "i" * 65_531
VISIBLE = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
IDS = st.just("") | st.text(VISIBLE, max_size=20).map("cid:".__add__) | st.just(LONGEST_ID)
DATA = st.binary(max_size=300) | st.integers(0, 9000).map(lambda size: bytes(i * 7 & 255 for i in range(size)))
TYPED = st.builds(
    DimeRecord,
    type_format=st.just(TypeFormat.MEDIA_TYPE),
    type=st.text(VISIBLE, max_size=10).map("text/".__add__),
    id=IDS,
    data=DATA,
)
NAMED = st.builds(
    DimeRecord,
    type_format=st.just(TypeFormat.URI),
    type=st.text(VISIBLE, max_size=10).map("urn:".__add__),
    id=IDS,
    data=DATA,
)
UNKNOWN = st.builds(DimeRecord, type_format=st.just(TypeFormat.UNKNOWN), type=st.just(""), id=IDS, data=DATA)
NOTHING = st.builds(DimeRecord, type_format=st.just(TypeFormat.NONE), type=st.just(""), id=IDS, data=st.just(b""))
MESSAGES = st.lists(TYPED | NAMED | UNKNOWN | NOTHING, min_size=1, max_size=5)
CHUNKS = st.integers(1, 4096)
SMALL = [
    DimeRecord(type_format=TypeFormat.URI, type="urn:soap", id="cid:root", data=b"<a/>"),
    DimeRecord(type_format=TypeFormat.MEDIA_TYPE, type="text/plain", id="att@1", data=b"one\r\n" * 5),
    DimeRecord(type_format=TypeFormat.NONE, type="", id="", data=b""),
    DimeRecord(type_format=TypeFormat.UNKNOWN, type="", id="uuid:1", data=b"0123456"),
]


def read_or_refused(body: bytes) -> DimeMessage | None:
    try:
        return read_dime(body, LIMITS)
    except Refused as refused:
        if not refused.code.startswith("wire."):
            raise
        return None


@pytest.mark.req("T4", "T5")
@given(records=MESSAGES, chunk_bytes=CHUNKS)
@example(records=[DimeRecord(type_format=TypeFormat.URI, type=LONGEST_ID, id=LONGEST_ID, data=b"12345")], chunk_bytes=1)
@settings(max_examples=300)
def test_what_is_written_is_read_again(records: list[DimeRecord], chunk_bytes: int) -> None:
    body = b"".join(write_dime(records, chunk_bytes))
    assert looks_like_dime(body)
    read = read_dime(body, LIMITS)
    assert read.tolerated == ()
    assert [replace(record, chunks=()) for record in read.records] == records
    for record in read.records:
        whole = (chunk_bytes + 3) // 4 * 4
        assert record.chunks == () if len(record.data) <= whole else set(record.chunks[:-1]) == {whole}
        assert sum(record.chunks) in (0, len(record.data))


@pytest.mark.req("T4", "T5")
@given(records=MESSAGES, chunk_bytes=CHUNKS, others_chunks=CHUNKS)
@settings(max_examples=200)
def test_a_message_we_wrote_is_written_the_same_again(
    records: list[DimeRecord], chunk_bytes: int, others_chunks: int
) -> None:
    ours = b"".join(write_dime(records, chunk_bytes))
    theirs = b"".join(write_dime(records, others_chunks))
    for body in (ours, theirs):
        assert b"".join(write_dime(read_dime(body, LIMITS).records, chunk_bytes)) == ours


@pytest.mark.req("Z2")
@pytest.mark.parametrize("chunk_bytes", [4, 8, 4096])
def test_a_message_cut_anywhere_is_refused_unless_only_padding_is_gone(chunk_bytes: int) -> None:
    for count in range(1, len(SMALL) + 1):
        body = b"".join(write_dime(SMALL[:count], chunk_bytes))
        whole = read_dime(body)
        for length in range(len(body)):
            cut = read_or_refused(body[:length])
            if cut is not None:
                assert not body[length:].strip(b"\0")
                assert cut.records == whole.records
                assert any("padding is missing" in note for note in cut.tolerated)


@pytest.mark.req("Z2")
def test_every_changed_bit_is_refused_or_read_as_something_that_can_be_written() -> None:
    body = b"".join(write_dime(SMALL, 8))
    for bit in range(len(body) * 8):
        changed = bytearray(body)
        changed[bit >> 3] ^= 1 << (bit & 7)
        read = read_or_refused(bytes(changed))
        looks_like_dime(bytes(changed))
        if read is not None:
            again = read_dime(b"".join(write_dime(read.records)))
            assert [record.data for record in again.records] == [record.data for record in read.records]
            assert all(note.startswith("an id is not a URI") for note in again.tolerated)


HEADERS = st.tuples(
    st.sampled_from([8, 9, 10, 12, 13, 14, 15, 16]), st.sampled_from([0, 16, 32, 48, 64, 80, 17]),
    st.sampled_from([0, 1, 4]), st.sampled_from([0, 3, 255]), st.sampled_from([0, 3, 255]), st.sampled_from([0, 1, 5, 255]),
).map(lambda f: bytes([f[0], f[1], 0, f[2], 0, f[3], 0, f[4], 0, 0, 0, f[5]]))  # fmt: skip


@pytest.mark.req("Z2")
@given(body=st.binary(max_size=200) | st.lists(HEADERS | st.binary(max_size=8), max_size=30).map(b"".join))
@settings(max_examples=1000)
def test_random_bytes_are_read_or_refused(body: bytes) -> None:
    read = read_or_refused(body)
    looks_like_dime(body)
    if read is not None:
        again = read_dime(b"".join(write_dime(read.records)), LIMITS)
        assert [record.data for record in again.records] == [record.data for record in read.records]
