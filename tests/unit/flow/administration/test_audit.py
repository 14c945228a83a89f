"""Who did what to the network: told to operators, page by page, and never half of what one entry changed."""

from __future__ import annotations

import pytest

from postroad.core.model.directory import Credential, CredentialKind, Organization, Service
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.audit import NEWEST, AuditedChange, list_audited_changes
from postroad.flow.administration.base import build_address_claims, build_removal
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import memory_network


def services(count: int) -> list[Service]:
    return [Service(gcid=f"{number:016x}", organization="Oak", name=f"s{number}") for number in range(count)]


async def test_what_one_entry_changed_is_told_whole_and_names_that_follow_from_it_not_at_all() -> None:
    async with memory_network() as running:
        operator = await running.enroll("op@network.example", operator=True)
        made = services(7)
        changes = [build_save(Organization(name="Oak")), *map(build_save, made)]
        claims = [change for one in made for change in build_address_claims(None, one, Directory())]
        await running.network.configuration.change("ann", [*changes, *claims], "applied")
        last = Service(gcid=made[0].gcid, organization="Oak", name="s0", description="new")
        await running.network.configuration.change("bob", [build_save(last)], "changed")
        told: list[AuditedChange] = []
        while page := await list_audited_changes(
            running.network, operator, before_seq=told[-1].seq if told else NEWEST, limit=2
        ):
            told += page
        assert [(one.by, one.name, one.version) for one in told[:1]] == [("bob", "Oak/s0", 2)]
        assert [(field.field, field.after) for field in told[0].fields] == [("description", "new")]
        assert [one.name for one in told if one.kind == "organization"] == ["Oak"], (
            "not in small letters, as it is stored"
        )
        assert sorted(one.kind for one in told[1:]) == ["organization", "person", *["service"] * 7]
        assert len({(one.kind, one.name, one.version) for one in told}) == len(told), "none twice"


async def test_the_audit_is_for_operators_only() -> None:
    async with memory_network() as running:
        owner = await running.enroll("o@oak.example", organization="Oak")
        with pytest.raises(Refused, match="Only operators"):
            await list_audited_changes(running.network, owner)


async def test_a_credential_is_named_by_whose_it_is_also_when_it_is_gone() -> None:
    async with memory_network() as running:
        operator = await running.enroll("op@network.example", operator=True)
        service = Service(gcid="00" * 8, organization="Oak", name="Out")
        keys = [
            Credential(id="k1", kind=CredentialKind.KEY, secret="x", service=service.gcid, label="the shop's program"),
            Credential(id="k2", kind=CredentialKind.KEY, secret="x", person="op@network.example"),
        ]
        await running.network.configuration.change("op", [build_save(service), *map(build_save, keys)], "made")
        await running.network.configuration.change("op", [build_removal(one) for one in keys], "removed")
        told = [
            (one.name, one.removed)
            for one in await list_audited_changes(running.network, operator)
            if one.kind == "credential"
        ]
        names = ["k2 of op@network.example", "the shop's program of Oak/Out"]
        assert sorted(told) == [(name, removed) for name in names for removed in (False, True)]
