"""Names of AS2 agreements: one service's alone in its organization, and each organization has them at its own address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.adapters.passwords import Argon2Passwords
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.mediation.as2_partnerships import partner_between
from postroad.core.model.caller import Caller
from postroad.core.model.directory import As2, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import Administration, build_address_claims
from postroad.flow.administration.services import create, remove, replace_service
from postroad.flow.registries.configuration import DirectoryChange, build_save
from postroad.testing.network import CHEAP, MemoryNetwork, memory_network
from tests.unit.core.configuration.profile.test_as2_profile import ACME, AS2

NAMES: tuple[str, str] = (AS2["name"], AS2["ownName"])


@pytest.fixture
async def running() -> AsyncIterator[MemoryNetwork]:
    async with memory_network() as network:
        yield network


def profile(**as2: Any) -> ServiceProfile:
    return ServiceProfile.model_validate(ACME | {"as2": AS2 | as2})


async def owners(running: MemoryNetwork) -> tuple[Administration, Caller, Caller]:
    aster = await running.enroll("ann@aster.example", organization="Aster")
    birch = await running.enroll("bob@birch.example", organization="Birch")
    return Administration(running.network, Argon2Passwords(**CHEAP)), aster, birch


@pytest.mark.req("T7")
async def test_a_second_service_of_the_organization_cannot_have_the_same_names(running: MemoryNetwork) -> None:
    administration, aster, _ = await owners(running)
    made = await create(administration, aster, "Aster", "Acme", profile())
    with pytest.raises(Refused, match="Aster/Acme") as refused:
        await create(administration, aster, "Aster", "Twin", profile())
    assert (refused.value.code, refused.value.pointer) == ("name.taken", "/as2/name")
    other = await create(administration, aster, "Aster", "Twin", profile(ownName="Birch"))
    with pytest.raises(Refused, match="Aster/Acme"):
        await replace_service(administration, aster, other.gcid, "Twin", profile(), None)
    await replace_service(administration, aster, made.gcid, "Acme", profile(mdn="async"), None)
    await remove(administration, aster, made.gcid, None)
    await replace_service(administration, aster, other.gcid, "Twin", profile(), None)


@pytest.mark.req("T7")
async def test_organizations_have_the_same_names_each_at_its_own_address(running: MemoryNetwork) -> None:
    """And none finds out which names others have, nor takes away what is sent to the address that all share."""
    administration, aster, birch = await owners(running)
    first = await create(administration, aster, "Aster", "Acme", profile())
    second = await create(administration, birch, "Birch", "Acme", profile())

    def at(organization: str) -> str:
        found = partner_between(running.network.directory, *NAMES, organization)
        return found.gcid if found is not None else ""

    assert [at("Aster"), at("BIRCH"), at(""), at("Elm")] == [first.gcid, second.gcid, first.gcid, ""]
    await replace_service(administration, birch, second.gcid, "Acme", profile(mdn="async"), None)
    assert at("") == first.gcid
    await remove(administration, aster, first.gcid, None)
    assert [at("Aster"), at("Birch"), at("")] == ["", second.gcid, ""]  # a pair that was left is nobody's unasked
    await replace_service(administration, birch, second.gcid, "Acme", profile(ownName="Other"), None)
    await replace_service(administration, birch, second.gcid, "Acme", profile(), None)
    assert at("") == second.gcid  # it asked for the names when they were free


async def test_a_claim_of_an_older_release_still_counts(running: MemoryNetwork) -> None:
    """Recorded before organizations had addresses of their own: a claim by both names alone, with the service in it."""
    administration, aster, birch = await owners(running)
    agreed = As2(name=NAMES[0], own_name=NAMES[1])
    old = Service(gcid="a" * 16, organization="Birch", name="Old", as2=agreed)
    claim = DirectoryChange(kind="as2-stations", key="\n".join(NAMES), value={"service": old.gcid})
    await running.network.configuration.change("test", [build_save(old), claim])
    new = await create(administration, aster, "Aster", "Acme", profile())
    found = partner_between(running.network.directory, *NAMES)
    assert found is not None
    assert found.gcid == old.gcid
    await remove(administration, birch, old.gcid, None)
    assert partner_between(running.network.directory, *NAMES) is None
    assert partner_between(running.network.directory, *NAMES, "Aster") == new


def service(as2: As2 | None) -> Service:
    return Service(gcid="a" * 16, organization="Aster", name="Acme", as2=as2)


def test_two_nodes_cannot_give_one_pair_of_names_at_the_same_moment() -> None:
    agreed = As2(name="ACME", own_name="My Biz")
    known = Directory(services={"a" * 16: service(agreed)})
    taken = [(change.kind, change.key) for change in build_address_claims(service(None), service(agreed), Directory())]
    assert taken == [("as2-stations", "aster\nACME\nMy Biz"), ("as2-stations", "ACME\nMy Biz")]
    renamed = build_address_claims(service(agreed), service(replace(agreed, own_name="Other")), known)
    assert [(change.key, change.value is None) for change in renamed] == [
        ("aster\nACME\nMy Biz", True),
        ("aster\nACME\nOther", False),
        ("ACME\nMy Biz", True),
        ("ACME\nOther", False),
    ]
    assert build_address_claims(service(agreed), service(agreed), known) == []
    assert len(build_address_claims(service(agreed), None, known)) == 3
