"""The services that come with the network, over HTTP and on a real server: configured by file, invoked by route and by rule.

The steps of the purchase order, each with the network's own services; stylesheets run in the real, confined workers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Client, Delivered
from postroad.core.model.message import Argument, Recipient
from postroad.errors import Refused
from tests.samples.served_network import Served, postroad, served, succeeded
from tests.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "purchase-order"
ORDER = (EXAMPLE / "purchase-order.xml").read_bytes()
MYBIZ, ACME, STRANGER = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "Stranger/Things"
WAIT_S = 60.0

HOSTED: dict[str, Any] = {
    "Transmatics": {
        "services": {
            "xslt": {
                "visibility": "public",
                "hosted": "xslt",
                "stylesheets": {
                    "split-address": {"file": str(EXAMPLE / "split-address.xsl")},
                    "endless": {
                        "content": '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
                        '<xsl:template match="/" name="again"><xsl:for-each select="1 to 1000000000">'
                        '<xsl:value-of select="sum(1 to 1000)"/></xsl:for-each></xsl:template></xsl:stylesheet>'
                    },
                },
            },
            "replaceElement": {
                "visibility": "public",
                "hosted": "crossreference",
                "returns": True,
                "maps": {"customers": {"file": str(EXAMPLE / "customers.json")}},
            },
        }
    },
    "XpandiCo": {
        "services": {
            "zipPlus4": {
                "visibility": "public",
                "hosted": "lookup",
                "tables": {"zip-plus-4": {"file": str(EXAMPLE / "zip-plus-4.csv")}},
            }
        }
    },
    "KeepEmOut": {
        "services": {
            "filter": {
                "visibility": "public",
                "hosted": "filter",
                "lists": {"welcome": {"file": str(EXAMPLE / "welcome.json")}},
            }
        }
    },
}


def apply(network: Served, organizations: dict[str, Any]) -> None:
    file = network.data.parent / "hosted.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": organizations}))
    succeeded("apply", file, "--yes", "--data", network.data)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("hosted") / "data") as running:
        running.register(MYBIZ, ACME, STRANGER)
        apply(running, HOSTED)
        yield running


def stop(service: str, **arguments: str) -> Recipient:
    return Recipient(service, tuple(Argument(name, value) for name, value in arguments.items()))


def arrived(at: Client, transaction: str) -> Delivered:
    """What comes of this transaction, acknowledged."""
    [delivered] = at.poll(1, wait_s=WAIT_S)
    assert delivered.transaction == transaction
    at.acknowledge(delivered)
    return delivered


def asked(sender: Client, to: str, **arguments: str) -> Delivered:
    posted = sender.post(to=to, type="request", arguments=arguments)
    return arrived(sender, posted.transaction)


def element(delivered: Delivered, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", delivered.parts[0].data.decode())
    assert found is not None, delivered.parts[0].data
    return found[1]


@pytest.mark.req("S1")
@pytest.mark.req("S2")
@pytest.mark.req("S3")
@pytest.mark.req("S4")
def test_the_purchase_order_passes_four_hosted_services(network: Served) -> None:
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        relating = asked(
            mybiz, "Transmatics/replaceElement", operation="relate", keyName="CustomerNumber", keyValue="3489",
            otherService=ACME, otherKeyName="CustomerNumber", otherKeyValue="BX0045012",
        )  # fmt: skip
        assert relating.status is None
        posted = mybiz.post(
            to=ACME, type="request", document=ORDER, route=[
                stop("Transmatics/xslt", stylesheet="split-address"),
                stop("XpandiCo/zipPlus4", table="zip-plus-4", element="/PurchaseOrder/Address/Zip"),
                stop("Transmatics/replaceElement", operation="replaceElement", element="/PurchaseOrder/CustomerNumber",
                     keyName="CustomerNumber"),
                stop("KeepEmOut/filter", list="welcome"),
            ],
        )  # fmt: skip
        order = arrived(acme, posted.transaction)
        assert (element(order, "Street"), element(order, "City")) == ("123 Main Street", "Springfield")
        assert element(order, "Zip") == "62701-1234"
        assert element(order, "CustomerNumber") == "BX0045012"
        assert order.sender == MYBIZ
        acme.reply(order, "<PurchaseOrderConfirmation/>")
        response = arrived(mybiz, posted.transaction)
        assert (response.sender, response.status) == (ACME, None)
        assert response.parts[0].data == b"<PurchaseOrderConfirmation/>"
        history = str(mybiz.trace(posted.session))
        assert all(service in history for service in ("Transmatics/xslt", "XpandiCo/zipPlus4", "KeepEmOut/filter"))


@pytest.mark.req("S4")
def test_an_unwelcome_sender_is_stopped_and_told(network: Served) -> None:
    with network.client(STRANGER) as stranger, network.client(ACME) as acme:
        posted = stranger.post(to=ACME, type="request", document=ORDER, route=stop("KeepEmOut/filter", list="welcome"))
        response = arrived(stranger, posted.transaction)
        assert response.status is not None
        assert "KeepEmOut/filter" in response.status.text
        assert STRANGER in response.status.text
        assert acme.poll(1) == []
        assert "rejected" in str(stranger.trace(posted.session))


@pytest.mark.req("S3")
def test_a_request_and_its_response_relate_two_keys_by_themselves(network: Served) -> None:
    watching = stop(
        "Transmatics/replaceElement", operation="watch", element="/PurchaseOrder/CustomerNumber", keyName="watched",
        responseElement="$.customer", responseKeyName="id",
    )  # fmt: skip
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, type="request", document=ORDER, route=watching)
        acme.reply(arrived(acme, posted.transaction), {"customer": "NEW-1"})
        assert arrived(mybiz, posted.transaction).parts[0].data == b'{"customer":"NEW-1"}'
        answer = asked(mybiz, "Transmatics/replaceElement", operation="query", keyName="watched", keyValue="3489")
        records = json.loads(answer.parts[0].data)["records"]
        assert [(one["service"], one["keyValue"]) for one in records] == [(MYBIZ, "3489"), (ACME, "NEW-1")]


@pytest.mark.req("S3")
def test_relations_outlast_the_server(network: Served) -> None:
    with network.client(MYBIZ) as mybiz:
        put = asked(mybiz, "Transmatics/replaceElement", operation="put", keyName="n", keyValue="1", city="Springfield")
        assert put.status is None
    network.end()
    network.start()
    with network.client(MYBIZ) as mybiz:
        answer = asked(mybiz, "Transmatics/replaceElement", operation="query", keyName="n", keyValue="1", format="xml")
        assert b'<Pair name="city">Springfield</Pair>' in answer.parts[0].data


@pytest.mark.req("R15")
@pytest.mark.req("Z3")
def test_a_stylesheet_without_end_costs_its_own_message_only(network: Served) -> None:
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        endless = mybiz.post(
            to=ACME, type="request", document=ORDER, route=stop("Transmatics/xslt", stylesheet="endless")
        )
        fine = mybiz.post(to=ACME, document=ORDER, route=stop("XpandiCo/zipPlus4", element="/PurchaseOrder/Address"))
        assert arrived(acme, fine.transaction).parts[0].data == ORDER
        response = arrived(mybiz, endless.transaction)
        assert response.status is not None
        assert "transform." in response.status.text


def test_a_bad_asset_is_refused_when_it_is_saved(network: Served) -> None:
    bad = json.loads(json.dumps(HOSTED))
    bad["Transmatics"]["services"]["xslt"]["stylesheets"] = {"broken": {"content": "<xsl:stylesheet"}}
    bad["XpandiCo"]["services"]["zipPlus4"]["tables"] = {"broken": {"content": "zip,plus4\n1,2\n1,3\n"}}
    bad["KeepEmOut"]["services"]["filter"]["lists"] = {
        "broken": {"content": '{"when": {"matches": {"header": "topic", "value": "("}}}'}
    }
    file = network.data.parent / "bad.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": bad}))
    done = postroad("apply", file, "--yes", "--data", network.data)
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert all(place in told for place in ("stylesheets/broken", "tables/broken", "lists/broken/content: /when")), told


@pytest.mark.req("N5")
def test_a_hosted_service_accepts_only_whom_it_lists(network: Served) -> None:
    apply(
        network, {"Closed": {"services": {"xslt": {"hosted": "xslt", "accepts": "listed", "acceptsFrom": ["MyBiz"]}}}}
    )
    with network.client(STRANGER) as stranger, pytest.raises(Refused) as refusal:
        stranger.post(to="Closed/xslt", type="request", document=ORDER)
    assert refusal.value.code == "recipient.unknown"


def test_a_rule_brings_a_hosted_service_in(network: Served) -> None:
    rule = {
        "name": "nine-digits",
        "role": "sender",
        "when": {"equals": {"header": "topic", "value": "by-rule"}},
        "then": [{"addServiceAfter": "XpandiCo/zipPlus4", "arguments": {"element": "$.zip"}}],
    }
    registered = {"label": "test", "keyFrom": f"file:{network.key(MYBIZ)}"}
    purchasing = {"visibility": "public", "credentials": [registered], "rules": [rule]}
    apply(network, {"MyBiz": {"services": {"Purchasing": purchasing}}})
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, topic="by-rule", document={"zip": "10001"})
        assert json.loads(arrived(acme, posted.transaction).parts[0].data) == {"zip": "10001-2062"}


def test_nothing_of_the_workers_is_left_when_the_server_has_stopped(tmp_path: Path) -> None:
    with served(tmp_path / "data") as running:
        running.register(MYBIZ)
        apply(running, {"Transmatics": HOSTED["Transmatics"]})
        with running.client(MYBIZ) as mybiz:
            transformed = mybiz.post(
                to="Transmatics/xslt", type="request", document=ORDER, arguments={"stylesheet": "split-address"}
            )
            assert element(arrived(mybiz, transformed.transaction), "Zip") == "62701"
        assert running.process is not None
        children = _children(running.process.pid)
        assert children
        assert running.end() == 0
        assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []


def _children(pid: int) -> list[int]:
    """Processes started by this one, which Linux tells."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("this machine does not list a process's children under /proc")
    return [int(child) for child in listed.read_text().split()]
