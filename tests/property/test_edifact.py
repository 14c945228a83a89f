"""EDIFACT, whatever the messages: what is put together is found again, what is wrong is refused, and nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroad.core.interchange.edifact import (
    PartnerStatus,
    acknowledge,
    answering,
    assemble,
    examine,
    read_answers,
    split,
    split_stream,
)
from postroad.core.interchange.edifact.delimiters import USUAL, delimiters_of
from postroad.core.interchange.edifact.segments import elements_of, parts_of, release_text
from postroad.core.interchange.model import OnEnvelopeError, Placed
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.edifact import NOON, ORDER, UNB, Counting, envelope, interchange

TEXT = st.text(st.sampled_from("aZ09 ?'+:*~!.,\r\nUNTZH\u00fc"), max_size=14)
TAGS = st.sampled_from(("BGM", "FTX", "UNS", "UNX", "UN", "U"))
SEGMENTS = st.tuples(TAGS, st.lists(st.lists(TEXT, min_size=1, max_size=3), max_size=3))
NAMES = st.text(st.sampled_from("A1?+:'"), min_size=1, max_size=5)
KINDS = st.sampled_from(("ORDERS", "INVOIC", "CONTRX"))
MARKS = st.sampled_from(
    [
        {},
        {"element": "*"},
        {"terminator": "~", "release": "!"},
        {"component": ".", "decimal": ","},
        {"line_end": "\r\n"},
    ]
)
NUMBERINGS = st.sampled_from(["own", "interchange", "drawn"])


def written(kind: str, name: str, segments: list[tuple[str, list[list[str]]]]) -> bytes:
    """In the standard's own delimiters, everything released that has to be."""
    reference = release_text(name.encode(), USUAL)
    body = [
        b"+".join(
            [tag.encode(), *(b":".join(release_text(one.encode(), USUAL) for one in element) for element in elements)]
        )
        for tag, elements in segments
    ]
    every = [b"UNH+%b+%b:D:96A:UN" % (reference, kind.encode()), *body, b"UNT+%d+%b" % (len(body) + 2, reference)]
    return b"".join(one + b"'" for one in every)


MESSAGES = st.builds(written, KINDS, NAMES, st.lists(SEGMENTS, max_size=4))


def meaning(data: bytes, facts: dict[str, str]) -> list[list[list[str]]]:
    """Every segment between UNH and UNT, by what it says."""
    marks = delimiters_of(facts)
    segments = parts_of(data, marks.terminator, marks.release)[:-1]
    return [elements_of(one, marks) for one in segments][1:-1]


@pytest.mark.req("B6", "B10")
@given(members=st.lists(MESSAGES, max_size=8))
@example(members=[b"UNH+1+ORDERS:D:96A:UN'FTX+???'UNT+2+1??'UNT+3+1'"])
@settings(max_examples=120)
def test_what_is_put_together_is_found_again(members: list[bytes]) -> None:
    data = b"".join(assemble(members, envelope({"syntax": "UNOY"}), Counting()))
    assert [bytes(one.data) for part in split_stream(data) for one in part.members] == members


@pytest.mark.req("B6")
@given(members=st.lists(MESSAGES, max_size=6), facts=MARKS, numbering=NUMBERINGS, groups=st.sampled_from("01"))
@settings(max_examples=120)
def test_delimiters_and_references_change_and_nothing_else(
    members: list[bytes], facts: dict[str, str], numbering: str, groups: str
) -> None:
    asked = {"syntax": "UNOY", "message_numbers": numbering, "groups": groups, **facts}
    places: list[Placed] = []
    parts = list(split_stream(b"".join(assemble(members, envelope(asked), Counting(), places.append))))
    found = [meaning(bytes(one.data), dict(part.facts)) for part in parts for one in part.members]
    assert found == [meaning(one, {}) for one in members]
    sent = [(one.interchange, one.group, one.reference) for one in places]
    assert len(set(sent)) == len(sent) == len(members)


@pytest.mark.req("B10")
@given(members=st.lists(MESSAGES, min_size=1, max_size=6), groups=st.sampled_from("01"))
@settings(max_examples=60)
def test_every_message_that_was_sent_is_answered_once(members: list[bytes], groups: str) -> None:
    asked = {"syntax": "UNOY", "acknowledgment": "1", "groups": groups}
    places: list[Placed] = []
    found: list[tuple[int, PartnerStatus]] = []
    data = b"".join(assemble(members, envelope(asked), Counting(), places.append))
    for part in split_stream(data):
        told = b"".join(acknowledge(part, answering(part, NOON), Counting()))
        found += verdicts(became_of(places, said_in("edifact", told)))
    assert found == [(place, PartnerStatus.ACCEPTED) for place in range(len(places))]


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


CONTROLS = (
    b"UNA:+.? '",
    b"UNB+UNOA:3",
    b"UNZ+1+7'",
    b"UNG+ORDERS",
    b"UNE+1+1'",
    b"UNH+1+ORDERS:D'",
    b"UNT+2+1'",
    b"UNO+1'",
)
ANSWERS = (b"UNH+1+CONTRL:D:3:UN'", b"UCI+1+A+B+7'", b"UCF+1+A+B+4'", b"UCM+1+ORDERS+4+12'", b"UCS+1'")
MARKED = (b"+", b"'", b":", b"?", b"??", b"\n", b" ", b"\xff\xfe", b"\xc3\xbc", b"9" * 20, b"\x1b")
PIECES = st.sampled_from(CONTROLS + ANSWERS + MARKED)


@pytest.mark.req("B10", "Z2")
@given(data=st.binary(max_size=200) | st.lists(PIECES, max_size=25).map(b"".join))
@settings(max_examples=150)
def test_random_bytes_are_refused(data: bytes) -> None:
    only_refused(data)
    only_refused(b"UNA" + data)
    only_refused(UNB + data)
    only_refused(interchange([ORDER.replace(b"BGM", data)]))


@pytest.mark.req("B10", "Z2")
@given(data=st.data())
@settings(max_examples=120)
def test_changed_interchanges_are_refused_or_whole(data: st.DataObject) -> None:
    members = data.draw(st.lists(MESSAGES, min_size=1, max_size=3))
    whole = b"".join(assemble(members, envelope({"syntax": "UNOY", **data.draw(MARKS)}), Counting()))
    at = data.draw(st.integers(0, len(whole)))
    kept = data.draw(st.integers(at, len(whole)))
    only_refused(whole[:at] + data.draw(PIECES | st.binary(max_size=3)) + whole[kept:])


@pytest.mark.req("B10")
@given(message=MESSAGES)
@settings(max_examples=10)
def test_a_cut_interchange_is_never_a_shorter_one(message: bytes) -> None:
    whole = b"".join(assemble([message], envelope({"syntax": "UNOY"}), Counting()))
    for end in range(len(whole)):
        with pytest.raises(Refused):
            split(whole[:end], OnEnvelopeError.PASS)
