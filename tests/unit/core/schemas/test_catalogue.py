"""Which schema is for which document, and that none is guessed."""

from __future__ import annotations

import pytest

from postroad.core.model.asset import AssetKind
from postroad.core.model.message import Part
from postroad.core.schemas.catalogue import SchemaCatalogue
from postroad.core.schemas.doctype import without_doctype
from postroad.core.schemas.schema import DocumentFault
from postroad.errors import Refused
from tests.unit.core.schemas.shelves import DTDS, ITEM_XSD, JSON_SCHEMAS, XS, XSDS, catalogue, json, xml

ALL = catalogue(XSDS, DTDS, JSON_SCHEMAS)
TWO_OF_A_NAMESPACE = catalogue(
    {
        name: f'<xs:schema {XS} targetNamespace="urn:a"><xs:element name="{name}"/></xs:schema>'
        for name in ("one", "two")
    }
)


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (xml('<o:order xmlns:o="urn:order"/>'), (AssetKind.SCHEMA, "order")),
        (xml('<?xml version="1.0" encoding="UTF-16"?><order xmlns="urn:order"/>'.encode("utf-16")), (AssetKind.SCHEMA, "order")),
        (xml('<unknown xmlns="urn:order"/>'), (AssetKind.SCHEMA, "order")),
        (xml('<!-- a -->\n<!DOCTYPE order SYSTEM "http://shop/dtd/order.dtd">\n<order/>'), (AssetKind.DTD, "order.dtd")),
        (xml('<!DOCTYPE order PUBLIC "-//Shop//Order" "order.dtd"><order/>'), (AssetKind.DTD, "order.dtd")),
        (xml('<order xmlns="urn:elsewhere"/>'), None),
        (xml("<order/>"), None),
        (xml("not XML"), None),
        (json('{"$schema": "https://shop.example/order"}'), (AssetKind.JSONSCHEMA, "order.json")),
        (json('{"$schema": "order.json"}'), (AssetKind.JSONSCHEMA, "order.json")),
        (json('{"$schema": "unknown"}'), None),
        (json('{"items": []}'), None),
        (json("[1"), None),
    ],
)  # fmt: skip
def test_the_schema_that_is_for_a_document(part: Part, expected: tuple[AssetKind, str] | None) -> None:
    found = ALL.fitting(part)
    assert (found and (found.kind, found.name)) == expected


def test_of_two_schemas_with_a_namespace_the_one_that_declares_the_root_is_meant() -> None:
    found = TWO_OF_A_NAMESPACE.fitting(xml('<two xmlns="urn:a"/>'))
    assert found is not None
    assert found.name == "two"
    assert TWO_OF_A_NAMESPACE.fitting(xml('<three xmlns="urn:a"/>')) is None


@pytest.mark.parametrize("part", [xml("<anything/>"), json('{"a": 1}')])
def test_the_only_schema_is_for_everything(part: Part) -> None:
    found = catalogue({"item": ITEM_XSD}, None, {"item": "{}"}).fitting(part)
    assert found is not None
    assert found.name == "item"


@pytest.mark.parametrize(
    ("one", "part", "concerned"),
    [
        (catalogue(XSDS), xml("<a/>"), True),
        (catalogue(None, DTDS), xml("<a/>"), True),
        (catalogue(None, None, JSON_SCHEMAS), xml("<a/>"), False),
        (catalogue(XSDS), json("{}"), False),
        (catalogue(None, None, JSON_SCHEMAS), json("{}"), True),
        (ALL, Part(id="1", content_type="application/edi-x12", data=b"ISA*00"), False),
    ],
)
def test_which_documents_a_catalogue_is_about(one: SchemaCatalogue, part: Part, concerned: bool) -> None:
    assert one.concerns(part) is concerned


def test_a_schema_by_its_name() -> None:
    assert ALL.find("ORDER").name == "order"
    assert ALL.find("order.dtd").kind is AssetKind.DTD
    with pytest.raises(Refused) as refused:
        ALL.find("nothing")
    assert refused.value.code == "not-found"
    both = catalogue({"order": XSDS["types.xsd"]}, None, {"order": "{}"})
    with pytest.raises(Refused, match="different names"):
        both.find("order")
    assert both.find("order", AssetKind.JSONSCHEMA).kind is AssetKind.JSONSCHEMA


def test_who_refers_to_a_schema() -> None:
    assert ALL.referrers(AssetKind.SCHEMA, "types.xsd") == ["order"]
    assert ALL.referrers(AssetKind.DTD, "common.mod") == ["order.dtd"]
    assert ALL.referrers(AssetKind.SCHEMA, "order") == []


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    "text", ['<!DOCTYPE a [<!ENTITY e "x">]><a/>', '<!DOCTYPE a SYSTEM "a.dtd" []><a/>', "<!DOCTYPE a", '<!DOCTYPE "a"><a/>']
)  # fmt: skip
def test_a_document_that_declares_something_itself_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        without_doctype(text.encode())
    assert refused.value.code == "wire.forbidden-markup"


def test_a_document_without_its_doctype_keeps_its_lines() -> None:
    found = without_doctype(b'<?xml version="1.0"?>\n<!DOCTYPE a\n  SYSTEM "a.dtd">\n<a/>')
    assert found.system_id == "a.dtd"
    assert found.document == b'<?xml version="1.0"?>\n\n\n<a/>'
    assert without_doctype(b"<a><!DOCTYPE a></a>").document == b"<a><!DOCTYPE a></a>"


def test_a_fault_says_where_it_is() -> None:
    assert str(DocumentFault(text="wrong", line=3, path="/a")) == "line 3: wrong"
    assert str(DocumentFault(text="wrong", path="/a/0")) == "/a/0: wrong"
    assert str(DocumentFault(text="wrong")) == "wrong"
