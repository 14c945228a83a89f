"""X12 taken apart quickly and slowly: whatever was done to the bytes, both ways tell the same.

Sets that follow each other at once are taken in a loop of their own, which checks counts and numbers as it goes and leaves
everything unusual to the way that looks at each set by itself. Here that way is made to look at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.interchange.model import Split
from postroad.core.interchange.x12 import assemble, examine_stream
from postroad.core.interchange.x12.walk import X12Walk
from postroad.errors import Refused
from tests.property.test_x12 import ANY, MARKS, written
from tests.samples.x12 import Counting, envelope

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "x12"
PIECES = (b"~", b"~~", b"~\n", b"~ ", b"\n", b"*", b"~SE*2*0001~", b"~ST*850*0009", b"~GE*1*1", b"~GS*PO*A*B", b"~BIN*3*~S~~",
          b"~BDS*ASC*2*ab", b"~IEA*1*1", b"~ISA*", b"~S1S*1", b"~SE", b"0", b"1", b"9", b"")  # fmt: skip
DAMAGES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 12), st.sampled_from(PIECES)), max_size=4
)


def slowly(walk: X12Walk, header: re.Match[bytes], facts: Mapping[str, str], group: int) -> int:
    return walk._set(header, facts, group)


def told(data: bytes, most: int = 1_000) -> list[Split | str]:
    """Every interchange, and the refusal if one ends it."""

    def every() -> Iterator[Split | str]:
        try:
            yield from examine_stream(data, most)
        except Refused as refused:
            yield str(refused)

    return list(every())


def assert_both_ways_tell_the_same(data: bytes, most: int = 1_000) -> None:
    quick = told(data, most)
    with patch.object(X12Walk, "_sets", slowly):
        assert told(data, most) == quick


def damaged(data: bytes, damages: list[tuple[float, int, bytes]]) -> bytes:
    for place, length, piece in damages:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + length :]
    return data


@pytest.mark.req("B10")
@given(members=st.lists(ANY, max_size=8), facts=MARKS, damages=DAMAGES, most=st.sampled_from((1, 3, 1_000)))
@settings(max_examples=300)
def test_damaged_x12_is_walked_like_a_plain_reading(
    members: list[bytes], facts: dict[str, str], damages: list[tuple[float, int, bytes]], most: int
) -> None:
    usable = [one for one in members if b"BIN" not in one] if facts else members
    data = b"".join(assemble(usable, envelope({**facts, "set_numbers": "group"}), Counting()))
    assert_both_ways_tell_the_same(damaged(data, damages), most)


@pytest.mark.req("B10")
@pytest.mark.parametrize("segments", [0, 7, 97, 998, 999, 1_500])
@pytest.mark.parametrize("wrong", [0, 1, -1])
def test_however_many_segments_a_set_has(segments: int, wrong: int) -> None:
    one = written("850", "0001", [b"REF*DP*038"] * segments)
    data = b"".join(assemble([one, one], envelope({"set_numbers": "group"}), Counting()))
    said, right = b"SE*%d*0002", segments + 2
    data = data.replace(said % right, said % (right + wrong))
    assert_both_ways_tell_the_same(data)
    codes = [fault.code for found in told(data) if isinstance(found, Split) for fault in found.faults]
    assert codes == (["x12.count"] if wrong else [])


@pytest.mark.req("B10")
@pytest.mark.skipif(not FIXTURES.is_dir(), reason="needs the real X12 files in ../shared/fixtures, which are not there")
def test_real_files_whole_and_damaged() -> None:
    files = [path.read_bytes() for path in sorted(FIXTURES.rglob("*")) if path.is_file()]
    assert len(files) > 20
    for number, data in enumerate(files):
        short = data[:50_000]
        assert_both_ways_tell_the_same(data)
        for step, piece in enumerate(PIECES):
            place = (number * 7 + step * 13) % 97 / 97
            assert_both_ways_tell_the_same(damaged(short, [(place, step % 3, piece)]))
