"""Operators do not get at what messages say: what they make for an organization with an owner counts once the owner confirms."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.model.directory import Organization, Service
from postroad.flow.registries.configuration import build_save
from tests.acceptance.asking import Asked, asked_network
from tests.acceptance.served import Served, served_network
from tests.samples.served_network import postroad

CREDENTIALS = "/v1/services/Aster/Public/credentials"
MEMBERS = "/v1/organizations/Aster/members"
PENDING = "/v1/organizations/Aster/confirmations"
PASSWORD = "seven quiet herons wading"
SPY = "spy@aster.example"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


@pytest.fixture
def served() -> Iterator[Served]:
    with served_network() as running:
        yield running


@pytest.mark.req("Z5")
async def test_a_key_of_an_operator_works_when_an_owner_has_confirmed_it(asked: Asked) -> None:
    made = (await asked.ask("operator", "POST", CREDENTIALS, {"kind": "key", "label": "help"})).json()
    asked.keys["by key"] = made["key"]
    assert made["unconfirmed"] == "operator@network.example"
    assert (await asked.ask("by key", "GET", "/v1/status")).status_code == 401
    listed = (await asked.ask("viewer of A", "GET", PENDING)).json()["items"]
    assert listed == [
        {"id": made["id"], "kind": "key", "name": "help of Aster/Public", "madeBy": "operator@network.example"}
    ]
    confirm = f"{PENDING}/{made['id']}"
    codes = {who: (await asked.ask(who, "POST", confirm)).status_code
             for who in ("operator", "developer of A", "viewer of A", "owner of B", "service of A")}  # fmt: skip
    assert codes == {"operator": 403, "developer of A": 403, "viewer of A": 403, "owner of B": 404, "service of A": 403}
    assert (await asked.ask("by key", "GET", "/v1/status")).status_code == 401
    assert (await asked.ask("owner of A", "POST", confirm)).status_code == 204
    assert (await asked.ask("by key", "GET", "/v1/status")).status_code == 200
    assert (await asked.ask("owner of A", "POST", confirm)).status_code == 404
    assert (await asked.ask("owner of A", "GET", PENDING)).json() == {"items": []}


@pytest.mark.req("Z5")
@pytest.mark.parametrize("role", ["owner", "viewer"])
async def test_a_member_whom_an_operator_adds_cannot_come_in_before_an_owner_confirms(asked: Asked, role: str) -> None:
    made = (await asked.ask("operator", "POST", MEMBERS, {"email": SPY, "role": role})).json()
    asked.keys["spy"] = made["key"]
    assert (await asked.ask("spy", "PUT", "/v1/account/password", {"password": PASSWORD})).status_code == 401
    assert (await asked.ask("operator", "PUT", f"{MEMBERS}/{SPY}", {"role": "owner"}, match="*")).status_code == 403
    assert (await asked.ask("operator", "POST", f"{MEMBERS}/{SPY}/invitation")).status_code == 403
    owner = f"{MEMBERS}/owner@aster.example"
    assert (await asked.ask("operator", "DELETE", owner, match="*")).status_code == 403, "nor is an owner put aside"
    assert (await asked.ask("operator", "PUT", owner, {"role": "viewer"}, match="*")).status_code == 403
    assert (await asked.ask("owner of A", "POST", f"{PENDING}/{SPY}")).status_code == 204
    assert (await asked.ask("spy", "PUT", "/v1/account/password", {"password": PASSWORD})).status_code == 204


async def test_who_waits_does_not_count_as_an_owner_and_can_be_removed(asked: Asked) -> None:
    await asked.ask("operator", "POST", MEMBERS, {"email": SPY, "role": "owner"})
    leaving = await asked.ask("owner of A", "PUT", f"{MEMBERS}/owner@aster.example", {"role": "viewer"}, match="*")
    assert leaving.json()["code"] == "configuration.conflict", "an organization keeps an owner who is confirmed"
    assert (await asked.ask("owner of A", "DELETE", f"{MEMBERS}/{SPY}", match="*")).status_code == 204


@pytest.mark.req("Z5")
async def test_a_document_of_an_operator_adds_no_one_and_no_secret(asked: Asked) -> None:
    key = "pr_" + "0" * 16
    people = {"owner@aster.example": {"role": "owner"}}
    plan = "/v1/configuration/plan"

    def document(people: dict[str, Any], **service: Any) -> dict[str, Any]:
        house = {"people": people, "services": {"Public": {"visibility": "public"} | service}}
        return {"document": {"postroad": 1, "organizations": {"Aster": house}}}

    from postroad.core.identity import api_key

    key = api_key.make(bytes(range(32))).text
    secret = document(people, credentials=[{"label": "spy", "key": key}])
    for wish in (
        secret,
        document(people | {SPY: {"role": "owner"}}),
        document({"owner@aster.example": {"role": "viewer"}}),
    ):
        refused = await asked.ask("operator", "POST", plan, wish)
        assert refused.status_code == 409, refused.text
    assert "only an owner may apply this" in (await asked.ask("operator", "POST", plan, secret)).text
    assert (await asked.ask("owner of A", "POST", plan, secret)).status_code == 200
    described = document(people, description="changed by an operator")
    assert (await asked.ask("operator", "POST", plan, described)).status_code == 200


async def test_an_organization_without_an_owner_is_set_up_by_operators(asked: Asked) -> None:
    fresh = Service(gcid="e" * 16, organization="Elm", name="Orders")
    await asked.running.network.configuration.change("test", [build_save(Organization(name="Elm")), build_save(fresh)])
    made = await asked.ask("operator", "POST", "/v1/services/Elm/Orders/credentials", {"kind": "key", "label": "main"})
    assert made.json()["unconfirmed"] == ""
    invited = await asked.ask(
        "operator", "POST", "/v1/organizations/Elm/members", {"email": "e@elm.example", "role": "owner"}
    )
    assert invited.json()["unconfirmed"] == ""
    second = await asked.ask("operator", "POST", "/v1/organizations/Elm/members", {"email": "f@elm.example"})
    assert second.json()["unconfirmed"] == "", "an owner who has only been invited is none yet"
    asked.keys["first"] = invited.json()["key"]
    assert (await asked.ask("first", "PUT", "/v1/account/password", {"password": PASSWORD})).status_code == 204
    third = await asked.ask("operator", "POST", "/v1/organizations/Elm/members", {"email": "g@elm.example"})
    assert third.json()["unconfirmed"] == "operator@network.example"


def test_the_fields_of_older_journals_are_read_as_confirmed() -> None:
    import msgspec

    from postroad.core.model.directory import Credential, CredentialKind, Person

    old = {"id": "a", "kind": "key", "secret": "x", "service": "s", "label": "l", "certificate": "", "starts_at_us": 0}
    assert msgspec.convert(old, Credential) == Credential(
        id="a", kind=CredentialKind.KEY, secret="x", service="s", label="l"
    )
    person = Person(email="a@b", organization="Aster")
    assert replace(person, unconfirmed="") == msgspec.convert({"email": "a@b", "organization": "Aster"}, Person)


def test_owners_confirm_on_the_command_line(served: Served) -> None:
    import httpx2

    operator = {"Authorization": f"Bearer {served.keys['operator']}"}
    made = httpx2.post(served.url + CREDENTIALS, json={"kind": "key", "label": "help"}, headers=operator).json()
    access = ("--url", served.url, "--key", served.keys["owner of A"])
    listed = postroad("confirmations", "list", *access)
    assert made["id"] in listed.stdout, listed.stderr
    done = postroad("confirmations", "accept", made["id"], *access)
    assert done.stdout == f"{made['id']}: confirmed\n", done.stderr
    assert postroad("confirmations", "list", *access).stdout == "Nothing waits for an owner's confirmation.\n"
