"""HL7, whatever the messages: what is put together is found again, what is wrong is refused, and nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.interchange.hl7 import PartnerStatus, acknowledge, answering, assemble, examine, read_answers, split
from postroad.core.interchange.hl7.separators import USUAL, escape_text
from postroad.core.interchange.model import OnEnvelopeError, Placed
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.hl7 import ADMIT, NOON, Counting, batch, envelope

TEXT = st.text(st.sampled_from("aZ09 |^~\\&#!$\r\nMSHBTF\u00fc"), max_size=12).map(
    lambda text: escape_text(text, USUAL)
)
FIELDS = st.lists(st.lists(TEXT, min_size=1, max_size=3).map(b"^".join), max_size=4)
SEGMENTS = st.builds(lambda tag, fields: b"|".join([tag, *fields]), st.sampled_from((b"PID", b"OBX", b"ZZZ")), FIELDS)
MARKS = st.sampled_from([{}, {"field": "#"}, {"escape": "!", "component": "|", "field": "^"}, {"subcomponent": "$"}])


def written(number: int, segments: list[bytes]) -> bytes:
    head = b"MSH|^~\\&|LAB|WARD|EHR|MAIN|20261116||ADT^A01|M%d|P|2.5" % number
    return b"".join(one + b"\r" for one in (head, *segments))


BODIES = st.lists(st.lists(SEGMENTS, max_size=4), max_size=6)


def messages(bodies: list[list[bytes]]) -> list[bytes]:
    return [written(number, body) for number, body in enumerate(bodies, 1)]


@pytest.mark.req("B6", "B10")
@given(bodies=BODIES, as_file=st.sampled_from("01"), end=st.sampled_from([b"\r", b"\n", b"\r\n"]))
@settings(max_examples=50)
def test_what_is_put_together_is_found_again(bodies: list[list[bytes]], as_file: str, end: bytes) -> None:
    members = messages(bodies)
    given_ones = [one.replace(b"\r", end) for one in members]
    found = split(b"".join(assemble(given_ones, envelope({"file": as_file}), Counting())))
    assert [bytes(one.data) for one in found.members] == members


@pytest.mark.req("B6")
@given(bodies=BODIES, facts=MARKS)
@settings(max_examples=50)
def test_into_other_separators_and_back_is_the_same(bodies: list[list[bytes]], facts: dict[str, str]) -> None:
    there = b"".join(assemble(messages(bodies), envelope(facts), Counting()))
    back = split(b"".join(assemble([there], envelope(), Counting())))
    assert [bytes(one.data) for one in back.members] == messages(bodies)


@pytest.mark.req("B10")
@given(bodies=BODIES.filter(bool), facts=MARKS)
@settings(max_examples=50)
def test_every_message_that_was_sent_is_answered_once(bodies: list[list[bytes]], facts: dict[str, str]) -> None:
    places: list[Placed] = []
    found = split(b"".join(assemble(messages(bodies), envelope(facts), Counting(), places.append)))
    told = b"".join(acknowledge(found, answering(found, NOON), Counting()))
    became = verdicts(became_of(places, said_in("hl7", told)))
    assert became == [(place, PartnerStatus.ACCEPTED) for place in range(len(bodies))]


def only_refused(data: bytes) -> None:
    """Under every policy; what passes can be answered and put together again, or is refused for a reason."""
    for on_error in OnEnvelopeError:
        try:
            found = split(data, on_error)
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
    b"MSH|^~\\&|",
    b"MSH",
    b"FHS|^~\\&",
    b"BHS|^~\\&|A|B",
    b"BTS|1",
    b"FTS|1",
    b"MSA|AA|1",
    b"MSA",
    b"ERR|1",
    b"MSH|||||||||ACK|1",
)
MARKED = (b"|", b"^", b"\\", b"\r", b"\n", b"\r\n", b"\x0b", b"\x1c", b" ", b"\xff", b"9" * 20, b"|||||||||")
PIECES = st.sampled_from(CONTROLS + MARKED)


@pytest.mark.req("B10", "Z2")
@given(data=st.binary(max_size=200) | st.lists(PIECES, max_size=25).map(b"".join))
@settings(max_examples=80)
def test_random_bytes_are_refused(data: bytes) -> None:
    only_refused(data)
    only_refused(b"MSH|" + data)
    only_refused(ADMIT + data)
    only_refused(batch([ADMIT.replace(b"PID", data)]))


@pytest.mark.req("B10", "Z2")
@given(data=st.data())
@settings(max_examples=80)
def test_changed_batches_are_refused_or_whole(data: st.DataObject) -> None:
    members = messages(data.draw(BODIES))
    whole = b"".join(assemble(members, envelope(data.draw(MARKS)), Counting()))
    at = data.draw(st.integers(0, len(whole)))
    kept = data.draw(st.integers(at, len(whole)))
    only_refused(whole[:at] + data.draw(PIECES | st.binary(max_size=3)) + whole[kept:])


@pytest.mark.req("B10")
@given(bodies=BODIES)
@settings(max_examples=5)
def test_a_cut_file_is_never_a_shorter_one(bodies: list[list[bytes]]) -> None:
    """Of its last segment the count may be cut, which may be left out anyway: then every message is there already."""
    whole = b"".join(assemble(messages(bodies), envelope(), Counting()))
    for end in range(len(whole) - len(b"|1\r")):
        with pytest.raises(Refused):
            split(whole[:end], OnEnvelopeError.PASS)
