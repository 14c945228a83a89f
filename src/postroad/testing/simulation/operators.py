"""Operators who suspend services, and let them take part again hours later.

Kept rule: what counts is from when to when an operator was sure of it: from the answer that said so until it asked to end it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from postroad.errors import Refused, Unavailable
from postroad.flow.configure import saving
from postroad.flow.network import Network
from postroad.testing.simulation.ledger import Ledger, Suspended
from postroad.testing.simulation.network import ConnectionLost, SimulatedNetwork

AGAIN_S = 5.0
LASTING_S = (60.0, 3_600.0, 6 * 3_600.0)


async def suspend_now_and_then(
    running: SimulatedNetwork, ledger: Ledger, chance: Random, services: Sequence[str], times: int, whole_s: float
) -> None:
    for _ in range(times):
        await asyncio.sleep(chance.expovariate(times / whole_s))
        gcid = chance.choice(services)
        by_house = chance.random() < 0.5
        await _insist(running, gcid, "unpaid", by_house=by_house)
        from_us = running.clock.now_us()
        await asyncio.sleep(chance.choice(LASTING_S))
        ledger.suspended.append(Suspended(gcid, from_us, running.clock.now_us()))
        ledger.events["suspensions"] += 1
        await _insist(running, gcid, "", by_house=by_house)


async def _insist(running: SimulatedNetwork, gcid: str, reason: str, *, by_house: bool) -> None:
    """Suspend, or end it, until the network has said that it is so."""

    async def question(network: Network) -> object:
        service = network.directory.services[gcid]
        house = network.directory.organizations[service.organization.casefold()]
        changed = replace(house, suspended=reason) if by_house else replace(service, suspended=reason)
        return await network.configuration.change("operator", [saving(changed)], f"suspended: {reason}")

    while True:
        try:
            await running.ask(question)
        except (ConnectionLost, Unavailable, Refused):  # refused: it was changed in this very moment
            await asyncio.sleep(AGAIN_S)
        else:
            return
