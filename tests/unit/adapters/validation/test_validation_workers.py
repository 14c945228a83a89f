"""Documents are judged by schemas of three languages in real worker processes: what is valid, what is not, and where."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from postroad.adapters.validation.frames import MAX_FAULTS
from postroad.adapters.validation.workers import ValidationWorkers
from postroad.core.model.asset import AssetKind
from postroad.core.schemas.schema import Schema
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused, Unavailable
from tests.unit.core.schemas.shelves import DTDS, JSON_SCHEMAS, XS, XSDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDER = SchemaTexts(AssetKind.SCHEMA, XSDS).schema("order")
ORDER_DTD = SchemaTexts(AssetKind.DTD, DTDS).schema("order.dtd")
ORDER_JSON = SchemaTexts(AssetKind.JSONSCHEMA, JSON_SCHEMAS).schema("order.json")

_NUMBERS = '<xs:element name="b" type="xs:int" maxOccurs="unbounded"/>'
MANY_NUMBERS = f"<xs:complexType><xs:sequence>{_NUMBERS}</xs:sequence></xs:complexType>"


IDENTIFIED = '<xs:complexType><xs:attribute name="i" type="xs:ID"/></xs:complexType>'
BS = f'<xs:element name="b" maxOccurs="2">{IDENTIFIED}</xs:element>'
TWO_IDS = f"<xs:complexType><xs:sequence>{BS}</xs:sequence></xs:complexType>"
IDS = "<!ELEMENT a (b*)><!ELEMENT b EMPTY><!ATTLIST b i ID #IMPLIED r IDREF #IMPLIED>"


def one(kind: AssetKind, text: str) -> Schema:
    return SchemaTexts(kind, {"a": text}).schema("a")


def element(declaration: str) -> Schema:
    return one(AssetKind.SCHEMA, f'<xs:schema {XS}><xs:element name="a">{declaration}</xs:element></xs:schema>')


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[ValidationWorkers]:
    pool = ValidationWorkers(deadline_s=20)
    yield pool
    await pool.close()


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("schema", "document"),
    [
        (ORDER, b'<o:order xmlns:o="urn:order" xmlns="urn:item"><item>1</item><item>2</item></o:order>'),
        (ORDER, b'<!DOCTYPE order SYSTEM "x.dtd"><order xmlns="urn:order"><i:item xmlns:i="urn:item">1</i:item></order>'),
        (ORDER_DTD, b"<order><item>1</item></order>"),
        (ORDER_DTD, '<?xml version="1.0" encoding="iso-8859-1"?><order><item>\u00e9</item></order>'.encode("latin-1")),
        (element(TWO_IDS), b'<a><b i="x"/><b i="y"/></a>'),
        (ORDER_JSON, b'{"items": [1, 2]}'),
        (ORDER_JSON, b"\xef\xbb\xbf{}"),
    ],
)  # fmt: skip
async def test_a_valid_document_has_no_faults(workers: ValidationWorkers, schema: Schema, document: bytes) -> None:
    assert await workers.validate(schema, document) == ()


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("schema", "document", "place", "told"),
    [
        (ORDER, b'<o:order xmlns:o="urn:order" xmlns="urn:item">\n<item>x</item></o:order>', "line 2", "xs:integer"),
        (ORDER, b'<order xmlns="urn:order"/>', "line 1", "Missing child element"),
        (ORDER, b'<order xmlns="urn:elsewhere"/>', "line 1", "No matching global declaration"),
        (ORDER, b"<order", "line 1", "not well-formed"),
        (ORDER, b'<!DOCTYPE order [<!ENTITY e "1">]><order>&e;</order>', "", "declare nothing itself"),
        (
            element(TWO_IDS),
            b'<a>\n<b i="x"/>\n<b i="x"/></a>',
            "line 3",
            "'x' is not a valid value of the atomic type 'xs:ID'",
        ),
        (element(TWO_IDS), b'<a>\n<b j="x"/></a>', "line 2", "'j' is not allowed"),
        (one(AssetKind.DTD, IDS), b'<a><b i="x"/><b i="x"/></a>', "line 1", "ID x already defined"),
        (one(AssetKind.DTD, IDS), b'<a><b i="x"/><b r="y"/></a>', "line 1", "unknown ID"),
        (ORDER_DTD, b"<order>\n<box/></order>", "line 1", "expecting (item)+"),
        (ORDER_DTD, b"<order><item>&euro;</item></order>", "line 1", "undefined entity"),
        (ORDER_JSON, b'{"items": [1, "x"]}', "/items/1", "integer"),
        (ORDER_JSON, b'{"items": [1, 0]}', "/items/1", "less than the minimum"),
        (ORDER_JSON, b'{"items": [1],\n "items": [2]}', "", "twice"),
        (ORDER_JSON, b'{\n"items": }', "line 2", "not JSON"),
        (ORDER_JSON, b'{"items": [NaN]}', "", "not JSON"),
        (ORDER_JSON, b"\xff", "", "not JSON"),
    ],
)
async def test_a_fault_says_what_is_wrong_where(
    workers: ValidationWorkers, schema: Schema, document: bytes, place: str, told: str
) -> None:
    faults = await workers.validate(schema, document)
    assert str(faults[0]).startswith(place)
    assert told in faults[0].text


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        (element("<xs:complexType/>"), b"<a>" + b"<b/>\n" * 30 + b"</a>"),
        (element(MANY_NUMBERS), b"<a>" + b"<b/>\n" * 5_000 + b"</a>"),
        (one(AssetKind.DTD, "<!ELEMENT a ANY>"), b"<a>" + b"<b/>\n" * 30 + b"</a>"),
        (one(AssetKind.JSONSCHEMA, '{"items": {"type": "integer"}}'), b"[" + b'"x",' * 30 + b'"x"]'),
        (one(AssetKind.JSONSCHEMA, '{"items": {"type": "integer"}}'), b"[" + b'"x",' * 30_000 + b'"x"]'),
    ],
)  # fmt: skip
async def test_only_the_first_of_many_faults_are_reported(
    workers: ValidationWorkers, schema: Schema, document: bytes
) -> None:
    assert 1 <= len(await workers.validate(schema, document)) <= MAX_FAULTS


@pytest.mark.req("S6")
@pytest.mark.parametrize(
    ("schema", "told", "line"),
    [
        (element('\n<xs:complexType><xs:sequence minOccurs="x"/></xs:complexType>'), "minOccurs", "line 2"),
        (one(AssetKind.SCHEMA, f'<xs:schema {XS}>\n<xs:element name="a" type="T"/></xs:schema>'), "T", "line 2"),
        (one(AssetKind.DTD, "<!ELEMENT a (b,>"), "ContentDecl", "line 1"),
        (one(AssetKind.DTD, "<!-- nothing -->"), "declares no element", ""),
        (one(AssetKind.JSONSCHEMA, '{"type": "strin"}'), "strin", ""),
        (one(AssetKind.JSONSCHEMA, '{"$ref": "nowhere.json"}'), "not in the catalogue", ""),
        (one(AssetKind.JSONSCHEMA, '{"pattern": "(?=a)b"}'), "regex", ""),
        (one(AssetKind.JSONSCHEMA, '{"$schema": "https://elsewhere/dialect"}'), "meta-schema", ""),
    ],
)
async def test_a_schema_that_does_not_compile_is_refused(
    workers: ValidationWorkers, schema: Schema, told: str, line: str
) -> None:
    with pytest.raises(Refused) as refused:
        await workers.check(schema)
    assert refused.value.code == "schema.invalid"
    assert told in refused.value.detail
    assert refused.value.pointer == line


async def test_good_schemas_compile(workers: ValidationWorkers) -> None:
    for schema in (ORDER, ORDER_DTD, ORDER_JSON, one(AssetKind.JSONSCHEMA, "true")):
        await workers.check(schema)


async def test_a_worker_is_sent_the_texts_of_a_schema_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bool] = []
    pool = ValidationWorkers()
    attempt = pool.checked_attempt

    async def counting(call):  # type: ignore[no-untyped-def]
        sent.append(bool(call.texts))
        return await attempt(call)

    monkeypatch.setattr(pool, "checked_attempt", counting)
    for _ in range(3):
        assert await pool.validate(ORDER_JSON, b'{"items": [1]}') == ()
    await pool.close()
    assert sent == [False, True, False, False]


async def test_a_schema_that_libxml2_gives_up_on_is_no_judgement(workers: ValidationWorkers) -> None:
    pattern = '<xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="(a|aa)+b"/></xs:restriction></xs:simpleType>'
    with pytest.raises(Refused) as refused:
        await workers.validate(element(pattern), b"<a>" + b"a" * 60 + b"</a>")
    assert refused.value.code == "validation.failed"


async def test_after_the_end_nothing_is_judged() -> None:
    pool = ValidationWorkers()
    await pool.close()
    with pytest.raises(Unavailable):
        await pool.validate(ORDER, b"<a/>")
