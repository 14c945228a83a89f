"""What partners say, in the same words for every standard: read from what the rooms write, and matched to what was sent."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from postroad.core.interchange.acknowledgements import ReportedStatus, StatusScope, match_statuses
from postroad.core.interchange.model import Envelope, PartnerStatus, Placed
from postroad.core.interchange.numbering import NumberDrawing, NumberingParties
from postroad.core.interchange.positions import record_position
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.interchange import DocumentPosition, DrawnNumber
from postroad.errors import Refused
from tests.samples.acknowledged import said_in, verdicts
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.x12 import NOON, Counting

ANSWERING = ("x12", "edifact", "hl7")
ASKING = {"x12": {"acknowledgment": "1"}, "edifact": {"acknowledgment": "1"}}


def sent(name: str) -> tuple[bytes, list[DocumentPosition]]:
    standard, placed = BUILT_IN.standard(name), list[Placed]()
    assert standard.assemble is not None
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=ASKING.get(name, {}))
    whole = b"".join(standard.assemble(TWO_MEMBERS[name], envelope, Counting(), placed.append))
    return whole, [record_position(one, 70 + one.position) for one in placed]


def answer_to(
    name: str, whole: bytes, *, taken: bool = True, rejected: Collection[int] = ()
) -> tuple[ReportedStatus, ...]:
    """What the partner writes of it, read as it comes back."""
    standard = BUILT_IN.standard(name)
    assert standard.examine
    assert standard.acknowledge
    assert standard.answering
    [found] = standard.examine(whole)
    envelope = standard.answering(found, NOON, {})
    written = b"".join(standard.acknowledge(found, envelope, Counting(), taken=taken, rejected=rejected))
    return said_in(name, written)


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ANSWERING)
def test_what_a_partner_says_finds_every_document_that_was_sent(name: str) -> None:
    whole, documents = sent(name)
    found = match_statuses(answer_to(name, whole), documents)
    assert verdicts(found) == [(70, PartnerStatus.ACCEPTED), (71, PartnerStatus.ACCEPTED)]
    assert not found.unmatched


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ANSWERING)
def test_one_document_may_be_rejected_alone(name: str) -> None:
    whole, documents = sent(name)
    found = match_statuses(answer_to(name, whole, rejected=(1,)), documents)
    assert verdicts(found) == [(70, PartnerStatus.ACCEPTED), (71, PartnerStatus.REJECTED)]


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ANSWERING)
def test_a_rejection_of_all_is_one_of_each(name: str) -> None:
    whole, documents = sent(name)
    found = match_statuses(answer_to(name, whole, taken=False), documents)
    assert verdicts(found) == [(70, PartnerStatus.REJECTED), (71, PartnerStatus.REJECTED)]


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ANSWERING)
def test_what_names_nothing_that_was_sent_is_told(name: str) -> None:
    whole, documents = sent(name)
    other = [DocumentPosition(9, "77", "78", one.kind, "79", (("group_kind", "IN"),)) for one in documents]
    found = match_statuses(answer_to(name, whole), other)
    assert not found.became
    assert len(found.unmatched) == len(answer_to(name, whole))
    assert all(one.named.startswith(one.scope) for one in found.unmatched)


class Many(tuple[int, ...]):
    """There may be a hundred thousand: whoever looks through them for each document is not done in a day."""

    def __contains__(self, place: object) -> bool:
        raise AssertionError(f"all were looked through for {place}")


@pytest.mark.parametrize("name", ANSWERING)
def test_what_was_rejected_is_looked_up_and_not_searched(name: str) -> None:
    said = answer_to(name, sent(name)[0], rejected=Many((1,)))
    assert [one.verdict for one in said].count(PartnerStatus.REJECTED) == 1


@pytest.mark.parametrize("scope", StatusScope)
def test_what_does_not_say_which_one_it_is_about_is_about_none(scope: StatusScope) -> None:
    """Date, time, kind: these are the same in many."""
    facts = {"date": "261116", "time": "1200", "group_kind": "PO"}
    said = ReportedStatus(scope=scope, verdict=PartnerStatus.REJECTED, kind="850", facts=facts)
    document = DocumentPosition(1, "1", "1", "850", "0001", tuple(facts.items()))
    found = match_statuses([said], [document])
    assert (found.became, found.unmatched) == ((), (said,))


def test_an_interchange_that_was_received_is_not_yet_accepted() -> None:
    _, [first, _] = sent("x12")
    facts = dict(first.facts)
    ta1 = ReportedStatus(
        scope=StatusScope.INTERCHANGE,
        verdict=PartnerStatus.RECEIVED,
        interchange="000000001",
        facts={name: facts[name] for name in ("date", "time")},
    )
    assert verdicts(match_statuses([ta1], [first])) == [(70, PartnerStatus.RECEIVED)]
    other_day = ReportedStatus(
        scope=ta1.scope, verdict=ta1.verdict, interchange="1", facts={"date": "990101", "time": "0000"}
    )
    assert match_statuses([other_day], [first]).unmatched == (other_day,)


def test_swift_names_a_message_by_the_reference_of_its_user_or_its_own() -> None:
    by_user = DocumentPosition(1, "", "", "103", "A", (("user_reference", "U1"),))
    by_itself = DocumentPosition(2, "", "", "103", "B")
    nak = b"{1:F21BANKDEFFAXXX0000000001}{4:{177:2611161200}{451:1}{405:H50}{108:U1}}"
    [became] = match_statuses(said_in("swift", nak), [by_user, by_itself]).became
    assert (became.filed, became.verdict, became.reasons) == (by_user, PartnerStatus.REJECTED, ("H50",))


def test_what_names_a_document_alone_is_about_the_first_of_that_name() -> None:
    newest, oldest = DocumentPosition(2, "8", "", "ADT", "X"), DocumentPosition(1, "7", "", "ADT", "X")
    said = [ReportedStatus(scope=StatusScope.MEMBER, verdict=PartnerStatus.ACCEPTED, reference="X")]
    assert verdicts(match_statuses(said, [newest, oldest])) == [(2, PartnerStatus.ACCEPTED)]


@pytest.mark.req("B6")
def test_numbers_go_on_where_the_last_interchange_left_them() -> None:
    drawing = NumberDrawing(NumberingParties("MyBiz", "x12", "MYBIZ", "ACME"), {"interchange": 41})
    assert [drawing.next("interchange"), drawing.next("group"), drawing.next("group")] == [42, 1, 2]
    assert drawing.list_used()[0] == DrawnNumber("x12:mybiz:MYBIZ:ACME:interchange", 42)
    assert len(drawing.list_used()) == 3


def test_an_interchange_without_numbers_is_found_again_by_one_beside_it() -> None:
    drawing = NumberDrawing(NumberingParties("MyBiz", "swift", "", ""), {})
    assert drawing.list_used() == drawing.list_used() == (DrawnNumber("swift:mybiz:::interchange", 1),)


def test_numbers_are_drawn_only_where_the_last_one_is_known() -> None:
    drawing = NumberDrawing(NumberingParties("MyBiz", "own", "A", "B"), {})
    with pytest.raises(Refused, match="not for 'page'"):
        drawing.next("page")
