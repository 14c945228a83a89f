"""Assets are checked when they are saved: every kind, what passes and what is wrong where."""

from __future__ import annotations

import pytest

from postroad.core.model.asset import CONTENT_MOST, AssetKind
from postroad.services import assets
from postroad.services.assets import asset_faults
from postroad.services.table import FAULTS_MOST
from tests.unit.services.workbench import UpperCase, asset, engines

GOOD = {
    AssetKind.STYLESHEET: "<split/>",
    AssetKind.TABLE: 'zip,plus4\n62701,62701-1234\n\n10001,"1,2"\n',
    AssetKind.LIST: '{"allow": ["MyBiz"], "when": {"exists": {"header": "topic"}}, "otherwise": "deny"}',
    AssetKind.MAP: '{"services": ["MyBiz", "TheAcmeCompany/Supply"]}',
    AssetKind.QUERY: "$msg/order",
    AssetKind.SCRIPT: "def route(message): return True",
    AssetKind.SCHEMA: '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>',
}


@pytest.mark.parametrize("kind", AssetKind)
async def test_a_good_asset_has_no_faults(kind: AssetKind) -> None:
    assert await asset_faults(asset(kind, "good", GOOD[kind]), engines(UpperCase())) == []


@pytest.mark.parametrize(
    ("kind", "content", "place", "told"),
    [
        (AssetKind.STYLESHEET, "<fail/>", "", "line 1"),
        (AssetKind.TABLE, "", "", "head line"),
        (AssetKind.TABLE, "zip\n62701\n", "", "at least two columns"),
        (AssetKind.TABLE, "zip,zip\n1,2\n", "", "no two have the same"),
        (AssetKind.TABLE, "zip,plus4\n1\n", "", "row 1 has 1 values"),
        (AssetKind.TABLE, "zip,plus4\n1,a\n2,b\n1,c\n", "", "the key '1' of row 1"),
        (AssetKind.TABLE, 'zip,plus4\n"1,a\n', "", "not CSV"),
        (AssetKind.LIST, "[]", "", "object"),
        (AssetKind.LIST, '{"alow": []}', "/alow", "not permitted"),
        (AssetKind.LIST, '{"otherwise": "maybe"}', "/otherwise", "'allow' or 'deny'"),
        (AssetKind.LIST, '{"when": {"equals": {"header": "nonsense", "value": "x"}}}', "/when", "nonsense"),
        (AssetKind.LIST, '{"when": {"equals": {}}}', "/when", "header"),
        (AssetKind.MAP, "{}", "", "services"),
        (AssetKind.MAP, '{"services": "MyBiz"}', "", "services"),
        (AssetKind.QUERY, "fail", "", "does not compile"),
        (AssetKind.SCRIPT, "fail", "", "does not compile"),
        (AssetKind.SCHEMA, "<a/>", "", ""),
        (AssetKind.SCHEMA, "<!DOCTYPE a><a/>", "", ""),
    ],
)
async def test_a_bad_asset_is_told_what_is_wrong_where(kind: AssetKind, content: str, place: str, told: str) -> None:
    faults = await asset_faults(asset(kind, "bad", content), engines(UpperCase()))
    assert faults
    assert faults[0].pointer.startswith(place)
    assert told in faults[0].detail


async def test_of_many_faults_the_first_are_told() -> None:
    content = "zip,plus4\n" + "1,2\n" * 100
    assert len(await asset_faults(asset(AssetKind.TABLE, "bad", content), engines(UpperCase()))) == FAULTS_MOST


async def test_an_asset_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CONTENT_MOST > 1_000_000
    monkeypatch.setattr(assets, "CONTENT_MOST", 10)
    assert await asset_faults(asset(AssetKind.TABLE, "bad", "zip,plus4\n1,2\n"), engines(UpperCase()))
