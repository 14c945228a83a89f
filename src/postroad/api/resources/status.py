"""Health and status: probes without credentials for monitoring, and a status report for users."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from postroad.api.resources.context import Api, ApiContext, Asking, answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute, HealthRoute
from postroad.core.resources.organizations import Health, NetworkStatus, Queue
from postroad.errors import Unavailable
from postroad.flow.administration.messages import message_list as reading

MAX_BEHIND = 100_000  # entries that the index may lag before new work should go elsewhere
ANSWER_S = 5.0

router = APIRouter(route_class=GuardedRoute, tags=["status"])
health = APIRouter(route_class=HealthRoute, tags=["status"])


@health.get("/livez", **returns(Health))
async def live() -> Response:
    """The process answers."""
    return answer(Health())


@health.get("/startupz", **returns(Health))
async def started(api: Api) -> Response:
    """The network has started: it has a directory to serve from."""
    if api.network.directory.version == 0:
        raise Unavailable("network.unavailable", "The network is starting")
    return answer(Health())


@health.get("/readyz", **returns(Health))
async def ready(api: Api) -> Response:
    """The journal answers and is writable, the index process runs, and the index is complete and not far behind."""
    api.require_ready()
    try:
        async with asyncio.timeout(ANSWER_S):
            journal, index = await read_positions(api)
    except (OSError, TimeoutError):
        raise Unavailable("network.unavailable", "The store does not answer") from None
    if journal - index > MAX_BEHIND:
        raise Unavailable("network.busy", "The index is catching up with the journal")
    return answer(Health())


@router.get("/v1/status", **returns(NetworkStatus))
async def read_status(api: Api, caller: Asking) -> Response:
    """How much waits in the mailboxes of your services, and how far the index is behind the journal."""
    queues = await reading.count_waiting(api.network, caller)
    journal, index = await read_positions(api)
    return answer(
        NetworkStatus(
            journal=journal if caller.operator else 0,
            index=index if caller.operator else 0,
            directory=api.network.directory.version if caller.operator else 0,
            behind=max(0, journal - index),
            queues=[Queue(service=address, waiting=count) for address, count in queues],
        )
    )


async def read_positions(api: ApiContext) -> tuple[int, int]:
    """The last entry of the journal, and the last one that the index knows."""
    head = await api.network.journal.head()
    position = await api.network.index.position()
    return head.seq, position.seq
