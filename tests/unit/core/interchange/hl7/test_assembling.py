"""HL7 put together: batch and file, line ends, separators."""

from __future__ import annotations

import pytest

from postroad.core.interchange.hl7 import assemble, split
from postroad.core.interchange.model import Placed
from postroad.errors import Refused
from tests.samples.hl7 import ADMIT, RESULT, Counting, batch, envelope


def written(*members: bytes, **facts: str) -> bytes:
    return b"".join(assemble(members, envelope(facts), Counting()))


@pytest.mark.req("B6")
def test_a_file_has_headers_counts_and_numbers() -> None:
    found = written(ADMIT, RESULT, sender_facility="WARD^1", name="nightly")
    head = b"|^~\\&|LAB|WARD^1|EHR||20261116120000+0000||nightly||1\r"
    assert found == b"FHS" + head + b"BHS" + head + ADMIT + RESULT + b"BTS|2\rFTS|1\r"


def test_a_batch_may_go_without_a_file_and_may_be_empty() -> None:
    assert written(file="0") == b"BHS|^~\\&|LAB||EHR||20261116120000+0000||||1\rBTS|0\r"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\n\n"])
def test_only_cr_is_written(end: bytes) -> None:
    assert written(ADMIT.replace(b"\r", end)) == written(ADMIT)


def test_a_line_that_begins_no_segment_is_text() -> None:
    found = written(RESULT.replace(b"5 ", b"first line\nsecond "))
    assert b"first line\\X0A\\second \\T\\ 6\r" in found
    assert b"\n" not in found


def test_a_batch_as_a_member_is_taken_apart() -> None:
    assert written(batch()) == written(ADMIT, RESULT)


@pytest.mark.req("B6")
def test_other_separators_change_and_text_does_not() -> None:
    text = RESULT.replace(b"5 \\T\\ 6", b"a#b\\F\\c\\.br\\d\\E\\")
    found = written(text, field="#", escape="!")
    assert b"OBX#1#ST#x##a!F!b|c!.br!d\\\r" in found
    [member] = split(found).members
    assert (member.reference, member.kind) == ("M2", "ORU^R01")
    assert written(found) == written(text)


def test_placed_tells_where_each_went() -> None:
    places: list[Placed] = []
    b"".join(assemble([batch()], envelope(), Counting(), places.append))
    assert [(one.position, one.interchange, one.group, one.reference) for one in places] == [
        (0, "1", "1", "M1"),
        (0, "1", "1", "M2"),
    ]


@pytest.mark.parametrize(
    "member",
    [b"", b"PID|1", ADMIT + RESULT, ADMIT + b"\x1c\r\x0b" + RESULT,
     ADMIT + b"BTS|1\r", ADMIT.replace(b"\rPID", b"\nFHS"), ADMIT.replace(b"M1", b""),
     ADMIT.replace(b"^~\\&", b"^^\\&"), batch(bts=b"BTS|7\r")],
)  # fmt: skip
def test_a_member_that_is_no_message_is_refused_by_its_place(member: bytes) -> None:
    with pytest.raises(Refused) as refused:
        written(ADMIT, member)
    assert (refused.value.code, refused.value.pointer) == ("interchange.unfit", "/members/1")
    assert refused.value.detail.startswith("member 2: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [("field", "^"), ("field", "||"), ("escape", "a"), ("utc_offset_minutes", "x"), ("utc_offset_minutes", "1440")],
)
def test_a_value_that_does_not_fit_is_refused(name: str, text: str) -> None:
    with pytest.raises(Refused) as refused:
        written(ADMIT, **{name: text})
    assert refused.value.pointer.startswith("/envelope/")


def test_a_separator_in_a_name_is_escaped() -> None:
    assert b"|a\\F\\b\\X0D\\|" in b"".join(assemble([], envelope(sender="a|b\r"), Counting()))


@pytest.mark.req("Z2")
def test_a_million_line_ends_cost_no_more_than_a_million_bytes() -> None:
    """A time that grows with the square of the run would take hours."""
    found = written(RESULT.replace(b"5 ", b"5" + b"\n" * 1_000_000 + b"x"))
    assert found.count(b"\\X0A\\") == 1_000_000
