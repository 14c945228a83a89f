"""The server is killed while the order is half way: contexts are restored, and the rest of the route goes on as it would have."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Client
from tests.acceptance.purchase_order import (
    ACME,
    AS_ACME_WANTS_IT,
    MYBIZ,
    NINE_DIGITS,
    ORDER,
    STOPS,
    apply,
    arrived,
    network_document,
    stops_of,
    taken,
    values_in,
)
from tests.samples.served_network import Served, served, succeeded
from tests.waiting import eventually

BY_HAND = "Transmatics/replaceElement"


def with_a_service_by_hand(document: dict[str, Any]) -> dict[str, Any]:
    """replaceElement has an application of its own, which this test plays, and is invoked under another topic."""
    services = document["organizations"]["Transmatics"]["services"]
    services["replaceElement"] = {
        "visibility": "public",
        "credentials": [{"label": "demo", "keyFrom": "env:TRANSMATICS_REPLACEELEMENT_KEY"}],
    }
    [rule] = document["organizations"]["MyBiz"]["services"]["Purchasing"]["rules"]
    rule["then"][2]["topic"] = "customer-numbers"
    return document


def killed_and_started_again(network: Served) -> None:
    network.end(signal.SIGKILL)
    network.start()


def customer_replaced(order: bytes) -> bytes:
    return order.replace(b"3489", b"BX0045012")


@pytest.mark.req("R12", "S5")
@pytest.mark.parametrize("when", ["waiting for the service", "with the service"])
def test_the_order_goes_on_after_the_server_was_killed(when: str, tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        apply(network, with_a_service_by_hand(network_document()), (MYBIZ, ACME, BY_HAND, "SpamCo/Offers"))
        with network.client(MYBIZ) as mybiz, network.client(BY_HAND) as by_hand, network.client(ACME) as acme:
            posted = mybiz.post(to=ACME, type="request", topic="purchase-order", handle="PO-1", document=ORDER)
            if when == "with the service":
                order = taken(by_hand, posted.transaction)
                killed_and_started_again(network)
            else:
                wait_for_two_hops(mybiz, posted.session)
                killed_and_started_again(network)
                order = taken(by_hand, posted.transaction)
            assert (order.topic, order.invoker, order.in_transit) == ("customer-numbers", MYBIZ, True)
            assert {one.name: one.value for one in order.arguments}["element"] == "/PurchaseOrder/CustomerNumber"
            assert values_in(order.parts[0].data) == NINE_DIGITS
            by_hand.reply(order, customer_replaced(order.parts[0].data))
            received = taken(acme, posted.transaction)
            assert (received.topic, received.handle, received.sender) == ("purchase-order", "PO-1", MYBIZ)
            assert values_in(received.parts[0].data) == AS_ACME_WANTS_IT
            killed_and_started_again(network)
            acme.reply(received, "<PurchaseOrderConfirmation/>")
            response = arrived(mybiz, posted.transaction)
            assert (response.sender, response.status, response.topic) == (ACME, None, "purchase-order")
            assert [(service, values_in(parts[0].data)) for service, parts in stops_of(mybiz, posted.session)] == STOPS
            assert mybiz.trace(posted.session).messages[0].copies[0].state == "delivered"
        succeeded("verify", "--data", network.data)


def wait_for_two_hops(mybiz: Client, session: str) -> None:
    eventually(lambda: mybiz.trace(session).messages[0].copies[0].stops[-1].service == BY_HAND)
