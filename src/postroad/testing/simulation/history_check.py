"""Compares the histories that the network reports with a simple independent reading of the journal."""

from __future__ import annotations

from random import Random

from postroad.flow.network import Network
from postroad.testing.simulation.recorded_history import RecordedHistory

MAX_ASKED = 40


async def find_history_differences(network: Network, books: RecordedHistory, chance: Random) -> list[str]:
    """Query some random sessions, and return every stop whose history differs from the journal."""
    faults = []
    for seq in chance.sample(sorted(books.posted), min(MAX_ASKED, len(books.posted))):
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
