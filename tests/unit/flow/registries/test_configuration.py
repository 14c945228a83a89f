"""Changing the directory: whole or not at all, and never over somebody else's change."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from postroad.core.model.directory import Organization, Service
from postroad.errors import Refused
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import Configuration, DirectoryChange, build_save
from postroad.testing.network import memory_network

ACME = Organization(name="Acme")
SUPPLY = Service(gcid="a" * 16, organization="Acme", name="Supply")


@pytest.mark.req("N1", "N2")
async def test_saved_objects_are_found_by_every_name() -> None:
    async with memory_network() as running:
        configuration = running.network.configuration
        directory = await configuration.change("ann", [build_save(ACME), build_save(SUPPLY)])
        assert directory.service("acme/supply") == directory.service("a" * 16) == SUPPLY
        assert directory.organization("ACME") == ACME
        assert directory.object_version("service", SUPPLY.gcid) == 1


async def test_a_change_of_what_one_has_not_seen_is_refused_whole() -> None:
    async with memory_network() as running:
        configuration = running.network.configuration
        await configuration.change("ann", [build_save(ACME), build_save(SUPPLY)])
        await configuration.change("ann", [build_save(replace(SUPPLY, description="new"), seen_version=1)])
        with pytest.raises(Refused, match=r"version\.conflict"):
            await configuration.change(
                "bob", [build_save(replace(ACME, description="bob's")), build_save(SUPPLY, seen_version=1)]
            )
        assert configuration.directory().organization("Acme") == ACME


async def test_the_directory_survives_in_the_index_with_its_versions() -> None:
    async with memory_network() as running:
        network = running.network
        await network.configuration.change("ann", [build_save(ACME), build_save(SUPPLY)])
        await network.configuration.change("ann", [DirectoryChange(kind="service", key=SUPPLY.gcid, value=None)])
        await network.wait_until_indexed()
        again = Configuration(network.desk, network.index, network.clock)
        await again.load()
        assert again.directory().service("Acme/Supply") is None
        assert again.directory().object_version("service", SUPPLY.gcid) == 2
        assert again.directory().version == network.directory.version


async def test_listeners_hear_of_every_directory() -> None:
    async with memory_network() as running:
        heard: list[int] = []
        running.network.configuration.on_change(lambda directory: heard.append(len(directory.services)))
        await running.network.configuration.change("ann", [build_save(ACME), build_save(SUPPLY)])
        assert heard == [0, 1]


async def test_a_change_that_has_begun_holds_also_when_nobody_waits_for_it() -> None:
    async with memory_network() as running:
        network = running.network
        administration = Administration(network, running.passwords)
        asking = [
            asyncio.create_task(network.configuration.change("ann", [build_save(ACME)])),
            asyncio.create_task(administration.carry_out("ann", lambda directory: [build_save(SUPPLY)], "made")),
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # both have begun
        for one in asking:
            one.cancel()
        told = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(one) for one in told] == [asyncio.CancelledError] * 2
        seen = await administration.carry_out(
            "bob", lambda directory: [build_save(replace(SUPPLY, description="bob's"))], ""
        )
        assert seen.organization("Acme") == ACME
        assert seen.object_version("service", SUPPLY.gcid) == 2
