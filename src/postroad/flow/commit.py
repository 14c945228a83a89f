"""Waiting for a step to be durable, for stages that answer one caller at a time."""

from __future__ import annotations

import asyncio

from postroad.errors import Unavailable
from postroad.ports import Committed, Conflict, Desk, Outcome, Step


async def committed(desk: Desk, step: Step) -> Committed | Conflict:
    """Submit a step and wait for its outcome; raises Unavailable when it could not be stored."""
    return await stored(submitted(desk, step))


def submitted(desk: Desk, step: Step) -> asyncio.Future[Outcome]:
    """Submit a step now, before any that comes later, and have its outcome in the future."""
    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    desk.submit(step, lambda outcome: None if future.done() else future.set_result(outcome))
    return future


async def stored(future: asyncio.Future[Outcome]) -> Committed | Conflict:
    """The outcome of a step; raises Unavailable when it could not be stored."""
    outcome = await future
    if isinstance(outcome, Unavailable):
        raise outcome
    return outcome
