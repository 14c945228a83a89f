"""Simulated operators that resend and drop dead letters at random, sometimes two on one letter at once.

Rule: an operator records only the responses it received; if a response was lost, it records nothing.
"""

from __future__ import annotations

import asyncio
from random import Random

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.errors import Refused, Unavailable
from postroad.flow.administration import dead_letters as resending
from postroad.flow.administration.dead_letters import DeadLetterSearch, browse
from postroad.flow.network import Network
from postroad.testing.simulation.network import ConnectionLost, SimulatedNetwork
from postroad.testing.simulation.observations import Observations

DEAD_LETTER_OPERATOR = Caller(person=Person(email="clerk@network.example", organization="", operator=True))
AT_ONCE = 8


async def handle_dead_letters(
    running: SimulatedNetwork, ledger: Observations, chance: Random, times: int, whole_s: float
) -> None:
    ends = asyncio.get_running_loop().time() + whole_s  # later rounds would not finish before the end of the run
    for _ in range(times):
        await asyncio.sleep(chance.expovariate(times / whole_s))
        if asyncio.get_running_loop().time() > ends:
            return
        try:
            numbers = await running.ask(_listed)
        except (ConnectionLost, Unavailable):
            continue
        for number in chance.sample(numbers, min(len(numbers), AT_ONCE)):
            await asyncio.gather(
                *(_handle_one(running, ledger, chance, number) for _ in range(chance.choice((1, 1, 2))))
            )


async def _handle_one(running: SimulatedNetwork, ledger: Observations, chance: Random, number: int) -> None:
    try:
        if chance.random() < 0.75:
            await _resend(running, ledger, number)
        else:
            await _drop(running, ledger, number)
    except (ConnectionLost, Unavailable):
        ledger.events["clerks without an answer"] += 1


async def _listed(network: Network) -> list[int]:
    page = await browse(network, DEAD_LETTER_OPERATOR, DeadLetterSearch(limit=50))
    return [found.letter.number for found in page.found]


async def _resend(running: SimulatedNetwork, ledger: Observations, number: int) -> None:
    async def question(network: Network) -> resending.LetterOutcome:
        return await resending.resend(network, DEAD_LETTER_OPERATOR, number, "for a simulation")

    try:
        dealt = await running.ask(question)
    except Refused as refusal:
        ledger.refusals[refusal.code] += 1
    else:
        ledger.resent[number] = dealt.delivery
        ledger.events["dead letters resent"] += 1


async def _drop(running: SimulatedNetwork, ledger: Observations, number: int) -> None:
    async def question(network: Network) -> resending.LetterOutcome:
        return await resending.drop(network, DEAD_LETTER_OPERATOR, number, "for a simulation")

    try:
        await running.ask(question)
    except Refused as refusal:
        ledger.refusals[refusal.code] += 1
    else:
        ledger.dropped.append(number)
        ledger.events["dead letters dropped"] += 1
