"""People: registration, login, passwords, personal keys, members and roles."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest

from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("N1")

PASSWORD = "seven quiet herons wading"
OTHER = "eleven loud geese landing"
CEDAR = {"organization": "Cedar", "email": "Ann@cedar.example", "name": "Ann", "password": PASSWORD}
MEMBERS = "/v1/organizations/Aster/members"


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


async def log_in(asked: Asked, who: str, email: str, password: str) -> int:
    response = await asked.ask("anonymous", "POST", "/v1/login", {"email": email, "password": password})
    if response.status_code == 200:
        asked.keys[who] = response.json()["key"]
    return response.status_code


async def test_from_registration_to_logout(asked: Asked) -> None:
    made = await asked.ask("anonymous", "POST", "/v1/register", CEDAR)
    assert made.status_code == 201
    assert (made.json()["role"], made.json()["operator"]) == ("owner", False)
    assert await log_in(asked, "ann", "ann@CEDAR.example", PASSWORD) == 200
    account = await asked.ask("ann", "GET", "/v1/account")
    assert account.json()["organization"] == "Cedar"
    assert (await asked.ask("ann", "POST", "/v1/logout")).status_code == 204
    assert (await asked.ask("ann", "GET", "/v1/account")).status_code == 401


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"organization": "aster"}, 409, "name.taken"),
        ({"email": "OWNER@aster.example"}, 409, "name.taken"),
        ({"organization": "A/B"}, 422, "value.invalid"),
        ({"email": "not an address"}, 422, "value.invalid"),
        ({"password": "fourteen chars"}, 422, "value.invalid"),
        ({"password": "PasswordPassword"}, 422, "value.invalid"),
        ({"password": "aaaaaaaaaaaaaaaaaa"}, 422, "value.invalid"),
        ({"password": "ann@cedar.example"}, 422, "value.invalid"),
        ({"role": "owner"}, 422, "value.invalid"),
    ],
)
async def test_registration_refuses(asked: Asked, changed: dict[str, str], status: int, code: str) -> None:
    response = await asked.ask("anonymous", "POST", "/v1/register", CEDAR | changed)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert asked.running.network.directory.organization("Cedar") is None


async def test_a_password_needs_no_kinds_of_characters(asked: Asked) -> None:
    response = await asked.ask("anonymous", "POST", "/v1/register", CEDAR | {"password": "only lower case words"})
    assert response.status_code == 201


async def test_wrong_password_and_unknown_person_get_the_same_answer(asked: Asked) -> None:
    await asked.ask("anonymous", "POST", "/v1/register", CEDAR)
    wrong = await asked.ask("anonymous", "POST", "/v1/login", {"email": "ann@cedar.example", "password": OTHER})
    unknown = await asked.ask("anonymous", "POST", "/v1/login", {"email": "bob@cedar.example", "password": OTHER})
    assert (wrong.status_code, wrong.text) == (unknown.status_code, unknown.text)
    assert wrong.status_code == 401


async def test_guessing_is_slowed_down(asked: Asked) -> None:
    wish = {"email": "owner@aster.example", "password": OTHER}
    statuses = [(await asked.ask("anonymous", "POST", "/v1/login", wish)).status_code for _ in range(12)]
    assert statuses[:10] == [401] * 10
    assert statuses[-1] == 429
    assert "retry-after" in asked.seen[-1].headers


async def test_a_new_password_ends_other_logins(asked: Asked) -> None:
    await asked.ask("anonymous", "POST", "/v1/register", CEDAR)
    for who in ("here", "elsewhere"):
        assert await log_in(asked, who, "ann@cedar.example", PASSWORD) == 200
    key = await asked.ask("here", "POST", "/v1/account/keys", {"label": "script"})
    asked.keys["script"] = key.json()["key"]
    wish = {"password": OTHER}
    assert (await asked.ask("here", "PUT", "/v1/account/password", wish)).status_code == 401
    assert (await asked.ask("here", "PUT", "/v1/account/password", wish | {"current": PASSWORD})).status_code == 204
    statuses = {
        who: (await asked.ask(who, "GET", "/v1/account")).status_code for who in ("here", "elsewhere", "script")
    }
    assert statuses == {"here": 200, "elsewhere": 401, "script": 200}
    assert await log_in(asked, "again", "ann@cedar.example", PASSWORD) == 401
    assert await log_in(asked, "again", "ann@cedar.example", OTHER) == 200


async def test_a_login_ends_after_twelve_hours(asked: Asked) -> None:
    await asked.ask("anonymous", "POST", "/v1/register", CEDAR)
    response = await asked.ask("anonymous", "POST", "/v1/login", {"email": CEDAR["email"], "password": PASSWORD})
    made = asked.running.network.directory.credentials[response.json()["id"]]
    assert made.expires_at_us - made.created_at_us == pytest.approx(12 * 3_600 * 1_000_000, abs=1_000_000)


async def test_keys_are_shown_once_and_can_be_revoked(asked: Asked) -> None:
    made = await asked.ask("viewer of A", "POST", "/v1/account/keys", {"label": "laptop", "expiresInDays": 30})
    assert made.status_code == 201
    asked.keys["laptop"] = made.json()["key"]
    listed = await asked.ask("laptop", "GET", "/v1/account/keys")
    assert [item["label"] for item in listed.json()["items"] if item["id"] == made.json()["id"]] == ["laptop"]
    assert asked.keys["laptop"] not in listed.text
    path = f"/v1/account/keys/{made.json()['id']}"
    assert (await asked.ask("owner of A", "DELETE", path)).status_code == 404
    assert (await asked.ask("laptop", "DELETE", path)).status_code == 204
    assert (await asked.ask("laptop", "GET", "/v1/account")).status_code == 401


async def test_basic_authentication_works_too(asked: Asked) -> None:
    await asked.ask("anonymous", "POST", "/v1/register", CEDAR)
    pair = base64.b64encode(f"ann@cedar.example:{PASSWORD}".encode()).decode()
    response = await asked.ask("anonymous", "GET", "/v1/account", Authorization=f"Basic {pair}")
    assert response.json()["name"] == "Ann"


async def test_an_account_is_changed_by_whoever_has_read_it(asked: Asked) -> None:
    read = await asked.ask("viewer of A", "GET", "/v1/account")
    assert (await asked.ask("viewer of A", "PUT", "/v1/account", {"name": "Vi"})).status_code == 428
    changed = await asked.ask("viewer of A", "PUT", "/v1/account", {"name": "Vi"}, match=read.headers["etag"])
    assert (changed.status_code, changed.json()["name"]) == (200, "Vi")
    stale = await asked.ask("viewer of A", "PUT", "/v1/account", {"name": "Vy"}, match=read.headers["etag"])
    assert stale.status_code == 412


async def test_a_member_is_invited_and_sets_a_password(asked: Asked) -> None:
    wish = {"email": "new@aster.example", "role": "developer"}
    invited = await asked.ask("owner of A", "POST", MEMBERS, wish)
    assert invited.status_code == 201
    asked.keys["new"] = invited.json()["key"]
    for method, path in (("GET", MEMBERS), ("POST", "/v1/account/keys"), ("POST", "/v1/account/login-link")):
        assert (await asked.ask("new", method, path, {"label": "x"})).status_code == 403, (
            "whoever invites has the key too"
        )
    assert (await asked.ask("new", "GET", "/v1/account")).status_code == 200
    both = [asked.ask("new", "PUT", "/v1/account/password", {"password": PASSWORD}) for _ in range(2)]
    done, too_late = sorted([answer.status_code for answer in await asyncio.gather(*both)])
    assert (done, too_late >= 400) == (204, True)
    assert await log_in(asked, "new", "new@aster.example", PASSWORD) == 200
    made = await asked.ask("new", "POST", "/v1/services", {"organization": "Aster", "name": "Made"})
    assert made.status_code == 201
    again = await asked.ask("owner of A", "POST", f"{MEMBERS}/new@aster.example/invitation")
    assert again.status_code == 403, "who has a password cannot be acted for"
    assert (await asked.ask("owner of A", "POST", MEMBERS, wish)).status_code == 409


async def test_a_new_invitation_ends_the_old_one(asked: Asked) -> None:
    invited = await asked.ask("owner of A", "POST", MEMBERS, {"email": "new@aster.example"})
    again = await asked.ask("owner of A", "POST", f"{MEMBERS}/new@aster.example/invitation")
    asked.keys |= {"old": invited.json()["key"], "new": again.json()["key"]}
    assert (await asked.ask("old", "GET", "/v1/account")).status_code == 401
    assert (await asked.ask("new", "GET", "/v1/account")).status_code == 200


async def test_roles_change_and_an_owner_stays(asked: Asked) -> None:
    owner, developer = f"{MEMBERS}/owner@aster.example", f"{MEMBERS}/developer@aster.example"
    alone = await asked.ask("owner of A", "PUT", owner, {"role": "viewer"}, match="*")
    assert (alone.status_code, alone.json()["code"]) == (409, "configuration.conflict")
    assert (await asked.ask("owner of A", "DELETE", owner, match="*")).status_code == 409
    assert (await asked.ask("owner of A", "PUT", developer, {"role": "owner"}, match="*")).status_code == 200
    assert (await asked.ask("developer of A", "PUT", owner, {"role": "viewer"}, match="*")).status_code == 200
    assert (await asked.ask("owner of A", "DELETE", developer, match="*")).status_code == 403
    listed = await asked.ask("owner of A", "GET", MEMBERS)
    roles = {item["email"]: item["role"] for item in listed.json()["items"]}
    assert roles == {
        "developer@aster.example": "owner",
        "owner@aster.example": "viewer",
        "viewer@aster.example": "viewer",
    }


async def test_a_removed_member_is_out_at_once(asked: Asked) -> None:
    path = f"{MEMBERS}/viewer@aster.example"
    read = await asked.ask("owner of A", "GET", path)
    assert (await asked.ask("owner of A", "DELETE", path)).status_code == 428
    assert (await asked.ask("owner of A", "DELETE", path, match=read.headers["etag"])).status_code == 204
    assert (await asked.ask("viewer of A", "GET", "/v1/account")).status_code == 401
    assert (await asked.ask("owner of A", "GET", path)).status_code == 404


@pytest.mark.req("Z6")
async def test_whoever_asks_by_adding_members_which_addresses_have_an_account_is_slowed_down(asked: Asked) -> None:
    """By a member, by a document, and by both: it is counted for the organization."""
    plan = {"people": {"owner@aster.example": {"role": "owner"}, "owner@birch.example": {}, "viewer@birch.example": {}}}
    document = {"document": {"postroad": 1, "organizations": {"Aster": plan}}}
    codes = []
    for number in range(12):
        if number % 2:
            answer = await asked.ask("owner of A", "POST", "/v1/configuration/plan", document)
            told = [fault["pointer"] for fault in answer.json().get("errors", [])]
            assert len(told) <= 1, "a document asks for one at a time"
        else:
            answer = await asked.ask("owner of A", "POST", MEMBERS, {"email": "owner@birch.example"})
        codes.append(answer.status_code)
    assert codes == [409] * 10 + [429] * 2
    assert (await asked.ask("owner of B", "GET", "/v1/account")).status_code == 200, "others notice nothing"
