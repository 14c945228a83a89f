"""Schemas and documents that mean harm: they reach nothing, end in time, and cost nobody but themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from lxml import etree

from postroad.adapters.confined.pool import KILLS_ALLOWED
from postroad.adapters.validation.workers import ValidationWorkers
from postroad.core.model.asset import AssetKind
from postroad.core.schemas.schema import Schema, digest_of_texts
from postroad.core.schemas.schema_texts import SchemaTexts
from postroad.errors import Refused
from tests.faults.secret_server import SecretServer, serving

one_loop = pytest.mark.asyncio(loop_scope="module")  # so that the tests share workers

XSD, DTD, JSON = AssetKind.SCHEMA, AssetKind.DTD, AssetKind.JSONSCHEMA
XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
SECRET = "TOP-SECRET"
DEADLINE_S = 1.0
FINE = f'<xs:schema {XS}><xs:element name="a" type="xs:int"/></xs:schema>'


@pytest.fixture(scope="module")
def server() -> Iterator[SecretServer]:
    with serving() as running:
        yield running


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A schema that is nobody's business, readable for everybody on the machine."""
    file = tmp_path / "secret.xsd"
    file.write_text(
        f'<xs:schema {XS}><xs:simpleType name="{SECRET}"><xs:restriction base="xs:int"/></xs:simpleType></xs:schema>'
    )
    return file


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[ValidationWorkers]:
    pool = ValidationWorkers(deadline_s=20)
    yield pool
    await pool.close()


@pytest_asyncio.fixture
async def hurried() -> AsyncIterator[ValidationWorkers]:
    pool = ValidationWorkers(deadline_s=DEADLINE_S)
    yield pool
    await pool.close()


def schema(kind: AssetKind, text: str) -> Schema:
    """As if the server had looked at nothing: what holds here, the worker holds."""
    texts = {"a": text}
    return Schema(kind=kind, name="a", texts=texts, digest=digest_of_texts(kind, "a", texts))


def element(content: str) -> Schema:
    return schema(XSD, f'<xs:schema {XS}><xs:element name="a">{content}</xs:element></xs:schema>')


def including(how: str, address: str) -> str:
    used = f'<xs:element name="a" type="{SECRET}"/>'
    return f'<xs:schema {XS}><xs:{how} schemaLocation="{address}"/>{used}</xs:schema>'


async def outcome(pool: ValidationWorkers, judged_by: Schema, document: bytes) -> str:
    """The faults or the refusal, as a sender would be told."""
    try:
        return "; ".join(map(str, await pool.validate(judged_by, document)))
    except Refused as refused:
        return f"{refused.code}: {refused.detail}"


# ---- nothing is reached


def test_the_attack_works_where_nothing_stops_it(secret: Path) -> None:
    compiled = etree.XMLSchema(etree.fromstring(including("include", secret.as_uri())))
    assert compiled.validate(etree.fromstring("<a>1</a>"))


@one_loop
@pytest.mark.req("S6", "Z3")
@pytest.mark.parametrize("how", ["include", "import", "redefine"])
async def test_an_xml_schema_reads_no_file_and_no_address(
    workers: ValidationWorkers, secret: Path, server: SecretServer, how: str
) -> None:
    for address in (secret.as_uri(), str(secret), f"{server.address}/secret.xsd"):
        told = await outcome(workers, schema(XSD, including(how, address)), b"<a>1</a>")
        assert told.startswith("schema.invalid"), told
        with pytest.raises(Refused):
            SchemaTexts(XSD, {"a": including(how, address)}).schema("a")
    assert server.take_visits() == 0


@one_loop
@pytest.mark.req("S6", "Z2")
async def test_a_dtd_reads_no_file_and_no_address(
    workers: ValidationWorkers, tmp_path: Path, server: SecretServer
) -> None:
    (tmp_path / "secret.mod").write_text("<!ELEMENT a EMPTY>")
    for address in ((tmp_path / "secret.mod").as_uri(), f"{server.address}/secret.mod"):
        told = await outcome(workers, schema(DTD, f'<!ENTITY % s SYSTEM "{address}">\n%s;'), b"<a/>")
        assert told.startswith("schema.invalid"), told
    assert server.take_visits() == 0


@one_loop
@pytest.mark.req("S6", "Z3")
@pytest.mark.parametrize("keyword", ["$ref", "$schema", "$dynamicRef"])
async def test_a_json_schema_reads_no_file_and_no_address(
    workers: ValidationWorkers, tmp_path: Path, server: SecretServer, keyword: str
) -> None:
    (tmp_path / "secret.json").write_text("true")
    for address in ((tmp_path / "secret.json").as_uri(), f"{server.address}/secret.json"):
        told = await outcome(workers, schema(JSON, f'{{"{keyword}": "{address}"}}'), b"1")
        assert told.startswith("schema.invalid"), told
    assert server.take_visits() == 0


@one_loop
@pytest.mark.req("Z2")
async def test_a_document_reads_nothing(workers: ValidationWorkers, secret: Path, server: SecretServer) -> None:
    for head in (
        f'<!DOCTYPE a SYSTEM "{secret.as_uri()}">',
        f'<!DOCTYPE a [<!ENTITY e SYSTEM "{secret.as_uri()}">]>',
        f'<!DOCTYPE a [<!ENTITY % e SYSTEM "{server.address}/secret.dtd"> %e;]>',
    ):
        for judged_by in (schema(XSD, FINE), schema(DTD, "<!ELEMENT a ANY>")):
            assert SECRET not in await outcome(workers, judged_by, f"{head}<a>&e;</a>".encode())
    located = f'<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="{server.address}">1</a>'
    assert await outcome(workers, schema(XSD, FINE), located.encode()) == ""
    assert server.take_visits() == 0


@one_loop
@pytest.mark.skipif(sys.platform != "linux", reason="what a process has open is read from /proc")
async def test_a_worker_has_nothing_but_its_pipes(workers: ValidationWorkers) -> None:
    await workers.warm()
    [process] = workers.process_ids
    folder = Path(f"/proc/{process}")
    assert {os.readlink(link) for link in (folder / "fd").iterdir() if not os.readlink(link).startswith("pipe:")} <= {
        "/dev/null"
    }
    limits = (folder / "limits").read_text()
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max open files")] == [["0", "0"]]


# ---- bombs

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
PARAMETER_LAUGHS = '<!ENTITY % l0 "lol">' + "".join(
    f'<!ENTITY % l{i} "{f"%l{i - 1};" * 10}">' for i in range(1, 12)
) + "<!ELEMENT a ANY>%l11;"  # fmt: skip
COUNTED_SEQUENCE = '<xs:sequence minOccurs="9999" maxOccurs="99999">'
NESTED_COUNTS = COUNTED_SEQUENCE * 20 + '<xs:element name="b" maxOccurs="99999"/>' + "</xs:sequence>" * 20
LARGEST_COUNTS = '<xs:sequence maxOccurs="2147483647"><xs:element name="b" maxOccurs="2147483647"/></xs:sequence>'
ENTITIES = f'<!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]>'


def doubled(times: int) -> str:
    """A content model whose determinism takes time that doubles with every level to find out."""
    model = '<xs:element name="b" minOccurs="0"/>'
    for _ in range(times):
        model = f'<xs:sequence minOccurs="0" maxOccurs="unbounded">{model}{model}</xs:sequence>'
    return f"<xs:complexType>{model}</xs:complexType>"


@one_loop
@pytest.mark.req("S6", "Z3")
@pytest.mark.parametrize(
    ("judged_by", "document", "told"),
    [
        (schema(XSD, f"{ENTITIES}<xs:schema {XS}>&l11;</xs:schema>"), b"<a/>", "schema.invalid"),
        (schema(DTD, PARAMETER_LAUGHS), b"<a/>", "schema.invalid"),
        (element(f"<xs:complexType>{NESTED_COUNTS}</xs:complexType>"), b"<a/>", ""),
        (element(f"<xs:complexType>{LARGEST_COUNTS}</xs:complexType>"), b"<a/>", "schema.invalid"),
        (schema(JSON, '{"$ref": "#"}'), b"1", ""),
        (schema(JSON, '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}'), b"1", ""),
        (schema(JSON, '{"pattern": "^(a+)+$"}'), b'"' + b"a" * 50_000 + b'!"', "does not match"),
        (schema(JSON, '{"pattern": "((a{1,900}){1,900}){1,900}"}'), b'"a"', "schema.invalid"),
        (schema(JSON, '{"items": {"$ref": "#"}}'), b"[" * 50_000, "not JSON"),
        (schema(JSON, '{"not": ' * 5_000 + "true" + "}" * 5_000), b"1", "schema.invalid"),
        (schema(JSON, '{"not": ' * 500 + "true" + "}" * 500), b"1", ""),
        (schema(JSON, '{"items": {"$ref": "#"}}'), b"[" * 900 + b"]" * 900, ""),
        (schema(JSON, '{"multipleOf": 1e-300}'), b"1e308", ""),
        (schema(XSD, FINE), b"<a>" * 5_000, "too complex"),
        (schema(XSD, FINE), b'<a b="' + b"x" * 10_100_000 + b'"/>', "limit exceeded"),
        (schema(DTD, "<!ELEMENT a ANY>"), b'<a b="' + b"x" * 10_100_000 + b'"/>', "limit exceeded"),
        (schema(XSD, FINE), b"<a " + b"".join(b'b%d="" ' % n for n in range(5_000)) + b"/>", "too complex"),
    ],
)  # fmt: skip
async def test_a_bomb_does_not_go_off(
    workers: ValidationWorkers, judged_by: Schema, document: bytes, told: str
) -> None:
    assert await workers.validate(schema(XSD, FINE), b"<a>1</a>") == ()
    alive = workers.process_ids
    assert told in await outcome(workers, judged_by, document)
    assert workers.process_ids == alive


@pytest.mark.req("S6", "Z3")
async def test_a_schema_without_end_is_stopped_and_then_suspended(hurried: ValidationWorkers) -> None:
    endless = element(doubled(12))
    for _ in range(KILLS_ALLOWED - 1):
        hurried.penalties.record(endless.digest.hex())
    with pytest.raises(Refused) as refused:
        await hurried.check(endless)
    assert refused.value.code == "validation.timeout"
    with pytest.raises(Refused, match="This schema was stopped") as refused:
        await hurried.validate(endless, b"<a/>")
    assert refused.value.code == "validation.suspended"
    assert await hurried.validate(schema(XSD, FINE), b"<a>1</a>") == ()


@pytest.mark.req("Z3")
async def test_a_large_document_that_takes_long_does_not_suspend_its_schema(hurried: ValidationWorkers) -> None:
    dtd = schema(DTD, "<!ELEMENT a ANY><!ELEMENT b EMPTY>")
    many_faults = b"<a>" + b"<b>x</b>" * 100_000 + b"</a>"
    assert (await outcome(hurried, dtd, many_faults)).startswith("validation.timeout")
    assert not hurried.penalties.suspects(dtd.digest.hex())
    assert await hurried.validate(dtd, b"<a><b/></a>") == ()


@pytest.mark.req("Z3")
async def test_what_needs_too_much_memory_is_refused() -> None:
    small = ValidationWorkers(deadline_s=30, memory_bytes=96 << 20)
    try:
        told = await outcome(small, schema(JSON, '{"uniqueItems": true}'), b"[" + b"[[]]," * 2_000_000 + b"1]")
        assert told.startswith("validation.memory"), told
        assert await small.validate(schema(XSD, FINE), b"<a>1</a>") == ()
    finally:
        await small.close()
