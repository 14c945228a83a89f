"""AS2 in the matrix: a partner gets from everybody what was sent, everybody gets what the partner sent, byte for byte."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from postroad.core.codecs.as2 import (
    PROCESSED,
    BuiltMessage,
    OpenedMessage,
    PartnershipTerms,
    build,
    build_mdn,
    judge_mdn,
    open_message,
)
from postroad.core.codecs.as2 import read_mdn as read_receipt
from postroad.core.mediation.formats import encode_message
from postroad.core.mediation.mime_format import decode_entity
from postroad.core.mediation.model import OutgoingMessage
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from tests.acceptance.test_mediation_matrix import PAYLOADS
from tests.samples.as2_scenario import AGREED, ours, theirs
from tests.samples.mediated import (
    FORMATS,
    GENEROUS,
    Mediated,
    network,
    parts_in,
    polling,
    posted,
    receiving,
)
from tests.samples.push_receiver import Answer, Pushed, Receiver

__all__ = ["network", "receiving"]  # the fixtures

PARTNER = "Partner/Acme"
AGREEMENT = PartnershipTerms()


def own_name(format: Format) -> str:
    """The partner calls us by another name for each service that it sends to."""
    return f"My {format.value}"


@pytest.fixture
async def house(network: Mediated, receiving: Receiver) -> Mediated:
    """The partner with an agreement for each format, and one more to which everybody sends."""
    await network.register(PARTNER, Format.AS2, pushed=True, as2=replace(AGREED, deliver_to=""))
    for format in FORMATS:
        as2 = replace(AGREED, own_name=own_name(format), deliver_to=polling(format))
        await network.register(f"Partner/{format.value}", Format.AS2, as2=as2)
    again = replace(AGREED, own_name=own_name(Format.AS2), deliver_to=PARTNER)
    await network.register("Partner/as2", Format.AS2, as2=again)
    receiving.answers[f"/{PARTNER}"] = receipt
    return network


def opened(pushed: Pushed) -> OpenedMessage:
    return open_message(list(pushed.headers.items()), pushed.body, theirs(), ours(), AGREEMENT, GENEROUS)


def receipt(pushed: Pushed) -> Answer:
    found = opened(pushed)
    mdn = build_mdn(
        found.heading,
        theirs(),
        disposition=PROCESSED,
        mic=found.mic,
        at=datetime.now(UTC),
        message_id="<receipt@acme.example>",
        boundary_seed=b"receipt",
    )
    return Answer(status=200, body=mdn.body, headers=dict(mdn.headers))


def sent_by_partner(parts: tuple[Part, ...], own: str) -> BuiltMessage:
    given = encode_message(OutgoingMessage(parts=parts, seed=b"partner"), Format.AS2)
    return build(
        given.entity_head,
        given.body,
        theirs(),
        replace(ours(), name=own),
        AGREEMENT,
        message_id=f"<{own}@acme.example>",
        at=datetime.now(UTC),
        boundary_seed=own.encode(),
        randomness=lambda size: bytes(size),
    )


async def take(house: Mediated, built: BuiltMessage) -> None:
    """The partner sends it, and the receipt proves that it was taken."""
    elsewhere = await house.ask(PARTNER, "POST", "/as2/Elsewhere", built.body, built.headers)
    assert elsewhere.status == 403, "its names are known at the address of its own organization, and at the shared one"
    path = "/as2/partner" if built.sent.recipient == own_name(Format.JSON) else "/as2"
    answer = await house.ask(PARTNER, "POST", path, built.body, built.headers)
    assert answer.status == 200, answer.body
    verdict = judge_mdn(
        read_receipt(answer.headers, answer.body, replace(ours(), name=built.sent.recipient)), built.sent
    )
    assert verdict.acknowledged, verdict.reason


def sent_to_partner(format: Format, parts: tuple[Part, ...]) -> list[bytes]:
    """Return the documents that the partner gets: of a SOAP message with attachments, only these."""
    has_body = format is Format.SWA and len(parts) > 1  # a DIME message without an envelope is no SOAP message
    return [part.data for part in parts[has_body:]]


@pytest.mark.req("T1", "T7", "T9")
@pytest.mark.parametrize("payload", PAYLOADS)
async def test_the_partner_gets_from_everybody_what_was_sent(
    house: Mediated, receiving: Receiver, payload: str
) -> None:
    parts = PAYLOADS[payload]
    for format in FORMATS:
        answer = await house.post(polling(format), posted(format, parts, [PARTNER]))
        assert answer.status in (200, 202), (format, answer.body)
    pushed = await asyncio.to_thread(receiving.wait_for, f"/{PARTNER}", len(FORMATS))
    got = []
    for one in pushed:
        found = opened(one)
        assert found.signer is not None
        got.append([part.data for part in decode_entity(found.entity, GENEROUS, Format.AS2).parts])
    assert sorted(got) == sorted([sent_to_partner(format, parts) for format in FORMATS])
    assert len({one.headers["message-id"] for one in pushed}) == len(FORMATS)


@pytest.mark.req("T1", "T7", "T9")
@pytest.mark.parametrize("payload", PAYLOADS)
async def test_everybody_gets_what_the_partner_sent(house: Mediated, payload: str) -> None:
    parts = PAYLOADS[payload]
    for format in FORMATS:
        await take(house, sent_by_partner(parts, own_name(format)))
    for format in FORMATS:
        [came] = await house.polled(polling(format), format)
        assert [part.data for part in parts_in(came, format)] == [part.data for part in parts], format


@pytest.mark.req("T1", "T7", "T9")
@pytest.mark.parametrize("payload", PAYLOADS)
async def test_from_partner_to_partner_the_entity_has_the_same_bytes(
    house: Mediated, receiving: Receiver, payload: str
) -> None:
    built = sent_by_partner(PAYLOADS[payload], own_name(Format.AS2))
    await take(house, built)
    [pushed] = await asyncio.to_thread(receiving.wait_for, f"/{PARTNER}")
    given = encode_message(OutgoingMessage(parts=PAYLOADS[payload], seed=b"partner"), Format.AS2)
    entity = opened(pushed).entity
    assert (entity.head, bytes(entity.body)) == (given.entity_head, given.data)
