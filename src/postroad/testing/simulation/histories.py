"""The histories that the network tells, held against the plainest reading of the journal."""

from __future__ import annotations

from random import Random

from postroad.flow.network import Network
from postroad.testing.simulation.bookkeeping import Books

ASKED_MOST = 40


async def histories_that_differ(network: Network, books: Books, chance: Random) -> list[str]:
    """Ask for some sessions drawn at random, and name every stop that is told otherwise than it was."""
    faults = []
    for seq in chance.sample(sorted(books.posted), min(ASKED_MOST, len(books.posted))):
        session = books.posted[seq].session
        history = await network.trace(session, None)
        if history is None or session not in [message.session for message in history.messages]:
            faults.append(f"the history of {session} does not tell of it")
            continue
        stops = [stop for message in history.messages for copy in message.copies for stop in copy.stops]
        for stop in stops:
            told = (stop.state, sum(event.what == "handed out" for event in stop.events))
            leg = books.legs[stop.delivery]
            if told != (leg.state.name.lower(), len(leg.leases)):
                faults.append(f"the history of {session} says {told} of {leg}")
    return faults
