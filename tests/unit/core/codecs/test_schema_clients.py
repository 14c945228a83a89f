"""Stock SOAP clients, given nothing but the WSDL: what they write we read, and what we write they read."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import zeep
from lxml import etree
from suds.client import Client as SudsClient
from suds.sax.text import Raw
from suds.transport import Reply, Request, Transport

from postroad.core.codecs.codec import refusal_bytes
from postroad.core.codecs.schema import wsdl
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.model.message import Argument, MessageType, Property, PropertyType, Recipient
from postroad.core.model.polling import Outcome
from postroad.errors import Refused
from tests.samples.wire_messages import DELIVERED, ORDER, RESULT, SETTLED

ADDRESS = "http://network.example/soap?a=1&b=2"
both_versions = pytest.mark.parametrize(
    ("port", "codec"), [pytest.param("Soap11", SOAP11, id="1.1"), pytest.param("Soap12", SOAP12, id="1.2")]
)


def canonical(element: etree._Element) -> bytes:
    return etree.tostring(element, method="c14n", exclusive=True)


class ZeepWire(zeep.transports.Transport):
    """Hands out the WSDL, keeps what is posted and answers with prepared bytes."""

    def __init__(self, answer: bytes, status: int = 200) -> None:
        super().__init__()
        self.answer, self.status, self.posted = answer, status, b""

    def load(self, url: str) -> bytes:
        return wsdl(ADDRESS)

    def post(self, address: str, message: bytes, headers: dict[str, str]) -> object:
        assert address == ADDRESS
        self.posted = message
        answer = type("Answer", (), {})()
        answer.status_code, answer.content, answer.headers = self.status, self.answer, {"Content-Type": "text/xml"}
        answer.encoding = "utf-8"
        return answer


def zeep_service(port: str, wire: ZeepWire) -> zeep.proxy.ServiceProxy:
    return zeep.Client("http://network.example/wsdl", transport=wire, service_name="Postroad", port_name=port).service


@pytest.mark.req("M4")
@both_versions
def test_zeep_posts_documents_of_every_kind(port: str, codec: SoapCodec) -> None:
    wire = ZeepWire(codec.encode_result(RESULT))
    answer = zeep_service(port, wire).Post(
        Header={
            "To": {"Service": [{"name": "Acme/Supply", "Argument": [{"name": "op", "_value_1": "Process"}]}]},
            "Type": "request",
            "Handle": "h-1",
            "PossibleDuplicate": True,
            "Property": [{"name": "amount", "type": "number", "_value_1": "12.50"}],
        },
        Document=[
            {"Xml": {"_value_1": etree.fromstring(ORDER)}, "id": "order"},
            {"Text": "a < b & c", "contentType": "text/plain"},
        ],
        Attachment=[{"Base64": b"\x00\xff", "contentType": "image/png"}],
    )
    message = codec.decode_post(wire.posted)
    assert message.to == (Recipient("Acme/Supply", (Argument("op", "Process"),)),)
    assert (message.type, message.handle, message.possible_duplicate) == (MessageType.REQUEST, "h-1", True)
    assert message.properties == (Property("amount", "12.50", PropertyType.NUMBER),)
    assert [part.data for part in message.parts] == [ORDER, b"a < b & c", b"\x00\xff"]
    assert answer.Session == RESULT.session
    assert answer.Recipient[1].code == "recipient.unknown"


@pytest.mark.req("M4")
@both_versions
def test_zeep_polls_and_acknowledges(port: str, codec: SoapCodec) -> None:
    wire = ZeepWire(codec.encode_delivered([DELIVERED]))
    messages = zeep_service(port, wire).Poll(Max=5, WaitSeconds=1.5, Select={"Topic": "orders/new"})
    request = codec.decode_poll(wire.posted)
    assert (request.max, request.wait_s, request.select.topic) == (5, 1.5, "orders/new")
    header, documents = messages[0].Header, messages[0].Document
    assert (header.Token, header.To.Service.name, header.InTransit) == (DELIVERED.token, DELIVERED.recipient, True)
    assert canonical(documents[0].Xml._value_1) == canonical(etree.fromstring(ORDER))
    assert messages[0].Attachment[0].Base64 == DELIVERED.parts[3].data
    wire.answer = codec.encode_settlement_result(SETTLED)
    settled = zeep_service(port, wire).Acknowledge(Token=["a", "b"], Outcome="nack", DelaySeconds=3)
    settlement = codec.decode_settlement(wire.posted)
    assert (settlement.tokens, settlement.outcome, settlement.delay_s) == (("a", "b"), Outcome.NACK, 3.0)
    assert settled[1].code == "token.unknown"


@pytest.mark.req("M5")
@both_versions
def test_zeep_finds_the_code_in_a_fault(port: str, codec: SoapCodec) -> None:
    refused = Refused("recipient.unknown", "There is no Nobody/Here", pointer="/Envelope/Body/Post")
    wire = ZeepWire(refusal_bytes(codec, refused), 500)
    with pytest.raises(zeep.exceptions.Fault) as fault:
        zeep_service(port, wire).Post(Header={"To": {"Service": [{"name": "Nobody/Here"}]}})
    assert fault.value.message == "The recipient does not exist"
    assert fault.value.detail.findtext(".//{urn:postroad:message:1}Code") == "recipient.unknown"


class SudsWire(Transport):
    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer, self.posted = answer, b""

    def open(self, request: Request) -> io.BytesIO:
        return io.BytesIO(wsdl(ADDRESS))

    def send(self, request: Request) -> Reply:
        self.posted = request.message
        return Reply(200, {"Content-Type": "text/xml"}, self.answer)


def suds_client(wire: SudsWire) -> SudsClient:
    return SudsClient("http://network.example/wsdl", transport=wire, cache=None, port="Soap11")


@pytest.mark.req("M4")
def test_suds_posts() -> None:
    wire = SudsWire(SOAP11.encode_result(RESULT))
    client = suds_client(wire)
    make: Callable[[str], object] = client.factory.create
    header, service, argument, part = make("PostHeader"), make("Service"), make("NamedValue"), make("Part")
    argument._name, argument.value = "op", "Process"  # type: ignore[attr-defined]
    service._name, service.Argument = "Acme/Supply", [argument]  # type: ignore[attr-defined]
    header.To, header.Type = {"Service": [service]}, "request"  # type: ignore[attr-defined]
    part.Text, part._id = "a < b", "t"  # type: ignore[attr-defined]
    answer = client.service.Post(header, [part], [])
    message = SOAP11.decode_post(wire.posted)
    assert message.to == (Recipient("Acme/Supply", (Argument("op", "Process"),)),)
    assert (message.type, message.parts[0].id, message.parts[0].data) == (MessageType.REQUEST, "t", b"a < b")
    assert answer.Session == RESULT.session


@pytest.mark.req("M4")
def test_suds_posts_inline_xml() -> None:
    wire = SudsWire(SOAP11.encode_result(RESULT))
    client = suds_client(wire)
    header, part = client.factory.create("PostHeader"), client.factory.create("Part")
    header.To = {"Service": [{"_name": "Acme/Supply"}]}
    part.Xml = Raw(ORDER.decode())
    client.service.Post(header, [part], [])
    assert SOAP11.decode_post(wire.posted).parts[0].data == ORDER


@pytest.mark.req("M4")
def test_suds_polls_and_acknowledges() -> None:
    wire = SudsWire(SOAP11.encode_delivered([DELIVERED]))
    client = suds_client(wire)
    messages = client.service.Poll(5)
    assert SOAP11.decode_poll(wire.posted).max == 5
    assert messages[0].Header.Token == DELIVERED.token
    assert messages[0].Document[1].Text == DELIVERED.parts[1].data.decode()
    wire.answer = SOAP11.encode_settlement_result(SETTLED)
    settled = client.service.Acknowledge(["a", "b"])
    assert SOAP11.decode_settlement(wire.posted).tokens == ("a", "b")
    assert settled[1]._code == "token.unknown"
