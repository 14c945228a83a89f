"""Names of AS2 agreements are one service's alone, however services are made and changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.adapters.passwords import Argon2Passwords
from postroad.core.configuration.profile import ServiceProfile
from postroad.core.model.caller import Caller
from postroad.core.model.directory import As2, Service
from postroad.errors import Refused
from postroad.flow.administration import Administration, address_claims
from postroad.flow.administration_services import create, remove, replace_service
from postroad.testing.network import CHEAP, MemoryNetwork, memory_network
from tests.unit.core.configuration.test_as2_profile import ACME, AS2


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
async def test_a_second_service_cannot_have_the_same_names(running: MemoryNetwork) -> None:
    administration, aster, birch = await owners(running)
    made = await create(administration, aster, "Aster", "Acme", profile())
    with pytest.raises(Refused, match="another service") as refused:
        await create(administration, birch, "Birch", "Acme", profile())
    assert (refused.value.code, refused.value.pointer) == ("name.taken", "/as2/name")
    assert "Aster" not in refused.value.detail
    other = await create(administration, birch, "Birch", "Acme", profile(ownName="Birch"))
    with pytest.raises(Refused, match="another service"):
        await replace_service(administration, birch, other.gcid, "Acme", profile(), None)
    await replace_service(administration, aster, made.gcid, "Acme", profile(mdn="async"), None)
    await remove(administration, aster, made.gcid, None)
    await replace_service(administration, birch, other.gcid, "Acme", profile(), None)


def service(as2: As2 | None) -> Service:
    return Service(gcid="a" * 16, organization="Aster", name="Acme", as2=as2)


def test_two_nodes_cannot_give_one_pair_of_names_at_the_same_moment() -> None:
    agreed = As2(name="ACME", own_name="My Biz")
    taken = [(change.kind, change.key) for change in address_claims(service(None), service(agreed))]
    assert taken == [("as2-stations", "ACME\nMy Biz")]
    renamed = address_claims(service(agreed), service(replace(agreed, own_name="Other")))
    assert [(change.key, change.value is None) for change in renamed] == [
        ("ACME\nMy Biz", True),
        ("ACME\nOther", False),
    ]
    assert address_claims(service(agreed), service(agreed)) == []
    assert len(address_claims(service(agreed), None)) == 2
