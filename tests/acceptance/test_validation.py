"""Validation on a real server: a catalogue applied from files, documents stopped or marked, schemas checked when saved."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad.client import Client, Delivered
from postroad.core.model.message import Argument, Recipient
from tests.samples.served_network import Served, postroad, served, succeeded

MYBIZ, ACME, VALIDATOR = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "Shop/validate"
WAIT_S = 60.0
XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'

ORDER_XSD = f"""<xs:schema {XS} xmlns:o="urn:order" targetNamespace="urn:order" elementFormDefault="qualified">
  <xs:include schemaLocation="../types/quantities.xsd"/>
  <xs:element name="order">
    <xs:complexType><xs:sequence><xs:element name="qty" type="o:quantity" maxOccurs="unbounded"/></xs:sequence></xs:complexType>
  </xs:element>
</xs:schema>"""
QUANTITIES_XSD = f"""<xs:schema {XS} targetNamespace="urn:order">
  <xs:simpleType name="quantity"><xs:restriction base="xs:positiveInteger"/></xs:simpleType>
</xs:schema>"""
ORDER_DTD = '<!ENTITY % common SYSTEM "common.mod">\n%common;\n<!ELEMENT order (qty+)>\n'
ORDER_JSON = (
    '{"$id": "https://shop.example/order", "required": ["lines"], "properties": {"lines": {"items": {"$ref": "line"}}}}'
)
LINE_JSON = '{"required": ["qty"], "properties": {"qty": {"type": "integer", "minimum": 1}}}'

GOOD: list[Any] = [
    '<order xmlns="urn:order"><qty>3</qty></order>',
    '<!DOCTYPE order SYSTEM "order.dtd"><order><qty>many</qty></order>',
    {"$schema": "https://shop.example/order", "lines": [{"qty": 1}]},
]
BAD: list[tuple[Any, str]] = [
    ('<order xmlns="urn:order">\n<qty>0</qty></order>', "by order.xsd: line 2"),
    ('<order xmlns="urn:misspelt"/>', "Shop/validate has no schema for it"),
    ('<!DOCTYPE order SYSTEM "order.dtd"><order><box/></order>', "by order.dtd: line 1"),
    ({"$schema": "https://shop.example/order", "lines": [{"qty": 0}]}, "by order.json: /lines/0/qty"),
]


def catalogue(folder: Path) -> dict[str, Any]:
    sections = {
        "schemas": {"order.xsd": ORDER_XSD, "quantities": QUANTITIES_XSD},
        "dtds": {"order.dtd": ORDER_DTD, "common.mod": "<!ELEMENT qty (#PCDATA)>"},
        "jsonschemas": {"order.json": ORDER_JSON, "line": LINE_JSON},
    }
    for texts in sections.values():
        for name, text in texts.items():
            (folder / name).write_text(text)
    entries = {kind: {name: {"file": name} for name in texts} for kind, texts in sections.items()}
    return {"visibility": "public", "hosted": "validate", **entries}


def apply(network: Served, service: dict[str, Any]) -> None:
    file = network.data.parent / "validate.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Shop": {"services": {"validate": service}}}}))
    succeeded("apply", file, "--yes", "--data", network.data)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("validation") / "data") as running:
        running.register(MYBIZ, ACME)
        apply(running, catalogue(running.data.parent))
        yield running


def through(**arguments: str) -> Recipient:
    return Recipient(VALIDATOR, tuple(Argument(name, value) for name, value in arguments.items()))


def arrived(at: Client, transaction: str) -> Delivered:
    [delivered] = at.poll(1, wait_s=WAIT_S)
    assert delivered.transaction == transaction
    at.acknowledge(delivered)
    return delivered


def properties(delivered: Delivered) -> dict[str, str]:
    return {one.name: one.value for one in delivered.properties}


@pytest.mark.req("S6")
@pytest.mark.parametrize("document", GOOD)
def test_a_valid_document_arrives_as_it_was_sent(network: Served, document: Any) -> None:
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, type="request", document=document, route=through())
        order = arrived(acme, posted.transaction)
        assert properties(order) == {"validation.valid": "true", "validation.checked": "1"}
        sent = document.encode() if isinstance(document, str) else json.dumps(document, separators=(",", ":")).encode()
        assert order.parts[0].data == sent
        acme.reply(order, "<thanks/>")
        assert arrived(mybiz, posted.transaction).status is None


@pytest.mark.req("S6")
@pytest.mark.parametrize(("document", "told"), BAD)
def test_an_invalid_document_is_stopped_and_its_sender_told_why(network: Served, document: Any, told: str) -> None:
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, type="request", document=document, route=through())
        response = arrived(mybiz, posted.transaction)
        assert response.status is not None
        assert "document.invalid" in response.status.code + response.status.text
        assert told in response.status.text
        assert acme.poll(1) == []
        assert "document.invalid" in str(mybiz.trace(posted.session))


@pytest.mark.req("S6")
def test_an_invalid_document_goes_on_marked_where_that_is_wanted(network: Served) -> None:
    document, told = BAD[0]
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        posted = mybiz.post(to=ACME, document=document, route=through(onInvalid="mark"))
        marked = properties(arrived(acme, posted.transaction))
        assert marked["validation.valid"] == "false"
        assert told in marked["validation.faults"]


@pytest.mark.req("S6")
def test_a_request_to_the_validator_itself_returns_a_report(network: Served) -> None:
    with network.client(MYBIZ) as mybiz:
        posted = mybiz.post(to=VALIDATOR, type="request", document=BAD[3][0], arguments={"onInvalid": "mark"})
        report = json.loads(arrived(mybiz, posted.transaction).parts[0].data)
        assert (report["valid"], report["documents"][0]["schema"]) == (False, "order.json")
        assert report["documents"][0]["faults"][0]["path"] == "/lines/0/qty"


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("kind", "name", "content", "told"),
    [
        ("schema", "new.xsd", f'<xs:schema {XS}>\n<xs:element name="a" type="T"/></xs:schema>', "line 2"),
        (
            "schema",
            "new.xsd",
            f'<xs:schema {XS}>\n<xs:include schemaLocation="file:///etc/passwd"/></xs:schema>',
            "line 2",
        ),
        ("schema", "quantities", f'<xs:schema {XS} targetNamespace="urn:order"/>', "order.xsd, which refers to it"),
        ("dtd", "new.dtd", "<!ELEMENT a (b,>", "line 1"),
        ("jsonschema", "new.json", '{"type": "strin"}', "strin"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_when_it_is_saved(
    network: Served, kind: str, name: str, content: str, told: str
) -> None:
    file = network.data.parent / "new"
    file.write_text(content)
    done = postroad("assets", "add", VALIDATOR, kind, file, "--name", name, "--data", network.data)
    assert done.returncode != 0
    assert "schema.invalid" in done.stdout + done.stderr
    assert told in done.stdout + done.stderr


def test_an_applied_catalogue_is_checked_as_a_whole(network: Served) -> None:
    changed = catalogue(network.data.parent)
    (network.data.parent / "quantities").write_text(f'<xs:schema {XS} targetNamespace="urn:order"/>')
    file = network.data.parent / "changed.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Shop": {"services": {"validate": changed}}}}))
    done = postroad("apply", file, "--yes", "--data", network.data)
    assert done.returncode != 0
    assert "schemas/order.xsd/content" in done.stdout + done.stderr
    assert "quantity" in done.stdout + done.stderr


@pytest.mark.req("S6")
def test_a_schema_is_tried_before_it_is_saved(network: Served) -> None:
    folder = network.data.parent
    catalogue(folder)
    good, bad = folder / "good.xml", folder / "bad.xml"
    good.write_text(GOOD[0])
    bad.write_text(BAD[0][0])
    using = ("--service", VALIDATOR, "--data", network.data)
    assert "the document is valid" in succeeded("try", folder / "order.xsd", good, *using)
    refused = postroad("try", folder / "order.xsd", bad, *using)
    assert refused.returncode == 1
    assert "! line 2: " in refused.stdout
    alone = postroad("try", folder / "order.xsd", good, "--data", network.data)
    assert "schema.invalid" in alone.stdout + alone.stderr


def test_dtds_and_json_schemas_belong_to_services_that_validate(network: Served) -> None:
    file = network.data.parent / "lonely.yaml"
    content = {"jsonschemas": {"a": {"content": "{}"}}, "dtds": {"a": {"content": "<!ELEMENT a ANY>"}}}
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Shop": {"services": {"lonely": content}}}}))
    done = postroad("apply", file, "--yes", "--data", network.data)
    assert done.returncode != 0
    assert "`hosted: validate` or `hosted: exchange`" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.req("X8")
def test_an_exchange_takes_only_what_meets_its_schema(network: Served) -> None:
    held = catalogue(network.data.parent) | {"hosted": "exchange", "validates": "order.xsd", "openTo": ["*"]}
    file = network.data.parent / "exchange.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Shop": {"services": {"exchange": held}}}}))
    succeeded("apply", file, "--yes", "--data", network.data)
    succeeded("bind", "Shop/exchange", ACME, "--data", network.data)
    with network.client(MYBIZ) as mybiz, network.client(ACME) as acme:
        bad = mybiz.post(to="Shop/exchange", type="request", document=BAD[0][0])
        refused = arrived(mybiz, bad.transaction)
        assert refused.status is not None
        assert "line 2" in refused.status.text
        good = mybiz.post(to="Shop/exchange", type="request", document=GOOD[0])
        assert arrived(mybiz, good.transaction).status is None
        assert arrived(acme, good.transaction).parts[0].data == GOOD[0].encode()


@pytest.mark.req("X8")
def test_the_schema_of_an_exchange_is_there_when_it_is_named_and_stays(network: Served) -> None:
    file = network.data.parent / "exchange.yaml"

    def applied(*more: str, **profile: Any) -> str:
        house = {"services": {"strict": {"hosted": "exchange", **profile}}}
        file.write_text(json.dumps({"postroad": 1, "organizations": {"Shop": house}}))
        done = postroad("apply", file, "--yes", *more, "--data", network.data)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    assert "services/strict/validates: it has no schema 'a'" in applied(validates="a")
    schemas = {"a": {"content": f"<xs:schema {XS}/>"}}
    assert "a jsonschema and a schema" in applied(validates="a", schemas=schemas, jsonschemas={"A": {"content": "{}"}})
    assert applied(validates="a", schemas=schemas) == ""
    assert applied(validates="a") == ""
    removed = postroad("assets", "remove", "Shop/strict", "schema", "a", "--data", network.data)
    assert "configuration.conflict" in removed.stdout + removed.stderr
    assert applied("--reset") == ""
    succeeded("assets", "remove", "Shop/strict", "schema", "a", "--data", network.data)
