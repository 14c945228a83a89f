"""The doors for external formats: posts are told apart by their bytes, answered in the poster's format, handed out one by one."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from postroad.client import AsyncClient, Client
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.mediation.formats import decode_wire
from postroad.core.model.formats import Format
from postroad.core.model.journal import DeliveryTranslated, MessagePosted, MessageRefused, decode
from postroad.core.model.part_facts import MessageArrival
from tests.samples.mediated import FORMATS, JSON, OWN, Answered, Mediated, network, parts_in, polling, receiving

__all__ = ["network", "receiving"]  # the fixtures


async def posted_as(network: Mediated, body: bytes, *headers: tuple[str, str]) -> Answered:
    return await network.ask(polling(Format.JSON), "POST", "/v1/messages", body, headers)


ENVELOPE = b'<s:Envelope xmlns:s="%b"><s:Body><order/></s:Body></s:Envelope>'
SOAP_12 = b"http://www.w3.org/2003/05/soap-envelope"
SOAP_11 = b"http://schemas.xmlsoap.org/soap/envelope/"


@pytest.mark.req("T1", "T2")
@pytest.mark.parametrize(
    ("headers", "body", "status", "kind"),
    [
        ({"Content-Type": "text/csv"}, b"a;b", 202, "application/json"),
        ({"Content-Type": "text/xml"}, b"<order/>", 202, "application/json"),
        ({"Content-Type": "text/xml"}, ENVELOPE % SOAP_11, 200, "text/xml"),
        ({"Content-Type": "application/soap+xml"}, ENVELOPE % SOAP_12, 200, "application/soap+xml"),
        ({"Content-Type": "text/xml", "Accept": "application/json"}, ENVELOPE % SOAP_11, 202, "application/json"),
        ({"Content-Type": "text/xml", "Accept": "application/soap+xml, application/dime, multipart/related, text/*"},
         ENVELOPE % SOAP_11, 200, "text/xml"),
        ({"Content-Type": "application/json"}, b'{"any":"thing"}', 202, "application/json"),
        ({}, b"anything", 202, "application/json"),
    ],
)  # fmt: skip
async def test_a_post_is_answered_as_its_poster_understands_it(
    network: Mediated, headers: dict[str, str], body: bytes, status: int, kind: str
) -> None:
    answer = await posted_as(network, body, ("Postroad-To", polling(Format.MIME)), *headers.items())
    assert (answer.status, dict(answer.headers)["content-type"].partition(";")[0]) == (status, kind), answer.body
    [came] = await network.polled(polling(Format.MIME), Format.MIME)
    assert decode_wire(came).parts[0].data in (body, b"<order/>")


@pytest.mark.req("T8")
async def test_events_are_told_by_their_headers_and_by_their_content(network: Mediated) -> None:
    event = [("ce-specversion", "1.0"), ("ce-type", "order"), ("ce-source", "/mybiz"), ("ce-id", "4711")]
    to = ("Postroad-To", polling(Format.JSON))
    assert (await posted_as(network, b"<order/>", *event, to, ("Content-Type", "application/xml"))).status == 202
    structured = b'{"specversion":"1.0","type":"order","source":"/mybiz","id":"4712","data":{"n":3}}'
    assert (await posted_as(network, structured, to, ("Content-Type", "application/json"))).status == 202
    first, second = await network.polled(polling(Format.JSON), Format.JSON)
    [binary], [told] = JSON_FORM.decode_delivered(first.body), JSON_FORM.decode_delivered(second.body)
    assert (binary.topic, binary.handle, binary.parts[0].data) == ("order", "4711", b"<order/>")
    assert (told.topic, told.handle, told.parts[0].data) == ("order", "4712", b'{"n":3}')


async def test_an_event_without_fields_names_nobody_and_says_so(network: Mediated) -> None:
    structured = b'{"specversion":"1.0","type":"order","source":"/mybiz","id":"4712"}'
    answer = await posted_as(network, structured, ("Content-Type", "application/json"))
    assert (answer.status, b"recipient.missing" in answer.body) == (422, True), answer.body
    assert b"Postroad-To" in answer.body


async def test_a_soap_header_says_where_an_envelope_goes(network: Mediated) -> None:
    block = (
        b'<s:Header><pr:Header xmlns:pr="urn:postroad:message:1"><pr:To><pr:Service name="%b"/></pr:To></pr:Header>'
        b"</s:Header>"
    )
    body = (ENVELOPE % SOAP_11).replace(b"<s:Body>", block % polling(Format.SOAP).encode() + b"<s:Body>")
    answer = await posted_as(network, body, ("Content-Type", "text/xml"))
    assert answer.status == 200, answer.body
    [came] = await network.polled(polling(Format.SOAP), Format.SOAP)
    assert b"urn:postroad" not in came.body
    assert decode_wire(came).parts[0].data == b"<order/>"


@pytest.mark.req("T2")
async def test_a_contradiction_is_accepted_and_on_record(network: Mediated) -> None:
    post = b'{"to":["%b"],"documents":[{"text":"hi"}]}' % polling(Format.JSON).encode()
    assert (await posted_as(network, post, ("Content-Type", "text/xml"))).status == 202
    records = (await network.running.network.journal.read(0, 1 << 20)).records
    [entry] = [entry for record in records if isinstance(entry := decode(record.facts), MessagePosted)]
    assert entry.arrival == MessageArrival(notes=("declared as text/xml, but is JSON",))


async def test_a_key_is_for_one_message_with_one_header(network: Mediated) -> None:
    key, kind = ("Idempotency-Key", "k1"), ("Content-Type", "text/csv")
    first = await posted_as(network, b"a", key, kind, ("Postroad-To", polling(Format.MIME)))
    again = await posted_as(network, b"a", key, kind, ("Postroad-To", polling(Format.MIME)))
    other = await posted_as(network, b"a", key, kind, ("Postroad-To", polling(Format.SWA)))
    assert (first.status, again.status, again.body) == (202, 202, first.body)
    assert (other.status, b"idempotency.mismatch" in other.body) == (422, True), other.body


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ([("Content-Type", "application/json")], b"", b"wire.malformed"),
        ([("Content-Type", "text/xml")], b"3 anvils", b"wire.malformed"),
        ([("Postroad-To", "Nobody/Knows")], b"x", b"recipient.unknown"),
        ([("Postroad-Colour", "red")], b"x", b"wire.malformed"),
        ([("Content-Type", "image/png")], b"x", b"recipient.missing"),
        ([("Postroad-To", "A/B"), ("Content-Encoding", "gzip")], b"x", b"wire.unsupported"),
        ([("Content-Type", "application/json"), ("Content-Encoding", "gzip")], b"\x1f\x8b\x08", b"wire.unsupported"),
        ([("Postroad-To", "A/B"), ("Content-Transfer-Encoding", "base64")], b"eA==", b"wire.unsupported"),
        ([("Postroad-To", "A/B"), ("Content-Type", "multipart/related; boundary=x")], b"--y", b"wire.malformed"),
        ([("AS2-From", "a"), ("AS2-To", "b"), ("Content-Type", "application/pkcs7-mime")], b"x", b"wire.unsupported"),
    ],
)
async def test_what_cannot_be_taken_is_refused_clearly(
    network: Mediated, headers: list[tuple[str, str]], body: bytes, code: bytes
) -> None:
    answer = await posted_as(network, body, *headers)
    assert 400 <= answer.status < 500
    assert code in answer.body, answer.body


@pytest.mark.req("M5")
async def test_a_refused_post_is_on_record_with_what_is_known_of_it(network: Mediated) -> None:
    await posted_as(network, b"123", ("Postroad-Colour", "red"))
    await posted_as(network, b"1234", ("Postroad-Handle", "h-1"))
    await posted_as(network, b"12345", ("Content-Type", "text/xml"))
    await network.ask(polling(Format.JSON), "POST", "/soap", b"123456", [("Content-Type", "text/csv")])
    records = (await network.running.network.journal.read(0, 1 << 20)).records
    unread, unsent, untrue, no_soap = [
        entry for one in records if isinstance(entry := decode(one.facts), MessageRefused)
    ]
    assert (unread.code, unread.wire_size, unread.form) == ("wire.malformed", 3, "")
    assert (unsent.code, unsent.size, unsent.form, unsent.handle) == ("recipient.missing", 4, "mime", "h-1")
    assert (untrue.code, untrue.wire_size, untrue.form) == ("wire.malformed", 5, "")
    assert (no_soap.code, no_soap.wire_size, no_soap.form) == ("wire.unsupported", 6, "")


@pytest.mark.req("T1")
async def test_the_next_message_comes_as_itself(network: Mediated) -> None:
    to = [("Postroad-To", polling(format)) for format in FORMATS]
    await posted_as(network, b"a;b", ("Content-Type", "text/csv"), ("Postroad-Handle", "h 1"), *to)
    for format in FORMATS:
        answer = await network.ask(polling(format), "GET", "/v1/messages/next?wait=5&lease=30")
        assert answer.status == 200, answer.body
        said = dict(answer.headers)
        assert (said["postroad-handle"], said["postroad-to"]) == ("h%201", polling(format))
        if format is Format.JSON:
            assert msgspec.json.decode(answer.body)["token"] == said["postroad-token"]
        else:
            assert [part.data for part in parts_in(answer.wire, format)] == [b"a;b"]
        await network.acknowledge(polling(format), [said["postroad-token"]])
        assert (await network.ask(polling(format), "GET", "/v1/messages/next")).status == 204
    assert (await network.polled(polling(Format.MIME), Format.MIME)) == []


@pytest.mark.req("T9", "Z2")
async def test_a_message_with_a_long_header_can_still_be_read(network: Mediated) -> None:
    properties = {f"p{number}": "x" * 4_000 for number in range(20)}
    post = {"to": [polling(Format.MIME)], "documents": [{"text": "hi"}], "properties": properties}
    assert (await posted_as(network, msgspec.json.encode(post), *JSON)).status == 202
    answer = await network.ask(polling(Format.MIME), "GET", "/v1/messages/next?wait=5")
    assert (answer.status, answer.body) == (200, b"hi")
    records = (await network.running.network.journal.read(0, 1 << 24)).records
    [noted] = [entry for one in records if isinstance(entry := decode(one.facts), DeliveryTranslated)]
    assert len(noted.dropped) == 19


async def test_messages_may_be_asked_for_in_an_own_form(network: Mediated) -> None:
    for form, codec in OWN.items():
        await posted_as(network, b"a;b", ("Content-Type", "text/csv"), ("Postroad-To", polling(Format.DIME)))
        accept = [*JSON, ("Accept", codec.media_type)]
        answer = await network.ask(polling(Format.DIME), "POST", "/v1/poll", b"{}", accept)
        [delivered] = codec.decode_delivered(answer.body)
        assert delivered.parts[0].data == b"a;b", form
        await network.acknowledge(polling(Format.DIME), [delivered.token])
    await posted_as(network, b"a;b", ("Content-Type", "text/csv"), ("Postroad-To", polling(Format.DIME)))
    answer = await network.ask(polling(Format.DIME), "GET", "/v1/messages/next", headers=[("Accept", "text/xml")])
    assert parts_in(answer.wire, Format.SOAP11)[0].data == b"a;b"


async def test_asking_for_the_head_takes_no_message(network: Mediated) -> None:
    await posted_as(network, b"a;b", ("Content-Type", "text/csv"), ("Postroad-To", polling(Format.DIME)))
    for _ in range(2):
        assert (await network.ask(polling(Format.DIME), "HEAD", "/v1/messages/next")).status == 405
    answer = await network.ask(polling(Format.DIME), "GET", "/v1/messages/next")
    assert (answer.status, dict(answer.headers)["cache-control"]) == (200, "no-store")


async def test_the_soap_address_takes_envelopes_of_others_with_attachments_or_without(network: Mediated) -> None:
    to = ("Postroad-To", polling(Format.MIME))
    plain = await network.ask(
        polling(Format.JSON), "POST", "/soap", ENVELOPE % SOAP_12, [to, ("Content-Type", "application/soap+xml")]
    )
    assert (plain.status, b"PostResponse" in plain.body) == (200, True), plain.body
    body = b"--x\r\nContent-Type: text/xml\r\n\r\n%b\r\n--x\r\n\r\nnote\r\n--x--\r\n" % (ENVELOPE % SOAP_11)
    kind = ("Content-Type", "multipart/related; type=text/xml; boundary=x")
    attached = await network.ask(polling(Format.JSON), "POST", "/soap", body, [to, kind])
    assert (attached.status, b"PostResponse" in attached.body) == (200, True), attached.body
    empty = await network.ask(polling(Format.JSON), "POST", "/soap", b"", [("Content-Type", "text/xml")])
    assert (empty.status, b"the body is empty" in empty.body) == (500, True), empty.body
    file = await network.ask(polling(Format.JSON), "POST", "/soap", b"a;b", [to, ("Content-Type", "text/csv")])
    assert (file.status, b"Send SOAP" in file.body) == (500, True), file.body
    first, second = await network.polled(polling(Format.MIME), Format.MIME)
    assert [part.data for part in decode_wire(first).parts] == [b"<order/>"]
    assert [part.data for part in decode_wire(second).parts] == [b"<order/>", b"note"]


@pytest.mark.parametrize("query", ["wait=soon", "wait=61", "lease=-1", "wait=nan", "colour=red"])
async def test_the_next_message_is_asked_for_in_seconds(network: Mediated, query: str) -> None:
    answer = await network.ask(polling(Format.DIME), "GET", f"/v1/messages/next?{query}")
    assert (answer.status, b"wire.malformed" in answer.body) == (400, True), answer.body


@pytest.mark.req("T1", "K1")
async def test_a_program_posts_bytes_and_takes_the_next_message(network: Mediated) -> None:
    async with AsyncClient(access=network.access(polling(Format.JSON))) as buyer:
        result = await buyer.post_wire(
            b"a;b", "text/csv", headers={"Content-Disposition": "attachment"}, to=[polling(Format.MIME), polling(Format.DIME)],
            topic="größe, order", handle="h;1", properties={"n": 3},
        )  # fmt: skip
        assert await buyer.next_message() is None
        with pytest.raises(ValueError, match="documents"):
            await buyer.post_wire(b"", "text/csv", to=polling(Format.MIME), document="no")

    def receive() -> None:
        with Client(access=network.access(polling(Format.MIME))) as seller:
            taken = seller.next_message(wait_s=60)
            assert taken is not None
            assert (taken.body, taken.content_type) == (b"a;b", "text/csv")
            assert (taken.sender, taken.topic, taken.handle) == (polling(Format.JSON), "größe, order", "h;1")
            assert (taken.session, taken.network_field("Property")) == (result.session, "n=3")
            assert taken.headers["content-disposition"] == "attachment"
            seller.acknowledge(taken.token)
            assert seller.next_message() is None

    await asyncio.to_thread(receive)


async def test_a_bulk_may_hold_posts_in_any_format(network: Mediated) -> None:
    parts = [
        b'Content-Type: application/json\r\n\r\n{"to":["%b"],"documents":[{"text":"own"}]}'
        % polling(Format.MIME).encode(),
        b"Content-Type: text/csv\r\nPostroad-To: %b\r\nPostroad-Topic: prices\r\n\r\na;b"
        % polling(Format.MIME).encode(),
        b"Content-Type: text/csv\r\nPostroad-Colour: red\r\n\r\na;b",
        b"Content-Type: text/xml\r\n\r\n" + ENVELOPE % SOAP_11,
    ]
    body = b"".join(b"--x\r\n%b\r\n" % part for part in parts) + b"--x--\r\n"
    kind = ("Content-Type", "multipart/mixed; boundary=x")
    for _ in range(2):  # with the same key the same answers, and no message twice
        answer = await network.ask(
            polling(Format.JSON), "POST", "/v1/messages/bulk", body, [kind, ("Idempotency-Key", "b1")]
        )
        told = [one.get("code", "accepted") for one in msgspec.json.decode(answer.body)]
        assert told == ["accepted", "accepted", "wire.malformed", "recipient.missing"]
    first, second = await network.polled(polling(Format.MIME), Format.MIME)
    assert (first.body, second.body) == (b"own", b"a;b")
    assert (second.content_type, second.header("postroad-topic")) == ("text/csv", "prices")
