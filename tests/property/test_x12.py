"""X12, whatever the sets: what is put together is found again, what is wrong is refused, and nothing else happens."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroad.core.interchange.model import OnEnvelopeError, Placed, Split
from postroad.core.interchange.x12 import (
    PartnerStatus,
    acknowledge,
    answering,
    assemble,
    examine,
    read_answers,
    split,
    split_stream,
)
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.x12 import NOON, ORDER, Counting, envelope, header, interchange

KINDS = ("850", "810", "856", "997", "835")
TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="*:~^|>'\n\r", exclude_categories=("Cc", "Cs")), max_size=12
)
TAGS = st.sampled_from(("BEG", "N1", "REF", "SET", "STC", "GEX", "IS", "S", "BINX"))
SEGMENTS = st.builds(lambda tag, elements: "*".join([tag, *elements]), TAGS, st.lists(TEXT, max_size=4))
BINARIES = st.binary(max_size=40).map(lambda raw: b"BIN*%d*%b" % (len(raw), raw))
NUMBERS = st.integers(1, 30).map("{:04d}".format)
MARKS = st.sampled_from(
    [{}, {"element": "|"}, {"terminator": "'"}, {"terminator": "\n"}, {"component": ">", "line_end": "\r\n"}]
)
NUMBERINGS = st.sampled_from(["own", "group", "drawn"])


def written(kind: str, number: str, segments: list[bytes]) -> bytes:
    every = [f"ST*{kind}*{number}".encode(), *segments, f"SE*{len(segments) + 2}*{number}".encode()]
    return b"".join(one + b"~" for one in every)


def sets(segments: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(written, st.sampled_from(KINDS), NUMBERS, st.lists(segments, max_size=5))


PLAIN = sets(SEGMENTS.map(str.encode))
ANY = sets(SEGMENTS.map(str.encode) | BINARIES)


@pytest.mark.req("B6", "B10")
@given(members=st.lists(ANY, max_size=12))
@example(members=[b"ST*850*0001~BIN*18*~SE*3*0001~IEA*1*1~~SE*3*0001~"])
@settings(max_examples=120)
def test_what_is_put_together_is_found_again(members: list[bytes]) -> None:
    found = split(b"".join(assemble(members, envelope(), Counting())))
    assert [bytes(one.data) for one in found.members] == members
    assert found.faults == ()


@pytest.mark.req("B6")
@given(members=st.lists(PLAIN, max_size=12), facts=MARKS, numbering=NUMBERINGS)
@settings(max_examples=120)
def test_delimiters_and_numbers_change_and_nothing_else(
    members: list[bytes], facts: dict[str, str], numbering: str
) -> None:
    """Counts and numbers are right, no number occurs twice, and what is read back in our delimiters is what was given."""
    numbers, places = Counting(), list[Placed]()
    asked = envelope({**facts, "set_numbers": numbering})
    data = b"".join(assemble(members, asked, numbers, places.append))
    found = list(split_stream(data))
    again = b"".join(assemble([data], envelope({"set_numbers": "own"}), Counting()))
    assert bodies(split_stream(again)) == [inner(member) for member in members]
    groups = [(one.reference, two.reference) for one in found for two in one.groups]
    assert len(set(groups)) == len(groups) == numbers.drawn["group"]
    sent = [(place.group, place.kind, place.reference) for place in places]
    assert len(set(sent)) == len(sent) == len(members)


def bodies(found: Iterable[Split]) -> list[bytes]:
    return [inner(bytes(member.data)) for one in found for member in one.members]


def inner(member: bytes) -> bytes:
    """A set without ST and SE, its kind aside."""
    first, *body, _, _ = member.split(b"~")
    return b"~".join([first[:6], *(one.strip(b"\r\n") for one in body)])


@pytest.mark.req("B10")
@given(members=st.lists(PLAIN, min_size=1, max_size=8))
@settings(max_examples=60)
def test_every_set_that_was_sent_is_answered_once(members: list[bytes]) -> None:
    places: list[Placed] = []
    data = b"".join(assemble(members, envelope(), Counting(), places.append))
    found = split(data)
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting()))
    asked = [place for place, one in enumerate(places) if one.kind != "997"]
    if not asked:
        assert answer == b""
        return
    assert verdicts(became_of(places, said_in("x12", answer))) == [(place, PartnerStatus.ACCEPTED) for place in asked]


def only_refused(data: bytes) -> None:
    """Under every policy; what passes can be answered and put together again, or is refused for a reason."""
    for on_error in OnEnvelopeError:
        try:
            for found in split_stream(data, on_error):
                b"".join(acknowledge(found, answering(found, NOON), Counting()))
                read_answers(found)
                b"".join(assemble([one.data for one in found.members], envelope(), Counting()))
        except Refused as refused:
            assert refused.code in ("interchange.malformed", "interchange.unfit"), refused  # noqa: PT017 - which one is open
    try:
        examined = examine(data)
        b"".join(acknowledge(examined, answering(examined, NOON), Counting(), taken=False))
        b"".join(assemble([data], envelope(), Counting()))
    except Refused as refused:
        assert refused.code in ("interchange.malformed", "interchange.unfit"), refused  # noqa: PT017


CONTROLS = (b"ISA", b"IEA*1*000000007", b"GS", b"GE*1*12", b"ST*850*1", b"SE*2*1", b"BIN*3*a~b", b"BDS*A*2*")
ANSWERS = (b"TA1*1*2*3*A*000", b"AK1*PO*1", b"AK9*A*1*1*1")
MARKED = (b"*", b"~", b":", b"\n", b"\r\n", b"", b" ", b"\xff\xfe", b"\xe2\x80\xa6", b"9" * 20)
PIECES = st.sampled_from(CONTROLS + ANSWERS + MARKED)


@pytest.mark.req("B10", "Z2")
@given(data=st.binary(max_size=300) | st.lists(PIECES, max_size=30).map(b"".join))
@settings(max_examples=120)
def test_random_bytes_are_refused(data: bytes) -> None:
    only_refused(data)
    only_refused(header() + data)
    only_refused(interchange([ORDER.replace(b"PO1", data)]))


@pytest.mark.req("B10", "Z2")
@given(data=st.data())
@settings(max_examples=120)
def test_changed_interchanges_are_refused_or_whole(data: st.DataObject) -> None:
    members = data.draw(st.lists(ANY, min_size=1, max_size=3))
    whole = b"".join(assemble(members, envelope(data.draw(MARKS)), Counting()))
    at = data.draw(st.integers(0, len(whole)))
    kept = data.draw(st.integers(at, len(whole)))
    only_refused(whole[:at] + data.draw(PIECES | st.binary(max_size=3)) + whole[kept:])


@pytest.mark.req("B10")
@given(members=st.lists(ANY, min_size=1, max_size=3))
@settings(max_examples=10)
def test_a_cut_interchange_is_never_a_shorter_one(members: list[bytes]) -> None:
    """Its last segment may be cut where envelope errors are let pass: then every member is there already."""
    whole = b"".join(assemble(members, envelope(), Counting()))
    for end in range(len(whole) - 1):
        with pytest.raises(Refused):
            split(whole[:end])
        try:
            assert len(split(whole[:end], OnEnvelopeError.PASS).members) == len(members)
        except Refused:
            continue
