"""CONTRL: written for what came, and matched to what we sent."""

from __future__ import annotations

import pytest

from postroad.core.interchange.edifact import (
    PartnerStatus,
    acknowledge,
    answering,
    assemble,
    examine,
    read_answers,
    split,
)
from postroad.core.interchange.model import OnEnvelopeError, Placed
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in, verdicts
from tests.samples.edifact import (
    INVOICE,
    NOON,
    ORDER,
    SECOND,
    UNB,
    Counting,
    envelope,
    interchange,
)

ASKING = UNB.replace(b"+7'", b"+7++++1'")


def answer(data: bytes, *, taken: bool = True, rejected: tuple[int, ...] = ()) -> bytes:
    found = examine(data)
    return b"".join(acknowledge(found, answering(found, NOON), Counting(), taken=taken, rejected=rejected))


@pytest.mark.req("B10")
def test_what_asks_for_an_answer_gets_one_and_what_does_not_gets_none() -> None:
    told = b"UNH+1+CONTRL:D:3:UN'UCI+7+MYBIZ:14+ACME:14+7'UNT+3+1'"
    assert answer(interchange(unb=ASKING)) == b"UNB+UNOC:3+ACME:14+MYBIZ:14+261116:1200+1'" + told + b"UNZ+1+1'"
    assert answer(interchange()) == b""


@pytest.mark.req("B10")
def test_an_answer_is_never_answered() -> None:
    assert answer(answer(interchange(unb=ASKING)).replace(b"+1'UNH", b"+1++++1'UNH")) == b""


def test_faults_are_told_where_they_are() -> None:
    wrong = interchange([ORDER.replace(b"UNT+4", b"UNT+5"), SECOND])
    assert b"UCI+7+MYBIZ:14+ACME:14+7'UCM+1+ORDERS:D:96A:UN:EAN008+7+29'UNT" in answer(wrong)
    assert b"UCI+7+MYBIZ:14+ACME:14+4+18'UCM+1+ORDERS:D:96A:UN:EAN008+4+29'UNT" in answer(wrong, taken=False)
    assert b"+4+13'UNT" in answer(interchange()[:-3])


def sent(**facts: str) -> tuple[bytes, list[Placed]]:
    places: list[Placed] = []
    members = [ORDER, SECOND, INVOICE]
    return b"".join(assemble(members, envelope({"acknowledgment": "1", **facts}), Counting(), places.append)), places


@pytest.mark.req("B10")
@pytest.mark.parametrize("groups", ["0", "1"])
def test_answers_are_matched_to_what_was_sent(groups: str) -> None:
    data, places = sent(groups=groups)
    found = became_of(places, said_in("edifact", answer(data, rejected=(1,))))
    assert verdicts(found) == [(0, PartnerStatus.ACCEPTED), (1, PartnerStatus.REJECTED), (2, PartnerStatus.ACCEPTED)]
    assert found.became[1].reasons == ("an unspecified error",)
    assert found.unmatched == ()


def test_a_rejected_interchange_rejects_all() -> None:
    data, places = sent()
    found = became_of(places, said_in("edifact", answer(data, taken=False)))
    assert verdicts(found) == [(0, PartnerStatus.REJECTED), (1, PartnerStatus.REJECTED), (2, PartnerStatus.REJECTED)]


def test_what_we_never_sent_is_told() -> None:
    _, places = sent()
    said = said_in("edifact", answer(interchange(unb=ASKING)))
    found = became_of(places, said)
    assert (found.became, found.unmatched) == ((), said)
    assert [one.interchange for one in said] == ["7"]


def test_received_and_notes_are_understood() -> None:
    _, places = sent()
    told = b"UNH+1+CONTRL:D:3:UN'UCI+1+MYBIZ+ACME+8'UCM+2+ORDERS:D:96A:UN+7'UCS+3+12'UCD+39+2:1'UNT+6+1'"
    found = became_of(places, said_in("edifact", interchange([told])))
    assert verdicts(found) == [(0, PartnerStatus.RECEIVED), (1, PartnerStatus.NOTED), (2, PartnerStatus.RECEIVED)]
    assert found.became[1].reasons == ("UCS+3+12", "UCD+39+2:1")


@pytest.mark.parametrize("told", [b"UCI+1+A+B+5'", b"UCM+1+ORDERS+4'"])
def test_an_answer_without_a_verdict_is_refused(told: bytes) -> None:
    data = interchange([b"UNH+1+CONTRL:D:3:UN'" + told + b"UNT+3+1'"])
    with pytest.raises(Refused, match=r"not a valid status|no UCI"):
        read_answers(split(data, OnEnvelopeError.PASS))
