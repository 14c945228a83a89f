"""People who deal with dead letters: they resend some and drop some, at any moment, and sometimes two of them the same one.

Kept rule: a clerk notes what it was told and nothing else; where the answer was lost, it notes nothing.
"""

from __future__ import annotations

import asyncio
from random import Random

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.errors import Refused, Unavailable
from postroad.flow import administration_resending as resending
from postroad.flow.administration_dead_letters import Wish, browse
from postroad.flow.network import Network
from postroad.testing.simulation.ledger import Ledger
from postroad.testing.simulation.network import ConnectionLost, SimulatedNetwork

CLERK = Caller(person=Person(email="clerk@network.example", organization="", operator=True))
AT_ONCE = 8


async def deal_now_and_then(
    running: SimulatedNetwork, ledger: Ledger, chance: Random, times: int, whole_s: float
) -> None:
    ends = asyncio.get_running_loop().time() + whole_s  # later rounds would outlast the run
    for _ in range(times):
        await asyncio.sleep(chance.expovariate(times / whole_s))
        if asyncio.get_running_loop().time() > ends:
            return
        try:
            numbers = await running.ask(_listed)
        except (ConnectionLost, Unavailable):
            continue
        for number in chance.sample(numbers, min(len(numbers), AT_ONCE)):
            await asyncio.gather(*(_deal(running, ledger, chance, number) for _ in range(chance.choice((1, 1, 2)))))


async def _deal(running: SimulatedNetwork, ledger: Ledger, chance: Random, number: int) -> None:
    try:
        if chance.random() < 0.75:
            await _resend(running, ledger, number)
        else:
            await _drop(running, ledger, number)
    except (ConnectionLost, Unavailable):
        ledger.events["clerks without an answer"] += 1


async def _listed(network: Network) -> list[int]:
    page = await browse(network, CLERK, Wish(limit=50))
    return [found.letter.number for found in page.found]


async def _resend(running: SimulatedNetwork, ledger: Ledger, number: int) -> None:
    async def question(network: Network) -> resending.Dealt:
        return await resending.resend(network, CLERK, number, "for a simulation")

    try:
        dealt = await running.ask(question)
    except Refused as refusal:
        ledger.refusals[refusal.code] += 1
    else:
        ledger.resent[number] = dealt.delivery
        ledger.events["dead letters resent"] += 1


async def _drop(running: SimulatedNetwork, ledger: Ledger, number: int) -> None:
    async def question(network: Network) -> resending.Dealt:
        return await resending.drop(network, CLERK, number, "for a simulation")

    try:
        await running.ask(question)
    except Refused as refusal:
        ledger.refusals[refusal.code] += 1
    else:
        ledger.dropped.append(number)
        ledger.events["dead letters dropped"] += 1
