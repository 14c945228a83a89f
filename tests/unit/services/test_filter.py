"""Who passes a filter: by name, by organization, by condition, and what happens to the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.directory import Service
from postroad.core.model.message import Part
from postroad.services.filter import FilterService
from tests.unit.services.workbench import ACME, MYBIZ, STRANGER, asset, delivered, document, tools

LARGE = {"greaterThan": {"body": "/Order/Total", "as": "number", "value": 100}}


async def passes(content: dict[str, Any], sender: Service = MYBIZ, *parts: Part) -> bool:
    using = tools(asset(AssetKind.LIST, "welcome", json.dumps(content)), hosted=Hosting.FILTER)
    returned = await FilterService().work(delivered(*parts, sender=sender, list="welcome"), using)
    if returned.status is not None:
        assert returned.status.code == "rejected"
        assert "no message passes" in returned.status.text
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


async def test_otherwise_decides_for_the_rest() -> None:
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
