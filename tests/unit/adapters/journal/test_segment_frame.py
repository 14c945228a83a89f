"""Groups of any shape come back as they were, and bytes that are no group are never taken for one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.frame import EMPTY, SEGMENT_HEADER, SegmentHeader
from postroad.ports import JournalHead, NewRecord

HEADER = SegmentHeader(1, bytes(32), b"a marker", without_bodies=False)
groups = st.lists(
    st.builds(NewRecord, facts=st.binary(max_size=200), body=st.none() | st.binary(max_size=2000)),
    min_size=1,
    max_size=8,
)


class Memory:
    """Bytes in memory as a segment's bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def segment(*written: list[NewRecord], header: SegmentHeader = HEADER) -> tuple[bytes, JournalHead]:
    data, head = frame.encode_segment_header(header), header.before
    for records in written:
        more, _, head = frame.encode_group(records, before=head, header=header, offset=len(data))
        data += more
    return data, head


@given(groups, groups)
def test_groups_read_back_as_they_were_written(first: list[NewRecord], second: list[NewRecord]) -> None:
    data, head = segment(first, second)
    source = Memory(data)
    one = frame.read_group(source, SEGMENT_HEADER.size, HEADER)
    assert one is not None
    two = frame.read_group(source, one.end, HEADER)
    assert two is not None
    assert frame.is_successor(one, EMPTY)
    assert frame.is_successor(two, one.head)
    assert (two.head, two.end) == (head, len(data))
    found = [*frame.iter_records(one, 1), *frame.iter_records(two, 1)]
    bodies = [source.at(record.body.offset, record.body.length) if record.body else None for record in found]
    assert [NewRecord(record.facts, body) for record, body in zip(found, bodies, strict=True)] == [*first, *second]
    assert frame.group_bytes(first) == one.end - one.offset
    assert frame.has_consistent_lengths(one)
    assert not list(frame.find_broken_bodies(source, one, 1))


@given(groups, st.data())
def test_a_changed_bit_is_seen_wherever_it_is(records: list[NewRecord], data: st.DataObject) -> None:
    whole, _ = segment(records)
    at = data.draw(st.integers(SEGMENT_HEADER.size, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    source = Memory(bytes(changed))
    group = frame.read_group(source, SEGMENT_HEADER.size, HEADER)
    assert group is None or list(frame.find_broken_bodies(source, group, 1))


@given(groups, st.data())
def test_a_group_cut_anywhere_is_no_group(records: list[NewRecord], data: st.DataObject) -> None:
    whole, _ = segment(records)
    cut = data.draw(st.integers(SEGMENT_HEADER.size, len(whole) - 1))
    assert frame.read_group(Memory(whole[:cut]), SEGMENT_HEADER.size, HEADER) is None


@given(st.binary(max_size=400))
def test_random_bytes_are_neither_header_nor_group(data: bytes) -> None:
    assert frame.decode_segment_header(data) is None
    assert frame.read_group(Memory(HEADER.marker + data), 0, HEADER) is None


@given(groups)
def test_a_posted_body_cannot_pass_for_a_group(records: list[NewRecord]) -> None:
    """Whoever knows the format still does not know the segment's marker, which is drawn at random."""
    forged, _ = segment(records, header=HEADER._replace(marker=b"guessed!"))
    data, _ = segment([NewRecord(b"facts", forged[SEGMENT_HEADER.size :])])
    torn = Memory(data[: SEGMENT_HEADER.size] + bytes(100) + data[SEGMENT_HEADER.size + 100 :])
    assert frame.find_next_intact(torn, SEGMENT_HEADER.size, HEADER) is None


@given(st.integers(1, 2**64 - 1), st.binary(min_size=32, max_size=32), st.binary(min_size=8, max_size=8), st.booleans())
def test_a_segment_header_reads_back(first_seq: int, chain: bytes, marker: bytes, without_bodies: bool) -> None:
    header = SegmentHeader(first_seq, chain, marker, without_bodies)
    data = frame.encode_segment_header(header)
    assert len(data) == SEGMENT_HEADER.size
    assert frame.decode_segment_header(data) == header
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x10
        assert frame.decode_segment_header(bytes(changed)) is None
