"""Who passes a filter: by name, by organization, by condition, and what happens to the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postroad.core.model.asset import AssetDraft, AssetKind, Hosting
from postroad.core.model.directory import Service
from postroad.core.model.message import Part
from postroad.services import asset_checks
from postroad.services import filter as filtering
from postroad.services.engines import Engines
from postroad.services.filter import FilterService
from postroad.services.hosting.off_loop import run_in_thread
from tests.samples.service_tools import ACME, MYBIZ, STRANGER, UpperCase, asset, delivered, document, tools

LARGE = {"greaterThan": {"body": "/Order/Total", "as": "number", "value": 100}}


async def passes(content: dict[str, Any], sender: Service = MYBIZ, *parts: Part) -> bool:
    using = tools(asset(AssetKind.LIST, "welcome", json.dumps(content)), hosted=Hosting.FILTER)
    returned = await FilterService().work(delivered(*parts, sender=sender, arguments={"list": "welcome"}), using)
    if returned.status is not None:
        assert returned.status.code == "rejected"
        assert "are rejected" in returned.status.text
    return returned.status is None


@pytest.mark.parametrize("named", ["MyBiz", "mybiz/purchasing", "MYBIZ", MYBIZ.gcid])
async def test_senders_are_named_by_organization_address_or_gcid(named: str) -> None:
    assert await passes({"allow": [named]})
    assert not await passes({"allow": [named]}, ACME)
    assert not await passes({"deny": [named]})
    assert await passes({"deny": [named]}, ACME)


async def test_deny_wins_over_allow() -> None:
    rules = {"allow": ["MyBiz", "TheAcmeCompany"], "deny": ["MyBiz/Purchasing"]}
    assert not await passes(rules)
    assert await passes(rules, ACME)


async def test_otherwise_applies_to_senders_that_no_list_names() -> None:
    assert await passes({"allow": ["MyBiz"], "otherwise": "allow"}, STRANGER)
    assert not await passes({"deny": ["MyBiz"], "otherwise": "deny"}, STRANGER)
    assert await passes({}, STRANGER)
    assert not await passes({"otherwise": "deny"}, STRANGER)


async def test_a_condition_lets_messages_pass() -> None:
    large, small = document("<Order><Total>150</Total></Order>"), document("<Order><Total>50</Total></Order>")
    assert await passes({"when": LARGE}, MYBIZ, large)
    assert not await passes({"when": LARGE}, MYBIZ, small)
    assert await passes({"when": LARGE, "allow": ["MyBiz"]}, MYBIZ, small)
    assert not await passes({"when": LARGE, "deny": ["MyBiz"]}, MYBIZ, large)
    assert not await passes({"when": {"not": LARGE}}, MYBIZ, large)


async def test_conditions_see_the_header() -> None:
    assert await passes({"when": {"equals": {"header": "from.organization", "value": "mybiz"}}})
    assert await passes({"when": {"equals": {"header": "topic", "value": "orders"}}})
    assert await passes({"when": {"equals": {"header": "role", "value": "inTransit"}}})
    assert not await passes({"when": {"equals": {"header": "from", "value": "TheAcmeCompany/Supply"}}})


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was done in a thread."""
    done: list[str] = []

    async def noted(work: Any, *given: Any) -> Any:
        done.append(work.__name__)
        return await run_in_thread(work, *given)

    monkeypatch.setattr(filtering, "run_in_thread", noted)
    monkeypatch.setattr(asset_checks, "run_in_thread", noted)
    return done


@pytest.mark.req("Z7")
async def test_a_small_document_with_an_expensive_condition_is_looked_at_in_a_thread(in_threads: list[str]) -> None:
    deep = document("<a>" * 245 + "<b/>" * 7_000 + "</a>" * 245)
    paths = {"or": [{"exists": {"body": f"//b//c{number}"}} for number in range(190)]}
    assert not await passes({"when": paths}, MYBIZ, deep)
    assert in_threads == ["_list", "_why_not"]
    in_threads.clear()
    assert not await passes({"when": LARGE}, MYBIZ, document("<Order><Total>50</Total></Order>"))
    assert in_threads == ["_list"]


@pytest.mark.req("Z7")
async def test_a_list_is_checked_in_a_thread(in_threads: list[str]) -> None:
    draft = AssetDraft(asset=asset(AssetKind.LIST, "welcome", json.dumps({"when": LARGE})), hosted=Hosting.FILTER)
    assert await asset_checks.find_asset_errors(draft, Engines(transformer=UpperCase(), judges={})) == []
    assert in_threads == ["find_list_errors"]
