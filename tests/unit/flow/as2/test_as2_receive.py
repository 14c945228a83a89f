"""Messages from an AS2 partner: taken when their signature holds, delivered once, and answered with a receipt that proves it."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.codecs.as2 import PartnershipTerms, read_mdn
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import make_reason
from postroad.core.mediation.as2_partnerships import may_be_sent
from postroad.core.mediation.formats import encode_message
from postroad.core.mediation.model import make_outgoing
from postroad.core.mediation.wrapper import unpack_wrapper
from postroad.core.model.directory import AuthenticationLevel, ConnectionPolicy, Push, PushAuthentication
from postroad.core.model.formats import Format
from postroad.core.model.journal import MessagePosted, MessageRefused
from postroad.core.model.snapshot import Directory
from postroad.core.projection.delivery_rows import posted_content
from postroad.errors import Refused
from postroad.flow.stages.posting import decode_wrapper
from tests.samples.as2_parties import with_header
from tests.samples.as2_scenario import (
    ACME,
    DOCUMENT,
    ORDERS,
    PUSHED,
    RECEIPTS,
    As2Scenario,
    certificate_pem,
    key_pem,
    ours,
    sent_by_acme,
    theirs,
)
from tests.samples.cms_people import clerk, stranger

BARE = PartnershipTerms(sign="", encrypt="", mdn_signed=False, must_be_signed=False)
ASYNC = PartnershipTerms(mdn="async", mdn_url=RECEIPTS)


@pytest.fixture
async def at() -> AsyncIterator[As2Scenario]:
    async with As2Scenario() as bench:
        yield bench


@pytest.mark.req("T7")
@pytest.mark.parametrize(
    "agreement",
    [
        PartnershipTerms(),
        PartnershipTerms(encrypt=""),
        PartnershipTerms(compress="before"),
        PartnershipTerms(compress="after", encrypt="aes128-gcm"),
        PartnershipTerms(sign="sha1", mdn_signed=False),
    ],
)
async def test_a_message_is_delivered_and_its_receipt_proves_it(at: As2Scenario, agreement: PartnershipTerms) -> None:
    built = sent_by_acme(agreement=agreement)
    await at.take_and_prove(built)
    [delivered] = await at.poll(ORDERS)
    assert (delivered.sender, delivered.handle) == (ACME, "<1@acme.example>")
    [part] = delivered.parts
    assert (part.content_type, part.data) == ("application/edi-x12", DOCUMENT)
    [posted] = await at.entries(MessagePosted)
    assert posted.form == "as2"
    assert posted.arrival is not None
    assert (posted.arrival.message_id, posted.arrival.mic) == ("<1@acme.example>", str(built.sent.mic))
    assert ("signed" in posted.arrival.layers, "encrypted" in posted.arrival.layers) == (True, bool(agreement.encrypt))


@pytest.mark.req("T7", "T9")
async def test_the_entity_is_given_on_with_the_bytes_that_the_partner_signed(at: As2Scenario) -> None:
    head = b"content-type:  text/plain; charset=x\r\nX-Order: 7\r\nContent-Transfer-Encoding: base64\r\n"
    await at.take_and_prove(sent_by_acme(head=head, body=b"aGVs\r\nbG8=\r\n"))
    [delivered] = await at.poll(ORDERS)
    assert delivered.parts[0].data == b"hello"
    [posted] = await at.entries(MessagePosted)
    body = await at.network.journal.read(0, 1 << 24)
    at_body = next(record.body for record in body.records if record.body is not None)
    setting = unpack_wrapper(
        decode_wrapper(posted_content(posted, None), await at.network.journal.body(at_body) or b"")
    )
    given = encode_message(make_outgoing(delivered, setting, b"seed"), Format.AS2)
    assert (given.entity_head, given.data) == (head, b"aGVs\r\nbG8=\r\n")


@pytest.mark.req("T7", "D5")
async def test_a_message_that_comes_again_is_delivered_once_and_gets_the_same_receipt(at: As2Scenario) -> None:
    built = sent_by_acme()
    first = await at.take_as2(built)
    again = await at.take_as2(sent_by_acme())
    assert again == first
    assert len(await at.entries(MessagePosted)) == 1
    assert len(await at.poll(ORDERS)) == 1


@pytest.mark.req("T7", "D5")
async def test_a_message_that_comes_many_times_at_once_is_delivered_once(at: As2Scenario) -> None:
    receipts = await asyncio.gather(*[at.take_as2(sent_by_acme()) for _ in range(8)])
    assert len(set(map(repr, receipts))) == 1
    assert len(await at.poll(ORDERS)) == 1


@pytest.mark.req("T7")
async def test_an_accepted_as2_message_stays_accepted_after_the_partnership_changes(at: As2Scenario) -> None:
    first = await at.take_as2(sent_by_acme())
    await at.agree(deliver_to="Nobody/There")
    at.limited = True
    assert await at.take_as2(sent_by_acme()) == first


@pytest.mark.req("T7")
async def test_another_message_under_the_same_id_is_refused_as_a_duplicate(at: As2Scenario) -> None:
    await at.take_and_prove(sent_by_acme())
    mdn = await at.mdn_for(sent_by_acme(body=b"another order"))
    assert str(mdn.disposition).endswith("processed/error: duplicate-document")
    assert len(await at.poll(ORDERS)) == 1
    [refused] = await at.entries(MessageRefused)
    assert (refused.code, refused.form, refused.handle) == ("as2.message-id-reused", "as2", "<1@acme.example>")


@pytest.mark.parametrize(
    ("built", "says", "code"),
    [
        (sent_by_acme(own=theirs(stranger())), "authentication-failed", "as2.authentication-failed"),
        (sent_by_acme(agreement=replace(BARE, mdn_signed=True)), "insufficient-message-security", "as2.insufficient-security"),
    ],
)  # fmt: skip
@pytest.mark.req("T7")
async def test_an_unproven_message_is_refused_by_a_signed_mdn_and_recorded(
    at: As2Scenario, built: Any, says: str, code: str
) -> None:
    mdn = await at.mdn_for(built)
    assert str(mdn.disposition).endswith(f"processed/error: {says}")
    assert (mdn.signature, mdn.mic) == ("valid", None)
    assert not await at.entries(MessagePosted)
    [refused] = await at.entries(MessageRefused)
    assert (refused.code, refused.sender, refused.form) == (code, at.gcid(ACME), "as2")
    assert not at.charged  # nobody uses up the allowance of others


@pytest.mark.req("T7")
async def test_all_unreadable_messages_get_the_same_answer(at: As2Scenario) -> None:
    built = sent_by_acme()
    at.key.text = key_pem(stranger())
    answered = await at.take_as2(built)
    assert answered is not None
    mdn = read_mdn(answered.headers, answered.body, ours(stranger()))
    assert str(mdn.disposition).endswith("processed/error: decryption-failed")


@pytest.mark.req("T7")
@pytest.mark.parametrize("deliver_to", ["", "Nobody/There"])
async def test_an_unreachable_recipient_is_an_error_and_the_message_may_be_sent_again(
    at: As2Scenario, deliver_to: str
) -> None:
    await at.agree(deliver_to=deliver_to)
    mdn = await at.mdn_for(sent_by_acme())
    assert not mdn.disposition.accepted
    [refused] = await at.entries(MessageRefused)
    assert refused.code in ("recipient.missing", "recipient.unknown")
    await at.agree(deliver_to=ORDERS)
    await at.take_and_prove(sent_by_acme())
    assert len(await at.poll(ORDERS)) == 1


@pytest.mark.req("T7")
@pytest.mark.parametrize(("name", "value"), [("AS2-From", "Birch"), ("AS2-To", "my biz")])
async def test_strangers_are_told_by_http_and_leave_no_trace(at: As2Scenario, name: str, value: str) -> None:
    built = sent_by_acme()
    with pytest.raises(Refused) as refused:
        await at.take_wire(with_header(built.headers, name, value), built.body)
    assert refused.value.code == "as2.partner-unknown"
    assert not await at.entries(MessageRefused, MessagePosted)


async def test_without_our_key_the_partner_is_asked_to_come_again(at: As2Scenario) -> None:
    at.key.text = ""
    with pytest.raises(Refused) as refused:
        await at.take_as2(sent_by_acme())
    assert refused.value.code == "as2.unexpected-processing-error"
    at.key.text = "no key at all"
    with pytest.raises(Refused) as refused:
        await at.take_as2(sent_by_acme())
    assert refused.value.code == "as2.unexpected-processing-error"


async def test_a_partner_over_its_rate_limit_gets_an_http_error_with_a_delay(at: As2Scenario) -> None:
    at.limited = True
    with pytest.raises(Refused) as refused:
        await at.take_as2(sent_by_acme())
    assert (refused.value.code, refused.value.retry_after_s) == ("rate.exceeded", 1)
    assert at.charged == ["Aster"]
    at.limited = False
    await at.take_and_prove(sent_by_acme())


async def test_refusals_in_a_partners_name_do_not_fill_the_journal(at: As2Scenario) -> None:
    forged = sent_by_acme(own=theirs(stranger()))
    outcomes = await asyncio.gather(*[at.take_as2(forged) for _ in range(60)], return_exceptions=True)
    assert {one.code for one in outcomes if isinstance(one, Refused)} == {"rate.exceeded"}
    assert 0 < len(await at.entries(MessageRefused)) < 40


# ---- without signatures ----------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
async def test_an_unsigned_message_needs_the_partners_http_credentials(at: As2Scenario) -> None:
    await at.agree(must_be_signed=False)
    mdn = await at.mdn_for(sent_by_acme(agreement=BARE))
    assert str(mdn.disposition).endswith("insufficient-message-security")
    at.http_caller = at.caller(ORDERS)
    assert not (await at.mdn_for(sent_by_acme(agreement=BARE))).disposition.accepted
    at.http_caller = at.caller(ACME)
    await at.take_and_prove(sent_by_acme(agreement=BARE))
    [delivered] = await at.poll(ORDERS)
    assert delivered.parts[0].data == DOCUMENT


async def test_a_signature_counts_as_a_certificate_for_policies(at: As2Scenario) -> None:
    await at.change(ORDERS, policy=ConnectionPolicy(authentication=AuthenticationLevel.CERTIFICATE))
    await at.agree(must_be_signed=False)
    at.http_caller = at.caller(ACME)  # with a key
    assert not (await at.mdn_for(sent_by_acme(agreement=BARE))).disposition.accepted
    await at.take_and_prove(sent_by_acme())


# ---- receipts ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
async def test_no_receipt_is_sent_to_who_wants_none(at: As2Scenario) -> None:
    assert await at.take_as2(sent_by_acme(agreement=PartnershipTerms(mdn="none"))) is None
    assert len(await at.poll(ORDERS)) == 1
    with pytest.raises(Refused) as refused:  # then HTTP tells it
        await at.take_as2(sent_by_acme("<2@acme.example>", agreement=replace(BARE, mdn="none")))
    assert refused.value.code == "as2.insufficient-security"


@pytest.mark.req("T7")
async def test_a_receipt_may_be_wanted_later_and_is_tried_until_it_is_taken(
    at: As2Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.flow.as2.send_mdns.PAUSES_S", (0.0,) * 5)
    at.posts.answers = [
        PushAnswer(status=None, fault=make_reason("other", detail="it hangs")),
        PushAnswer(status=503),
        PushAnswer(status=200),
    ]
    built = sent_by_acme(agreement=ASYNC)
    assert await at.take_as2(built) is None
    await at.posts.wait_for(3)
    first, *others = at.posts.requests
    assert first.url == RECEIPTS
    assert all((one.headers, one.body) == (first.headers, first.body) for one in others)
    mdn = read_mdn(list(first.headers.items()), first.body, ours())
    assert (mdn.original_message_id, mdn.signature, mdn.mic) == ("<1@acme.example>", "valid", built.sent.mic)
    await at.mdns_sent()
    assert len(at.posts.requests) == 3


@pytest.mark.req("T7")
async def test_an_http_content_encoding_is_refused(at: As2Scenario) -> None:
    built = sent_by_acme()
    answered = await at.take_wire([*built.headers, ("Content-Encoding", "gzip")], gzip.compress(built.body))
    assert answered is not None
    assert "unsupported format" in str(read_mdn(answered.headers, answered.body, ours()).disposition)
    assert await at.poll(ORDERS) == []


@pytest.mark.req("Z2")
async def test_forged_messages_do_not_use_up_the_capacity_for_mdns_of_others(
    at: As2Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.flow.as2.send_mdns.MAX_UNDER_WAY", 1)
    at.posts.answering = lambda request: PushAnswer(status=404)
    unproven = sent_by_acme(agreement=replace(ASYNC, sign="", encrypt=""))
    assert await at.take_as2(unproven) is None
    await at.posts.wait_for(1)
    await at.mdns_sent()
    assert await at.take_as2(sent_by_acme("<2@acme.example>", agreement=ASYNC)) is None
    await at.posts.wait_for(2)


@pytest.mark.req("T7")
async def test_a_message_that_comes_again_brings_its_late_receipt_under_way_again(at: As2Scenario) -> None:
    for count in (1, 2):
        assert await at.take_as2(sent_by_acme(agreement=ASYNC)) is None
        await at.posts.wait_for(count)
    first, again = at.posts.requests
    assert (first.headers, first.body) == (again.headers, again.body)


@pytest.mark.req("T7")
async def test_receipts_are_not_posted_to_just_anywhere(at: As2Scenario) -> None:
    elsewhere = replace(ASYNC, mdn_url="https://victim.example/")
    with pytest.raises(Refused) as refused:
        await at.take_as2(sent_by_acme(agreement=elsewhere))
    assert refused.value.code == "as2.receipt-address"
    assert not await at.entries(MessagePosted)
    await at.agree(receipt_urls=("https://victim.example/",))
    assert await at.take_as2(sent_by_acme(agreement=elsewhere)) is None


@pytest.mark.parametrize(
    ("agreed", "url", "allowed"),
    [
        ((), "https://acme.example/anything", True),
        ((), "https://acme.example.evil.example/as2", False),
        ((), "https://acme.example:443/as2", True),
        ((), "https://acme.example:444/as2", False),
        ((), "http://acme.example/as2", False),
        ((), "https://user@acme.example/as2", False),
        ((), "https://[broken/as2", False),
        (("https://mdn.acme.example/in/",), "https://mdn.acme.example/in/1", True),
        (("https://mdn.acme.example/in/",), "https://mdn.acme.example/out/1", False),
        (("https://mdn.acme.example/in/",), "https://mdn.acme.example/in/../out", False),
        (("https://mdn.acme.example/in/",), "https://acme.example/as2", False),
    ],
)
async def test_where_receipts_may_go(at: As2Scenario, agreed: tuple[str, ...], url: str, allowed: bool) -> None:
    await at.agree(receipt_urls=agreed)
    directory: Directory = at.network.directory
    assert may_be_sent(directory.services[at.gcid(ACME)], url) is allowed


@pytest.mark.req("B7")
async def test_receipts_may_go_to_the_server_of_the_backup(at: As2Scenario) -> None:
    backup = Push(url="https://second.acme.example/as2", authentication=PushAuthentication.NONE)
    await at.change(ACME, push=replace(PUSHED, backup=backup))
    service = at.network.directory.services[at.gcid(ACME)]
    assert may_be_sent(service, "https://second.acme.example/receipts")
    assert may_be_sent(service, "https://acme.example/receipts")
    assert not may_be_sent(service, "https://third.acme.example/receipts")


# ---- roll-over -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
async def test_while_certificates_are_rolled_over_both_hold_and_then_only_the_new_one(at: As2Scenario) -> None:
    new = stranger()
    service = at.network.directory.services[at.gcid(ACME)]
    assert service.as2 is not None
    await at.agree(certificates=(certificate_pem(new), *service.as2.certificates))
    await at.take_and_prove(sent_by_acme("<old@acme.example>"))
    await at.take_and_prove(sent_by_acme("<new@acme.example>", own=theirs(new)))
    await at.agree(certificates=(certificate_pem(new),))
    assert not (await at.mdn_for(sent_by_acme("<older@acme.example>"))).disposition.accepted
    await at.take_and_prove(sent_by_acme("<newer@acme.example>", own=theirs(new)))


@pytest.mark.req("T7")
async def test_while_our_key_is_rolled_over_messages_for_the_old_one_are_read(at: As2Scenario) -> None:
    at.key.text = key_pem(stranger(), clerk())
    answered = await at.take_as2(sent_by_acme())
    assert answered is not None
    assert read_mdn(answered.headers, answered.body, ours(stranger())).signature == "valid"
    assert len(await at.poll(ORDERS)) == 1
