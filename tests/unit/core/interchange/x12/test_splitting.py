"""Interchanges taken apart: what is found, what is wrong, and what becomes of it by each policy."""

from __future__ import annotations

import time

import pytest

from postroad.core.interchange.model import OnEnvelopeError, Split
from postroad.core.interchange.x12 import examine, examine_stream, split, split_stream
from postroad.errors import Refused
from tests.samples.x12 import GS, ORDER, SECOND, header, interchange

WRONG_COUNT = ORDER.replace(b"SE*4*", b"SE*9*")
WRONG_NUMBER = ORDER.replace(b"SE*4*0001", b"SE*4*0009")
BOTH_WRONG = ORDER.replace(b"SE*4*0001", b"SE*9*0009")


def verdicts(data: bytes) -> dict[str, bool]:
    """By policy, whether it is taken."""
    return {on_error.value: taken(data, on_error) is not None for on_error in OnEnvelopeError}


def taken(data: bytes, on_error: OnEnvelopeError) -> Split | None:
    try:
        return split(data, on_error)
    except Refused as refused:
        if refused.code != "interchange.malformed":
            raise
        return None


@pytest.mark.req("B10")
def test_members_groups_and_parties_are_found() -> None:
    data = interchange()
    found = split(data)
    assert (found.standard, found.reference, found.sender, found.receiver) == ("x12", "000000007", "MYBIZ", "ACME")
    assert [(one.kind, one.reference, one.group) for one in found.members] == [("850", "0001", 0), ("850", "0002", 0)]
    assert [bytes(one.data) for one in found.members] == [ORDER, SECOND]
    assert [(one.kind, one.reference, one.facts["version"]) for one in found.groups] == [("PO", "12", "004010")]
    assert found.facts["receiver_qualifier"] == "01"


def test_members_are_views_into_what_came() -> None:
    data = interchange()
    assert all(isinstance(one.data, memoryview) and one.data.obj is data for one in split(data).members)


def test_a_set_may_say_its_own_version() -> None:
    order = ORDER.replace(b"ST*850*0001~", b"ST*850*0001*005010X222A1~")
    found = split(interchange([order, SECOND]))
    assert [one.facts["version"] for one in found.members] == ["005010X222A1", "004010"]


def test_secrets_in_isa_are_not_told() -> None:
    data = interchange(isa=header().replace(b"*00*          *", b"*01*PASSWORD42*"))
    assert "PASSWORD42" not in repr(split(data).facts)


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("data", "code", "repairable"),
    [
        (interchange([WRONG_COUNT]), "x12.count", True),
        (interchange([WRONG_NUMBER]), "x12.control", True),
        (interchange(ge=b"GE*9*12~"), "x12.count", True),
        (interchange(ge=b"GE*2*13~"), "x12.control", True),
        (interchange(iea=b"IEA*2*000000007~"), "x12.count", True),
        (interchange(iea=b"IEA*1*000000008~"), "x12.control", True),
        (interchange(iea=b"IEA*1*000000007"), "x12.unterminated", True),
        (interchange([BOTH_WRONG]), "x12.count", False),
        (interchange(ge=b"GE*9*13~"), "x12.count", False),
        (interchange([ORDER, ORDER]), "x12.duplicate", False),
        (interchange([ORDER, b"XYZ*1~", SECOND], ge=b"GE*2*12~"), "x12.stray", False),
        (interchange(gs=b"XYZ*1~" + GS), "x12.stray", False),
        (interchange() + b"and so on", "x12.trailing", False),
    ],
)
def test_dirt_is_told_and_repaired_only_where_nothing_is_guessed(data: bytes, code: str, repairable: bool) -> None:
    faults = examine(data).faults
    assert faults[0].code == code
    assert not any(fault.fatal for fault in faults)
    assert verdicts(data) == {"refuse": False, "repair": repairable, "pass": True}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (interchange([ORDER[:-10]]), "x12.structure"),  # SE is lost
        (interchange([ORDER[:-10], SECOND]), "x12.structure"),
        (header() + GS + ORDER + b"IEA*1*000000007~", "x12.structure"),  # GE is lost
        (header() + ORDER + b"IEA*1*000000007~", "x12.structure"),  # GS is lost
        (interchange(iea=b"TA1*1~"), "x12.truncated"),
        (interchange()[:-30], "x12.truncated"),
        (interchange()[:150], "x12.truncated"),
        (interchange() + interchange(), "x12.trailing"),  # one of them would be lost
        (interchange([ORDER.replace(b"PO1*1*2", b"BIN*999*2")]), "x12.binary"),
        (interchange([ORDER.replace(b"PO1*1*2", b"BIN*9a*2")]), "x12.binary"),
    ],
)
def test_where_members_are_not_certain_nothing_passes(data: bytes, code: str) -> None:
    assert [fault.code for fault in examine(data).faults if fault.fatal] == [code]
    assert verdicts(data) == {"refuse": False, "repair": False, "pass": False}


def test_a_repaired_member_says_what_is_so() -> None:
    for wrong in (WRONG_COUNT, WRONG_NUMBER):
        found = split(interchange([wrong, SECOND]), OnEnvelopeError.REPAIR)
        assert [bytes(one.data) for one in found.members] == [ORDER, SECOND]
        assert [fault.repaired for fault in found.faults] == [True]
        assert [bytes(one.data) for one in split(interchange([wrong]), OnEnvelopeError.PASS).members] == [wrong]


def test_a_fault_names_its_member_and_its_place() -> None:
    data = interchange([ORDER, SECOND.replace(b"SE*3", b"SE*4")])
    [fault] = examine(data).faults
    assert (fault.group, fault.member, data[fault.at : fault.at + 4]) == (0, 1, b"SE*4")
    assert fault.text == "SE specifies '4' segments, but the set has 3"


def test_a_refusal_names_the_faults_and_not_endlessly_many() -> None:
    many = [WRONG_COUNT.replace(b"0001", b"%04d" % number) for number in range(50)]
    with pytest.raises(Refused) as refused:
        split(interchange(many))
    assert "byte 209: SE specifies '9' segments, but the set has 4 (x12.count)" in refused.value.detail
    assert refused.value.detail.endswith("and 40 more errors")


@pytest.mark.parametrize("binary", [b"BIN*6*~SE*1*~", b"BDS*ASC*9*\x00~ISA*00*~", b"BIN*0*~"])
def test_binary_segments_are_as_long_as_they_say(binary: bytes) -> None:
    order = ORDER.replace(b"PO1*1*2*EA*13.5**VP*A1~", binary)
    found = split(interchange([order, SECOND]))
    assert [bytes(one.data) for one in found.members] == [order, SECOND]


def test_what_looks_like_a_terminator_in_binary_content_ends_no_segment() -> None:
    binary = ORDER.replace(b"PO1*1*2*EA*13.5**VP*A1~", b"BIN*6*~SE*1*~")
    wrong = binary.replace(b"SE*4*0001", b"SE*5*0001")
    assert [fault.code for fault in examine(interchange([binary, wrong.replace(b"0001", b"0002")])).faults] == [
        "x12.count"
    ]


THIRD = b"ST*850*0003*004010X1~BEG*00*SA*4713**20261116~SE*3*0003~"
CHANGE = b"ST*860*0004~BCH*01*SA*4713~IT*1~SSA*2~SE*5*0004~"


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    "unlike",
    [
        pytest.param(THIRD, id="says its version"),
        pytest.param(CHANGE, id="another kind, and tags that begin as control segments do"),
        pytest.param(SECOND.replace(b"SE*3*0002~", b"SE*3*0002*~").replace(b"0002", b"0005"), id="longer SE"),
        pytest.param(SECOND.replace(b"~BEG", b"~\r\nBEG").replace(b"0002", b"0006"), id="a line end"),
        pytest.param(SECOND.replace(b"~SE", b"~ SE").replace(b"0002", b"0007"), id="a blank before SE"),
        pytest.param(SECOND.replace(b"SE*3", b"SE*003").replace(b"0002", b"0008"), id="leading zeros"),
    ],
)
def test_a_set_that_is_not_as_the_others_is_found_among_them(unlike: bytes) -> None:
    sets = [ORDER, unlike, SECOND]
    for line_end in (b"", b"\n"):
        found = split(interchange(sets).replace(b"~", b"~" + line_end))
        assert [bytes(one.data) for one in found.members] == [
            one.replace(b"~", b"~" + line_end).removesuffix(line_end) for one in sets
        ]
        assert [one.reference for one in found.members] == ["0001", unlike[7:11].decode(), "0002"]
        assert [one.kind for one in found.members] == ["850", unlike[3:6].decode(), "850"]
        assert [one.facts.get("implementation") for one in found.members][::2] == [None, None]


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (SECOND.replace(b"SE*3", b"SE*4"), "x12.count"),
        (SECOND.replace(b"SE*3*0002", b"SE*3*0001"), "x12.control"),
        (ORDER, "x12.duplicate"),
    ],
)
def test_a_wrong_set_among_right_ones_is_named(wrong: bytes, code: str) -> None:
    last = SECOND.replace(b"0002", b"0003")
    found = examine(interchange([ORDER, wrong, last]))
    assert [(fault.code, fault.member) for fault in found.faults] == [(code, 1)]
    assert [bytes(one.data) for one in found.members] == [ORDER, wrong, last]


def test_blank_segments_are_none() -> None:
    order = ORDER.replace(b"~PO1", b"~~\r\n~PO1")
    assert split(interchange([order])).faults == ()


def test_numbers_may_have_leading_zeros() -> None:
    assert split(interchange([ORDER.replace(b"SE*4", b"SE*0004")], ge=b"GE*000001*0012~")).faults == ()


def test_services_of_the_interchange_may_stand_before_its_groups() -> None:
    found = split(interchange(gs=b"ISB*1~TA1*000000001*261115*1200*A*000~TA1*000000002*261115*1200*R*021~" + GS))
    assert found.facts["ta1"].splitlines() == ["000000001*261115*1200*A*000", "000000002*261115*1200*R*021"]


@pytest.mark.req("B10")
def test_several_interchanges_are_taken_as_a_stream() -> None:
    second = interchange(isa=header().replace(b"000000007", b"000000008"), iea=b"IEA*1*000000008~")
    found = list(split_stream(interchange() + b"\r\n" + second))
    assert [one.reference for one in found] == ["000000007", "000000008"]
    assert [len(one.members) for one in found] == [2, 2]


def test_interchanges_before_a_bad_one_have_been_given() -> None:
    stream = split_stream(interchange() + interchange([WRONG_COUNT]))
    assert next(stream).reference == "000000007"
    with pytest.raises(Refused):
        next(stream)
    assert [len(one.faults) for one in examine_stream(interchange() + interchange([WRONG_COUNT]))] == [0, 1]


def test_members_are_counted() -> None:
    with pytest.raises(Refused) as refused:
        split(interchange(), most_members=1)
    assert refused.value.code == "wire.too-complex"


@pytest.mark.req("B10", "Z2")
@pytest.mark.parametrize("terminator", [b"~", b"\n", "…".encode()])
@pytest.mark.parametrize(
    "piece",
    [b"~", b"~ ", b"\n", b" ", b"~ST*", b"~ST*850*1", b"~ST*850*1~SE*9*1", b"~BIN*1*x", b"~BDS*a", b"~GS*PO", b"*"],
)
def test_hostile_bytes_cost_no_more_than_honest_ones(piece: bytes, terminator: bytes) -> None:
    """A megabyte of each takes half a second at most; what is quadratic would take hours."""
    data = (header() + GS + ORDER + piece * (1_000_000 // len(piece))).replace(b"~", terminator)
    began = time.process_time()
    for whole in (data, data + b"GE*1*12~IEA*1*000000007~".replace(b"~", terminator)):
        examine(whole)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "wrapped",
    [ORDER.replace(b"ST*850*0001", b"ST*850*00\r\n01"), ORDER.replace(b"ST*850*0001", b"ST*850*0001\n")],
)
def test_repair_keeps_a_right_trailer_where_a_line_break_stands_in_the_header(wrapped: bytes) -> None:
    [member] = split(interchange([wrapped]), OnEnvelopeError.REPAIR).members
    assert bytes(member.data) == ORDER
    assert member.reference == "0001"
