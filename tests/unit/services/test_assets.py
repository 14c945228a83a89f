"""Assets are checked when they are saved: every kind, what passes and what is wrong where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.core.model.asset import MAX_CONTENT_CHARS, AssetDraft, AssetKind, Hosting
from postroad.core.schemas.schema import Schema
from postroad.errors import Refused
from postroad.services import asset_checks
from postroad.services.asset_checks import find_asset_errors
from postroad.services.engines import Engines
from postroad.services.lookup_table import MAX_FAULTS
from tests.samples.service_tools import Strict, UpperCase, asset, engines

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'

GOOD = {
    AssetKind.STYLESHEET: "<split/>",
    AssetKind.TABLE: 'zip,plus4\n62701,62701-1234\n\n10001,"1,2"\n',
    AssetKind.LIST: '{"allow": ["MyBiz"], "when": {"exists": {"header": "topic"}}, "otherwise": "deny"}',
    AssetKind.MAP: '{"services": ["MyBiz", "TheAcmeCompany/Supply"]}',
    AssetKind.QUERY: "$msg/order",
    AssetKind.SCRIPT: "def route(message): return True",
    AssetKind.DTD: "<!ELEMENT a EMPTY>",
    AssetKind.JSONSCHEMA: '{"type": "object"}',
    AssetKind.SCHEMA: '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>',
}


def draft(kind: AssetKind, name: str, content: str, hosted: Hosting = Hosting.NONE, **beside: str) -> AssetDraft:
    others = tuple(asset(kind, one, text) for one, text in beside.items())
    return AssetDraft(asset=asset(kind, name, content), hosted=hosted, beside=others)


@pytest.mark.parametrize("kind", AssetKind)
async def test_a_good_asset_has_no_faults(kind: AssetKind) -> None:
    assert await find_asset_errors(draft(kind, "good", GOOD[kind]), engines(UpperCase())) == []


@pytest.mark.parametrize(
    ("kind", "content", "place", "told"),
    [
        (AssetKind.STYLESHEET, "<fail/>", "", "line 1"),
        (AssetKind.TABLE, "", "", "header line"),
        (AssetKind.TABLE, "zip\n62701\n", "", "at least two columns"),
        (AssetKind.TABLE, "zip,zip\n1,2\n", "", "needs a unique name"),
        (AssetKind.TABLE, "zip,plus4\n1\n", "", "row 1 has 1 values"),
        (AssetKind.TABLE, "zip,plus4\n1,a\n2,b\n1,c\n", "", "the key '1' of row 1"),
        (AssetKind.TABLE, 'zip,plus4\n"1,a\n', "", "not valid CSV"),
        (AssetKind.LIST, "[]", "", "object"),
        (AssetKind.LIST, '{"alow": []}', "/alow", "not permitted"),
        (AssetKind.LIST, '{"otherwise": "maybe"}', "/otherwise", "'allow' or 'deny'"),
        (AssetKind.LIST, '{"when": {"equals": {"header": "nonsense", "value": "x"}}}', "/when", "nonsense"),
        (AssetKind.LIST, '{"when": {"equals": {}}}', "/when", "header"),
        (AssetKind.MAP, "{}", "", "services"),
        (AssetKind.MAP, '{"services": "MyBiz"}', "", "services"),
        (AssetKind.QUERY, "fail", "", "does not compile"),
        (AssetKind.SCRIPT, "fail", "", "does not compile"),
        (AssetKind.SCHEMA, "<a/>", "", "xs:schema"),
        (AssetKind.SCHEMA, f'<xs:schema {XS}>\n<xs:include schemaLocation="b"/></xs:schema>', "", "line 2: xs:include"),
        (AssetKind.DTD, "<!ELEMENT fail EMPTY>", "", "line 1: fail"),
        (AssetKind.DTD, '<!ENTITY % b SYSTEM "gone">', "", "line 1: an entity of 'gone'"),
        (AssetKind.JSONSCHEMA, '{"const": "fail"}', "", "line 1: fail"),
        (AssetKind.JSONSCHEMA, "{", "", "not JSON"),
        (AssetKind.SCHEMA, "<!DOCTYPE a><a/>", "", ""),
    ],
)
async def test_a_bad_asset_is_told_what_is_wrong_where(kind: AssetKind, content: str, place: str, told: str) -> None:
    hosted = Hosting.VALIDATE if kind is AssetKind.DTD else Hosting.NONE
    faults = await find_asset_errors(draft(kind, "bad", content, hosted), engines(UpperCase()))
    assert faults
    assert faults[0].pointer.startswith(place)
    assert told in faults[0].detail


async def test_only_the_first_of_many_faults_are_reported() -> None:
    content = "zip,plus4\n" + "1,2\n" * 100
    assert len(await find_asset_errors(draft(AssetKind.TABLE, "bad", content), engines(UpperCase()))) == MAX_FAULTS


async def test_an_asset_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CONTENT_CHARS > 1_000_000
    monkeypatch.setattr(asset_checks, "MAX_CONTENT_CHARS", 10)
    assert await find_asset_errors(draft(AssetKind.TABLE, "bad", "zip,plus4\n1,2\n"), engines(UpperCase()))


# ---- schemas that stand beside others

INCLUDING = f'<xs:schema {XS}><xs:include schemaLocation="types.xsd"/></xs:schema>'
INCLUDED = f"<xs:schema {XS}/>"


@pytest.mark.req("S6")
@pytest.mark.parametrize("hosted", [Hosting.VALIDATE, Hosting.EXCHANGE])
async def test_a_schema_to_validate_with_may_refer_to_those_beside_it(hosted: Hosting) -> None:
    alone = draft(AssetKind.SCHEMA, "order", INCLUDING, hosted)
    [fault] = await find_asset_errors(alone, engines(UpperCase()))
    assert "'types.xsd' does not match any schema in the catalogue" in fault.detail
    together = draft(AssetKind.SCHEMA, "order", INCLUDING, hosted, types=INCLUDED)
    assert await find_asset_errors(together, engines(UpperCase())) == []


@pytest.mark.req("S6")
async def test_a_change_that_breaks_another_schema_is_refused() -> None:
    broken = draft(AssetKind.SCHEMA, "types", f"<xs:schema {XS}><!-- fail --></xs:schema>", Hosting.VALIDATE)
    assert "line 1: fail" in (await find_asset_errors(broken, engines(UpperCase())))[0].detail

    class Referring(Strict):
        """For whom the schema is good by itself, and no longer fits the one that refers to it."""

        async def check(self, schema: Schema) -> None:
            if schema.name == "order":
                raise Refused("schema.invalid", "line 7: there is no such type", pointer="line 7")

    judged = Engines(transformer=UpperCase(), judges={}, validator=Referring())
    changed = draft(AssetKind.SCHEMA, "types", INCLUDED, Hosting.VALIDATE, order=INCLUDING, other=INCLUDED)
    [fault] = await find_asset_errors(changed, judged)
    assert fault.detail == "order, which refers to it, fails with it: line 7: there is no such type"
    assert await find_asset_errors(replace(changed, with_referrers=False), judged) == []


@pytest.mark.req("R2")
async def test_a_dtd_of_a_service_with_rules_has_to_be_complete_in_itself() -> None:
    attributes = '<!ATTLIST Order currency CDATA "EUR">'
    assert await find_asset_errors(draft(AssetKind.DTD, "orders", attributes), engines(UpperCase())) == []
    outside = '<!ENTITY % more SYSTEM "more.dtd"> %more;'
    [fault] = await find_asset_errors(draft(AssetKind.DTD, "orders", outside), engines(UpperCase()))
    assert "put everything into one DTD" in fault.detail
