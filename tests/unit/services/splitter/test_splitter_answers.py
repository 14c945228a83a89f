"""A splitter tells the partner what became of its interchanges, and hears what the partner reports of ours."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from postroad.core.interchange import x12
from postroad.core.interchange.model import Envelope, OnEnvelopeError, Placed
from postroad.core.interchange.numbering import NumberingParties
from postroad.core.interchange.positions import record_position
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.directory import Service
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Delivered, MessageType
from postroad.core.projection.unique_keys import unique_keys
from postroad.errors import Unavailable
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.registries.interchanges import InterchangeRegistry
from postroad.flow.stages.partner_acknowledgments import PartnerAcknowledgments, ReceivedAcknowledgments
from postroad.ports import Committed, JournalStep
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.splitter_scenario import (
    ASKS,
    INBOX,
    PARTNER,
    SPLITTER,
    SplitterScenario,
    interchange,
    properties_of,
    scenario,
)
from tests.samples.x12 import NOON, ORDER, Counting

__all__ = ["scenario"]


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7"])
async def test_the_partner_is_told_in_the_splitters_name_with_numbers_of_its_own(
    scenario: SplitterScenario, name: str
) -> None:
    await scenario.send(interchange(name))
    [answer] = await scenario.got(PARTNER)
    standard = BUILT_IN.standard(name)
    assert standard.split is not None
    assert standard.answers is not None
    [found] = standard.split(answer.parts[0].data, OnEnvelopeError.REFUSE, {})
    assert (found.sender, found.receiver) == ("MYBIZ", "ACME")
    assert {str(one.verdict) for one in standard.answers(found)} <= {"accepted", "received"}
    assert (answer.sender, answer.parts[0].content_type) == ("MyBiz/from-acme", standard.content_type)
    assert properties_of(answer)["interchange.answers"] == ("000000001" if name == "x12" else "1")
    book = InterchangeRegistry(scenario.network.plumbing)
    scope = "member" if name == "hl7" else "interchange"
    assert (await book.drawing(NumberingParties("MyBiz", name, "MYBIZ", "ACME"))).next(scope) == (
        3 if name == "hl7" else 2
    )


@pytest.mark.req("B6")
async def test_another_organization_with_the_same_names_uses_no_numbers(scenario: SplitterScenario) -> None:
    await sent_to_acme(scenario, "x12", "others", by=PARTNER)
    book = InterchangeRegistry(scenario.network.plumbing)
    assert (await book.drawing(NumberingParties("Acme", "x12", "MYBIZ", "ACME"))).next("interchange") == 2
    assert (await book.drawing(NumberingParties("MyBiz", "x12", "MYBIZ", "ACME"))).next("interchange") == 1


@pytest.mark.req("B10")
async def test_every_answer_has_another_number_though_many_are_written_at_once(scenario: SplitterScenario) -> None:
    for number in range(12):
        await scenario.send(interchange("x12", [ORDER], usage="T").replace(b"000000001", b"%09d" % (number + 1)))
    answers = await scenario.got(PARTNER, 12)
    numbers = {x12.split(one.parts[0].data).reference for one in answers}
    assert numbers == {f"{number:09d}" for number in range(1, 13)}


@pytest.mark.req("B10")
async def test_a_partner_that_requests_no_acknowledgment_gets_none(scenario: SplitterScenario) -> None:
    await scenario.send(interchange("edifact", acknowledgment=""))
    await scenario.got(INBOX, 2)
    assert await scenario.has_nothing(PARTNER)
    await scenario.agree(options=(("acknowledge", "always"),))
    await scenario.send(interchange("edifact", [TWO_MEMBERS["edifact"][0]], acknowledgment="").replace(b"+1'", b"+2'"))
    [answer] = await scenario.got(PARTNER)
    assert b"CONTRL" in answer.parts[0].data


async def test_a_999_where_it_was_agreed_on(scenario: SplitterScenario) -> None:
    await scenario.agree(options=(("answer", "999"),))
    await scenario.send(interchange("x12"))
    [answer] = await scenario.got(PARTNER)
    assert b"ST*999*" in answer.parts[0].data


# ---- what partners say of ours ---------------------------------------------------------------------------------------


async def sent_to_acme(
    scenario: SplitterScenario, name: str, batch: str, members: list[bytes] | None = None, by: str = INBOX
) -> bytes:
    """An interchange of a batch, as a batcher posts it; its members have the deliveries 70 and 71."""
    standard, placed = BUILT_IN.standard(name), list[Placed]()
    assert standard.assemble is not None
    book = InterchangeRegistry(scenario.network.plumbing)
    drawing = await book.drawing(NumberingParties(scenario.profile(by).organization, name, "MYBIZ", "ACME"))
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=ASKS.get(name, {}))
    stream = b"".join(standard.assemble(members or TWO_MEMBERS[name], envelope, drawing, placed.append))
    record = Batch(
        id=batch,
        key=(),
        state=BatchState.ASSEMBLED,
        opened_at_us=1,
        latest_at_us=1,
        changed_at_us=1,
        service=scenario.gcid(by),
    )
    entry = MessagePosted(
        at_us=1, session=f"session-{batch}", transaction=f"session-{batch}", sender="b" * 16,
        type=MessageType.NOTIFICATION, topic="", size=0, form="interchange", expires_at_us=1 << 60, directory=1, parts=(),
        copies=(),
        assembled=AssembledInterchange(
            name, drawing.list_used(), record, tuple(record_position(one, 70 + one.position) for one in placed),
            standard.answers_by_document,
        ),
    )  # fmt: skip
    outcome = await commit_step(scenario.network.desk, JournalStep(entry, None, tuple(unique_keys(entry))))
    assert isinstance(outcome, Committed)
    return stream


def answered(name: str, stream: bytes, rejected: tuple[int, ...] = ()) -> bytes:
    """What Acme writes of it."""
    standard = BUILT_IN.standard(name)
    assert standard.examine is not None
    assert standard.acknowledge is not None
    assert standard.answering is not None
    [found] = standard.examine(stream)
    return b"".join(standard.acknowledge(found, standard.answering(found, NOON, {}), Counting(), rejected=rejected))


@pytest.mark.req("B10", "B7")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7"])
async def test_an_answer_is_written_down_at_the_batch_that_it_is_about(scenario: SplitterScenario, name: str) -> None:
    await sent_to_acme(scenario, name, "earlier") if name != "hl7" else None
    stream = await sent_to_acme(scenario, name, "batch")
    session = await scenario.send(answered(name, stream))
    [heard] = await scenario.acknowledgments("batch")
    assert (heard.verdict, heard.members, heard.session) == ("accepted", (), session)
    assert heard.by == scenario.gcid(SPLITTER)
    assert await scenario.acknowledgments("earlier") == []
    assert await scenario.acknowledgments("") == []
    assert await scenario.has_nothing(INBOX)
    assert await scenario.has_nothing(PARTNER), "an answer was answered"


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7"])
async def test_a_document_that_is_rejected_is_named(scenario: SplitterScenario, name: str) -> None:
    stream = await sent_to_acme(scenario, name, "batch")
    await scenario.send(answered(name, stream, rejected=(1,)))
    [heard] = await scenario.acknowledgments("batch")
    assert heard.verdict == "partly accepted"
    assert [(one.delivery, one.verdict) for one in heard.members] == [(71, "rejected")]


@pytest.mark.req("B10")
async def test_swift_answers_a_message_by_its_reference_under_the_names_that_were_agreed_on(
    scenario: SplitterScenario,
) -> None:
    await scenario.agree(options=(("our_name", "MYBIZ"), ("partner_name", "ACME")))
    await sent_to_acme(scenario, "swift", "batch")
    refused = b"{1:F21BANKDEFFAXXX0000000001}{4:{177:2611161200}{451:1}{405:H50}}" + TWO_MEMBERS["swift"][1]
    await scenario.send(refused)
    [heard] = await scenario.acknowledgments("batch")
    assert heard.verdict == "received"
    assert [(one.delivery, one.verdict, one.reasons) for one in heard.members] == [(71, "rejected", ("H50",))]


def admission(reference: bytes) -> bytes:
    return TWO_MEMBERS["hl7"][0].replace(b"|1|P", b"|%b|P" % reference)


def acknowledgement(reference: bytes, code: bytes = b"AA") -> bytes:
    return b"MSH|^~\\&|ACME||MYBIZ||20261116||ACK|9|P|2.5\rMSA|%b|%b\r" % (code, reference)


@pytest.mark.req("B10", "B7")
async def test_an_answer_that_names_only_a_document_finds_its_batch_however_long_ago_it_went(
    scenario: SplitterScenario,
) -> None:
    for number in range(110):
        await sent_to_acme(scenario, "hl7", f"batch-{number}", [admission(b"M%d" % number)])
    await scenario.send(acknowledgement(b"M3"))
    [heard] = await scenario.acknowledgments("batch-3")
    assert (heard.verdict, heard.members) == ("accepted", ())
    assert await scenario.acknowledgments("") == []


@pytest.mark.req("B10")
async def test_a_name_that_was_used_again_is_that_of_the_newest_interchange(scenario: SplitterScenario) -> None:
    await sent_to_acme(scenario, "hl7", "earlier", [admission(b"007")])
    await sent_to_acme(scenario, "hl7", "later", [admission(b"7")])
    await scenario.send(acknowledgement(b"0007"))
    assert len(await scenario.acknowledgments("later")) == 1
    assert await scenario.acknowledgments("earlier") == []


@pytest.mark.req("B10")
async def test_a_document_of_somebody_else_is_not_found_by_its_name(scenario: SplitterScenario) -> None:
    await sent_to_acme(scenario, "hl7", "batch", [admission(b"7")])
    await scenario.send(acknowledgement(b"7").replace(b"ACME", b"OTHERS"))
    assert await scenario.acknowledgments("batch") == []
    [heard] = await scenario.acknowledgments("")
    assert heard.detail == "from OTHERS to MYBIZ: member 7: accepted"


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7"])
async def test_acknowledgments_do_not_reach_batches_of_other_organizations(
    scenario: SplitterScenario, name: str
) -> None:
    """Acme has a send port that calls itself MYBIZ, too."""
    stream = await sent_to_acme(scenario, name, "others", by=PARTNER)
    await scenario.send(answered(name, stream))
    assert await scenario.acknowledgments("others") == []
    assert len(await scenario.acknowledgments("")) == 1


@pytest.mark.req("B10")
async def test_ones_own_document_is_found_though_others_have_sent_one_of_the_same_name_since(
    scenario: SplitterScenario,
) -> None:
    await sent_to_acme(scenario, "hl7", "ours", [admission(b"7")])
    for number in range(11):
        await sent_to_acme(scenario, "hl7", f"others-{number}", [admission(b"7")], by=PARTNER)
    await scenario.send(acknowledgement(b"7"))
    assert len(await scenario.acknowledgments("ours")) == 1


@pytest.mark.req("B10")
async def test_everything_that_one_message_says_of_a_batch_is_written_down(scenario: SplitterScenario) -> None:
    """Each part is an answer of its own; a batch is written of once for each message."""
    await sent_to_acme(scenario, "hl7", "batch", [admission(b"1"), admission(b"2")])
    await scenario.send(
        acknowledgement(b"1"), acknowledgement(b"2", b"AE"), acknowledgement(b"3"), acknowledgement(b"4")
    )
    [heard] = await scenario.acknowledgments("batch")
    assert heard.verdict == "partly accepted"
    assert [(one.delivery, one.verdict) for one in heard.members] == [(71, "rejected")]
    [unknown] = await scenario.acknowledgments("")
    assert unknown.detail == "from ACME to MYBIZ: member 3: accepted; member 4: accepted"


@pytest.mark.req("B10")
async def test_an_answer_that_names_nothing_is_about_nothing(scenario: SplitterScenario) -> None:
    await sent_to_acme(scenario, "hl7", "batch")
    await scenario.send(acknowledgement(b""))
    assert await scenario.acknowledgments("batch") == []
    assert len(await scenario.acknowledgments("")) == 1


@pytest.mark.req("B10")
@pytest.mark.parametrize("number", [b"9" * 19, b"9" * 5_000, b"X1"])
async def test_a_number_that_cannot_be_ours_is_that_of_nothing(scenario: SplitterScenario, number: bytes) -> None:
    stream = await sent_to_acme(scenario, "x12", "batch")
    await scenario.send(answered("x12", stream).replace(b"AK1*PO*1~", b"AK1*PO*%b~" % number))
    assert await scenario.failures() == []
    assert [one.verdict for one in await scenario.acknowledgments("batch")] == ["received"], "the TA1 speaks of it"
    assert len(await scenario.acknowledgments("")) == 1


@pytest.mark.req("B10")
async def test_an_answer_that_comes_twice_is_written_down_for_each_message_once(
    scenario: SplitterScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = await sent_to_acme(scenario, "x12", "batch")
    hearing, heard = PartnerAcknowledgments.record, list[str]()

    async def hear(
        self: PartnerAcknowledgments, splitter: Service, delivered: Delivered, what: Iterable[ReceivedAcknowledgments]
    ) -> None:
        await hearing(self, splitter, delivered, what)
        heard.append(delivered.session)
        if len(heard) == 1:
            raise Unavailable("network.unavailable", "the power is gone")

    monkeypatch.setattr(PartnerAcknowledgments, "record", hear)
    session = await scenario.send(answered("x12", stream))
    [entry] = await scenario.acknowledgments("batch")
    assert (entry.session, heard) == (session, [session, session])


@pytest.mark.req("B10")
async def test_unmatched_acknowledgments_are_recorded(scenario: SplitterScenario) -> None:
    stream = interchange("x12").replace(b"ACME ", b"MYBIZ").replace(b"MYBIZ          *", b"ACME           *", 1)
    await scenario.send(answered("x12", stream))
    [heard] = await scenario.acknowledgments("")
    assert heard.batch == ""
    assert "group 1" in heard.detail


@pytest.mark.req("B10")
async def test_answers_go_on_too_where_that_was_agreed_on(scenario: SplitterScenario) -> None:
    await scenario.agree(options=(("answers", "pass"),))
    stream = await sent_to_acme(scenario, "x12", "batch")
    await scenario.send(answered("x12", stream))
    [one] = await scenario.got(INBOX)
    assert one.topic == "997"
    assert len(await scenario.acknowledgments("batch")) == 1
