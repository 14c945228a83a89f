"""Receipts that a partner posts later: they end the wait when they prove that it has the message, and nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.codecs.as2 import As2Identity, BuiltMdn, Mic, error
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.directory import Push, PushAuthentication
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveryAttempted
from postroad.errors import Refused
from postroad.flow.administration.messages.contents import read_mdn_at_stop
from postroad.flow.push.as2 import As2Pusher, parse_token
from postroad.flow.registries.as2_partners import FORGET_EVERY_S, AwaitedMdns
from tests.samples.as2_parties import with_header
from tests.samples.as2_scenario import (
    ACME,
    AGREED,
    PUSHED,
    URL,
    As2Scenario,
    build_partner_mdn,
    certificate_pem,
    opened,
    theirs,
)
from tests.samples.cms_people import partner, stranger
from tests.unit.flow.push.test_as2_push import by_nobody
from tests.waiting import eventually_async


@pytest.fixture
async def at() -> AsyncIterator[As2Scenario]:
    async with As2Scenario() as bench:
        await bench.change(
            ACME, push=Push(url=URL, authentication=PushAuthentication.NONE, retry_interval_s=1, tries=2)
        )
        await bench.agree(mdn="async", mdn_timeout_s=600)
        yield bench


async def sent(at: As2Scenario, **more: Any) -> tuple[str, PushRequest]:
    """A message that the partner has, and for which it still owes the receipt."""
    session = await at.send(**more)
    await at.until(lambda entries: any(isinstance(one, DeliveryAttempted) for one in entries))
    return session, at.posts.requests[-1]


async def returned(at: As2Scenario, mdn: BuiltMdn) -> None:
    assert await at.take_wire(mdn.headers, mdn.body) is None


async def test_receipts_that_are_owed_are_counted_until_they_come_or_are_late(at: As2Scenario) -> None:
    awaited, clock = at.partners.awaited, at.clock
    _, first = await sent(at)
    await sent(at, handle="another")
    await eventually_async(lambda: awaited.count(clock.monotonic()) == 2)
    await returned(at, build_partner_mdn(first))
    assert awaited.count(clock.monotonic()) == 1
    assert awaited.count(clock.monotonic() + 600.0) == 0


async def test_a_receipt_that_comes_before_the_response_to_the_push_is_not_owed(
    at: As2Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def push(request: PushRequest) -> PushAnswer:
        await returned(at, build_partner_mdn(request))
        return PushAnswer(status=200)

    judged = asyncio.Event()
    make_attempt = As2Pusher.push

    async def push_to_partner(self: As2Pusher, *arguments: Any) -> PushAnswer:
        try:
            return await make_attempt(self, *arguments)
        finally:
            judged.set()

    monkeypatch.setattr(at.posts, "push", push)
    monkeypatch.setattr(As2Pusher, "push", push_to_partner)
    await at.send()
    await at.until(lambda entries: any(isinstance(one, DeliveriesAcknowledged) for one in entries))
    await judged.wait()
    assert at.partners.awaited.count(at.clock.monotonic()) == 0


def test_receipts_that_never_come_are_forgotten_also_if_nobody_counts_them() -> None:
    awaited = AwaitedMdns()
    for second in range(5_000):
        awaited.begin(str(second))
        awaited.wait(str(second), float(second), 600.0)
    assert len(awaited._until) <= 600 + FORGET_EVERY_S
    assert awaited.count(5_000.0) == 599
    for second in range(5_000):
        awaited.end(str(second))
    assert awaited.count(5_000.0) == 0


@pytest.mark.req("T7")
async def test_a_message_waits_for_its_receipt_and_is_delivered_when_that_comes(at: As2Scenario) -> None:
    session, request = await sent(at)
    assert request.headers["receipt-delivery-option"] == "https://net.example/as2"
    [attempted] = await at.entries(DeliveryAttempted)
    assert (attempted.status, attempted.delay_s) == (200, 600.0)
    assert attempted.reason == "waiting for the asynchronous MDN"
    assert (await at.stop(session)).state == "queued"
    await returned(at, build_partner_mdn(request))
    await at.ends(session, "delivered")
    kept = await read_mdn_at_stop(at.network, at.caller(ACME), session, (await at.stop(session)).delivery)
    assert kept.endswith(b"\r\n\r\n" + build_partner_mdn(request).body)
    await returned(at, build_partner_mdn(request))  # again, and late
    assert len(await at.entries(DeliveriesAcknowledged)) == 1


async def test_names_that_were_quoted_twice_are_understood(at: As2Scenario) -> None:
    session, request = await sent(at)
    mdn = build_partner_mdn(request)
    await at.take_wire(with_header(mdn.headers, "AS2-To", r'"\"My Biz\""'), mdn.body)
    await at.ends(session, "delivered")


@pytest.mark.req("T7")
async def test_a_partner_that_says_no_later_ends_it_too(at: As2Scenario) -> None:
    session, request = await sent(at)
    await returned(at, build_partner_mdn(request, disposition=error("authentication-failed")))
    stop = await at.ends(session, "failed")
    assert "authentication-failed" in str(stop)


def altered(request: PushRequest) -> BuiltMdn:
    return build_partner_mdn(request, mic=Mic(digest=b"x" * 32, algorithm="sha256"))


def forged(request: PushRequest) -> BuiltMdn:
    return build_partner_mdn(request, signer=theirs(stranger()))


def refusing_forged(request: PushRequest) -> BuiltMdn:
    return build_partner_mdn(request, signer=theirs(stranger()), disposition=error("decryption-failed"))


def unsigned(request: PushRequest) -> BuiltMdn:
    plain = {name: text for name, text in request.headers.items() if name != "disposition-notification-options"}
    return build_partner_mdn(PushRequest(url=request.url, headers=plain, body=request.body))


def signed_by_nobody(request: PushRequest) -> BuiltMdn:
    """With a signature that has no signers at all, as some libraries accept it."""
    return replace(build_partner_mdn(request), body=by_nobody(request).body)


@pytest.mark.req("T7")
@pytest.mark.parametrize("made", [altered, forged, refusing_forged, unsigned, signed_by_nobody])
async def test_an_mdn_that_proves_nothing_changes_nothing(at: As2Scenario, made: Any) -> None:
    session, request = await sent(at)
    await returned(at, made(request))
    assert (await at.stop(session)).state == "queued"
    await returned(at, build_partner_mdn(request))
    await at.ends(session, "delivered")


@pytest.mark.req("T7")
async def test_another_partner_cannot_confirm_what_it_was_not_sent(at: As2Scenario) -> None:
    birch = replace(AGREED, name="Birch", certificates=(certificate_pem(stranger()),))
    await at.service("Aster/Birch", format="as2", push=PUSHED, as2=birch)
    session, request = await sent(at)
    mdn = build_partner_mdn(request, signer=As2Identity(name="Birch", identities=(stranger(),)))
    await at.take_wire(with_header(mdn.headers, "AS2-From", "Birch"), mdn.body)
    assert (await at.stop(session)).state == "queued"
    with pytest.raises(Refused, match="partner-unknown"):
        await at.take_wire(with_header(mdn.headers, "AS2-From", "Nobody"), mdn.body)


@pytest.mark.req("T7")
async def test_a_receipt_that_does_not_come_in_time_brings_the_message_again(at: As2Scenario) -> None:
    await at.agree(mdn_timeout_s=1)
    session = await at.send()
    await at.posts.wait_for(2)
    first, again = at.posts.requests[:2]
    assert first.headers["message-id"] == again.headers["message-id"]
    assert opened(first).mic == opened(again).mic
    await returned(at, build_partner_mdn(first))
    await at.ends(session, "delivered")


@pytest.mark.req("T7")
async def test_when_no_receipt_ever_comes_the_delivery_fails(at: As2Scenario) -> None:
    await at.agree(mdn_timeout_s=1)
    session = await at.send()
    stop = await at.ends(session, "failed")
    assert "the message was sent 2 times" in str(stop)
    assert len(at.posts.requests) == 2
    assert [event.what for event in stop.events].count("pushed") == 2


async def test_a_partner_that_waits_with_its_receipts_counts_as_well(at: As2Scenario) -> None:
    for _ in range(12):
        await at.send()
    await at.posts.wait_for(12)  # no breaker opens
    assert await at.entries(DeliveryAttempted)


@pytest.mark.req("T7")
async def test_the_certificate_of_the_receipt_may_be_rolled_over_meanwhile(at: As2Scenario) -> None:
    session, request = await sent(at)
    await at.agree(certificates=(certificate_pem(stranger()), certificate_pem(partner())))
    await returned(at, build_partner_mdn(request, signer=theirs(stranger())))
    await at.ends(session, "delivered")


async def test_a_receipt_that_cannot_be_read_is_refused(at: As2Scenario) -> None:
    _, request = await sent(at)
    mdn = build_partner_mdn(request)
    cut = mdn.body.replace(b"message/disposition-notification", b"text/plain")
    with pytest.raises(Refused, match="no part of type"):
        await at.take_wire(mdn.headers, cut)


@pytest.mark.parametrize(
    ("message_id", "token"),
    [
        ("<1f.0123abcd@postroad>", "1f.0123abcd"),
        ("1f.0123abcd@postroad", "1f.0123abcd"),
        ("<1f.0123abcd@elsewhere>", ""),
        ("", ""),
        ("<x@postroad>", ""),
    ],
)
def test_the_token_stands_in_the_message_id(message_id: str, token: str) -> None:
    assert parse_token(message_id) == token
