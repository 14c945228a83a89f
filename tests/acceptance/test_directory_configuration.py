"""Configuration as code over HTTP: export, plan, apply; atomic, idempotent, and closed to everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import jsonschema
import pytest
import yaml

from postroad.core.identity import api_key
from postroad.core.model.journal import ConfigurationChanged, decode
from postroad.errors import Refused
from postroad.flow.administration.base import build_removal
from postroad.flow.concurrency.keyed_limit import AT_ONCE
from postroad.flow.registries.configuration import Configuration, build_save
from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("N13")

OWNER = {"owner@aster.example": {"role": "owner"}}
PLAN, APPLY = "/v1/configuration/plan", "/v1/configuration/apply"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def export(asked: Asked, who: str) -> dict[str, Any]:
    response = await asked.ask(who, "GET", "/v1/configuration")
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


async def apply(asked: Asked, who: str, document: dict[str, Any], *, prune: bool = False) -> httpx2.Response:
    planned = await asked.ask(who, "POST", PLAN, {"document": document, "prune": prune})
    assert planned.status_code == 200, planned.text
    wish = {"document": document, "prune": prune, "version": planned.json()["version"]}
    return await asked.ask(who, "POST", APPLY, wish)


def house(document: dict[str, Any], name: str = "Aster") -> dict[str, Any]:
    found: dict[str, Any] = document["organizations"][name]
    return found


@pytest.mark.parametrize("who", ["owner of A", "operator"])
@pytest.mark.parametrize("prune", [False, True])
async def test_applying_an_export_changes_nothing(asked: Asked, who: str, prune: bool) -> None:
    document = await export(asked, who)
    before = asked.running.network.directory
    applied = await apply(asked, who, document, prune=prune)
    assert (applied.status_code, applied.json()["steps"]) == (200, [])
    assert asked.running.network.directory is before


async def test_an_export_holds_no_secret_and_only_ones_own(asked: Asked) -> None:
    response = await asked.ask("owner of A", "GET", "/v1/configuration", Accept="application/yaml")
    assert response.headers["content-type"].startswith("application/yaml")
    as_json = await asked.ask("owner of A", "GET", "/v1/configuration", Accept="application/json, application/yaml")
    assert as_json.headers["content-type"] == "application/json"
    assert yaml.safe_load(response.text) == await export(asked, "owner of A")
    assert list(yaml.safe_load(response.text)["organizations"]) == ["Aster"]
    secrets = [item.secret for item in asked.running.network.directory.credentials.values()]
    assert [secret for secret in secrets if secret in response.text] == []
    assert set((await export(asked, "operator"))["organizations"]) == {"Aster", "Birch"}


async def test_an_export_fits_the_published_schema(asked: Asked) -> None:
    schema = (await asked.ask("anonymous", "GET", "/v1/configuration/schema")).json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(await export(asked, "operator"), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"postroad": 1, "organisations": {}}, schema)


async def test_a_plan_says_what_would_change_and_changes_nothing(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    house(document)["description"] = "Flowers"
    house(document)["services"]["Public"]["defaultExpirationSeconds"] = 60
    house(document)["services"]["Fresh"] = {"visibility": "public"}
    before = asked.running.network.directory
    planned = (await asked.ask("owner of A", "POST", PLAN, {"document": document})).json()
    assert (planned["add"], planned["change"], planned["remove"], planned["applied"]) == (1, 2, 0, False)
    steps = {(step["action"], step["name"]): step["fields"] for step in planned["steps"]}
    assert steps["change", "Aster/Public"] == [
        {"field": "defaultExpirationSeconds", "before": 172_800, "after": 60, "resets": False}
    ]
    assert steps["change", "Aster"] == [{"field": "description", "before": "", "after": "Flowers", "resets": False}]
    assert steps["add", "Aster/Fresh"] == [
        {"field": "visibility", "before": "private", "after": "public", "resets": False}
    ]
    assert asked.running.network.directory is before


async def test_applying_is_one_entry_and_twice_is_once(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    key = api_key.make(bytes(range(32)))
    house(document)["services"] |= {
        "One": {"credentials": [{"label": "main", "password": "a service's own password"}]},
        "Two": {"credentials": [{"label": "main", "key": key.text}]},
    }
    head = await asked.running.network.journal.head()
    applied = await apply(asked, "owner of A", document)
    assert (applied.status_code, applied.json()["add"]) == (200, 4)
    batch = await asked.running.network.journal.read(head.seq)
    entries = [decode(record.facts) for record in batch.records]
    assert [type(entry) for entry in entries] == [ConfigurationChanged]
    again = await apply(asked, "owner of A", document)
    assert again.json()["steps"] == [], "the same secrets are recognised"
    asked.keys["two"] = key.text
    assert (await asked.ask("two", "GET", "/v1/status")).json()["queues"] == [{"service": "Aster/Two", "waiting": 0}]
    house(document)["services"]["One"]["credentials"][0]["password"] = "another password of it"
    changed = await apply(asked, "owner of A", document)
    assert changed.json()["steps"][0]["fields"] == [
        {"field": "secret", "before": "", "after": "(new secret)", "resets": False}
    ]


async def test_removal_needs_prune_and_stays_within_the_organization(asked: Asked) -> None:
    document = await export(asked, "operator")
    del document["organizations"]["Birch"]
    del house(document)["services"]["Private"]
    del house(document)["people"]["viewer@aster.example"]
    kept = await apply(asked, "operator", document)
    assert kept.json()["remove"] == 0
    pruned = await apply(asked, "operator", document, prune=True)
    removed = {step["name"] for step in pruned.json()["steps"]}
    assert {"Aster/Private", "viewer@aster.example"} <= removed
    assert not any("Birch" in name or "birch" in name for name in removed)
    assert (await asked.ask("service of A", "GET", "/v1/status")).status_code == 401
    assert (await asked.ask("viewer of A", "GET", "/v1/account")).status_code == 401


async def test_what_has_moved_since_is_not_overwritten(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    house(document)["services"]["Public"]["description"] = "mine"
    planned = (await asked.ask("owner of A", "POST", PLAN, {"document": document})).json()
    await asked.ask("owner of B", "POST", "/v1/services", {"organization": "Birch", "name": "Unrelated"})
    await asked.ask(
        "developer of A", "PUT", "/v1/services/Aster/Public", {"name": "Public", "description": "theirs"}, match="*"
    )
    wish = {"document": document, "version": planned["version"]}
    refused = await asked.ask("owner of A", "POST", APPLY, wish)
    assert (refused.status_code, refused.json()["code"]) == (412, "version.conflict")
    service = asked.running.network.directory.service("Aster/Public")
    assert service is not None
    assert service.description == "theirs"


async def test_changes_of_others_elsewhere_do_not_disturb(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    house(document)["services"]["Public"]["description"] = "mine"
    planned = (await asked.ask("owner of A", "POST", PLAN, {"document": document})).json()
    await asked.ask("owner of B", "POST", "/v1/services", {"organization": "Birch", "name": "Unrelated"})
    wish = {"document": document, "version": planned["version"]}
    assert (await asked.ask("owner of A", "POST", APPLY, wish)).status_code == 200


@pytest.mark.req("N1", "O3")
async def test_two_nodes_cannot_take_away_the_last_two_owners(asked: Asked) -> None:
    network = asked.running.network
    await asked.running.enroll("second@aster.example", organization="Aster")
    elsewhere = Configuration(network.desk, network.index, network.clock)  # another node, as up to date as this one
    await network.wait_until_indexed()
    await elsewhere.load()
    document = await export(asked, "owner of A")
    house(document)["people"]["owner@aster.example"]["role"] = "viewer"
    assert (await apply(asked, "owner of A", document)).status_code == 200
    leaving = elsewhere.directory().people["second@aster.example"]
    with pytest.raises(Refused) as refused:
        await elsewhere.change(
            "node 2",
            [build_removal(leaving), build_save(elsewhere.directory().organizations["aster"])],
            "member removed",
        )
    assert refused.value.code == "version.conflict"


@pytest.mark.req("Z6")
async def test_those_who_plan_with_many_passwords_do_not_hold_up_the_logins_of_others(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most = 0, 0

    async def slow(password: str) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)  # sleeps: hashing takes its time
        under_way -= 1
        return "hash"

    monkeypatch.setattr(asked.running.passwords, "hash", slow)
    credentials = [{"label": "main", "password": "fifteen letters"}]
    services = {f"Fresh {number}": {"credentials": credentials} for number in range(5)}
    document = {"postroad": 1, "organizations": {"Aster": {"people": OWNER, "services": services}}}
    plans = [asked.ask("owner of A", "POST", PLAN, {"document": document}) for _ in range(10)]
    assert {answer.status_code for answer in await asyncio.gather(*plans)} == {200}
    assert most == AT_ONCE


async def test_of_two_at_once_one_wins(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    house(document)["services"]["Fresh"] = {}
    planned = (await asked.ask("owner of A", "POST", PLAN, {"document": document})).json()
    wish = {"document": document, "version": planned["version"]}
    both = await asyncio.gather(*(asked.ask("owner of A", "POST", APPLY, wish) for _ in range(2)))
    assert sorted(answer.status_code for answer in both) == [200, 412]
    fresh = [item for item in asked.running.network.directory.services.values() if item.name == "Fresh"]
    assert len(fresh) == 1


async def test_every_contradiction_is_listed_with_its_place(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    services = house(document)["services"]
    services["Public"]["gcid"] = asked.gcid("Birch/Private")
    services["Private"]["credentials"] = [{"label": "new", "passwordFrom": "env:SECRET"}]
    services["Fresh"] = {"credentials": [{"label": "gone", "kind": "key", "kept": True}]}
    house(document)["people"] = {"owner@aster.example": {"role": "viewer"}, "owner@birch.example": {}}
    before = asked.running.network.directory
    refused = await asked.ask("owner of A", "POST", PLAN, {"document": document})
    assert (refused.status_code, refused.json()["code"]) == (409, "configuration.conflict")
    places = {fault["pointer"] for fault in refused.json()["errors"]}
    assert places == {
        "/organizations/Aster/services/Public/gcid",
        "/organizations/Aster/services/Private/credentials/0",
        "/organizations/Aster/services/Fresh/credentials/0",
        "/organizations/Aster/people/owner@birch.example",
        "/organizations/Aster/people",
    }
    assert asked.running.network.directory is before


async def test_every_fault_of_form_is_listed_with_its_place(asked: Asked) -> None:
    document = {"postroad": 2, "organizations": {"Aster": {"services": {"S": {"tries": 1, "timeZone": "Nowhere"}}}}}
    refused = await asked.ask("owner of A", "POST", PLAN, {"document": document})
    assert (refused.status_code, refused.json()["code"]) == (422, "value.invalid")
    places = {fault["pointer"] for fault in refused.json()["errors"]}
    assert places == {"/postroad", "/organizations/Aster/services/S/tries", "/organizations/Aster/services/S/timeZone"}


async def test_a_gcid_is_chosen_by_operators_alone(asked: Asked) -> None:
    document = {"postroad": 1, "organizations": {"Aster": {"services": {"Moved": {"gcid": "00000000000000aa"}}}}}
    assert (await asked.ask("owner of A", "POST", PLAN, {"document": document})).status_code == 409
    assert (await apply(asked, "operator", document)).status_code == 200
    assert asked.gcid("Aster/Moved") == "00000000000000aa"


async def test_a_service_keeps_its_gcid_when_it_is_renamed(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    services = house(document)["services"]
    services["Renamed"] = services.pop("Private")
    applied = await apply(asked, "owner of A", document, prune=True)
    assert [(step["action"], step["name"]) for step in applied.json()["steps"]] == [("change", "Aster/Renamed")]
    assert asked.running.network.directory.service("Aster/Private") is None


@pytest.mark.req("Z6", "N11")
async def test_limits_and_suspension_are_out_of_owners_hands(asked: Asked) -> None:
    document = await export(asked, "owner of A")
    for field, value in (("postsPerSecond", 9), ("limits", {"storedBytes": 9})):
        wish = {**document, "organizations": {"Aster": house(document) | {field: value}}}
        refused = await asked.ask("owner of A", "POST", PLAN, {"document": wish})
        assert [fault["pointer"] for fault in refused.json()["errors"]] == [f"/organizations/Aster/{field}"]
    wish = {**document, "organizations": {"Aster": house(document) | {"suspended": ""}}}
    assert (await asked.ask("owner of A", "POST", PLAN, {"document": wish})).status_code == 422
    set_by_operator = {"postroad": 1, "organizations": {"Aster": {"limits": {"storedBytes": 9}}}}
    assert (await apply(asked, "operator", set_by_operator)).json()["change"] == 1
    assert (await apply(asked, "owner of A", document)).json()["steps"] == []
    assert house(await export(asked, "owner of A"))["limits"] == {"storedBytes": 9}


async def test_a_new_organization_is_an_operators_doing(asked: Asked) -> None:
    document = {
        "postroad": 1,
        "organizations": {"Cedar": {"people": {"c@c.example": {"role": "owner"}}, "services": {"In": {}}}},
    }
    assert (await asked.ask("owner of A", "POST", PLAN, {"document": document})).status_code == 403
    assert (await apply(asked, "operator", document)).json()["add"] == 3
