"""Rules, assets, explanations and the bench on the command line, and the example of a service in transit, on a real server."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from postroad.client import AsyncClient, Client, Part, Refused, Reply, Status, json_of
from postroad.core.codecs import xml
from postroad.core.codecs.soap import SOAP11
from postroad.core.model.message import Message, Recipient
from tests.samples.served_network import (
    Served,
    clean_environment,
    json_lines,
    postroad,
    served,
    succeeded,
)

BUYER, SELLER, WORKER = "MyBiz/Purchasing", "Acme/Supply", "Transmatics/work"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "in-transit"
RULE = {
    "name": "large orders",
    "role": "sender",
    "when": {"greaterThan": {"body": "/Order/Total", "as": "number", "value": "100"}},
    "then": [{"addServiceAfter": WORKER}],
}
SHEET = """<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:param name="to"/><xsl:template match="/"><Out to="{$to}"><xsl:value-of select="//Total"/></Out></xsl:template>
</xsl:stylesheet>"""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("routing") / "data") as running:
        running.register(BUYER, SELLER, WORKER)
        yield running


@pytest.fixture
def rule_file(tmp_path: Path) -> Path:
    file = tmp_path / "rule.yaml"
    file.write_text(yaml.safe_dump(RULE))
    return file


@pytest.fixture
def order(tmp_path: Path) -> Path:
    file = tmp_path / "order.xml"
    file.write_text("<Order><Total>150</Total></Order>")
    return file


@pytest.fixture
def ruled(network: Served, rule_file: Path) -> Iterator[Served]:
    """MyBiz/Purchasing has the rule."""
    succeeded("rules", "add", BUYER, rule_file, "--data", network.data)
    yield network
    succeeded("rules", "remove", BUYER, "large orders", "--data", network.data)


def using(network: Served, address: str) -> tuple[str | Path, ...]:
    return "--data", network.data, "--key-file", network.key(address)


@pytest.mark.req("K2", "R1")
def test_rules_are_added_listed_switched_moved_and_removed(network: Served, rule_file: Path, tmp_path: Path) -> None:
    here = ("--data", network.data)
    assert "No rules." in succeeded("rules", "list", BUYER, *here)
    assert "saved as version 1, place 1" in succeeded("rules", "add", BUYER, rule_file, *here)
    shown = succeeded("rules", "show", BUYER, "large orders", *here)
    assert yaml.safe_load(shown) == RULE | {"enabled": True, "positions": {}}
    more = tmp_path / "more.json"
    more.write_text(json.dumps([RULE | {"name": "b"}, RULE | {"name": "a"}]))
    succeeded("rules", "add", BUYER, more, "--place", "1", *here)
    assert [rule["name"] for rule in json_lines(succeeded("rules", "list", BUYER, "--json", *here))] == [
        "b", "a", "large orders",
    ]  # fmt: skip
    assert "off, place 2" in succeeded("rules", "disable", BUYER, "a", *here)
    assert "on, place 2" in succeeded("rules", "enable", BUYER, "a", *here)
    assert "on, place 1" in succeeded("rules", "move", BUYER, "large orders", "1", *here)
    again = succeeded("rules", "add", BUYER, "-", "--place", "3", *here, stdin=shown)
    assert "large orders: saved as version" in again
    assert "place 3" in again
    for name in ("a", "b", "large orders"):
        assert "removed" in succeeded("rules", "remove", BUYER, name, *here)
    gone = postroad("rules", "show", BUYER, "a", *here)
    assert (gone.returncode, "not-found" in gone.stderr) == (3, True)


@pytest.mark.req("K2", "R1")
def test_a_bad_rule_is_refused_with_every_fault(network: Served, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump(RULE | {"when": {"matches": {"header": "topic", "value": "("}},
                                          "then": [{"addServiceAfter": "No/One"}]}))  # fmt: skip
    refused = postroad("rules", "add", BUYER, bad, "--data", network.data)
    assert refused.returncode == 3
    assert "/when/matches/value" in refused.stderr
    assert "/then/0/addServiceAfter" in refused.stderr
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    assert postroad("rules", "add", BUYER, empty, "--data", network.data).returncode == 1


@pytest.mark.req("K2", "N13")
def test_assets_are_files_in_and_files_out(network: Served, tmp_path: Path) -> None:
    (tmp_path / "split.xsl").write_text(SHEET)
    configuration = tmp_path / "hosted.yaml"
    stylesheets = {"split": {"file": "split.xsl", "description": "for addresses"}}
    services = {"XSLT": {"hosted": "xslt", "visibility": "public", "stylesheets": stylesheets}}
    configuration.write_text(yaml.safe_dump({"postroad": 1, "organizations": {"Transmatics": {"services": services}}}))
    here = ("--data", network.data)
    planned = postroad("apply", configuration, "--dry-run", *here)
    assert planned.returncode == 2
    assert "+ asset Transmatics/XSLT: stylesheet split" in planned.stdout
    assert "digest" in planned.stdout
    assert "xsl:param" not in planned.stdout
    succeeded("apply", configuration, "--yes", *here)
    assert succeeded("assets", "show", "Transmatics/XSLT", "stylesheet", "split", *here) == SHEET + "\n"
    (tmp_path / "split.xsl").write_text(SHEET.replace("Out", "Changed"))
    saved = succeeded("assets", "add", "Transmatics/XSLT", "stylesheet", tmp_path / "split.xsl", *here)
    assert "split: saved as version 2" in saved
    [listed] = json_lines(succeeded("assets", "list", "Transmatics/XSLT", "--json", *here))
    assert (listed["name"], listed["version"], listed["description"]) == ("split", 2, "for addresses")
    (tmp_path / "bad.xsl").write_text(SHEET.replace("</xsl:template>", ""))
    refused = postroad("assets", "add", "Transmatics/XSLT", "stylesheet", tmp_path / "bad.xsl", *here)
    assert refused.returncode == 3
    exported = succeeded("export", *here)
    (tmp_path / "export.yaml").write_text(exported)
    assert postroad("apply", tmp_path / "export.yaml", "--dry-run", "--prune", *here).returncode == 0
    assert "removed" in succeeded("assets", "remove", "Transmatics/XSLT", "stylesheet", "split", *here)


@pytest.mark.req("N13")
def test_a_file_that_is_not_there_is_named(tmp_path: Path, network: Served) -> None:
    configuration = tmp_path / "network.yaml"
    tables = {"T": {"hosted": "lookup", "tables": {"codes": {"file": "codes.csv"}}}}
    configuration.write_text(yaml.safe_dump({"postroad": 1, "organizations": {"X": {"services": tables}}}))
    refused = postroad("apply", configuration, "--yes", "--data", network.data)
    assert refused.returncode == 1
    assert "codes.csv" in refused.stderr


@pytest.mark.req("K2", "R16")
def test_explain_tells_and_draws(ruled: Served, order: Path, tmp_path: Path) -> None:
    text = succeeded("explain", order, "--to", SELLER, *using(ruled, BUYER))
    assert f"{BUYER} -> {WORKER} -> {SELLER}" in text
    assert '[x] body /Order/Total (as number) is greater than 100; found "150"' in text
    message = Message(to=(Recipient(SELLER),), parts=(Part(id="1", content_type="text/xml", data=order.read_bytes()),))
    soap = tmp_path / "message.xml"
    soap.write_bytes(SOAP11.encode_post(message))
    drawing = tmp_path / "route.svg"
    [told] = json_lines(succeeded("explain", soap, "--from", BUYER, "--svg", drawing, "--json", "--data", ruled.data))
    assert told["copies"][0]["route"] == [WORKER, SELLER]
    assert xml.parse(drawing.read_bytes()).get("role") == "img"
    [posted] = json_lines(succeeded("post", order, "--to", SELLER, "--json", *using(ruled, BUYER)))
    stored = succeeded("explain", posted["session"], *using(ruled, BUYER))
    assert f"message {posted['session']} from {BUYER}" in stored
    assert postroad("explain", order, *using(ruled, BUYER)).returncode == 2
    assert postroad("explain", "0" * 32, *using(ruled, BUYER)).returncode == 3
    cancelled = succeeded("cancel", posted["session"], *using(ruled, BUYER))
    assert f"{SELLER}: withdrawn" in cancelled


@pytest.mark.req("K2", "M9")
def test_what_its_receiver_has_cannot_be_cancelled(network: Served) -> None:
    [posted] = json_lines(succeeded("post", "--text", "hi", "--to", SELLER, "--json", *using(network, BUYER)))
    [polled] = json_lines(succeeded("poll", "--wait", "10", "--ack", "--json", *using(network, SELLER)))
    assert polled["session"] == posted["session"]
    late = postroad("cancel", posted["session"], "--json", *using(network, BUYER))
    assert late.returncode == 3
    assert json.loads(late.stdout)["recipients"][0]["code"] == "cancel.too-late"


@pytest.mark.req("C3", "K2")
def test_try_says_what_would_be(network: Served, rule_file: Path, order: Path, tmp_path: Path) -> None:
    message = tmp_path / "message.json"
    documents = [{"contentType": "application/xml", "text": order.read_text()}]
    message.write_text(json.dumps({"from": BUYER, "to": [SELLER], "documents": documents}))
    tried = succeeded("try", rule_file, message, "--service", BUYER, "--data", network.data)
    assert "as sender: the condition holds" in tried
    assert f"route: {BUYER} -> {WORKER} -> {SELLER}" in tried
    small = tmp_path / "small.xml"
    small.write_text("<Order><Total>5</Total></Order>")
    not_held = postroad("try", rule_file, small, *using(network, BUYER))
    assert (not_held.returncode, "does not hold" in not_held.stdout) == (1, True)
    sheet = tmp_path / "sheet.xsl"
    sheet.write_text(SHEET)
    output = succeeded("try", sheet, order, "--parameter", "to=me", "--data", network.data)
    assert '<Out to="me">150</Out>' in output


@pytest.mark.req("K2")
def test_services_are_listed_and_shown(network: Served) -> None:
    assert BUYER in succeeded("services", "list", "--data", network.data)
    shown = yaml.safe_load(succeeded("services", "show", BUYER, "--data", network.data))
    assert (shown["address"], shown["visibility"]) == (BUYER, "public")
    everyone = json_lines(succeeded("services", "list", "--all", "--json", *using(network, SELLER)))
    assert {BUYER, SELLER} <= {service["address"] for service in everyone}


@pytest.mark.req("K1")
async def test_the_sdk_speaks_of_rules_assets_and_explanations_blocking_or_not(network: Served) -> None:
    operator = network.data / "operator.key"
    with Client(network.url, key_file=operator) as client:
        made = client.save_rule(BUYER, RULE)
        assert client.save_rule(BUYER, made | {"enabled": False})["version"] == made["version"] + 1
        assert client.adjust_rule(BUYER, "large orders", enabled=True)["enabled"] is True
        assert [rule["name"] for rule in client.rules(BUYER)] == ["large orders"]
        assert client.save_asset(BUYER, "schema", "po", XSD, description="orders")["bytes"] == len(XSD)
        assert client.asset(BUYER, "schema", "po") == XSD
        told = client.explain(sender=BUYER, to=SELLER, document="<Order><Total>101</Total></Order>")
        assert told["copies"][0]["route"] == [WORKER, SELLER]
    async with AsyncClient(network.url, key_file=operator) as client:
        assert (await client.save_asset(BUYER, "schema", "po", XSD))["description"] == "orders"
        assert [asset["name"] for asset in await client.assets(BUYER, "schema")] == ["po"]
        await client.remove_asset(BUYER, "schema", "po")
        tried = await client.try_out(service=BUYER, rule=RULE, document="<Order><Total>1</Total></Order>")
        assert tried["held"] is False
        await client.remove_rule(BUYER, "large orders")
        with pytest.raises(Refused) as refused:
            await client.rule(BUYER, "large orders")
        assert refused.value.code == "not-found"


XSD = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="Order"/></xs:schema>'


@pytest.mark.req("K1")
def test_a_service_in_transit_changes_one_document_and_keeps_the_rest(network: Served) -> None:
    with network.client(BUYER) as buyer, network.client(WORKER) as worker, network.client(SELLER) as seller:
        parts = [
            Part(id="order", content_type="text/xml; charset=utf-8", data=b"<Order/>"),
            Part(id="note", content_type="text/plain", data=b"please"),
        ]
        photo = Part(id="photo", content_type="image/png", data=b"\x89PNG")
        session = buyer.post(to=SELLER, route=WORKER, documents=parts, attachments=[photo]).session

        def change(item: Any) -> str:
            worker.stop()
            return "<Changed/>"

        assert worker.handle(change, wait_s=10) == 1
        [got] = seller.poll(wait_s=10)
        assert got.session == session
        assert [(part.id, part.content_type, part.data) for part in got.parts] == [
            ("order", "text/xml; charset=utf-8", b"<Changed/>"), ("note", "text/plain", b"please"),
            ("photo", "image/png", b"\x89PNG"),
        ]  # fmt: skip
        seller.acknowledge(got)
        buyer.post(to=SELLER, route=WORKER, document="no")

        def refuse(item: Any) -> Reply:
            worker.stop()
            return Reply(status=Status("rejected", "not today"))

        assert worker.handle(refuse, wait_s=10) == 1
        assert seller.poll() == []


@pytest.mark.req("K1")
def test_the_example_of_a_service_in_transit_works(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "in-transit")
    folder = tmp_path / "var" / "in-transit"
    folder.parent.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with served(folder, "--port", str(port)) as running:
        assert running.url.endswith(f":{port}")
        file = tmp_path / "examples" / "in-transit" / "network.yaml"
        succeeded("apply", file, "--yes", "--make-keys", "--data", folder)
        program = [sys.executable, str(tmp_path / "examples" / "in-transit" / "vat.py")]
        environment = clean_environment() | {
            "POSTROAD_URL": running.url, "POSTROAD_KEY_FILE": str(folder / "taxco.key"),
        }  # fmt: skip
        service = subprocess.Popen(program, env=environment)
        try:
            with (
                Client(running.url, key_file=folder / "mybiz.key") as buyer,
                Client(running.url, key_file=folder / "acme.key") as seller,
            ):
                buyer.post(to="Acme/Supply", topic="order", document={"net": 100})
                [order] = seller.poll(wait_s=30)
                assert json_of(order) == {"net": 100, "gross": 119}
        finally:
            service.send_signal(signal.SIGTERM)
            assert service.wait(20) == 0
    assert len((EXAMPLE / "vat.py").read_text().splitlines()) <= 12, "the promise is ten lines"
