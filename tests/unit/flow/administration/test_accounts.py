"""Accounts: what ends when, what serves once, and that nobody inherits a key from somebody who is gone."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.identity import api_key
from postroad.core.identity.expiry import INVITATION, LINK, LOGIN
from postroad.core.model.directory import Organization, Person, Role
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration import accounts, credentials, members, services
from postroad.testing import Scenario

PASSWORD = "seven quiet herons wading"
HERE = "192.0.2.7"


OWNER = "ann@oak.example"


def owner(scenario: Scenario) -> Person:
    return accounts.require_person(scenario.caller(OWNER))


def labels(scenario: Scenario, email: str = OWNER) -> list[str]:
    """Return the labels of a person's credentials."""
    return sorted(item.label for item in scenario.network.directory.credentials_of(person=email))


def bearer(scenario: Scenario, key: str, label: str) -> Person | None:
    return accounts.find_link_bearer(scenario.network.directory, key, label, scenario.clock.now_us())


async def invite(scenario: Scenario, email: str) -> tuple[Person, str]:
    person = Person(email=email, role=Role.VIEWER)
    key = await members.add(scenario.administration, scenario.caller(OWNER), "Oak", person)
    invited = bearer(scenario, key, INVITATION)
    assert invited is not None
    return invited, key


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    """Ann has an account and owns the organization Oak."""
    async with Scenario() as scenario:
        await accounts.register(scenario.administration, "Oak", OWNER, "Ann", PASSWORD)
        yield scenario


async def test_a_login_link_works_once_even_if_opened_concurrently(scenario: Scenario) -> None:
    key = await accounts.make_link(scenario.administration, owner(scenario))
    link = api_key.key_id(key) or ""
    tries = [accounts.log_in(scenario.administration, owner(scenario), link) for _ in range(5)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in outcomes) == ["Refused"] * 4 + ["tuple"]
    assert labels(scenario) == [LOGIN, "password"]
    assert bearer(scenario, key, LINK) is None


async def test_a_link_is_no_key_for_programs(scenario: Scenario) -> None:
    key = await accounts.make_link(scenario.administration, owner(scenario))
    assert bearer(scenario, key, LINK) is not None
    for authorization in (b"Bearer " + key.encode(), b"Basic " + b64encode(f"{OWNER}:{key}".encode())):
        with pytest.raises(Refused, match="API key"):
            await scenario.running.authenticator.authenticate(Proof(authorization), HERE)


async def test_unused_login_links_are_limited(scenario: Scenario) -> None:
    for _ in range(3 * accounts.MAX_LINKS):
        newest = await accounts.make_link(scenario.administration, owner(scenario))
    assert labels(scenario).count(LINK) == accounts.MAX_LINKS
    assert bearer(scenario, newest, LINK) is not None
    for number in range(2 * accounts.MAX_KEYS):
        await accounts.make_key(scenario.administration, owner(scenario), f"key {number}", 0)
    with pytest.raises(Refused, match="at most"):
        await accounts.make_key(scenario.administration, owner(scenario), "one more", 0)


async def test_a_new_password_ends_links_and_invitations_even_the_one_that_set_it(scenario: Scenario) -> None:
    member, key = await invite(scenario, "bob@oak.example")
    await accounts.make_link(scenario.administration, member)
    _, kept = await accounts.log_in(scenario.administration, member)
    await accounts.log_in(scenario.administration, member)
    await accounts.set_password(scenario.administration, member, PASSWORD, api_key.key_id(key) or "")
    assert labels(scenario, member.email) == ["password"]
    await accounts.log_in(scenario.administration, member)
    _, kept = await accounts.log_in(scenario.administration, member)
    await accounts.set_password(scenario.administration, member, PASSWORD + "!", kept.id)
    assert labels(scenario, member.email) == [LOGIN, "password"]


async def test_an_invitation_sets_a_password_once(scenario: Scenario) -> None:
    """Two who hold it at the same moment: one of them has set the password, and the other is told."""
    member, key = await invite(scenario, "bob@oak.example")
    invitation = api_key.key_id(key) or ""
    tries = [
        accounts.set_password(scenario.administration, member, f"{PASSWORD} {number}", "", invitation)
        for number in range(2)
    ]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in outcomes) == ["NoneType", "Refused"]
    right = outcomes.index(None)
    caller = await scenario.running.authenticator.by_password(member.email, f"{PASSWORD} {right}", HERE, secure=True)
    assert caller.name == member.email


async def test_a_removed_person_gets_no_new_credentials(scenario: Scenario) -> None:
    member, _ = await invite(scenario, "bob@oak.example")
    await members.remove(scenario.administration, scenario.caller(OWNER), "Oak", member.email, None)
    late = (
        accounts.log_in(scenario.administration, member),
        accounts.make_link(scenario.administration, member),
        accounts.make_key(scenario.administration, member, "late", 0),
        accounts.set_password(scenario.administration, member, PASSWORD, ""),
    )
    for one in late:
        with pytest.raises(Refused) as refused:
            await one
        assert refused.value.code == "not-found"
    assert labels(scenario, member.email) == []


@pytest.mark.parametrize(
    "email", ["", "bob", "@oak.example", "b o b@oak.example", "bob@oak.example\n", "b:b@oak.example", "b/b@oak.example",
              "a@b@c", f"{'b' * 300}@oak.example"],
)  # fmt: skip
async def test_an_account_is_named_by_one_address(scenario: Scenario, email: str) -> None:
    for one in (
        accounts.register(scenario.administration, "Ash", email, "", PASSWORD),
        members.add(scenario.administration, scenario.caller(OWNER), "Oak", Person(email=email)),
    ):
        with pytest.raises(Refused, match="e-mail"):
            await one


@pytest.mark.parametrize("text", ["two\nlines", "x" * 201, "bell\x07", "line\n"])
async def test_names_and_labels_have_one_line(scenario: Scenario, text: str) -> None:
    await services.create(scenario.administration, scenario.caller(OWNER), "Oak", "In", ServiceProfile())
    for one in (
        accounts.rename(scenario.administration, owner(scenario), text, None),
        accounts.register(scenario.administration, "Ash", "x@ash.example", text, PASSWORD),
        accounts.make_key(scenario.administration, owner(scenario), text, 0),
        credentials.add_key(scenario.administration, scenario.caller(OWNER), "Oak/In", text, 0),
    ):
        with pytest.raises(Refused, match="one line"):
            await one


@pytest.mark.parametrize("label", ["", "  ", "login", "Login Link", "INVITATION"])
async def test_a_key_has_a_label_of_its_own(scenario: Scenario, label: str) -> None:
    with pytest.raises(Refused, match="label"):
        await accounts.make_key(scenario.administration, owner(scenario), label, 0)


@pytest.mark.parametrize("name", ["0ak", "Oak.", "oak", "OAK", "\u041e\u0430\u043a", "Oak-"])
async def test_an_organization_cannot_look_like_another(scenario: Scenario, name: str) -> None:
    with pytest.raises(Refused) as refused:
        await accounts.register(scenario.administration, name, "eve@elsewhere.example", "Eve", PASSWORD)
    assert refused.value.code in ("name.taken", "name.invalid")
    assert scenario.network.directory.person("eve@elsewhere.example") is None


@pytest.mark.parametrize(
    "email",
    ["\u0430nn@oak.example", "\uff41nn@oak.example", "\u0251nn@oak.example", "a\u200bnn@oak.example",
     "\u0441\u043e\u0440@oak.example", "ann@\u043eak.example"],
)  # fmt: skip
async def test_an_address_cannot_look_like_another(scenario: Scenario, email: str) -> None:
    for attempt in (
        accounts.register(scenario.administration, "Elm", email, "Eve", PASSWORD),
        members.add(scenario.administration, scenario.caller(OWNER), "Oak", Person(email=email, role=Role.VIEWER)),
    ):
        with pytest.raises(Refused, match="alphabets"):
            await attempt


@pytest.mark.parametrize(
    "email",
    [
        "ann@elm.example",
        "j\u00f6rg@m\u00fcller.example",
        "\u043f\u043e\u0447\u0442\u0430@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444",
    ],
)
async def test_addresses_of_one_alphabet_are_taken(scenario: Scenario, email: str) -> None:
    await accounts.register(scenario.administration, "Elm", email, "", PASSWORD)


async def test_an_invited_address_may_still_be_registered(scenario: Scenario) -> None:
    """Else anybody could keep strangers out of the network by inviting their addresses."""
    _, key = await invite(scenario, "bob@elm.example")
    await accounts.register(scenario.administration, "Elm", "bob@elm.example", "Bob", PASSWORD)
    bob = scenario.network.directory.person("bob@elm.example")
    assert bob is not None
    assert (bob.organization, bob.role) == ("Elm", Role.OWNER)
    assert labels(scenario, "bob@elm.example") == ["password"]
    assert bearer(scenario, key, INVITATION) is None
    with pytest.raises(Refused, match="account for this address"):
        await accounts.register(scenario.administration, "Fir", "bob@elm.example", "Bob", PASSWORD)


async def test_the_only_owner_of_an_organization_stays_even_if_only_invited(scenario: Scenario) -> None:
    operator = await scenario.person("op@network.example", operator=True)
    await scenario.save(Organization(name="Elm"))
    owner = Person(email="bob@elm.example", role=Role.OWNER)
    await members.add(scenario.administration, operator, "Elm", owner)
    with pytest.raises(Refused, match="account for this address"):
        await accounts.register(scenario.administration, "Fir", "bob@elm.example", "Bob", PASSWORD)


async def test_an_unused_invitation_ends_together_with_its_person(scenario: Scenario) -> None:
    await invite(scenario, "bob@elm.example")
    await invite(scenario, "eve@elm.example")
    other = await scenario.person("fay@fir.example", "Fir")
    with pytest.raises(Refused, match="account for this address"):
        await members.add(scenario.administration, other, "Fir", Person(email="bob@elm.example"))
    await scenario.advance(seconds=accounts.INVITATION_US / 1_000_000 + 1)
    await members.add(scenario.administration, other, "Fir", Person(email="bob@elm.example"))
    bob = scenario.network.directory.person("bob@elm.example")
    assert bob is not None
    assert bob.organization == "Fir"
    assert labels(scenario, "bob@elm.example") == [INVITATION]
    await invite(scenario, "gil@oak.example")
    assert scenario.network.directory.person("eve@elm.example") is None
    assert labels(scenario, "eve@elm.example") == []


async def test_members_and_open_invitations_of_an_organization_are_limited(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MAX_INVITED", 2)
    monkeypatch.setattr(members, "MAX_MEMBERS", 4)
    for name in ("a", "b"):
        member, _ = await invite(scenario, f"{name}@oak.example")
    with pytest.raises(Refused, match="At most 2 invitations"):
        await invite(scenario, "c@oak.example")
    await accounts.set_password(scenario.administration, member, PASSWORD, "")
    member, _ = await invite(scenario, "c@oak.example")
    await accounts.set_password(scenario.administration, member, PASSWORD, "")
    with pytest.raises(Refused, match="at most 4 members"):
        await invite(scenario, "d@oak.example")
