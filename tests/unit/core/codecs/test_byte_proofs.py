"""What is proved by looking at bytes alone: never more than reading would have found."""

from __future__ import annotations

import re
from itertools import islice, product
from string import ascii_letters

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.codecs.bulk import bulk_parts
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.soap.fragment import FEW_COLONS, mentions_prefix
from postroad.core.codecs.xml import check_well_formed, parse
from postroad.errors import Refused

MAX_ATTRIBUTES = WireLimits().xml_attributes
EMPTY_LINE = re.compile(rb"\r?\n\r?\n")


def crowded(attributes: int, around: bytes = b"") -> bytes:
    """One element with so many attributes, spelled as shortly as can be."""
    names = islice(("".join(name) for length in (1, 2) for name in product(ascii_letters, repeat=length)), attributes)
    return b"<r>%b<a %b/></r>" % (around, " ".join(f'{name}=""' for name in names).encode())


@pytest.mark.req("Z2")
@pytest.mark.parametrize("around", [b"", b"t" * 700, b"t" * 5000, b"<b/>" * 20, b"<b/>" * 300])
def test_no_spelling_brings_more_attributes_past_the_count(around: bytes) -> None:
    """A tag of them is 1300 bytes long, wherever it stands and whatever stands before it."""
    check_well_formed(crowded(MAX_ATTRIBUTES, around))
    parse(crowded(MAX_ATTRIBUTES, around))
    for read in (check_well_formed, parse):
        with pytest.raises(Refused) as refusal:
            read(crowded(MAX_ATTRIBUTES + 1, around))
        assert refusal.value.code == "wire.too-complex"


@given(st.lists(st.sampled_from([b"ns:", b"pr:", b"soap:", b"xpr:", b"p:", b" pr", b":"]), max_size=40))
def test_a_prefix_is_found_among_few_colons_and_among_many(pieces: list[bytes]) -> None:
    prefixes = (b"soap", b"pr")
    text = b"".join(pieces)
    assert mentions_prefix(text, prefixes) == bool(re.search(rb"(?:soap|pr):", text))
    assert mentions_prefix(b"a:" * 2 * FEW_COLONS + text, prefixes) == bool(re.search(rb"(?:soap|pr):", text))


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n"]), max_size=9))
def test_a_parts_header_ends_at_its_first_empty_line_however_lines_end(pieces: list[bytes]) -> None:
    text = b"\r\nx:" + b"".join(pieces)
    [part] = bulk_parts("multipart/mixed; boundary=gap", b"--gap%b\r\n--gap--\r\n" % text)
    end = EMPTY_LINE.search(text)
    if end is None:
        assert isinstance(part, Refused)
    elif not isinstance(part, Refused):  # a stray line end in the header itself is refused
        assert part.content == text[end.end() :]


@given(
    st.lists(
        st.sampled_from([b"\r\n", b"\r\nX-A: b\r\n", b"\nX-A: b\n", b"\r\nX-A: b\n\nc\r\n", b"", b"junk\r\n"]),
        max_size=6,
    )
)
def test_a_part_is_read_alike_behind_any_other(headers: list[bytes]) -> None:
    """Most parts repeat the header of the part before, which is then not read again."""

    def read(*heads: bytes) -> list[object]:
        body = b"".join([b"--gap%b\r\nbody %d\r\n" % (head, number % 2) for number, head in enumerate(heads)])
        parts = bulk_parts("multipart/mixed; boundary=gap", body + b"--gap--\r\n")
        return [str(part) if isinstance(part, Refused) else part for part in parts]

    alone = [read(b"", head)[1] if number % 2 else read(head)[0] for number, head in enumerate(headers)]
    assert read(*headers) == alone
