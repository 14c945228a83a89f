"""Stock SOAP clients, given nothing but the address of the WSDL and a key: post, poll, acknowledge and faults over HTTP."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import zeep
from lxml import etree
from suds import WebFault
from suds.client import Client as SudsClient
from suds.transport.http import HttpAuthenticated

from postroad.testing.server import ServerProcess
from tests.samples.enrolled_parties import serving

BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"
ORDER = b'<o:Order xmlns:o="urn:example:order" number="7"><o:Line>12 &lt; 13 \xc3\xa9</o:Line></o:Order>'
CODE = ".//{urn:postroad:message:1}Code"
Served = tuple[ServerProcess, dict[str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("soap") / "data", BUYER, SELLER) as running:
        yield running


def zeep_as(served: Served, who: str, port: str, key: str = "") -> Iterator[Any]:
    server, keys = served
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {key or keys[who]}"
        transport = zeep.Transport(session=session)
        yield zeep.Client(
            f"{server.url}/soap?wsdl", transport=transport, service_name="Postroad", port_name=port
        ).service


@pytest.fixture(params=["Soap11", "Soap12"])
def port(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def buyer(served: Served, port: str) -> Iterator[Any]:
    yield from zeep_as(served, BUYER, port)


@pytest.fixture
def seller(served: Served, port: str) -> Iterator[Any]:
    yield from zeep_as(served, SELLER, port)


def header(to: str = SELLER, **more: Any) -> dict[str, Any]:
    return {"To": {"Service": [{"name": to}]}, **more}


@pytest.mark.req("M4", "M3", "D2")
def test_zeep_posts_polls_and_acknowledges(buyer: Any, seller: Any, port: str) -> None:
    posted = buyer.Post(
        Header=header(Type="request", Topic="orders", Handle=f"zeep-{port}"),
        Document=[{"Xml": {"_value_1": etree.fromstring(ORDER)}}, {"Text": "a < b & é"}],
        Attachment=[{"Base64": bytes(range(256)), "contentType": "image/png"}],
    )
    [message] = seller.Poll(Max=5, WaitSeconds=5)
    assert (message.Header.Session, message.Header.Handle) == (posted.Session, f"zeep-{port}")
    assert etree.tostring(message.Document[0].Xml._value_1, method="c14n", exclusive=True) == ORDER
    assert message.Document[1].Text == "a < b & é"
    assert message.Attachment[0].Base64 == bytes(range(256))
    [settled] = seller.Acknowledge(Token=[message.Header.Token])
    assert not settled.code
    assert not seller.Poll(Max=5)


@pytest.mark.req("M4", "M1", "M7", "M11")
def test_zeep_answers_a_request(buyer: Any, seller: Any) -> None:
    posted = buyer.Post(Header=header(Type="request", Handle="asked"), Document=[{"Text": "how much?"}])
    [request] = seller.Poll(WaitSeconds=5)
    seller.Post(Header={"Type": "response", "Reference": request.Header.Token}, Document=[{"Text": "13"}])
    seller.Acknowledge(Token=[request.Header.Token])
    [response] = buyer.Poll(WaitSeconds=5)
    assert (response.Header.Type, response.Header.Transaction) == ("response", posted.Session)
    assert response.Document[0].Text == "13"
    buyer.Acknowledge(Token=[response.Header.Token])


@pytest.mark.req("M5", "M4")
def test_zeep_gets_refusals_as_faults_with_their_code(buyer: Any, seller: Any, port: str) -> None:
    with pytest.raises(zeep.exceptions.Fault) as unknown:
        buyer.Post(Header=header("Nobody/Here"))
    assert unknown.value.detail.findtext(CODE) == "recipient.unknown"
    first = buyer.Post(Header=header(Handle=f"twice-{port}", PossibleDuplicate=True))
    with pytest.raises(zeep.exceptions.Fault) as duplicate:
        buyer.Post(Header=header(Handle=f"twice-{port}", PossibleDuplicate=True))
    assert duplicate.value.detail.findtext(CODE) == "message.duplicate"
    assert duplicate.value.detail.findtext(".//{urn:postroad:message:1}Session") == first.Session
    [message] = seller.Poll(WaitSeconds=5)
    seller.Acknowledge(Token=[message.Header.Token])
    [settled] = seller.Acknowledge(Token=["no-such-token"])
    assert settled.code == "token.unknown"


@pytest.mark.req("M5", "N4")
def test_zeep_without_a_good_key_is_told_so(served: Served, port: str) -> None:
    [stranger] = zeep_as(served, BUYER, port, key="wrong")
    with pytest.raises(zeep.exceptions.Error) as refused:
        stranger.Poll()
    assert "Credentials are missing or wrong" in str(refused.value) or "401" in str(refused.value)


def suds_as(served: Served, who: str) -> SudsClient:
    server, keys = served
    transport = HttpAuthenticated(username=who, password=keys[who])
    return SudsClient(f"{server.url}/soap?wsdl", transport=transport, cache=None, port="Soap11")


@pytest.mark.req("M4", "M5")
def test_suds_posts_polls_acknowledges_and_gets_faults(served: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # suds leaves its connections to the garbage collector
        buyer, seller = suds_as(served, BUYER), suds_as(served, SELLER)
        head, part = buyer.factory.create("PostHeader"), buyer.factory.create("Part")
        head.To, head.Handle, part.Text = {"Service": [{"_name": SELLER}]}, "suds-1", "a < b & é"
        posted = buyer.service.Post(head, [part], [])
        [message] = seller.service.Poll(5, 5)
        assert (message.Header.Session, message.Document[0].Text) == (posted.Session, "a < b & é")
        [settled] = seller.service.Acknowledge([message.Header.Token])
        assert not getattr(settled, "_code", "")
        head.To = {"Service": [{"_name": "Nobody/Here"}]}
        with pytest.raises(WebFault) as fault:
            buyer.service.Post(head, [], [])
        assert "recipient.unknown" in str(fault.value.fault)


def test_the_wsdl_names_the_address_it_was_fetched_from(served: Served) -> None:
    server, _ = served
    with requests.get(f"{server.url}/soap?wsdl", timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/xml")
        assert f'location="{server.url}/soap"' in answer.text
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", 'x"/><y', "127.0.0.1.evil.example", "localhost@evil"]
)
def test_the_wsdl_does_not_repeat_an_unknown_host(served: Served, host: str) -> None:
    server, _ = served
    with requests.get(f"{server.url}/soap?wsdl", headers={"Host": host}, timeout=60) as answer:
        assert "evil" not in answer.text
        assert "/><y" not in answer.text
