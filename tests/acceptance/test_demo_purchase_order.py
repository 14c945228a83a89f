"""The purchase order over real HTTP, in JSON and in SOAP: exactly what each stop is given, and who is stopped where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import zeep
from lxml import etree

from postroad.client import Client
from postroad.errors import Refused
from tests.acceptance.purchase_order import (
    ACME,
    AS_ACME_WANTS_IT,
    MYBIZ,
    ORDER,
    SPAMCO,
    STOPS,
    WAIT_S,
    arrived,
    scenario,
    stops_of,
    values_in,
)
from tests.samples.served_network import Served, json_lines, succeeded

CONFIRMATION = "<PurchaseOrderConfirmation/>"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with scenario(tmp_path_factory.mktemp("order")) as running:
        yield running


@pytest.fixture
def mybiz(network: Served) -> Iterator[Client]:
    with network.client(MYBIZ) as client:
        yield client


@pytest.fixture
def acme(network: Served) -> Iterator[Client]:
    with network.client(ACME) as client:
        yield client


def require_the_way(mybiz: Client, session: str) -> None:
    """Every stop was given exactly what the scenario says, and the items stayed as they were."""
    found = stops_of(mybiz, session)
    assert [(service, values_in(parts[0].data)) for service, parts in found] == STOPS
    assert all(items_in(parts[0].data) == items_in(ORDER) for _, parts in found)


def items_in(order: bytes) -> list[bytes]:
    return [etree.tostring(item) for item in etree.fromstring(order).findall("Item")]


@pytest.mark.req("S5", "R4", "M11", "M2")
def test_the_order_travels_in_json(mybiz: Client, acme: Client) -> None:
    posted = mybiz.post(to=ACME, type="request", topic="purchase-order", handle="PO-1001", document=ORDER)
    [order] = acme.poll(1, wait_s=WAIT_S, trace=True)
    assert (order.sender, order.topic, order.handle) == (MYBIZ, "purchase-order", "PO-1001")
    assert [stop.service for stop in order.trace] == [service for service, _ in STOPS[:-1]]
    times = [order.posted_at_us, *[stop.at_us for stop in order.trace]]
    assert times == sorted(times)
    assert values_in(order.parts[0].data) == AS_ACME_WANTS_IT
    acme.reply(order, CONFIRMATION)
    response = arrived(mybiz, posted.transaction)
    assert (response.sender, response.status) == (ACME, None)
    assert response.reference is not None
    assert (response.reference.session, response.reference.handle) == (posted.session, "PO-1001")
    assert response.parts[0].data == CONFIRMATION.encode()
    require_the_way(mybiz, posted.session)


@pytest.mark.req("S5", "O3")
def test_the_order_travels_on_postgresql_too(postgres_database: str, tmp_path: Path) -> None:
    settings = {"acceptance": "shared", "index": "postgres", "postgres": postgres_database, "secret": "5e" * 32}
    arguments = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    with scenario(tmp_path, *arguments) as network, network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, type="request", document=ORDER)
        [order] = acme.poll(1, wait_s=WAIT_S, trace=True)
        assert [stop.service for stop in order.trace] == [service for service, _ in STOPS[:-1]]
        acme.reply(order, CONFIRMATION)
        assert arrived(mybiz, posted.transaction).parts[0].data == CONFIRMATION.encode()
        require_the_way(mybiz, posted.session)


def soap(network: Served, who: str) -> Iterator[Any]:
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {network.key(who).read_text().strip()}"
        transport = zeep.Transport(session=session)  # type: ignore[no-untyped-call]
        yield zeep.Client(f"{network.url}/soap?wsdl", transport=transport).service  # type: ignore[no-untyped-call]


@pytest.mark.req("S5", "M4", "K3")
def test_the_order_travels_in_soap(network: Served, mybiz: Client) -> None:
    [buyer], [seller] = soap(network, MYBIZ), soap(network, ACME)
    header = {"To": {"Service": [{"name": ACME}]}, "Type": "request", "Handle": "PO-1002"}
    posted = buyer.Post(Header=header, Document=[{"Xml": {"_value_1": etree.fromstring(ORDER)}}])
    [order] = seller.Poll(WaitSeconds=20, Trace=True)
    assert [stop.name for stop in order.Header.Trace.Stop] == [service for service, _ in STOPS[:-1]]
    assert values_in(etree.tostring(order.Document[0].Xml._value_1)) == AS_ACME_WANTS_IT
    seller.Post(
        Header={"Type": "response", "Reference": order.Header.Token},
        Document=[{"Xml": {"_value_1": etree.fromstring(CONFIRMATION)}}],
    )
    [response] = buyer.Poll(WaitSeconds=20)
    assert (response.Header.Reference.session, response.Header.Reference.handle) == (posted.Session, "PO-1002")
    confirmation = response.Document[0].Xml._value_1
    assert etree.tostring(confirmation, method="c14n", exclusive=True) == etree.canonicalize(CONFIRMATION).encode()
    buyer.Acknowledge(Token=[response.Header.Token])
    require_the_way(mybiz, posted.Session)


@pytest.mark.req("S5", "R15", "S4")
def test_an_unwelcome_sender_is_stopped_and_told(network: Served, acme: Client) -> None:
    with network.client(SPAMCO) as spamco:
        posted = spamco.post(to=ACME, type="request", document=ORDER)
        response = arrived(spamco, posted.transaction)
        assert response.status is not None
        assert response.status.code == "route.rejected"
        assert "KeepEmOut/filter" in response.status.text
        assert response.reference is not None
        assert response.reference.session == posted.session
        [copy] = spamco.trace(posted.session).messages[0].copies
        assert copy.state == "rejected"
        assert [stop.service for stop in copy.stops] == ["KeepEmOut/filter"], "no rule of MyBiz concerns it"
    assert acme.poll(1) == []


@pytest.mark.req("R2", "R16")
def test_an_order_with_its_address_in_pieces_goes_straight_to_the_filter(mybiz: Client, acme: Client) -> None:
    pieces = b"<PurchaseOrder><Address><Street>1 A, B, C</Street></Address></PurchaseOrder>"
    posted = mybiz.post(to=ACME, document=pieces)
    assert arrived(acme, posted.transaction).parts[0].data == pieces
    assert [service for service, _ in stops_of(mybiz, posted.session)] == ["KeepEmOut/filter", ACME]


@pytest.mark.req("Z5", "C2")
def test_each_party_sees_its_own_stops_and_those_it_included(network: Served, mybiz: Client, acme: Client) -> None:
    posted = mybiz.post(to=ACME, document=ORDER)
    arrived(acme, posted.transaction)
    deliveries = {
        stop.service: stop.delivery for copy in mybiz.trace(posted.session).messages[0].copies for stop in copy.stops
    }
    found = stops_of(acme, posted.session)
    assert [(service, values_in(parts[0].data)) for service, parts in found] == STOPS[-2:]
    for service in ("Transmatics/xslt", "XpandiCo/zipPlus4", "Transmatics/replaceElement"):
        with pytest.raises(Refused) as refusal:
            acme.parts_at(posted.session, deliveries[service])
        assert refusal.value.code == "not-found"
    with network.client(SPAMCO) as spamco, pytest.raises(Refused) as refusal:
        spamco.parts_at(posted.session, deliveries[ACME])
    assert refusal.value.code == "not-found"


@pytest.mark.req("C2", "K2")
def test_the_trace_shows_documents_to_the_services_concerned_and_not_to_operators(
    network: Served, mybiz: Client, acme: Client
) -> None:
    posted = mybiz.post(to=ACME, document=ORDER)
    arrived(acme, posted.transaction)
    command = ("trace", posted.session, "--documents", "--data", network.data)
    told = succeeded(*command, "--key-file", network.key(MYBIZ))
    assert "+ <Zip>62701-1234</Zip>" in told
    history, documents = json_lines(succeeded(*command, "--json", "--key-file", network.key(ACME)))
    stops = [str(stop["delivery"]) for stop in history["messages"][0]["copies"][0]["stops"]]
    assert [values_in(documents["documents"][stop][0]["text"].encode()) for stop in stops] == [AS_ACME_WANTS_IT] * 2
    operators = succeeded(*command)
    assert "KeepEmOut/filter" in operators
    assert "Springfield" not in operators
    assert "Use the key of one of them with --key-file" in operators
