"""Attributes that a document leaves out and its schema gives a default to count as present."""

from __future__ import annotations

import pytest

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.rule import RuleRole
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.paths.schema_defaults import check_alone, default_attributes_of, read_schema
from postroad.errors import Refused
from tests.samples.conditions import HEADER, body, combine, compare, directory, holds, subject, xml

ORDERS = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:o="urn:o" targetNamespace="urn:o"
    elementFormDefault="qualified">
  <xs:element name="Order" type="o:Order"/>
  <xs:attribute name="mark" type="xs:string" default="marked"/>
  <xs:attributeGroup name="Common">
    <xs:attribute name="lang" default="en"/>
    <xs:attributeGroup ref="o:More"/>
  </xs:attributeGroup>
  <xs:attributeGroup name="More"><xs:attribute name="zone" default="UTC"/><xs:attributeGroup ref="o:Common"/></xs:attributeGroup>
  <xs:complexType name="Base">
    <xs:sequence><xs:element name="Id" minOccurs="0">
      <xs:complexType><xs:attribute name="kind" default="own"/></xs:complexType>
    </xs:element></xs:sequence>
    <xs:attribute name="currency" default="EUR"/>
    <xs:attribute name="version" fixed="1"/>
  </xs:complexType>
  <xs:complexType name="Order">
    <xs:complexContent><xs:extension base="o:Base">
      <xs:choice>
        <xs:element ref="o:Line"/>
        <xs:group ref="o:Parties"/>
        <xs:element name="Order" type="o:Order"/>
        <xs:element name="Local" form="unqualified">
          <xs:complexType><xs:attribute name="a" default="local"/></xs:complexType>
        </xs:element>
      </xs:choice>
      <xs:attribute name="priority" default="normal"/>
      <xs:attribute ref="o:mark"/>
      <xs:attributeGroup ref="o:Common"/>
    </xs:extension></xs:complexContent>
  </xs:complexType>
  <xs:complexType name="Narrow">
    <xs:complexContent><xs:restriction base="o:Order">
      <xs:attribute name="currency" default="USD"/>
      <xs:attribute name="priority" use="prohibited"/>
    </xs:restriction></xs:complexContent>
  </xs:complexType>
  <xs:element name="Short" type="o:Narrow"/>
  <xs:element name="Line"><xs:complexType>
    <xs:simpleContent><xs:extension base="xs:string"><xs:attribute name="unit" default="piece"/></xs:extension></xs:simpleContent>
  </xs:complexType></xs:element>
  <xs:group name="Parties"><xs:all><xs:element name="Buyer"><xs:complexType>
    <xs:attribute name="role" default="buyer"/><xs:attribute name="note"/>
  </xs:complexType></xs:element></xs:all></xs:group>
</xs:schema>"""

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
OWNER = Service(gcid="00000000000000a1", organization="MyBiz", name="Purchasing")


def names(*steps: str) -> list[str]:
    return [step if step == "Local" else f"{{urn:o}}{step}" for step in steps]


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("chain", "attribute", "value"),
    [
        (("Order",), "priority", "normal"),
        (("Order",), "currency", "EUR"),
        (("Order",), "version", "1"),
        (("Order",), "{urn:o}mark", "marked"),
        (("Order",), "mark", None),
        (("Order",), "lang", "en"),
        (("Order",), "zone", "UTC"),
        (("Order",), "nothing", None),
        (("Order", "Id"), "kind", "own"),
        (("Order", "Line"), "unit", "piece"),
        (("Line",), "unit", "piece"),
        (("Order", "Buyer"), "role", "buyer"),
        (("Order", "Buyer"), "note", None),
        (("Order", "Local"), "a", "local"),
        (("Order", "Order", "Order", "Line"), "unit", "piece"),
        (("Short",), "currency", "USD"),
        (("Short",), "priority", None),
        (("Short",), "lang", "en"),
        (("Unknown",), "priority", None),
        (("Order", "Unknown", "Line"), "unit", None),
        ((), "priority", None),
    ],
)
def test_where_a_default_is_declared(chain: tuple[str, ...], attribute: str, value: str | None) -> None:
    assert read_schema(ORDERS).value(names(*chain), attribute) == value


def seen_by_owner(document: str, *schemas: Asset) -> Subject:
    return subject(xml(document)).seen_by(
        OWNER.gcid,
        role=RuleRole.SENDER,
        topic=HEADER.topic,
        default_attributes=default_attributes_of(OWNER.gcid, directory(OWNER, *schemas)),
    )


def schema(name: str, content: str = ORDERS) -> Asset:
    return Asset(service=OWNER.gcid, kind=AssetKind.SCHEMA, name=name, content=content)


DOCUMENT = '<Order xmlns="urn:o" priority="high"><Line>a</Line><Line unit="box">b</Line></Order>'


@pytest.mark.req("R2")
@pytest.mark.parametrize("named", ["orders", ""])
def test_an_attribute_with_a_default_counts_as_present(named: str) -> None:
    looked_at = seen_by_owner(DOCUMENT, schema("Orders"))
    place = body("/o:Order/@currency", schema=named, o="urn:o")
    assert holds(compare("equals", place, "EUR"), looked_at)
    assert holds(compare("notEquals", place, "USD"), looked_at)
    assert holds(compare("exists", body("/o:Order/o:Line[@unit='piece']", schema=named, o="urn:o")), looked_at)
    assert [v.text for v in looked_at.values(body("//o:Line/@unit", schema=named, o="urn:o"))] == ["piece", "box"]
    assert "normal" not in [v.text for v in looked_at.values(body("/o:Order/@*", schema=named, o="urn:o"))]


@pytest.mark.req("R2")
def test_without_a_schema_an_absent_attribute_is_absent() -> None:
    place = body("/o:Order/@currency", o="urn:o")
    assert holds(combine("not", compare("exists", place)), seen_by_owner(DOCUMENT))


def test_two_schemas_that_declare_the_root_leave_it_open_unless_one_is_named() -> None:
    looked_at = seen_by_owner(DOCUMENT, schema("one"), schema("two"))
    assert not holds(compare("exists", body("/o:Order/@currency", o="urn:o")), looked_at)
    assert holds(compare("exists", body("/o:Order/@currency", schema="TWO", o="urn:o")), looked_at)
    assert not holds(compare("exists", body("/o:Order/@currency", schema="three", o="urn:o")), looked_at)


@pytest.mark.req("Z3")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<a/>", "xs:schema"),
        ("<xs:schema", "not well-formed"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', "DOCTYPE"),
        (f'<xs:schema {XS}><xs:include schemaLocation="http://a/b"/></xs:schema>', "xs:include"),
        (f'<xs:schema {XS}><xs:import schemaLocation="b.xsd"/></xs:schema>', "xs:import"),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(content: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        check_alone(content)
    assert refused.value.code == "schema.invalid"
    assert said in refused.value.detail


@pytest.mark.req("Z3")
def test_references_in_a_circle_end() -> None:
    circle = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
      <xs:element name="a" type="A"/>
      <xs:complexType name="A"><xs:complexContent><xs:extension base="B"/></xs:complexContent></xs:complexType>
      <xs:complexType name="B"><xs:complexContent><xs:extension base="A">
        <xs:group ref="G"/><xs:attribute name="x" default="1"/>
      </xs:extension></xs:complexContent></xs:complexType>
      <xs:group name="G"><xs:sequence><xs:group ref="G"/><xs:element ref="a"/></xs:sequence></xs:group>
    </xs:schema>"""
    assert read_schema(circle).value(["a"] * 200, "x") == "1"
