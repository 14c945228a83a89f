"""Accounts: what ends when, what serves once, and that nobody inherits a key from somebody who is gone."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.identity import api_key
from postroad.core.identity.expiry import INVITATION, LINK, LOGIN
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, Person, Role
from postroad.errors import Refused
from postroad.flow.access.authenticate import Proof
from postroad.flow.administration import accounts, credentials, members, services
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import MemoryNetwork, memory_network

PASSWORD = "seven quiet herons wading"
HERE = "192.0.2.7"


@dataclass(slots=True, kw_only=True)
class House:
    made: MemoryNetwork
    administration: Administration
    owner: Caller

    @property
    def person(self) -> Person:
        return accounts.require_person(self.owner)

    def labels(self, email: str = "") -> list[str]:
        owned = self.made.network.directory.credentials_of(person=email or self.person.email)
        return sorted(item.label for item in owned)

    def bearer(self, key: str, label: str) -> Person | None:
        return accounts.find_link_bearer(self.made.network.directory, key, label, self.made.network.clock.now_us())

    async def invited(self, email: str) -> tuple[Person, str]:
        key = await members.add(self.administration, self.owner, "Oak", Person(email=email, role=Role.VIEWER))
        person = self.bearer(key, INVITATION)
        assert person is not None
        return person, key


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with memory_network() as made:
        administration = Administration(made.network, made.passwords)
        await accounts.register(administration, "Oak", "ann@oak.example", "Ann", PASSWORD)
        owner = Caller(person=made.network.directory.person("ann@oak.example"))
        yield House(made=made, administration=administration, owner=owner)


async def test_a_link_serves_once_whoever_opens_it_at_the_same_moment(house: House) -> None:
    key = await accounts.make_link(house.administration, house.person)
    link = api_key.key_id(key) or ""
    tries = [accounts.log_in(house.administration, house.person, link) for _ in range(5)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in outcomes) == ["Refused"] * 4 + ["tuple"]
    assert house.labels() == [LOGIN, "password"]
    assert house.bearer(key, LINK) is None


async def test_a_link_is_no_key_for_programs(house: House) -> None:
    key = await accounts.make_link(house.administration, house.person)
    assert house.bearer(key, LINK) is not None
    for authorization in (b"Bearer " + key.encode(), b"Basic " + b64encode(f"{house.person.email}:{key}".encode())):
        with pytest.raises(Refused, match="API key"):
            await house.made.authenticator.authenticate(Proof(authorization), HERE)


async def test_links_that_nobody_opens_do_not_pile_up(house: House) -> None:
    for _ in range(3 * accounts.MAX_LINKS):
        newest = await accounts.make_link(house.administration, house.person)
    assert house.labels().count(LINK) == accounts.MAX_LINKS
    assert house.bearer(newest, LINK) is not None
    for number in range(2 * accounts.MAX_KEYS):
        await accounts.make_key(house.administration, house.person, f"key {number}", 0)
    with pytest.raises(Refused, match="at most"):
        await accounts.make_key(house.administration, house.person, "one more", 0)


async def test_a_new_password_ends_links_and_invitations_even_the_one_that_set_it(house: House) -> None:
    member, key = await house.invited("bob@oak.example")
    await accounts.make_link(house.administration, member)
    _, kept = await accounts.log_in(house.administration, member)
    await accounts.log_in(house.administration, member)
    await accounts.set_password(house.administration, member, PASSWORD, api_key.key_id(key) or "")
    assert house.labels(member.email) == ["password"]
    await accounts.log_in(house.administration, member)
    _, kept = await accounts.log_in(house.administration, member)
    await accounts.set_password(house.administration, member, PASSWORD + "!", kept.id)
    assert house.labels(member.email) == [LOGIN, "password"]


async def test_an_invitation_sets_a_password_once(house: House) -> None:
    """Two who hold it at the same moment: one of them has set the password, and the other is told."""
    member, key = await house.invited("bob@oak.example")
    invitation = api_key.key_id(key) or ""
    tries = [
        accounts.set_password(house.administration, member, f"{PASSWORD} {number}", "", invitation)
        for number in range(2)
    ]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in outcomes) == ["NoneType", "Refused"]
    right = outcomes.index(None)
    caller = await house.made.authenticator.by_password(member.email, f"{PASSWORD} {right}", HERE, secure=True)
    assert caller.name == member.email


async def test_nobody_inherits_keys_of_somebody_who_is_gone(house: House) -> None:
    member, _ = await house.invited("bob@oak.example")
    await members.remove(house.administration, house.owner, "Oak", member.email, None)
    late = (
        accounts.log_in(house.administration, member),
        accounts.make_link(house.administration, member),
        accounts.make_key(house.administration, member, "late", 0),
        accounts.set_password(house.administration, member, PASSWORD, ""),
    )
    for one in late:
        with pytest.raises(Refused) as refused:
            await one
        assert refused.value.code == "not-found"
    assert house.labels(member.email) == []


@pytest.mark.parametrize(
    "email", ["", "bob", "@oak.example", "b o b@oak.example", "bob@oak.example\n", "b:b@oak.example", "b/b@oak.example",
              "a@b@c", f"{'b' * 300}@oak.example"],
)  # fmt: skip
async def test_an_account_is_named_by_one_address(house: House, email: str) -> None:
    for one in (
        accounts.register(house.administration, "Ash", email, "", PASSWORD),
        members.add(house.administration, house.owner, "Oak", Person(email=email)),
    ):
        with pytest.raises(Refused, match="e-mail"):
            await one


@pytest.mark.parametrize("text", ["two\nlines", "x" * 201, "bell\x07", "line\n"])
async def test_names_and_labels_are_lines(house: House, text: str) -> None:
    await services.create(house.administration, house.owner, "Oak", "In", ServiceProfile())
    for one in (
        accounts.rename(house.administration, house.person, text, None),
        accounts.register(house.administration, "Ash", "x@ash.example", text, PASSWORD),
        accounts.make_key(house.administration, house.person, text, 0),
        credentials.add_key(house.administration, house.owner, "Oak/In", text, 0),
    ):
        with pytest.raises(Refused, match="one line"):
            await one


@pytest.mark.parametrize("label", ["", "  ", "login", "Login Link", "INVITATION"])
async def test_a_key_has_a_label_of_its_own(house: House, label: str) -> None:
    with pytest.raises(Refused, match="label"):
        await accounts.make_key(house.administration, house.person, label, 0)


@pytest.mark.parametrize("name", ["0ak", "Oak.", "oak", "OAK", "\u041e\u0430\u043a", "Oak-"])
async def test_an_organization_cannot_look_like_another(house: House, name: str) -> None:
    with pytest.raises(Refused) as refused:
        await accounts.register(house.administration, name, "eve@elsewhere.example", "Eve", PASSWORD)
    assert refused.value.code in ("name.taken", "name.invalid")
    assert house.made.network.directory.person("eve@elsewhere.example") is None


@pytest.mark.parametrize(
    "email",
    ["\u0430nn@oak.example", "\uff41nn@oak.example", "\u0251nn@oak.example", "a\u200bnn@oak.example",
     "\u0441\u043e\u0440@oak.example", "ann@\u043eak.example"],
)  # fmt: skip
async def test_an_address_cannot_look_like_another(house: House, email: str) -> None:
    for attempt in (
        accounts.register(house.administration, "Elm", email, "Eve", PASSWORD),
        members.add(house.administration, house.owner, "Oak", Person(email=email, role=Role.VIEWER)),
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
async def test_addresses_of_one_alphabet_are_taken(house: House, email: str) -> None:
    await accounts.register(house.administration, "Elm", email, "", PASSWORD)


async def test_an_invited_address_is_free_for_whoever_registers_with_it(house: House) -> None:
    """Else anybody could keep strangers out of the network by inviting their addresses."""
    _, key = await house.invited("bob@elm.example")
    await accounts.register(house.administration, "Elm", "bob@elm.example", "Bob", PASSWORD)
    bob = house.made.network.directory.person("bob@elm.example")
    assert bob is not None
    assert (bob.organization, bob.role) == ("Elm", Role.OWNER)
    assert house.labels("bob@elm.example") == ["password"]
    assert house.bearer(key, INVITATION) is None
    with pytest.raises(Refused, match="account for this address"):
        await accounts.register(house.administration, "Fir", "bob@elm.example", "Bob", PASSWORD)


async def test_the_only_owner_of_an_organization_stays_though_only_invited(house: House) -> None:
    operator = await house.made.enroll("op@network.example", operator=True)
    await house.made.network.configuration.change("test", [build_save(Organization(name="Elm"))])
    owner = Person(email="bob@elm.example", role=Role.OWNER)
    await members.add(house.administration, operator, "Elm", owner)
    with pytest.raises(Refused, match="account for this address"):
        await accounts.register(house.administration, "Fir", "bob@elm.example", "Bob", PASSWORD)


async def test_an_unused_invitation_ends_together_with_its_person(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.invited("bob@elm.example")
    await house.invited("eve@elm.example")
    other = await house.made.enroll("fay@fir.example", organization="Fir")
    with pytest.raises(Refused, match="account for this address"):
        await members.add(house.administration, other, "Fir", Person(email="bob@elm.example"))
    clock, now_us = house.made.network.clock, house.made.network.clock.now_us()
    monkeypatch.setattr(clock, "now_us", lambda: now_us + accounts.INVITATION_US + 1, raising=False)
    await members.add(house.administration, other, "Fir", Person(email="bob@elm.example"))
    bob = house.made.network.directory.person("bob@elm.example")
    assert bob is not None
    assert bob.organization == "Fir"
    assert house.labels("bob@elm.example") == [INVITATION]
    await house.invited("gil@oak.example")
    assert house.made.network.directory.person("eve@elm.example") is None
    assert house.labels("eve@elm.example") == []


async def test_an_organization_has_so_many_members_and_open_invitations(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MAX_INVITED", 2)
    monkeypatch.setattr(members, "MAX_MEMBERS", 4)
    for name in ("a", "b"):
        member, _ = await house.invited(f"{name}@oak.example")
    with pytest.raises(Refused, match="At most 2 invitations"):
        await house.invited("c@oak.example")
    await accounts.set_password(house.administration, member, PASSWORD, "")
    member, _ = await house.invited("c@oak.example")
    await accounts.set_password(house.administration, member, PASSWORD, "")
    with pytest.raises(Refused, match="at most 4 members"):
        await house.invited("d@oak.example")
