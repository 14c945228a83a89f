"""What a partner sent, opened: what it says of ours is read once, and before anything is taken."""

from __future__ import annotations

import pytest

from postroad.core.interchange.acknowledgements import ReportedStatus, StatusScope
from postroad.core.interchange.interchange_reader import open_interchanges
from postroad.core.interchange.model import OnEnvelopeError, PartnerStatus, Split
from postroad.core.interchange.standard import BUILT_IN, Standard
from postroad.core.model.batch_policy import Splitting
from postroad.errors import Refused

JSON = BUILT_IN.standard("json_lines")


def answering_in_json(found: Split) -> tuple[ReportedStatus, ...]:
    """Numbers name documents of ours that were accepted."""
    if any(bytes(one.data) == b"null" for one in found.members):
        raise Refused("interchange.malformed", "null is not a verdict")
    names = [bytes(one.data).decode() for one in found.members]
    return tuple(
        ReportedStatus(scope=StatusScope.MEMBER, verdict=PartnerStatus.ACCEPTED, reference=name) for name in names
    )


CATALOGUE = BUILT_IN.with_plug_ins(
    [Standard(name="numbers", title="Numbers, one on each line", split=JSON.split, answers=answering_in_json)]
)
AGREED = Splitting(sends_to="MyBiz/inbox", standard="numbers")


def test_what_is_said_is_given_with_the_interchange_that_says_it() -> None:
    found = open_interchanges(b"1\n2\n", AGREED, CATALOGUE)
    [(interchange, said)] = found.said
    assert interchange is found.found[0]
    assert [one.document for one in said] == ["1", "2"]


def test_where_nothing_is_said_nothing_is_given() -> None:
    assert (
        open_interchanges(
            b"\n",
            Splitting(sends_to="MyBiz/inbox", standard="numbers", on_envelope_error=OnEnvelopeError.PASS),
            CATALOGUE,
        ).said
        == ()
    )
    assert (
        open_interchanges(b'{"a": 1}\n', Splitting(sends_to="MyBiz/inbox", standard="json_lines"), CATALOGUE).said == ()
    )


def test_what_makes_no_sense_is_refused_before_anything_is_taken() -> None:
    """Of a standard that cannot tell its partners why, too."""
    with pytest.raises(Refused, match="null is not a verdict"):
        open_interchanges(b"1\nnull\n", AGREED, CATALOGUE)
