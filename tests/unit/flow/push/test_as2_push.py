"""Messages to an AS2 partner: sent as was agreed on, and delivered only when its receipt proves that it has them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from cryptography.x509 import Certificate

from postroad.core.codecs.as2 import (
    As2Identity,
    BuiltMdn,
    Mic,
    PartnershipTerms,
    error,
    read_mdn,
)
from postroad.core.codecs.mime import read_entity
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.model.directory import Push, PushAuthentication
from postroad.core.model.journal import DeliveryAttempted
from postroad.errors import Refused
from postroad.flow.administration.dead_letters import resend
from postroad.flow.administration.messages.contents import read_mdn_at_stop
from postroad.flow.push.as2 import encode_mdn
from tests.samples.as2_scenario import (
    ACME,
    DOCUMENT,
    ORDERS,
    URL,
    As2Scenario,
    build_partner_mdn,
    certificate_pem,
    opened,
    theirs,
)
from tests.samples.cms_people import partner, stranger
from tests.samples.crafted_cms import signed_data

ANYTHING = PartnershipTerms(must_be_signed=False)


@pytest.fixture
async def at() -> AsyncIterator[As2Scenario]:
    async with As2Scenario() as bench:
        await bench.change(
            ACME, push=Push(url=URL, authentication=PushAuthentication.NONE, retry_interval_s=1, tries=3)
        )
        yield bench


def as_answer(mdn: BuiltMdn) -> PushAnswer:
    headers = tuple((name.lower(), value) for name, value in mdn.headers)
    return PushAnswer(status=200, body=mdn.body, headers=headers, content_type=dict(headers)["content-type"])


Answering = Callable[[PushRequest], PushAnswer]


def answering(**how: object) -> Answering:
    return lambda request: as_answer(build_partner_mdn(request, **how))  # type: ignore[arg-type]


@pytest.mark.req("T7", "D3")
@pytest.mark.parametrize(
    "agreed",
    [
        {},
        {"sign": "", "encrypt": "", "mdn_signed": False},
        {"encrypt": "aes128-gcm", "compress": "before"},
        {"sign": "sha1", "compress": "after"},
        {"sign": "", "compress": "before"},
        {"mdn": "async"},  # some partners answer at once all the same
    ],
)
async def test_a_message_is_delivered_when_its_receipt_proves_it(at: As2Scenario, agreed: dict[str, object]) -> None:
    await at.agree(**agreed)
    at.posts.answering = answering()
    session = await at.send(topic="Order 7")
    await at.ends(session, "delivered")
    [request] = at.posts.requests
    assert request.url == URL
    found = opened(request)
    assert (found.heading.sender, found.heading.recipient, found.heading.subject) == ("My Biz", "ACME", "Order 7")
    assert bytes(found.entity.data()) == DOCUMENT
    assert found.entity.content_type == "application/edi-x12"
    assert not [name for name in request.headers if name.startswith(("webhook", "postroad"))]
    assert not await at.entries(DeliveryAttempted)


def by_nobody(request: PushRequest) -> PushAnswer:
    """A receipt whose signature has no signers."""
    answer = answering()(request)
    head = b'filename="smime.p7s"\r\n\r\n'
    begin = answer.body.index(head) + len(head)
    end = answer.body.index(b"\r\n--", begin)
    return replace(answer, body=answer.body[:begin] + b64encode(signed_data()) + answer.body[end:])


@pytest.mark.req("T7")
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (lambda request: PushAnswer(status=200), "contains no MDN"),
        (lambda request: PushAnswer(status=200, body=b"<html>", headers=(("content-type", "text/html"),)), "no MDN"),
        (answering(mic=Mic(digest=b"x" * 32, algorithm="sha256")), "other content than was sent"),
        (answering(signer=theirs(stranger())), "signature is not valid"),
        (by_nobody, "signature is not valid"),
    ],
)  # fmt: skip
async def test_an_mdn_that_proves_nothing_causes_the_same_message_to_be_sent_again(
    at: As2Scenario, bad: Answering, says: str
) -> None:
    answers = [bad]
    at.posts.answering = lambda request: (answers.pop() if answers else answering())(request)
    session = await at.send()
    await at.ends(session, "delivered")
    [attempted] = await at.entries(DeliveryAttempted)
    assert says in attempted.fault
    first, again = at.posts.requests
    assert first.headers["message-id"] == again.headers["message-id"]
    assert opened(first).mic == opened(again).mic


@pytest.mark.req("T7")
async def test_the_receipt_is_kept_as_it_came_for_those_who_see_the_stop(at: As2Scenario) -> None:
    at.posts.answering = answering()
    session = await at.send()
    stop = await at.ends(session, "delivered")
    mdn = build_partner_mdn(at.posts.requests[0])
    network = at.network
    owner = await at.person("ann@aster.example", "Aster")
    for caller in (owner, at.caller(ORDERS), at.caller(ACME)):
        kept = await read_mdn_at_stop(network, caller, session, stop.delivery)
        entity = read_entity(kept)
        assert bytes(entity.body) == mdn.body
        found = read_mdn(entity.headers(), bytes(entity.body), As2Identity(name="ACME", certificates=theirs_known()))
        assert (found.signature, found.sender, found.recipient) == ("valid", "ACME", "My Biz")
    others = await at.person("bob@birch.example", "Birch")
    operator = await at.running.enroll("op@network.example", operator=True)
    for caller in (others, operator):
        with pytest.raises(Refused, match="not-found"):
            await read_mdn_at_stop(network, caller, session, stop.delivery)


def theirs_known() -> tuple[Certificate, ...]:
    return (partner().certificate,)


@pytest.mark.req("T7")
async def test_where_there_was_no_receipt_none_is_shown(at: As2Scenario) -> None:
    await at.agree(mdn="none")
    session = await at.send()
    stop = await at.ends(session, "delivered")
    with pytest.raises(Refused, match="not-found"):
        await read_mdn_at_stop(at.network, at.caller(ORDERS), session, stop.delivery)


def test_headers_that_could_not_be_written_are_left_out_of_what_is_kept() -> None:
    headers = [("content-type", "multipart/report"), ("subject", "a\r\nb"), ("x-other", "1"), ("date", "today")]
    kept = encode_mdn(headers, b"body")
    assert kept == b"content-type: multipart/report\r\ndate: today\r\n\r\nbody"


@pytest.mark.req("T7")
async def test_an_unsigned_mdn_does_not_count_where_a_signed_one_was_agreed_on(at: As2Scenario) -> None:
    def unsigned(request: PushRequest) -> PushAnswer:
        plain = {name: text for name, text in request.headers.items() if name != "disposition-notification-options"}
        return as_answer(build_partner_mdn(replace(request, headers=plain)))

    at.posts.answering = unsigned
    session = await at.send()
    stop = await at.ends(session, "failed")
    assert "not signed, but a signed one was requested" in str(stop)
    assert len(at.posts.requests) == 3


@pytest.mark.req("T7")
async def test_a_partner_that_says_no_is_not_asked_again(at: As2Scenario) -> None:
    at.posts.answering = answering(disposition=error("decryption-failed"))
    session = await at.send()
    stop = await at.ends(session, "failed")
    assert "decryption-failed" in str(stop)
    assert len(at.posts.requests) == 1


@pytest.mark.req("T7", "D7")
async def test_a_message_that_the_partner_refused_is_resent_under_a_new_id(at: As2Scenario) -> None:
    at.posts.answering = answering(disposition=error("unexpected-processing-error"))
    session = await at.send()
    stop = await at.ends(session, "failed")
    at.posts.answering = answering()
    owner = await at.person("ann@aster.example", "Aster")
    await resend(at.network, owner, stop.delivery, "the partner has mended it")
    await at.ends(session, "delivered")
    first, again = at.posts.requests
    assert first.headers["message-id"] != again.headers["message-id"]


async def test_a_partner_that_says_no_to_some_is_well(at: As2Scenario) -> None:
    at.posts.answering = answering(disposition=error("unexpected-processing-error"))
    for _ in range(12):
        await at.send()
    await at.posts.wait_for(12)  # no breaker opens


@pytest.mark.req("T7")
async def test_where_no_receipt_was_agreed_on_a_2xx_is_enough(at: As2Scenario) -> None:
    await at.agree(mdn="none")
    await at.ends(await at.send(), "delivered")
    assert "disposition-notification-to" not in at.posts.requests[0].headers


async def test_without_our_key_the_message_waits_and_says_why(at: As2Scenario) -> None:
    at.key.text = ""
    at.posts.answering = answering()
    session = await at.send()
    await at.until(lambda entries: any(isinstance(one, DeliveryAttempted) for one in entries))
    [attempted, *_] = await at.entries(DeliveryAttempted)
    assert "this file does not exist" in attempted.fault
    assert (await at.stop(session)).state == "queued"


@pytest.mark.req("T7")
async def test_messages_are_encrypted_for_the_newest_certificate_and_receipts_may_have_any(at: As2Scenario) -> None:
    new = stranger()
    await at.agree(certificates=(certificate_pem(new), certificate_pem(partner())))
    at.posts.answering = answering(own=theirs(new))  # signed with the old one still
    await at.ends(await at.send(), "delivered")
    assert opened(at.posts.requests[0], theirs(new)).signer is not None


async def test_http_credentials_go_along_where_the_profile_has_them(at: As2Scenario) -> None:
    await at.change(
        ACME, push=Push(url=URL, authentication=PushAuthentication.BASIC, username="mybiz", secret_from="env:X")
    )
    at.posts.answering = answering()
    await at.ends(await at.send(), "delivered")
    assert at.posts.requests[0].headers["authorization"].startswith("Basic ")


@pytest.mark.req("B7", "T7")
async def test_a_partner_has_a_second_address_where_the_same_message_is_tried_next(at: As2Scenario) -> None:
    second = "https://second.acme.example/as2"
    backup = Push(url=second, authentication=PushAuthentication.NONE, tries=2)
    await at.change(ACME, push=Push(url=URL, authentication=PushAuthentication.NONE, tries=1, backup=backup))
    at.posts.answering = lambda request: PushAnswer(status=503) if request.url == URL else answering()(request)

    session = await at.send()

    await at.ends(session, "delivered")
    first, again = at.posts.requests
    assert (first.url, again.url) == (URL, second)
    assert first.headers["message-id"] == again.headers["message-id"]
    assert opened(first).mic == opened(again).mic
