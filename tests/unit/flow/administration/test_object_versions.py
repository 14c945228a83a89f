"""An object's past: newest first, each version beside the one before it; what never was has none."""

from __future__ import annotations

from postroad.core.model.directory import Organization
from postroad.flow.administration.versions import list_versions
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import memory_network


async def test_each_version_is_compared_with_the_one_before() -> None:
    async with memory_network() as running:
        change = running.network.configuration.change
        await change("ann", [build_save(Organization(name="Oak"))], "new")
        await change("bob", [build_save(Organization(name="Oak", suspended="unpaid"))], "unpaid")
        told = await list_versions(running.network, "organization", "oak")
        assert [(one.version, one.by, one.reason, one.removed) for one in told] == [
            (2, "bob", "unpaid", False),
            (1, "ann", "new", False),
        ]
        assert [field.field for field in told[0].fields] == ["suspended"]
        assert told[1].before is None


async def test_an_object_that_never_existed_has_no_versions() -> None:
    async with memory_network() as running:
        assert await list_versions(running.network, "rule", "0") == []
