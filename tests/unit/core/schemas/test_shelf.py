"""References between schemas lead to schemas of the same service, by name, identity or namespace, and to nothing else."""

from __future__ import annotations

from time import process_time

import pytest

from postroad.core.model.asset import AssetKind
from postroad.core.schemas.schema_reader import SchemaReference, read_text
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused
from tests.unit.core.schemas.shelves import DTDS, JSON_SCHEMAS, ORDER_XSD, TYPES_XSD, XS, XSDS


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("kind", "texts", "name", "needed"),
    [
        (AssetKind.SCHEMA, XSDS, "order", {"order", "Item Types", "types.xsd"}),
        (AssetKind.SCHEMA, XSDS, "types.xsd", {"types.xsd"}),
        (AssetKind.DTD, DTDS, "order.dtd", {"order.dtd", "common.mod"}),
        (AssetKind.JSONSCHEMA, JSON_SCHEMAS, "order.json", {"order.json", "item"}),
    ],
)
def test_a_schema_comes_with_all_that_it_refers_to(
    kind: AssetKind, texts: dict[str, str], name: str, needed: set[str]
) -> None:
    schema = SchemaTexts(kind, texts | {"unrelated": next(iter(texts.values()))}).schema(name)
    assert set(schema.texts) == needed
    assert (schema.kind, schema.name) == (kind, name)


@pytest.mark.parametrize(
    ("location", "namespace", "found"),
    [
        ("order", "", "order"),
        ("ORDER", "", "order"),
        ("order.xsd", "", "order"),
        ("http://elsewhere/xsd/order.xsd", "", "order"),
        ("..\\xsd\\order.xsd", "", "order"),
        ("types", "", "types.xsd"),
        ("Item%20Types", "", "Item Types"),
        ("", "urn:item", "Item Types"),
        ("unknown.xsd", "urn:item", "Item Types"),
        ("unknown.xsd", "", ""),
        ("file:///etc/passwd", "", ""),
        ("", "", ""),
    ],
)
def test_where_a_reference_leads_to(location: str, namespace: str, found: str) -> None:
    assert SchemaTexts(AssetKind.SCHEMA, XSDS).target(SchemaReference(location=location, namespace=namespace)) == found


def test_two_that_answer_to_the_same_call_answer_to_neither() -> None:
    shelf = SchemaTexts(AssetKind.SCHEMA, {"a.xsd": ORDER_XSD, "a.xml": ORDER_XSD})
    assert shelf.target(SchemaReference(location="a.mod")) == ""
    assert shelf.target(SchemaReference(namespace="urn:order")) == ""
    assert shelf.target(SchemaReference(location="a.xsd")) == "a.xsd"


def test_a_json_schema_is_found_by_its_id() -> None:
    shelf = SchemaTexts(AssetKind.JSONSCHEMA, JSON_SCHEMAS)
    assert shelf.target(SchemaReference(location="https://shop.example/order#/properties")) == "order.json"


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("kind", "text", "told", "line"),
    [
        (AssetKind.SCHEMA, f'<xs:schema {XS}>\n<xs:include schemaLocation="gone.xsd"/></xs:schema>', "gone.xsd", "line 2"),
        (AssetKind.SCHEMA, f'<xs:schema {XS}>\n<xs:import schemaLocation="file:///etc/passwd"/></xs:schema>', "passwd", "line 2"),
        (AssetKind.SCHEMA, f'<xs:schema {XS}><xs:override schemaLocation="a"/></xs:schema>', "1.1", "line 1"),
        (AssetKind.SCHEMA, "<a/>", "xs:schema", ""),
        (AssetKind.SCHEMA, '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', "DOCTYPE", ""),
        (AssetKind.DTD, '<!ELEMENT a EMPTY>\n<!ENTITY % c SYSTEM "gone.mod">\n%c;', "gone.mod", "line 2"),
        (AssetKind.DTD, "nothing", "declares nothing", ""),
        (AssetKind.DTD, "<!ELEMENT \ud800 EMPTY>", "not Unicode", ""),
        (AssetKind.JSONSCHEMA, '{"const": "\ud800"}', "not Unicode", ""),
        (AssetKind.SCHEMA, "<\ud800/>", "not Unicode", ""),
        (AssetKind.JSONSCHEMA, "{", "not JSON", ""),
        (AssetKind.JSONSCHEMA, "[]", "an object", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_is_not_there_is_refused_with_its_line(
    kind: AssetKind, text: str, told: str, line: str
) -> None:
    with pytest.raises(Refused) as refused:
        SchemaTexts(kind, {"a": text}).schema("a")
    assert refused.value.code == "schema.invalid"
    assert told in refused.value.detail
    assert refused.value.pointer == line


def test_a_fault_in_what_is_referred_to_says_where_it_is() -> None:
    shelf = SchemaTexts(AssetKind.SCHEMA, {"order": ORDER_XSD, "item": XSDS["Item Types"], "types": "<xs:schema"})
    with pytest.raises(Refused, match="refers to types, which is invalid"):
        shelf.schema("order")


def test_references_in_a_circle_end() -> None:
    circle = f'<xs:schema {XS}><xs:include schemaLocation="%s"/></xs:schema>'
    assert set(SchemaTexts(AssetKind.SCHEMA, {"a": circle % "b", "b": circle % "a"}).schema("a").texts) == {"a", "b"}


def test_the_digest_is_of_everything_that_counts_and_of_nothing_else() -> None:
    before = SchemaTexts(AssetKind.SCHEMA, XSDS).schema("order")
    assert SchemaTexts(AssetKind.SCHEMA, XSDS | {"unrelated": TYPES_XSD}).schema("order").digest == before.digest
    assert SchemaTexts(AssetKind.SCHEMA, XSDS | {"types.xsd": TYPES_XSD + " "}).schema("order").digest != before.digest
    assert SchemaTexts(AssetKind.SCHEMA, XSDS).schema("types.xsd").digest != before.digest


def test_a_schema_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.core.schemas.schema_texts.TEXTS_BYTES", 100)
    with pytest.raises(Refused, match="larger than"):
        SchemaTexts(AssetKind.SCHEMA, XSDS).schema("order")


def test_what_only_looks_like_a_reference_does_no_harm() -> None:
    text = '{"const": {"$ref": "nowhere"}, "properties": {"$ref": {"type": "string"}}}'
    assert set(SchemaTexts(AssetKind.JSONSCHEMA, {"a": text}).schema("a").texts) == {"a"}


def test_what_a_schema_declares() -> None:
    assert read_text(AssetKind.SCHEMA, ORDER_XSD).roots == {"{urn:order}order"}
    assert read_text(AssetKind.SCHEMA, f'<xs:schema {XS}><xs:element name="a"/></xs:schema>').roots == {"a"}


@pytest.mark.req("Z2")
def test_comments_that_nobody_closes_are_looked_at_once() -> None:
    started = process_time()
    assert read_text(AssetKind.DTD, "<!--" * 100_000).references == ()
    assert process_time() - started < 2
    assert read_text(AssetKind.DTD, "<!ELEMENT a ANY><!-- <!ENTITY % b SYSTEM 'b.mod'>").references == ()
