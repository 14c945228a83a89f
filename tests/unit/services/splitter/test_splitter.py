"""A splitter takes interchanges apart: over the real stages in memory."""

from __future__ import annotations

import asyncio
import random

import pytest

from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Delivered, MessageType
from postroad.core.routing.forward import Forward
from postroad.errors import Unavailable
from postroad.flow.administration.dead_letters import resend
from postroad.flow.stages.forward import ForwardStage
from postroad.ports import JournalStep, StepOutcome
from postroad.testing import make_part
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.splitter_scenario import (
    INBOX,
    PARTNER,
    SPLITTER,
    SplitterScenario,
    interchange,
    properties_of,
    scenario,
)
from tests.samples.x12 import ORDER, SECOND

__all__ = ["scenario"]


# ---- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7", "swift", "gs1", "json_lines"])
async def test_every_document_goes_on_by_itself(scenario: SplitterScenario, name: str) -> None:
    if name == "json_lines":
        await scenario.agree(standard=name)  # numbers on lines could be anything
    session = await scenario.send(interchange(name, form="sbd" if name == "gs1" else "rje"))
    first, second = await scenario.got(INBOX, 2)
    assert [one.parts[0].data for one in (first, second)] == TWO_MEMBERS[name]
    assert (first.sender, first.type, first.transaction) == ("Acme/edi", MessageType.NOTIFICATION, session)
    assert properties_of(first)["interchange.standard"] == name
    assert [properties_of(one)["document.number"] for one in (first, second)] == ["1", "2"]
    assert first.session != second.session != session
    versions = {"x12": "004010", "edifact": "D96A", "hl7": "2.5"}
    assert properties_of(first).get("document.version", "") == versions.get(name, "")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x12", interchange("x12", usage="T")),
        ("edifact", interchange("edifact", test="1")),
        ("hl7", interchange("hl7").replace(b"|P|2.5", b"|T|2.5")),
    ],
)
async def test_a_test_is_known_as_one(scenario: SplitterScenario, name: str, data: bytes) -> None:
    await scenario.send(data)
    assert all(properties_of(one)["interchange.test"] == "true" for one in await scenario.got(INBOX, 2))


@pytest.mark.req("B10")
async def test_rules_and_bindings_can_choose_by_what_the_envelope_said(scenario: SplitterScenario) -> None:
    await scenario.send(interchange("x12", usage="T"), topic="edi", handle="h1")
    _, second = await scenario.got(INBOX, 2)
    assert (second.topic, second.handle) == ("850", "")
    assert properties_of(second) == {
        "interchange.standard": "x12",
        "interchange.reference": "000000001",
        "interchange.sender": "ACME",
        "interchange.receiver": "MYBIZ",
        "interchange.topic": "edi",
        "interchange.documents": "2",
        "interchange.test": "true",
        "interchange.group": "1",
        "interchange.groupKind": "PO",
        "document.kind": "850",
        "document.reference": "0002",
        "document.version": "004010",
        "document.number": "2",
        "document.delimiters": "2a 3a 7e 20",
    }


@pytest.mark.req("B10", "X3")
async def test_documents_part_at_an_exchange_though_it_has_sent_the_interchange_itself(
    scenario: SplitterScenario,
) -> None:
    exchange, orders_only, invoices_only = "MyBiz/edi", "MyBiz/orders", "MyBiz/invoices"
    await scenario.service(exchange, hosted=Hosting.EXCHANGE)
    await scenario.service(orders_only, visibility=Visibility.PRIVATE)
    await scenario.service(invoices_only, visibility=Visibility.PRIVATE)
    await scenario.bind(exchange, SPLITTER, "in", routing_key="edi")
    await scenario.bind(exchange, orders_only, "orders", routing_key="850")
    await scenario.bind(exchange, SPLITTER, "again", routing_key="850")
    await scenario.bind(exchange, invoices_only, "invoices", routing_key="810")
    await scenario.agree(sends_to=exchange)
    part = make_part(interchange("x12", [ORDER] * 3), content_type="application/edi-x12")
    await scenario.post(PARTNER, exchange, parts=(part,), topic="edi")
    orders = await scenario.got(orders_only, 3)
    assert [one.parts[0].data for one in orders] == [ORDER] * 3
    assert await scenario.has_nothing(invoices_only)
    assert await scenario.failures() == []


@pytest.mark.req("B10")
async def test_a_message_may_bring_several_interchanges_in_several_parts(scenario: SplitterScenario) -> None:
    other = interchange("x12", [ORDER]).replace(b"000000001", b"000000002")
    await scenario.send(interchange("x12") + other, interchange("edifact"))
    got = await scenario.got(INBOX, 5)
    assert [properties_of(one)["document.kind"] for one in got] == ["850", "850", "850", "ORDERS", "ORDERS"]


async def test_a_request_is_answered_with_how_many_documents_there_were(scenario: SplitterScenario) -> None:
    await scenario.agree(answers_to="")
    await scenario.send(interchange("hl7"), type=MessageType.REQUEST)
    [response] = await scenario.got(PARTNER)
    assert properties_of(response) == {"splitter.documents": "2"}


@pytest.mark.req("B10", "D1")
async def test_an_interruption_anywhere_loses_and_repeats_nothing(
    scenario: SplitterScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document, and the answer, is interrupted once, right before or right after it has become durable."""
    interrupted: set[tuple[str, str]] = set()
    committing, telling = ForwardStage._committed, ForwardStage.send_acknowledgment

    async def commit(
        self: ForwardStage, step: JournalStep, forward: Forward, future: asyncio.Future[StepOutcome]
    ) -> bool:
        interrupt("before", forward)
        is_new = await committing(self, step, forward, future)
        interrupt("after", forward)
        return is_new

    async def tell(self: ForwardStage, caller: Caller, delivered: Delivered, queued: Queued, one: Forward) -> object:
        interrupt("before", one)
        outcome = await telling(self, caller, delivered, queued, one)
        interrupt("after", one)
        return outcome

    def interrupt(when: str, forward: Forward) -> None:
        if (when, forward.chosen_by) not in interrupted:
            interrupted.add((when, forward.chosen_by))
            raise Unavailable("network.unavailable", "the power is gone")

    monkeypatch.setattr(ForwardStage, "_committed", commit)
    monkeypatch.setattr(ForwardStage, "send_acknowledgment", tell)
    await scenario.send(interchange("x12", [ORDER, SECOND, ORDER]))
    got = await scenario.got(INBOX, 3)
    assert sorted(properties_of(one)["document.number"] for one in got) == ["1", "2", "3"]
    [_] = await scenario.got(PARTNER)
    assert len(interrupted) == 8
    assert await scenario.has_nothing(INBOX)
    assert await scenario.has_nothing(PARTNER)


@pytest.mark.req("B10")
async def test_a_large_interchange_is_taken_apart_in_order(scenario: SplitterScenario) -> None:
    many = [b"ST*850*%04d~BEG*00*SA*%d~SE*3*%04d~" % (number, number, number) for number in range(1, 2_501)]
    await scenario.send(interchange("x12", many))
    got = await scenario.got(INBOX, 2_500)
    assert [one.parts[0].data for one in got] == many


# ---- what is wrong ---------------------------------------------------------------------------------------------------

WRONG_COUNT = b"IEA*1*"


def with_wrong_count() -> bytes:
    return interchange("x12").replace(WRONG_COUNT, b"IEA*2*")


@pytest.mark.req("B10")
async def test_dirt_is_refused_and_the_partner_is_told_why(scenario: SplitterScenario) -> None:
    await scenario.send(with_wrong_count())
    [letter] = await scenario.failures()
    assert letter.startswith("interchange.malformed: ")
    assert "x12.count" in letter
    [answer] = await scenario.got(PARTNER)
    assert b"~TA1*000000001*" in answer.parts[0].data
    assert b"*R*021~" in answer.parts[0].data
    assert await scenario.has_nothing(INBOX)


@pytest.mark.req("B10")
@pytest.mark.parametrize(("on_error", "note"), [(OnEnvelopeError.REPAIR, " (repaired)"), (OnEnvelopeError.PASS, "")])
async def test_dirt_is_repaired_or_passed_and_told(
    scenario: SplitterScenario, on_error: OnEnvelopeError, note: str
) -> None:
    await scenario.agree(on_envelope_error=on_error)
    await scenario.send(with_wrong_count())
    got = await scenario.got(INBOX, 2)
    assert all(
        properties_of(one)["interchange.faults"] == f"x12.count: IEA specifies '2' groups, but there are 1{note}"
        for one in got
    )
    [answer] = await scenario.got(PARTNER)
    assert b"*E*021~" in answer.parts[0].data


@pytest.mark.req("B10")
async def test_a_refused_interchange_is_split_when_resent_after_the_settings_changed(
    scenario: SplitterScenario,
) -> None:
    await scenario.send(with_wrong_count())
    await scenario.got(PARTNER)
    await scenario.until_idle()
    await scenario.agree(on_envelope_error=OnEnvelopeError.REPAIR)
    jane = await scenario.person("jane@mybiz.example", "MyBiz")
    [letter] = await scenario.dead_letters(jane)
    await resend(scenario.network, jane, letter.id, "the partner cannot count")
    assert len(await scenario.got(INBOX, 2)) == 2
    [answer] = await scenario.got(PARTNER)
    assert b"*E*021~" in answer.parts[0].data


@pytest.mark.req("B10")
async def test_the_same_interchange_is_taken_once(scenario: SplitterScenario) -> None:
    await scenario.send(interchange("x12"))
    await scenario.got(INBOX, 2)
    await scenario.got(PARTNER)
    await scenario.send(interchange("x12", [ORDER]))
    [letter] = await scenario.failures()
    assert letter.startswith("interchange.duplicate: interchange 000000001 of ACME was received before")
    [answer] = await scenario.got(PARTNER)
    assert b"*R*025~" in answer.parts[0].data
    assert await scenario.has_nothing(INBOX)


@pytest.mark.req("B10")
async def test_a_message_that_brings_an_interchange_twice_is_not_taken(scenario: SplitterScenario) -> None:
    await scenario.send(interchange("x12"), interchange("x12"))
    [letter] = await scenario.failures()
    assert letter.startswith("interchange.duplicate: ")
    assert await scenario.has_nothing(INBOX)


@pytest.mark.req("B10")
async def test_a_duplicate_interchange_is_passed_marked_if_so_configured(scenario: SplitterScenario) -> None:
    await scenario.agree(options=(("duplicates", "pass"),))
    await scenario.send(interchange("x12", [ORDER]))
    [first] = await scenario.got(INBOX)
    await scenario.send(interchange("x12", [SECOND]))
    [second] = await scenario.got(INBOX)
    assert "interchange.duplicate" not in properties_of(first)
    assert properties_of(second)["interchange.duplicate"] == "true"


@pytest.mark.req("B10")
async def test_hostile_bytes_become_dead_letters_and_nothing_else(scenario: SplitterScenario) -> None:
    chance, whole = random.Random(8), [interchange(name) for name in ("x12", "edifact", "hl7")]
    hostile = [chance.randbytes(chance.randrange(1, 4_000)) for _ in range(10)]
    hostile += [one[: chance.randrange(4, len(one) - 1)] for one in whole for _ in range(5)]
    hostile += [b"", b"ISA", b"UNA:+.? '", b"MSH|", b"{1:", b"<a/>", b"[]"]
    for one in hostile:
        await scenario.send(one)
    letters = await scenario.failures()
    assert await scenario.has_nothing(INBOX)
    assert len(letters) == len(hostile)
    assert all(one.startswith(("interchange.malformed: ", "wire.")) for one in letters)


async def test_a_splitter_whose_receiver_is_gone_keeps_what_comes(scenario: SplitterScenario) -> None:
    await scenario.agree(sends_to="MyBiz/nobody")
    await scenario.send(interchange("x12"))
    [letter] = await scenario.failures()
    assert letter.startswith("recipient.unknown: ")


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_a_splitter_without_a_standard_recognizes_utf_16(
    scenario: SplitterScenario, name: str, encoding: str
) -> None:
    await scenario.agree(standard="")
    await scenario.send(interchange(name).decode().encode(encoding))
    documents = await scenario.got(INBOX, 2)
    assert {properties_of(one)["interchange.standard"] for one in documents} == {name}
    assert documents[0].parts[0].data.isascii()
