"""Which characters separate what, whatever the ISA segment looks like."""

from __future__ import annotations

import codecs

import pytest

from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.interchange.x12 import examine, split
from postroad.core.interchange.x12.delimiters import X12Delimiters, delimiters_of, read_header
from postroad.errors import Refused
from tests.samples.x12 import ORDER, header, interchange


def in_other(data: bytes, element: bytes, component: bytes, terminator: bytes) -> bytes:
    return data.replace(b":", component).replace(b"~", b"\x00").replace(b"*", element).replace(b"\x00", terminator)


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("element", "component", "terminator"),
    [
        (b"*", b":", b"~"),
        (b"|", b">", b"\n"),
        (b"\x1d", b"\x1f", b"\x1c"),
        (b"~", b"^", b"'"),
        (b"+", b"<", b"\r"),
        (b"*", "¦".encode(), b"!"),
        (b"*", b":", "…".encode()),
        (b"*", b"\xa6", b"\x85"),  # Latin-1
    ],
)
def test_delimiters_are_found_in_isa(element: bytes, component: bytes, terminator: bytes) -> None:
    data = in_other(interchange(), element, component, terminator)
    found = split(data, OnEnvelopeError.REFUSE)
    assert delimiters_of(found.facts) == X12Delimiters(element=element, component=component, terminator=terminator)
    assert found.members[0].data == in_other(ORDER, element, component, terminator)


def test_isa_is_walked_and_its_length_not_trusted() -> None:
    short = interchange().replace(b"*MYBIZ          *", b"*MYBIZ*").replace(b"*          *", b"* *")
    found = split(short, OnEnvelopeError.PASS)
    assert (found.sender, len(found.members)) == ("MYBIZ", 2)
    assert [(fault.code, fault.text) for fault in found.faults] == [
        ("x12.isa", "not as long as the standard requires: ISA02, ISA04, ISA06")
    ]
    with pytest.raises(Refused) as refused:
        split(short)
    assert refused.value.code == "interchange.malformed"


@pytest.mark.parametrize(
    ("standard", "version", "expected"),
    [
        (b"U", b"00401", b""),
        (b"^", b"00401", b""),
        (b"^", b"00402", b"^"),
        (b"U", b"00501", b""),
        (b" ", b"00501", b""),
    ],
)
def test_repetitions_are_separated_since_00402(standard: bytes, version: bytes, expected: bytes) -> None:
    assert read_header(header(standard, version), 0).delimiters.repetition == expected


@pytest.mark.parametrize(
    "encoded",
    [
        codecs.BOM_UTF8 + interchange(),
        b"\r\n  " + interchange(),
        interchange().decode().encode("utf-16"),
        interchange().decode().encode("utf-16-le"),
        interchange().decode().encode("utf-16-be"),
        interchange() + b"\r\n\x1a",
        interchange().replace(b"~", b"~\r\n"),
        interchange().replace(b"~", b"~\n    "),
    ],
)
def test_what_stands_around_segments_is_passed_over(encoded: bytes) -> None:
    found = split(encoded)
    assert [member.reference for member in found.members] == ["0001", "0002"]
    assert found.faults == ()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "begins with ISA"),
        (b"UNB+UNOA:1+A+B", "begins with ISA"),
        (b"ISAX00X", "begins with ISA"),
        (b"ISA*00*          *00*", "element 5 is missing"),
        (header()[:-1], "ends in its first segment"),
        ("ISA".encode("utf-16") + b"\x00", "UTF-16"),
    ],
)
def test_what_has_no_envelope_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(Refused, match=text):
        examine(data)


@pytest.mark.parametrize(
    "isa",
    [
        header().replace(b":~", b"*~"),
        header().replace(b":~", b"::"),
        header().replace(b":~", b":X"),
        header().replace(b":~", b":Z"),
        header().replace(b"*", b"\xe2").replace(b":~", ":…".encode()),
        header().replace(b"*", b"\xa6").replace(b":~", ":…".encode()),
        header().replace(b"*1200*", b"*12\n0*").replace(b":~", b":\n"),
    ],
)
def test_delimiters_that_contradict_each_other_are_let_pass_by_nobody(isa: bytes) -> None:
    found = examine(interchange(isa=isa))
    assert [fault.code for fault in found.faults if fault.fatal] == ["x12.delimiters"]
    with pytest.raises(Refused, match=r"x12\.delimiters"):
        split(interchange(isa=isa), OnEnvelopeError.PASS)
