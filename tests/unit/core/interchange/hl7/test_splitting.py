"""HL7 taken apart: messages, batches, files, and what is wrong."""

from __future__ import annotations

import pytest

from postroad.core.interchange.hl7 import examine, split
from postroad.core.interchange.model import OnEnvelopeError
from postroad.errors import Refused
from tests.samples.hl7 import ADMIT, RESULT, batch


def codes(data: bytes) -> list[str]:
    return [one.code for one in examine(data).faults]


@pytest.mark.req("B10")
def test_a_file_is_its_batches_and_their_messages_as_views() -> None:
    data = batch()
    found = split(data)
    assert [bytes(one.data) for one in found.members] == [ADMIT, RESULT]
    assert all(isinstance(one.data, memoryview) and one.data.obj is data for one in found.members)
    assert [(one.kind, one.reference) for one in found.members] == [("ADT^A01^ADT_A01", "M1"), ("ORU^R01", "M2")]
    assert (found.reference, found.sender, found.receiver, found.facts["batch"]) == ("F1", "LAB", "EHR", "1")
    assert [(one.kind, one.reference) for one in found.groups] == [("batch", "B1")]
    assert found.members[0].facts["version"] == "2.5"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_is_read(end: bytes) -> None:
    found = split(batch().replace(b"\r", end))
    assert [one.reference for one in found.members] == ["M1", "M2"]


def test_messages_may_stand_alone_or_in_the_frame_of_their_transport() -> None:
    assert [one.reference for one in split(ADMIT + RESULT).members] == ["M1", "M2"]
    [member] = split(b"\x0b" + ADMIT + b"\x1c\r").members
    assert bytes(member.data) == ADMIT.rstrip(b"\r")
    assert split(b"\xef\xbb\xbf" + ADMIT).reference == "M1"


@pytest.mark.req("B10")
@pytest.mark.parametrize("between", [b"\x1c\r\x0b", b"\x1c\x0b", b"\x1c\r\n\x0b", b"\x0b"])
def test_each_message_may_have_a_frame_of_its_own(between: bytes) -> None:
    """A capture of what went over a connection."""
    found = split(b"\x0b" + ADMIT + between + RESULT + between + ADMIT.replace(b"M1", b"M3") + b"\x1c\r")
    assert [bytes(one.data) for one in found.members[:2]] == [ADMIT, RESULT]
    assert [one.reference for one in found.members] == ["M1", "M2", "M3"]


def test_a_count_may_be_left_out() -> None:
    assert codes(batch(bts=b"BTS|\r", fts=b"FTS\r")) == []


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("data", "code", "passed"),
    [
        (batch(bts=b"BTS|25\r"), "hl7.count", True),
        (batch(fts=b"FTS|2\r"), "hl7.count", True),
        (batch([ADMIT, ADMIT]), "hl7.duplicate", True),
        (batch([ADMIT.replace(b"M1", b"")]), "hl7.control", True),
        (batch().replace(b"BTS", b"ZZZ"), "hl7.structure", False),
        (batch(fts=b""), "hl7.truncated", False),
        (batch() + batch(), "hl7.structure", False),
        (batch(fts=b"NTE|1\rFTS|1\r"), "hl7.stray", True),
        (batch(bts=b"BTS|2\r" + ADMIT.replace(b"M1", b"M3")), "hl7.stray", True),
        (ADMIT.replace(b"^~\\&", b"^~^&"), "hl7.separators", False),
        (ADMIT.replace(b"^~\\&", b"^~\\\xfc"), "hl7.separators", False),
    ],
)
def test_each_fault_has_its_name_and_its_fate(data: bytes, code: str, passed: bool) -> None:
    assert codes(data)[0] == code
    for on_error in (OnEnvelopeError.REFUSE, OnEnvelopeError.REPAIR):
        with pytest.raises(Refused, match=code):
            split(data, on_error)
    if passed:
        assert split(data, OnEnvelopeError.PASS).members
    else:
        with pytest.raises(Refused, match=code):
            split(data, OnEnvelopeError.PASS)


def test_there_is_a_limit_to_members() -> None:
    with pytest.raises(Refused) as refused:
        split(batch(), most_members=1)
    assert refused.value.code == "wire.too-complex"


@pytest.mark.parametrize("data", [b"", b"MSH", b"BTS|1", b"PID|1", b"MSHX", b"MSH|"])
def test_what_is_no_hl7_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as refused:
        examine(data)
    assert refused.value.code == "interchange.malformed"
