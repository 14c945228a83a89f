"""Simulated operators that suspend services and end the suspensions hours later.

Rule: a suspension counts from its confirmation until the operator's request to end it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from postroad.errors import Refused, Unavailable
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.simulation.network import ConnectionLost, SimulatedNetwork
from postroad.testing.simulation.observations import Observations, SuspensionPeriod

AGAIN_S = 5.0
LASTING_S = (60.0, 3_600.0, 6 * 3_600.0)


async def suspend_at_random(
    running: SimulatedNetwork, ledger: Observations, chance: Random, services: Sequence[str], times: int, whole_s: float
) -> None:
    for _ in range(times):
        await asyncio.sleep(chance.expovariate(times / whole_s))
        gcid = chance.choice(services)
        of_organization = chance.random() < 0.5
        await _set_suspension(running, gcid, "unpaid", of_organization=of_organization)
        from_us = running.clock.now_us()
        await asyncio.sleep(chance.choice(LASTING_S))
        ledger.suspended.append(SuspensionPeriod(gcid, from_us, running.clock.now_us()))
        ledger.events["suspensions"] += 1
        await _set_suspension(running, gcid, "", of_organization=of_organization)


async def _set_suspension(running: SimulatedNetwork, gcid: str, reason: str, *, of_organization: bool) -> None:
    """Suspend or end a suspension; repeats until the network confirms it."""

    async def question(network: Network) -> object:
        service = network.directory.services[gcid]
        organization = network.directory.organizations[service.organization.casefold()]
        changed = replace(organization, suspended=reason) if of_organization else replace(service, suspended=reason)
        return await network.configuration.change("operator", [build_save(changed)], f"suspended: {reason}")

    while True:
        try:
            await running.ask(question)
        except (ConnectionLost, Unavailable, Refused):  # refused: it was changed concurrently
            await asyncio.sleep(AGAIN_S)
        else:
            return
