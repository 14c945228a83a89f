"""Whatever a partner sends: it is opened or refused, nothing else, and what the partner is told of it can be read again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.interchange.acknowledgements import match_statuses
from postroad.core.interchange.interchange_reader import OpenedInterchanges, open_interchanges
from postroad.core.interchange.model import OnEnvelopeError, Split
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch_policy import Splitting
from postroad.errors import Refused
from tests.samples.splitter_scenario import interchange
from tests.samples.x12 import NOON, Counting

STANDARDS = ("x12", "edifact", "hl7")
WHOLE = {name: interchange(name) for name in STANDARDS}
dirts = st.sampled_from(list(OnEnvelopeError))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good interchange, of which pieces are cut out, doubled, moved or written over."""
    data = bytearray(WHOLE[draw(st.sampled_from(STANDARDS))])
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(data)))
        end = draw(st.integers(begin, min(len(data), begin + 40)))
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(("cut", "double", "write"))):
            case "cut":
                del data[begin:end]
            case "double":
                data[at:at] = data[begin:end]
            case _:
                data[begin:end] = draw(st.binary(max_size=8))
    return bytes(data)


def opened_or_none(data: bytes, on_error: OnEnvelopeError) -> OpenedInterchanges | None:
    try:
        return open_interchanges(data, Splitting(sends_to="MyBiz/inbox", on_envelope_error=on_error), BUILT_IN)
    except Refused:
        return None


def answer_to(one: OpenedInterchanges, found: Split) -> bytes:
    """What the partner is told; nothing where it cannot be told, because its own names do not fit into an envelope."""
    standard = one.standard
    if standard.acknowledge is None or standard.answering is None:
        return b""
    try:
        envelope = standard.answering(found, NOON, {})
        return b"".join(standard.acknowledge(found, envelope, Counting(), taken=one.refusal is None))
    except Refused:
        return b""


@pytest.mark.req("B10")
@settings(max_examples=150, deadline=None)
@given(data=st.one_of(damaged(), st.binary(max_size=300)), on_error=dirts)
def test_what_comes_is_opened_or_refused_and_answered_so_that_it_can_be_read(
    data: bytes, on_error: OnEnvelopeError
) -> None:
    one = opened_or_none(data, on_error)
    for found in () if one is None else one.found:
        assert one is not None
        written = answer_to(one, found)
        if written and one.standard.split is not None and one.standard.answers is not None:
            for back in one.standard.split(written, OnEnvelopeError.REFUSE, {}):
                assert not match_statuses(one.standard.answers(back), ()).became


@pytest.mark.req("B10")
@settings(max_examples=80, deadline=None)
@given(data=damaged())
def test_the_stricter_the_agreement_the_less_is_taken(data: bytes) -> None:
    taken = [
        one is not None and one.refusal is None
        for one in (opened_or_none(data, on_error) for on_error in OnEnvelopeError)
    ]
    refuse, repair, passed = taken
    assert refuse <= repair <= passed
