"""Schemas of a shop in three languages, each of several texts, and how to make a catalogue of them."""

from __future__ import annotations

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.message import Part
from postroad.core.schemas.catalogue import SchemaCatalogue

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
SERVICE = "f" * 16

ORDER_XSD = f"""<xs:schema {XS} xmlns:i="urn:item" targetNamespace="urn:order" elementFormDefault="qualified">
  <xs:import namespace="urn:item"/>
  <xs:include schemaLocation="../common/types.xsd"/>
  <xs:element name="order">
    <xs:complexType><xs:sequence><xs:element ref="i:item" maxOccurs="unbounded"/></xs:sequence></xs:complexType>
  </xs:element>
</xs:schema>"""
ITEM_XSD = f'<xs:schema {XS} targetNamespace="urn:item"><xs:element name="item" type="xs:integer"/></xs:schema>'
TYPES_XSD = f'<xs:schema {XS}><xs:simpleType name="T"><xs:restriction base="xs:string"/></xs:simpleType></xs:schema>'
ORDER_DTD = (
    '<!-- <!ENTITY % no SYSTEM "no"> -->\n<!ENTITY % c SYSTEM "http://shop/common.mod">\n%c;\n<!ELEMENT order (item+)>'
)
COMMON_MOD = "<!ELEMENT item (#PCDATA)>"
ORDER_JSON = (
    '{"$id": "https://shop.example/order", "properties": {"items": {"items": {"$ref": "item.json#/$defs/item"}}}}'
)
ITEM_JSON = '{"$defs": {"item": {"type": "integer", "minimum": 1}}}'

XSDS = {"order": ORDER_XSD, "Item Types": ITEM_XSD, "types.xsd": TYPES_XSD}
DTDS = {"order.dtd": ORDER_DTD, "common.mod": COMMON_MOD}
JSON_SCHEMAS = {"order.json": ORDER_JSON, "item": ITEM_JSON}


def assets(kind: AssetKind, texts: dict[str, str]) -> list[Asset]:
    return [Asset(service=SERVICE, kind=kind, name=name, content=text) for name, text in texts.items()]


def catalogue(
    xsds: dict[str, str] | None = None, dtds: dict[str, str] | None = None, json_schemas: dict[str, str] | None = None
) -> SchemaCatalogue:
    kinds = ((AssetKind.SCHEMA, xsds), (AssetKind.DTD, dtds), (AssetKind.JSONSCHEMA, json_schemas))
    return SchemaCatalogue("Shop/validate", [asset for kind, texts in kinds for asset in assets(kind, texts or {})])


def xml(text: str | bytes) -> Part:
    data = text.encode() if isinstance(text, str) else text
    return Part(id="1", content_type="application/xml", data=data)


def json(text: str) -> Part:
    return Part(id="1", content_type="application/json", data=text.encode())
