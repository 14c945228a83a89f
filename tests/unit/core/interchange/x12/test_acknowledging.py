"""What partners are told of what came, and what they tell of what was sent: TA1, 997 and 999."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from postroad.core.interchange.acknowledgements import StatusScope
from postroad.core.interchange.model import InterchangeFault, Placed, Split
from postroad.core.interchange.x12 import PartnerStatus, acknowledge, answering, assemble, examine, read_answers, split
from postroad.errors import Refused
from tests.samples.acknowledged import became_of, said_in
from tests.samples.x12 import (
    GS,
    INVOICE,
    NOON,
    ORDER,
    SECOND,
    Counting,
    envelope,
    header,
    interchange,
)

GUIDE = GS.replace(b"004010", b"005010X222A1").replace(b"PO*", b"HC*")


def told(found: Split, *, taken: bool = True, rejected: Sequence[int] = (), kind: str = "") -> list[str]:
    """The segments of the answer but its envelope."""
    answer = acknowledge(found, answering(found, NOON), Counting(), taken=taken, rejected=rejected, kind=kind)
    data = b"".join(answer)
    if data:
        split(data)  # is right itself
    return [one for one in data.decode().split("~") if one[:3] not in ("", "ISA", "GS*", "ST*", "SE*", "GE*", "IEA")]


@pytest.mark.req("B10")
def test_a_997_to_the_byte() -> None:
    found = split(interchange())
    assert b"".join(acknowledge(found, answering(found, NOON, {"line_end": "\n"}), Counting())) == (
        b"ISA*00*          *00*          *01*ACME           *ZZ*MYBIZ          *261116*1200*U*00401*000000001*0*P*:~\n"
        b"GS*FA*ACME*MYBIZ*20261116*1200*1*X*004010~\n"
        b"ST*997*0001~\n"
        b"AK1*PO*12~\n"
        b"AK2*850*0001~\nAK5*A~\n"
        b"AK2*850*0002~\nAK5*A~\n"
        b"AK9*A*2*2*2~\n"
        b"SE*8*0001~\n"
        b"GE*1*1~\n"
        b"IEA*1*000000001~\n"
    )


@pytest.mark.req("B10")
def test_a_999_answers_what_follows_a_guide() -> None:
    order = ORDER.replace(b"ST*850*0001", b"ST*837*0001*005010X222A1")
    found = split(interchange([order], isa=header(b"^", b"00501"), gs=GUIDE))
    data = b"".join(acknowledge(found, answering(found, NOON), Counting()))
    assert (
        b"*X*005010X231A1~ST*999*0001*005010X231A1~AK1*HC*12*005010X222A1~AK2*837*0001*005010X222A1~IK5*A~AK9*A*1*1*1~"
        in data
    )
    assert told(found, kind="997") == ["AK1*HC*12*005010X222A1", "AK2*837*0001", "AK5*A", "AK9*A*1*1*1"]


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("data", "with_errors", "refused"),
    [
        (
            interchange([ORDER.replace(b"SE*4", b"SE*5"), SECOND]),
            ["AK1*PO*12", "AK2*850*0001", "AK5*E*4", "AK2*850*0002", "AK5*A", "AK9*E*2*2*2"],
            ["TA1*000000007*261116*1200*R*024", "AK1*PO*12", "AK2*850*0001", "AK5*R*4", "AK9*R*2*2*0"],
        ),
        (
            interchange([ORDER], ge=b"GE*3*13~"),
            ["AK1*PO*12", "AK2*850*0001", "AK5*A", "AK9*E*3*1*1*5*4"],
            ["TA1*000000007*261116*1200*R*024", "AK1*PO*12", "AK9*R*3*1*0*5*4"],
        ),
        (
            interchange([ORDER], iea=b"IEA*1*000000008~"),
            ["TA1*000000007*261116*1200*E*001", "AK1*PO*12", "AK2*850*0001", "AK5*A", "AK9*A*1*1*1"],
            ["TA1*000000007*261116*1200*R*001"],
        ),
        (
            interchange([ORDER], isa=header(wish=b"1")),
            ["TA1*000000007*261116*1200*A*000", "AK1*PO*12", "AK2*850*0001", "AK5*A", "AK9*A*1*1*1"],
            ["TA1*000000007*261116*1200*R*024"],
        ),
    ],
)
def test_faults_are_told_where_they_are(data: bytes, with_errors: Sequence[str], refused: Sequence[str]) -> None:
    assert told(examine(data)) == with_errors
    assert told(examine(data), taken=False) == refused


@pytest.mark.req("B10")
def test_members_may_be_rejected_one_by_one() -> None:
    found = split(interchange())
    unsupported = replace(
        found, faults=(InterchangeFault(code="x12.unsupported", text="nobody takes it", group=0, member=1),)
    )
    assert told(unsupported, rejected=[1]) == [
        *("AK1*PO*12", "AK2*850*0001", "AK5*A", "AK2*850*0002", "AK5*R*1", "AK9*P*2*2*1"),
    ]
    assert told(found, rejected=[0, 1])[-1] == "AK9*R*2*2*0"


@pytest.mark.req("B10", "Z2")
def test_many_members_with_many_faults_cost_no_more_than_each_of_them() -> None:
    many = [b"ST*850*%04d~SE*9*%04d~" % (number, number) for number in range(1, 20_001)]
    found = examine(interchange(many))
    began = time.process_time()
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting()))
    places = [
        Placed(position=n, interchange="7", group="12", kind="850", reference=f"{n:04d}", facts={"group_kind": "PO"})
        for n in range(1, 20_001)
    ]
    became = became_of(places, said_in("x12", answer)).became
    assert [one.verdict for one in became] == [PartnerStatus.NOTED] * 20_000
    assert time.process_time() - began < 10  # half a second; minutes, if each were looked for among all


def test_what_cannot_be_taken_is_never_said_to_be() -> None:
    assert told(examine(interchange()[:-30]), taken=True) == ["TA1*000000007*261116*1200*R*023"]


def test_delimiters_in_which_nothing_can_be_said_are_not_used_for_the_answer() -> None:
    assert told(examine(interchange(isa=header().replace(b":~", b":X")))) == ["TA1*000000007*261116*1200*R*004"]


def test_whoever_remembers_earlier_interchanges_has_its_say() -> None:
    found = split(interchange())
    repeated = replace(found, faults=(InterchangeFault(code="x12.repeated", text="came on Monday"),))
    assert told(repeated, taken=False) == ["TA1*000000007*261116*1200*R*025"]


def test_acknowledgements_are_not_acknowledged() -> None:
    found = split(interchange())
    answer = split(b"".join(acknowledge(found, answering(found, NOON), Counting())))
    assert told(answer) == []
    only_ta1 = examine(header() + b"TA1*000000001*261115*1200*A*000~IEA*1*000000007~")
    assert told(only_ta1) == []


def test_what_partners_wrote_cannot_break_the_answer() -> None:
    found = split(interchange([ORDER], gs=GS.replace(b"*12*", b"*1|2'3*"), ge=b"GE*1*1|2'3~"))
    data = b"".join(acknowledge(found, answering(found, NOON, {"element": "|", "terminator": "'"}), Counting()))
    assert b"AK1|PO|123'" in data
    assert split(data).faults == ()


# ---- what partners tell us -------------------------------------------------------------------------------------------


def sent(*members: bytes) -> tuple[bytes, list[Placed]]:
    places: list[Placed] = []
    return b"".join(assemble(members, envelope({"acknowledgment": "1"}), Counting(), places.append)), places


def outcomes(answer: bytes, places: Sequence[Placed]) -> list[tuple[str, PartnerStatus, tuple[str, ...]]]:
    found = became_of(places, said_in("x12", answer))
    assert found.unmatched == ()
    return [(one.filed.reference, one.verdict, one.reasons) for one in found.became]


def answer_of(*segments: bytes, ta1: bytes = b"") -> bytes:
    body = b"".join(segments)
    ack = b"ST*997*0001~" + body + b"SE*%d*0001~" % (body.count(b"~") + 2)
    return interchange([ack], gs=ta1 + GS.replace(b"GS*PO", b"GS*FA"))


@pytest.mark.req("B10")
def test_our_own_answers_are_understood() -> None:
    data, places = sent(ORDER, SECOND, INVOICE)
    found = split(data)
    answer = b"".join(acknowledge(found, answering(found, NOON), Counting()))
    assert [verdict for _, verdict, _ in outcomes(answer, places)] == [PartnerStatus.ACCEPTED] * 3


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([b"AK1*PO*1~", b"AK9*A*2*2*2~"], [("0001", PartnerStatus.ACCEPTED, ()), ("0002", PartnerStatus.ACCEPTED, ())]),
        (
            [b"AK1*PO*000001~", b"AK2*850*0002~", b"AK5*R*5*99~", b"AK9*P*2*2*1~"],
            [
                ("0001", PartnerStatus.ACCEPTED, ()),
                ("0002", PartnerStatus.REJECTED, ("one or more segments are in error", "code 99")),
            ],
        ),
        (
            [b"AK1*PO*1~", b"AK2*850*0002~", b"AK5*E~", b"AK9*E*2*2*2~"],
            [("0001", PartnerStatus.ACCEPTED, ()), ("0002", PartnerStatus.NOTED, ())],
        ),
        (
            [b"AK1*PO*1~", b"AK9*R*2*2*0*2~"],
            [
                ("0001", PartnerStatus.REJECTED, ("the version of the group is not supported",)),
                ("0002", PartnerStatus.REJECTED, ("the version of the group is not supported",)),
            ],
        ),
    ],
)
def test_every_set_gets_its_verdict(segments: Sequence[bytes], expected: object) -> None:
    _, places = sent(ORDER, SECOND)
    assert outcomes(answer_of(*segments), places) == expected


def test_what_is_in_error_is_handed_on_as_the_partner_wrote_it() -> None:
    _, places = sent(ORDER)
    answer = answer_of(b"AK1*PO*1~AK2*850*0001~AK3*PO1*3**8~AK4*2*330*7*X~AK5*R*5~AK9*R*1*1*0~")
    [(_, _, reasons)] = outcomes(answer, places)
    assert reasons == ("one or more segments are in error", "AK3*PO1*3**8", "AK4*2*330*7*X")


def test_ta1_says_that_the_envelope_came_or_that_nothing_was_taken() -> None:
    _, places = sent(ORDER)
    for status, expected in (
        (b"A*000", ("0001", PartnerStatus.RECEIVED, ())),
        (b"R*021", ("0001", PartnerStatus.REJECTED, ("the number of groups is invalid",))),
    ):
        answer = header() + b"TA1*000000001*261116*1200*" + status + b"~IEA*0*000000007~"
        assert outcomes(answer, places) == [expected]


@pytest.mark.req("B10")
def test_answers_about_what_we_never_sent_are_told() -> None:
    _, places = sent(ORDER)
    foreign = answer_of(b"AK1*PO*2~AK9*A*1*1*1~", ta1=b"TA1*000000001*261115*1200*A*000~")
    found = became_of(places, said_in("x12", foreign))
    assert found.became == ()
    assert [(one.scope, one.group, one.facts.get("date")) for one in found.unmatched] == [
        (StatusScope.INTERCHANGE, "", "261115"),
        (StatusScope.GROUP, "2", None),
    ]


@pytest.mark.parametrize("segments", [b"AK1*PO*1~", b"AK9*A*1*1*1~", b"AK1*PO*1~AK9*Q*1*1*1~", b"AK1*PO*1~AK9~"])
def test_answers_that_say_nothing_are_refused(segments: bytes) -> None:
    with pytest.raises(Refused) as refused:
        read_answers(split(answer_of(segments)))
    assert refused.value.code == "interchange.malformed"
