"""A splitter takes interchanges apart: over the real stages in memory."""

from __future__ import annotations

import asyncio
import random

import pytest

from postroad.core.interchange.nouns import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Visibility
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.routing.forward import Forward
from postroad.errors import Unavailable
from postroad.flow.administration.dead_letters import DeadLetterSearch, browse, resend
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.forward import ForwardStage
from postroad.ports import JournalStep, Outcome
from tests.samples.interchange_members import TWO_MEMBERS
from tests.samples.splitting_house import House, house, interchange, told
from tests.samples.x12 import ORDER, SECOND

__all__ = ["house"]


# ---- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact", "hl7", "swift", "gs1", "json_lines"])
async def test_every_document_goes_on_by_itself(house: House, name: str) -> None:
    if name == "json_lines":
        await house.agree(standard=name)  # numbers on lines could be anything
    session = await house.send(interchange(name, form="sbd" if name == "gs1" else "rje"))
    first, second = await house.got("inbox", 2)
    assert [one.parts[0].data for one in (first, second)] == TWO_MEMBERS[name]
    assert (first.sender, first.type, first.transaction) == ("Acme/edi", MessageType.NOTIFICATION, session)
    assert told(first)["interchange.standard"] == name
    assert [told(one)["document.number"] for one in (first, second)] == ["1", "2"]
    assert first.session != second.session != session
    versions = {"x12": "004010", "edifact": "D96A", "hl7": "2.5"}
    assert told(first).get("document.version", "") == versions.get(name, "")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x12", interchange("x12", usage="T")),
        ("edifact", interchange("edifact", test="1")),
        ("hl7", interchange("hl7").replace(b"|P|2.5", b"|T|2.5")),
    ],
)
async def test_a_test_is_known_as_one(house: House, name: str, data: bytes) -> None:
    await house.send(data)
    assert all(told(one)["interchange.test"] == "true" for one in await house.got("inbox", 2))


@pytest.mark.req("B10")
async def test_rules_and_bindings_can_choose_by_what_the_envelope_said(house: House) -> None:
    await house.send(interchange("x12", usage="T"), topic="edi", handle="h1")
    _, second = await house.got("inbox", 2)
    assert (second.topic, second.handle) == ("850", "")
    assert told(second) == {
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
async def test_documents_part_at_an_exchange_though_it_has_sent_the_interchange_itself(house: House) -> None:
    callers = house.callers
    callers["exchange"] = await house.running.register(
        "MyBiz/edi", visibility=Visibility.PUBLIC, hosted=Hosting.EXCHANGE
    )
    callers["orders"] = await house.running.register("MyBiz/orders")
    callers["all"] = await house.running.register("MyBiz/all")
    bindings = [
        Binding(exchange=house.gcid("exchange"), name="in", queue=house.gcid("splitter"), routing_key="edi"),
        Binding(exchange=house.gcid("exchange"), name="orders", queue=house.gcid("orders"), routing_key="850"),
        Binding(exchange=house.gcid("exchange"), name="again", queue=house.gcid("splitter"), routing_key="850"),
        Binding(exchange=house.gcid("exchange"), name="invoices", queue=house.gcid("all"), routing_key="810"),
    ]
    await house.network.configuration.change("test", [build_save(one) for one in bindings])
    await house.agree(sends_to="MyBiz/edi")
    part = Part(id="1", content_type="application/edi-x12", data=interchange("x12", [ORDER] * 3))
    message = Message(to=(Recipient("MyBiz/edi"),), parts=(part,), topic="edi")
    await house.network.post(house.callers["acme"], message)
    orders = await house.got("orders", 3)
    assert [one.parts[0].data for one in orders] == [ORDER] * 3
    assert await house.has_nothing("all")
    assert await house.letters() == []


@pytest.mark.req("B10")
async def test_a_message_may_bring_several_interchanges_in_several_parts(house: House) -> None:
    other = interchange("x12", [ORDER]).replace(b"000000001", b"000000002")
    await house.send(interchange("x12") + other, interchange("edifact"))
    got = await house.got("inbox", 5)
    assert [told(one)["document.kind"] for one in got] == ["850", "850", "850", "ORDERS", "ORDERS"]


async def test_a_request_is_answered_with_how_many_documents_there_were(house: House) -> None:
    await house.agree(answers_to="")
    await house.send(interchange("hl7"), type=MessageType.REQUEST)
    [response] = await house.got("acme")
    assert told(response) == {"splitter.documents": "2"}


@pytest.mark.req("B10", "D1")
async def test_an_interruption_anywhere_loses_and_repeats_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document, and the answer, is interrupted once, right before or right after it has become durable."""
    interrupted: set[tuple[str, str]] = set()
    committing, telling = ForwardStage._committed, ForwardStage.tell

    async def commit(self: ForwardStage, step: JournalStep, forward: Forward, future: asyncio.Future[Outcome]) -> bool:
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
    monkeypatch.setattr(ForwardStage, "tell", tell)
    await house.send(interchange("x12", [ORDER, SECOND, ORDER]))
    got = await house.got("inbox", 3)
    assert sorted(told(one)["document.number"] for one in got) == ["1", "2", "3"]
    [_] = await house.got("acme")
    assert len(interrupted) == 8
    assert await house.has_nothing("inbox")
    assert await house.has_nothing("acme")


@pytest.mark.req("B10")
async def test_a_large_interchange_is_taken_apart_in_order(house: House) -> None:
    many = [b"ST*850*%04d~BEG*00*SA*%d~SE*3*%04d~" % (number, number, number) for number in range(1, 2_501)]
    await house.send(interchange("x12", many))
    got = await house.got("inbox", 2_500)
    assert [one.parts[0].data for one in got] == many


# ---- what is wrong ---------------------------------------------------------------------------------------------------

WRONG_COUNT = b"IEA*1*"


def with_wrong_count() -> bytes:
    return interchange("x12").replace(WRONG_COUNT, b"IEA*2*")


@pytest.mark.req("B10")
async def test_dirt_is_refused_and_the_partner_is_told_why(house: House) -> None:
    await house.send(with_wrong_count())
    [letter] = await house.letters()
    assert letter.startswith("interchange.malformed: ")
    assert "x12.count" in letter
    [answer] = await house.got("acme")
    assert b"~TA1*000000001*" in answer.parts[0].data
    assert b"*R*021~" in answer.parts[0].data
    assert await house.has_nothing("inbox")


@pytest.mark.req("B10")
@pytest.mark.parametrize(("on_error", "note"), [(OnEnvelopeError.REPAIR, " (repaired)"), (OnEnvelopeError.PASS, "")])
async def test_dirt_is_repaired_or_passed_and_told(house: House, on_error: OnEnvelopeError, note: str) -> None:
    await house.agree(on_envelope_error=on_error)
    await house.send(with_wrong_count())
    got = await house.got("inbox", 2)
    assert all(
        told(one)["interchange.faults"] == f"x12.count: IEA specifies '2' groups, but there are 1{note}" for one in got
    )
    [answer] = await house.got("acme")
    assert b"*E*021~" in answer.parts[0].data


@pytest.mark.req("B10")
async def test_what_was_refused_is_taken_when_it_is_resent_after_another_agreement(house: House) -> None:
    await house.send(with_wrong_count())
    await house.got("acme")
    await house.settled()
    await house.agree(on_envelope_error=OnEnvelopeError.REPAIR)
    jane = await house.running.enroll("jane@mybiz.example", organization="MyBiz")
    [found] = (await browse(house.network, jane, DeadLetterSearch())).found
    await resend(house.network, jane, found.letter.id, "the partner cannot count")
    assert len(await house.got("inbox", 2)) == 2
    [answer] = await house.got("acme")
    assert b"*E*021~" in answer.parts[0].data


@pytest.mark.req("B10")
async def test_the_same_interchange_is_taken_once(house: House) -> None:
    await house.send(interchange("x12"))
    await house.got("inbox", 2)
    await house.got("acme")
    await house.send(interchange("x12", [ORDER]))
    [letter] = await house.letters()
    assert letter.startswith("interchange.duplicate: interchange 000000001 of ACME was received before")
    [answer] = await house.got("acme")
    assert b"*R*025~" in answer.parts[0].data
    assert await house.has_nothing("inbox")


@pytest.mark.req("B10")
async def test_a_message_that_brings_an_interchange_twice_is_not_taken(house: House) -> None:
    await house.send(interchange("x12"), interchange("x12"))
    [letter] = await house.letters()
    assert letter.startswith("interchange.duplicate: ")
    assert await house.has_nothing("inbox")


@pytest.mark.req("B10")
async def test_what_came_before_passes_marked_where_that_was_agreed_on(house: House) -> None:
    await house.agree(options=(("duplicates", "pass"),))
    await house.send(interchange("x12", [ORDER]))
    [first] = await house.got("inbox")
    await house.send(interchange("x12", [SECOND]))
    [second] = await house.got("inbox")
    assert "interchange.duplicate" not in told(first)
    assert told(second)["interchange.duplicate"] == "true"


@pytest.mark.req("B10")
async def test_hostile_bytes_become_dead_letters_and_nothing_else(house: House) -> None:
    chance, whole = random.Random(8), [interchange(name) for name in ("x12", "edifact", "hl7")]
    hostile = [chance.randbytes(chance.randrange(1, 4_000)) for _ in range(10)]
    hostile += [one[: chance.randrange(4, len(one) - 1)] for one in whole for _ in range(5)]
    hostile += [b"", b"ISA", b"UNA:+.? '", b"MSH|", b"{1:", b"<a/>", b"[]"]
    for one in hostile:
        await house.send(one)
    letters = await house.letters()
    assert await house.has_nothing("inbox")
    assert len(letters) == len(hostile)
    assert all(one.startswith(("interchange.malformed: ", "wire.")) for one in letters)


async def test_a_splitter_whose_receiver_is_gone_keeps_what_comes(house: House) -> None:
    await house.agree(sends_to="MyBiz/nobody")
    await house.send(interchange("x12"))
    [letter] = await house.letters()
    assert letter.startswith("recipient.unknown: ")


@pytest.mark.req("B10")
@pytest.mark.parametrize("name", ["x12", "edifact"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_a_splitter_without_a_standard_recognizes_utf_16(house: House, name: str, encoding: str) -> None:
    await house.agree(standard="")
    await house.send(interchange(name).decode().encode(encoding))
    documents = await house.got("inbox", 2)
    assert {told(one)["interchange.standard"] for one in documents} == {name}
    assert documents[0].parts[0].data.isascii()
