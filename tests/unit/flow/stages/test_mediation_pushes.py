"""Pushes in external formats: the message itself, its header beside it, and whatever the answer says."""

from __future__ import annotations

import asyncio

import pytest

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.mediation.formats import encode_message
from postroad.core.mediation.model import OutgoingMessage
from postroad.core.model.formats import Format
from postroad.core.model.journal import DeliveriesEnded
from postroad.core.model.message import MessageType, Part
from postroad.flow.administration import dead_letters as letters
from postroad.flow.administration import dead_letters as resending
from postroad.flow.stages.mediate import read_external_post
from postroad.testing.push_receivers import push_url
from tests.samples.pushes import BUSY, BUYER, OK, PushScenario, in_virtual_time
from tests.unit.flow.stages.test_mediation import ACME, ENVELOPE, MIXED, TWO_DOCUMENTS, TWO_PARTS, wire


async def posted_to_acme(at: PushScenario, content_type: str = MIXED, body: bytes = TWO_PARTS, **fields: str) -> None:
    await at.network.carry_out(at.caller(BUYER), read_external_post(wire(body, content_type, to=ACME, **fields)))


@pytest.mark.req("T1", "T3", "D3")
def test_a_push_is_the_message_itself_with_its_header_beside_it() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="mime", push={"authentication": "signature", "secret_from": "env:SECRET"})
        await posted_to_acme(at, topic="größe")
        await asyncio.sleep(1)
        [seen] = at.receivers.received
        headers = seen.request.headers
        assert (headers["content-type"], seen.request.body) == (MIXED, TWO_PARTS)
        assert headers["postroad-topic"] == "gr%C3%B6%C3%9Fe"
        assert headers["postroad-to"] == ACME
        assert {"webhook-id", "webhook-signature", "postroad-token", "postroad-session"} <= headers.keys()

    in_virtual_time(work)


@pytest.mark.req("T9")
def test_a_push_that_would_not_be_whole_is_not_made() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="dime", whole_only=True)
        await posted_to_acme(at, body=TWO_DOCUMENTS)
        await posted_to_acme(at, "application/xml", b"<whole/>")
        await asyncio.sleep(1)
        [seen] = at.receivers.received
        assert b"<whole/>" in seen.request.body
        ended = [entry for entry in await at.journal() if isinstance(entry, DeliveriesEnded)]
        assert [entry.state for entry in ended] == ["failed"]

    in_virtual_time(work)


@pytest.mark.req("T1")
@pytest.mark.parametrize(
    ("headers", "body", "document"),
    [
        ({"content-type": "text/xml"}, ENVELOPE % b"<done/>", b"<done/>"),
        ({"content-type": "text/xml"}, ENVELOPE % b"<mail><Body/></mail>", b"<mail><Body/></mail>"),
        ({"content-type": "text/csv", "postroad-type": "response"}, b"a;b", b"a;b"),
        ({"content-type": MIXED, "postroad-type": "response"}, TWO_PARTS, b"<order/>"),
    ],
)
def test_the_answer_to_a_push_is_the_response_in_any_format(
    headers: dict[str, str], body: bytes, document: bytes
) -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="soap")
        at.receivers.answer(push_url(ACME), PushAnswer(status=200, body=body, headers=tuple(headers.items())))
        await posted_to_acme(at, "application/xml", b"<ask/>", type="request")
        await asyncio.sleep(1)
        told = await at.receive(BUYER)
        assert told.type is MessageType.RESPONSE
        assert told.parts[0].data == document

    in_virtual_time(work)


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        (202, "request", ENVELOPE % b"<later/>"),
        (200, "request", ENVELOPE % b""),
        (200, "request", (ENVELOPE % b"").replace(b"<s:Body></s:Body>", b"<s:Body id='1' >\n</s:Body>")),
        (
            200,
            "request",
            encode_message(
                OutgoingMessage(parts=(Part(id="1", content_type="text/xml", data=ENVELOPE % b""),)), Format.DIME
            ).data,
        ),
        (200, "request", b"<html/>"),
        (200, "notification", ENVELOPE % b"<thanks/>"),
    ],
)
def test_what_does_not_answer_a_request_in_soap_only_takes_it_over(status: int, kind: str, body: bytes) -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="soap")
        answer = PushAnswer(status=status, body=body, content_type="text/xml", headers=(("content-type", "text/xml"),))
        at.receivers.answer(push_url(ACME), answer)
        await posted_to_acme(at, "application/xml", b"<ask/>", type=kind)
        await asyncio.sleep(1)
        assert len(at.receivers.received) == 1
        assert await at.poll(BUYER) == []

    in_virtual_time(work)


@pytest.mark.req("T3", "D7")
def test_a_dead_letter_is_resent_as_it_came() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="mime", push={"tries": 1})
        clerk = await at.person("ops@network.example", operator=True)
        at.receivers.answer(push_url(ACME), BUSY, OK)
        await posted_to_acme(at)
        await asyncio.sleep(60)
        [found] = (await letters.browse(at.network, clerk, letters.DeadLetterSearch())).found
        await resending.resend(at.network, clerk, found.letter.id, "mended")
        await asyncio.sleep(60)
        first, second = (seen.request for seen in at.receivers.received)
        assert first.body == TWO_PARTS
        assert same(first) == same(second)

    in_virtual_time(work)


def test_every_attempt_has_the_same_bytes() -> None:
    async def work(at: PushScenario) -> None:
        await at.pushed_service(ACME, format="swa", push={"tries": 3, "retry_interval_s": 1})
        at.receivers.answer(push_url(ACME), PushAnswer(status=503), PushAnswer(status=200))
        parts = tuple(Part(id=name, content_type="text/plain", data=name.encode()) for name in ("a", "b"))
        await at.post(BUYER, ACME, parts=parts)
        await asyncio.sleep(60)
        first, second = (seen.request for seen in at.receivers.received)
        assert same(first) == same(second)
        assert second.headers["postroad-attempt"] == "2"

    in_virtual_time(work)


def same(request: PushRequest) -> tuple[bytes, str, str]:
    return request.body, request.headers["content-type"], request.headers["webhook-id"]
