"""EDIFACT taken apart: where messages begin and end, and what is wrong."""

from __future__ import annotations

import pytest

from postroad.core.interchange.edifact import examine, split, split_stream
from postroad.core.interchange.model import OnEnvelopeError
from postroad.errors import Refused
from tests.samples.edifact import INVOICE, ORDER, SECOND, UNB, interchange


def codes(data: bytes) -> list[str]:
    return [one.code for one in examine(data).faults]


@pytest.mark.req("B10")
def test_messages_are_views_with_their_kind_reference_and_version() -> None:
    data = interchange([ORDER, INVOICE])
    found = split(data)
    assert [bytes(one.data) for one in found.members] == [ORDER, INVOICE]
    assert all(isinstance(one.data, memoryview) and one.data.obj is data for one in found.members)
    assert [(one.kind, one.reference) for one in found.members] == [("ORDERS", "1"), ("INVOIC", "3")]
    assert found.members[0].facts == {"version": "D", "release": "96A", "agency": "UN", "association": "EAN008"}
    assert (found.reference, found.sender, found.receiver) == ("7", "MYBIZ", "ACME")
    assert (found.facts["syntax"], found.facts["version"], found.facts["sender_qualifier"]) == ("UNOC", "3", "14")


def test_a_password_is_not_among_the_facts() -> None:
    found = split(interchange(unb=UNB.replace(b"+7'", b"+7+SECRET'")))
    assert "SECRET" not in repr(found.facts)


@pytest.mark.parametrize(
    ("text", "segments"),
    [(b"a?'b", 4), (b"a??'FTX+b", 5), (b"a???'b", 4), (b"?'UNT+1+1?'", 4), (b"????'FTX+?'", 5)],
)
def test_a_terminator_counts_unless_an_odd_run_of_releases_stands_before_it(text: bytes, segments: int) -> None:
    message = b"UNH+1+ORDERS:D:96A:UN'BGM+220'FTX+" + text + b"'UNT+%d+1'" % segments
    [member] = split(interchange([message])).members
    assert bytes(member.data) == message
    assert codes(interchange([message.replace(b"UNT+%d+1'" % segments, b"UNT+%d+1'" % (segments + 1))])) == [
        "edifact.count"
    ]


def test_a_reference_may_have_a_released_delimiter() -> None:
    message = b"UNH+A?+1+ORDERS:D:96A:UN'BGM+220'UNT+3+A?+1'"
    [member] = split(interchange([message])).members
    assert (member.reference, member.kind) == ("A+1", "ORDERS")


@pytest.mark.parametrize("una", [b"UNA^*.! $", b"UNA:+,? '", b"UNA:+.?*'"])
def test_una_says_the_delimiters(una: bytes) -> None:
    old, new = b":+?'", una[3:5] + una[6:7] + una[8:9]
    data = una + b"\r\n" + interchange([SECOND]).translate(bytes.maketrans(old, new))
    found = split(data)
    assert [one.reference for one in found.members] == ["2"]
    assert found.facts["decimal"] == chr(una[5])


def test_separators_of_level_b_need_no_una() -> None:
    data = interchange([SECOND]).translate(bytes.maketrans(b":+'", b"\x1f\x1d\x1c"))
    assert split(data).members[0].kind == "ORDERS"


def test_groups_are_found_and_counted() -> None:
    group = b"UNG+ORDERS+A:14+B:14+261116:1200+12+UN+D:96A'"
    data = UNB + group + ORDER + SECOND + b"UNE+2+12'" + group.replace(b"+12+", b"+13+") + ORDER + b"UNE+1+13'UNZ+2+7'"
    found = split(data)
    assert [(one.kind, one.reference, one.facts["sender"]) for one in found.groups] == [
        ("ORDERS", "12", "A"),
        ("ORDERS", "13", "A"),
    ]
    assert [one.group for one in found.members] == [0, 0, 1]
    assert codes(data.replace(b"UNE+2+12", b"UNE+3+12")) == ["edifact.count"]
    assert codes(data.replace(b"UNE+2+12", b"UNE+2+14")) == ["edifact.control"]
    assert codes(data.replace(b"UNZ+2", b"UNZ+3")) == ["edifact.count"]
    assert codes(data.replace(b"UNE+1+13'UNZ+2", b"UNE+1+13'" + INVOICE + b"UNZ+2")) == ["edifact.mixed"]


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("data", "code", "repaired", "passed"),
    [
        (interchange([ORDER.replace(b"UNT+4", b"UNT+5")]), "edifact.count", True, True),
        (interchange([ORDER.replace(b"UNT+4+1", b"UNT+4+9")]), "edifact.control", True, True),
        (interchange(unz=b"UNZ+3+7'"), "edifact.count", True, True),
        (interchange(unz=b"UNZ+2+8'"), "edifact.control", True, True),
        (interchange([ORDER, ORDER]), "edifact.duplicate", False, True),
        (interchange([ORDER, b"BGM+1'", SECOND], unz=b"UNZ+2+7'"), "edifact.stray", False, True),
        (interchange() + b"hello", "edifact.trailing", False, True),
        (interchange() + interchange(), "edifact.trailing", False, False),
        (interchange([SECOND.replace(b"4712", b"\xff")], unb=UNB.replace(b"UNOC", b"UNOY")), "edifact.charset", False, True),
        (interchange([SECOND.replace(b"4712", b"\x1b")], unb=UNB.replace(b"UNOC", b"UNOX")), "edifact.charset", False, False),
        (UNB + ORDER[:-8] + SECOND + b"UNZ+2+7'", "edifact.structure", False, False),
        (interchange([b"UNO+1+x'", SECOND]), "edifact.structure", False, False),
        (interchange()[:-1], "edifact.truncated", False, False),
        (UNB + ORDER, "edifact.truncated", False, False),
        (b"UNA++.? '" + interchange(), "edifact.delimiters", False, False),
        (b"UNA:+.?\xfc'" + interchange(), "edifact.delimiters", False, False),
        (b"UNA:+.?x'" + interchange(), "edifact.delimiters", False, False),
        (interchange(unb=UNB.replace(b"261116:1200", b"261116+1200")), "edifact.unb", True, True),
        (interchange([SECOND]).translate(bytes.maketrans(b":+'", b'="!')), "edifact.una", True, True),
    ],
)  # fmt: skip
def test_each_fault_has_its_name_and_its_fate(data: bytes, code: str, repaired: bool, passed: bool) -> None:
    assert codes(data) == [code]
    for on_error, taken in (
        (OnEnvelopeError.REFUSE, False),
        (OnEnvelopeError.REPAIR, repaired),
        (OnEnvelopeError.PASS, passed),
    ):
        if taken:
            assert split(data, on_error).members
        else:
            with pytest.raises(Refused, match=code):
                split(data, on_error)


def test_a_repair_changes_the_trailer_only() -> None:
    [member] = split(interchange([ORDER.replace(b"UNT+4+1", b"UNT+9+1")]), OnEnvelopeError.REPAIR).members
    assert bytes(member.data) == ORDER


def test_what_proves_nothing_is_not_repaired() -> None:
    with pytest.raises(Refused):
        split(interchange([ORDER.replace(b"UNT+4+1", b"UNT+9+9")]), OnEnvelopeError.REPAIR)


def test_several_interchanges_line_ends_marks_and_utf_16() -> None:
    data = b"\xef\xbb\xbf" + (interchange().replace(b"'UN", b"'\r\nUN") + b"\r\n") * 2 + b"\x1a"
    assert [len(one.members) for one in split_stream(data)] == [2, 2]
    assert len(split(interchange().decode().encode("utf-16")).members) == 2


def test_there_is_a_limit_to_members() -> None:
    with pytest.raises(Refused) as refused:
        split(interchange(), most_members=1)
    assert refused.value.code == "wire.too-complex"


@pytest.mark.parametrize("data", [b"", b"UNB", b"UNA:+.? '", b"UIB+UNOA:4'", b"ISA*00*", b"UN\xff"])
def test_what_has_no_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as refused:
        examine(data)
    assert refused.value.code == "interchange.malformed"


@pytest.mark.req("Z2")
@pytest.mark.parametrize("run", [b"\n", b"?", b"'", b"''\n", b"?'", b"'UN", b"+:"])
def test_a_million_bytes_of_anything_cost_no_more_than_a_million_bytes(run: bytes) -> None:
    """A time that grows with the square of the run would take hours."""
    message = ORDER.replace(b"4711", b"x" + run * (1_000_000 // len(run)) + b"y")
    for data in (interchange([message]), b"UNA:+.? \n" + interchange([message]).replace(b"'", b"\n")):
        examine(data)


def test_repair_keeps_a_right_trailer_where_a_line_break_stands_in_the_header() -> None:
    order = ORDER.replace(b"UNH+1+", b"UNH+17+").replace(b"UNT+4+1'", b"UNT+4+17'")
    [member] = split(interchange([order.replace(b"UNH+17+", b"UNH+1\r\n7+")]), OnEnvelopeError.REPAIR).members
    assert bytes(member.data) == order
    assert member.reference == "17"
