"""Messages in external formats through the stages: taken apart when they come, whole when they go, never more than is due."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroad.core.codecs.dime import read_dime
from postroad.core.mediation.formats import decode_wire
from postroad.core.mediation.model import Wire
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import LocalDelivery
from postroad.core.model.directory import DocumentAccess, Visibility
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.journal import DeliveriesEnded, DeliveryTranslated, MessagePosted, decode
from postroad.core.model.message import Delivered, Message, MessageType, Part, Recipient
from postroad.core.model.part_facts import MessageArrival
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.errors import Refused
from postroad.flow.stages.mediate import HandedDelivery, build_header_fields, read_external_post
from postroad.testing.network import MemoryNetwork, memory_network
from tests.samples.account_scenario import ACCOUNT, FIRST, SECOND, AccountScenario

BUYER, ACME, SCAN = "MyBiz/Purchasing", "Acme/Supply", "Transmatics/Scan"
MIXED = 'multipart/mixed; boundary="a strange one"'
TWO_PARTS = (
    b"a preamble\r\n--a strange one\r\nContent-Type: application/xml\r\nX-Colour: yes\r\n\r\n<order/>\r\n--a strange one\r\n"
    b"Content-Type: application/pdf\r\nContent-ID: <pdf>\r\nContent-Disposition: attachment\r\n\r\n%PDF\r\n"
    b"--a strange one--\r\nthe end"
)
TWO_DOCUMENTS = TWO_PARTS.replace(b": attachment", b": inline")  # DIME knows one document, all else are attachments
NO_PLACE = "part pdf: that it is a document, not an attachment, cannot be represented in DIME"
ENVELOPE = b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>%b</s:Body></s:Envelope>'


def wire(body: bytes, content_type: str, **fields: str) -> Wire:
    beside = [(f"postroad-{name.replace('_', '-')}", value) for name, value in fields.items()]
    return Wire([("content-type", content_type), *beside], body)


@pytest.fixture
async def scenario() -> AsyncIterator[AccountScenario]:
    async with AccountScenario() as scenario:
        yield scenario


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        yield network


async def handed_to(running: MemoryNetwork, caller: Caller, **how: Any) -> list[HandedDelivery]:
    return await running.network.poll_in_format(caller, PollRequest(**how))


async def entries(running: MemoryNetwork, kind: type) -> list[Any]:
    records = (await running.network.journal.read(0, 1 << 20)).records
    return [entry for record in records if isinstance(entry := decode(record.facts), kind)]


async def sent(
    running: MemoryNetwork, to: str, content_type: str = MIXED, body: bytes = TWO_PARTS, **fields: str
) -> None:
    buyer = running.network.directory.service(BUYER)
    caller = Caller(service=buyer) if buyer is not None else await running.register(BUYER)
    await running.network.carry_out(caller, read_external_post(wire(body, content_type, to=to, **fields)))


@pytest.mark.req("T1", "T3")
async def test_the_same_format_gives_the_same_bytes(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="mime")
    await sent(running, ACME)
    [handed] = await handed_to(running, acme)
    assert handed.given is not None
    assert (handed.given.media_type, handed.given.data) == (MIXED, TWO_PARTS)
    [posted] = await entries(running, MessagePosted)
    assert posted.form == "mime"
    assert posted.wire_size == len(TWO_PARTS)
    assert posted.arrival is not None
    assert posted.arrival.wrapper_bytes > 0


@pytest.mark.req("T9")
async def test_values_that_a_format_cannot_carry_are_recorded_once(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="dime")
    await sent(running, ACME, body=TWO_DOCUMENTS)
    [handed] = await handed_to(running, acme)
    assert handed.given is not None
    assert [bytes(record.data) for record in read_dime(handed.given.data).records] == [b"<order/>", b"%PDF"]
    token = handed.delivered.token
    await running.network.settle(acme, Settlement(tokens=(token,), outcome=Outcome.NACK))
    [again] = await handed_to(running, acme)
    assert again.delivered.attempt == 2
    assert again.given is not None
    assert again.given.data == handed.given.data
    [noted] = await entries(running, DeliveryTranslated)
    assert (noted.form, noted.format) == ("mime", "dime")
    assert NO_PLACE in noted.dropped


@pytest.mark.req("T9")
async def test_a_later_format_is_recorded_even_if_the_first_attempt_had_none(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="dime")
    await sent(running, ACME, body=TWO_DOCUMENTS)
    [leased] = await running.network.poll(
        acme, PollRequest()
    )  # in a native format; or the node ended before the record
    await running.network.settle(acme, Settlement(tokens=(leased.token,), outcome=Outcome.NACK))
    assert not await entries(running, DeliveryTranslated)
    [again] = await handed_to(running, acme)
    assert again.delivered.attempt == 2
    [noted] = await entries(running, DeliveryTranslated)
    assert again.given is not None
    assert noted.dropped == again.given.dropped


@pytest.mark.req("Z2")
async def test_a_poller_of_as2_gets_the_document_with_no_header_of_its_senders_making(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="as2")
    buyer = await running.register(BUYER)
    said = (("Content-Description", "prices"), ("Set-Cookie", "a=b"), ("Postroad-From", "Somebody/Else"))
    part = Part(id="1", content_type="text/csv", data=b"a;b", headers=said)
    await running.network.post(buyer, Message(to=(Recipient(ACME),), parts=(part,)))
    [handed] = await handed_to(running, acme)
    assert handed.given is not None
    assert (handed.given.media_type, handed.given.data) == ("text/csv", b"a;b")
    fields = build_header_fields(handed)
    assert fields["Content-Description"] == "prices"
    assert "Set-Cookie" not in fields
    assert fields["Postroad-From"].startswith(BUYER)
    [noted] = await entries(running, DeliveryTranslated)
    assert noted.format == "mime"


@pytest.mark.req("T9")
async def test_a_recipient_that_requires_whole_messages_gets_no_partial_ones(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="dime", whole_only=True)
    await sent(running, ACME, body=TWO_DOCUMENTS)
    await sent(running, ACME, "application/xml", b"<whole/>")
    [handed] = await handed_to(running, acme, max=1)
    assert handed.delivered.parts[0].data == b"<whole/>"
    [ended] = await entries(running, DeliveriesEnded)
    assert ended.state == "failed"
    assert ended.reason.startswith("mediation.lossy: ")
    assert NO_PLACE in ended.reason
    assert await entries(running, DeliveryTranslated) == []


@pytest.mark.req("T9")
async def test_a_requester_is_told_when_its_request_cannot_be_had_whole(running: MemoryNetwork) -> None:
    await running.register(ACME, visibility=Visibility.PUBLIC, format="dime", whole_only=True)
    await sent(running, ACME, body=TWO_DOCUMENTS, type="request")
    acme, buyer = (Caller(service=running.network.directory.service(name)) for name in (ACME, BUYER))
    assert await handed_to(running, acme) == []
    [told] = await running.network.poll(buyer, PollRequest())
    assert told.status is not None
    assert told.status.code == "route.failed"
    assert "mediation.lossy" in told.status.text


async def test_a_contradiction_is_kept_with_the_message(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC)
    await sent(running, ACME, "application/dime", ENVELOPE % b"<order/>")
    [posted] = await entries(running, MessagePosted)
    assert posted.form == "soap"
    assert posted.arrival is not None
    assert "application/dime" in posted.arrival.notes[0]
    [delivered] = await running.network.poll(acme, PollRequest())
    assert delivered.parts[0].data == b"<order/>"


async def test_as2_has_a_door_of_its_own() -> None:
    as2 = Wire([("as2-from", "a"), ("as2-to", "b"), ("content-type", "application/pkcs7-mime")], b"x")
    with pytest.raises(Refused, match="AS2"):
        read_external_post(as2)


async def through_scan(running: MemoryNetwork, *access: DocumentAccess, format: str = "mime") -> tuple[Caller, Caller]:
    """A message that passes a service on its way; returns that service and the recipient."""
    scan = await running.register(SCAN, visibility=Visibility.PUBLIC, format=format)
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format=format)
    await running.register(BUYER, document_access=access)
    await sent(running, ACME, route=SCAN)
    return scan, acme


@pytest.mark.req("T3")
async def test_a_service_in_transit_gets_the_bytes_and_answers_in_its_format(running: MemoryNetwork) -> None:
    scan, acme = await through_scan(running)
    [handed] = await handed_to(running, scan)
    assert handed.given is not None
    assert handed.given.data == TWO_PARTS
    assert build_header_fields(handed)["Postroad-In-Transit"] == "true"
    answer = wire(b"<scanned/>", "application/xml", type="response", reference=handed.delivered.token)
    await running.network.carry_out(scan, read_external_post(answer))
    [last] = await handed_to(running, acme)
    assert last.given is not None
    assert (last.given.media_type, last.given.data) == ("application/xml", b"<scanned/>")


SPACED = ENVELOPE % b"\n <order/>\n"
THROUGH_SCAN = [("soapaction", '"urn:order"'), ("postroad-to", ACME), ("postroad-route", SCAN)]


@pytest.mark.req("T3", "T9")
@pytest.mark.parametrize("answered", [b"", b"<order/>", b"<scanned/>"])
async def test_an_unchanged_message_arrives_as_it_was_sent(running: MemoryNetwork, answered: bytes) -> None:
    scan = await running.register(SCAN, visibility=Visibility.PUBLIC)
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="soap")
    buyer = await running.register(BUYER)
    await running.network.carry_out(
        buyer, read_external_post(Wire([("content-type", "text/xml; charset=utf-8"), *THROUGH_SCAN], SPACED))
    )
    [seen] = await running.network.poll(scan, PollRequest())
    parts = (Part(id="1", content_type="application/xml", data=answered),) if answered else ()
    await running.network.post(scan, Message(type=MessageType.RESPONSE, reference=seen.token, parts=parts))
    [handed] = await handed_to(running, acme)
    assert handed.given is not None
    assert dict(handed.given.headers)["SOAPAction"] == '"urn:order"', "by which many servers find what is wanted"
    if answered == b"<scanned/>":
        assert (b"<scanned/>" in handed.given.data, b"<order/>" in handed.given.data) == (True, False)
    else:
        assert (handed.given.media_type, handed.given.data) == ("text/xml; charset=utf-8", SPACED)


@pytest.mark.req("Z5")
async def test_a_document_that_is_withheld_is_not_in_the_wrapping_either(running: MemoryNetwork) -> None:
    scan, _ = await through_scan(running, DocumentAccess(service=SCAN, read=("1",), change=()))
    [handed] = await handed_to(running, scan)
    assert handed.given is not None
    assert b"PDF" not in handed.given.data
    assert b"preamble" not in handed.given.data
    assert handed.given.data.count(b"<order/>") == 1


@pytest.mark.req("N7", "Z5")
async def test_the_wrapper_does_not_name_a_hidden_party(scenario: AccountScenario) -> None:
    await scenario.confirm()
    for address in (FIRST, SECOND):
        await scenario.change(address, format="mime")
    fields = {"to": ACCOUNT, "type": "request", "handle": "h-1", "topic": "order"}
    telling = TWO_PARTS.replace(b"preamble", b"word of First")
    await scenario.network.carry_out(scenario.caller(FIRST), read_external_post(wire(telling, MIXED, **fields)))
    [asked] = await handed_to(scenario.running, scenario.caller(SECOND))
    assert asked.given is not None
    assert b"%PDF" in asked.given.data
    scenario.assert_hides_first_sender(asked.given.data.decode(), build_header_fields(asked))
    telling = TWO_PARTS.replace(b"preamble", b"word of Second")
    answer = wire(telling, MIXED, type="response", reference=asked.delivered.token)
    await scenario.network.carry_out(scenario.caller(SECOND), read_external_post(answer))
    [told] = await handed_to(scenario.running, scenario.caller(FIRST))
    assert told.given is not None
    assert b"%PDF" in told.given.data
    assert b"Second" not in told.given.data
    assert "Second" not in str(build_header_fields(told))


async def test_the_response_comes_back_as_it_was_posted(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="soap")
    buyer = await running.register(BUYER, format="mime")
    await sent(running, ACME, "application/xml", b"<ask/>", type="request", handle="h 1")
    [asked] = await handed_to(running, acme)
    assert asked.given is not None
    assert decode_wire(Wire([("content-type", asked.given.media_type)], asked.given.data)).parts[0].data == b"<ask/>"
    answer = wire(TWO_PARTS, MIXED, type="response", reference=asked.delivered.token)
    await running.network.carry_out(acme, read_external_post(answer))
    [told] = await handed_to(running, buyer)
    assert told.given is not None
    assert (told.given.media_type, told.given.data) == (MIXED, TWO_PARTS)
    assert build_header_fields(told)["Postroad-Reference"].endswith(";handle=h%201")


@pytest.mark.parametrize("format", [format for format in PLAIN if format is not Format.AS2])
async def test_words_of_the_network_have_no_document_in_any_format(running: MemoryNetwork, format: Format) -> None:
    await running.register(ACME, visibility=Visibility.PUBLIC, format="dime", whole_only=True)
    buyer = await running.register(BUYER, format=format.value)
    await sent(running, ACME, body=TWO_DOCUMENTS, type="request", handle="h-1")
    assert await handed_to(running, Caller(service=running.network.directory.service(ACME))) == []
    [told] = await handed_to(running, buyer)
    assert build_header_fields(told)["Postroad-Status"].startswith("route.failed;text=mediation.lossy")
    assert told.given is not None
    assert decode_wire(Wire([("content-type", told.given.media_type)], told.given.data)).parts == ()


async def test_own_forms_have_no_wrapping(running: MemoryNetwork) -> None:
    acme = await running.register(ACME, visibility=Visibility.PUBLIC)
    await sent(running, ACME)
    [handed] = await handed_to(running, acme)
    assert handed.given is None
    assert type(handed.delivered) is Delivered


async def test_a_wrapping_is_kept_from_explanations(running: MemoryNetwork) -> None:
    """Parts, wrapping and explanation lie one behind the other in the journal; each is read alone."""
    acme = await running.register(ACME, visibility=Visibility.PUBLIC, format="mime")
    await sent(running, ACME)
    [posted] = await entries(running, MessagePosted)
    [delivered] = await running.network.poll(acme, PollRequest())
    assert isinstance(delivered, LocalDelivery)
    assert posted.arrival == MessageArrival(len(delivered.wrapper))
    assert [part.data for part in delivered.parts] == [b"<order/>", b"%PDF"]


# --- pushes ------------------------------------------------------------------------------------------------------------------
