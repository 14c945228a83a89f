"""Health and status: probes without credentials for monitoring, and a status report for users."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import Field

from postroad.api.resources.context import Api, ApiContext, Asking, answer
from postroad.api.resources.route_guards import GuardedRoute, HealthRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.errors import Unavailable
from postroad.flow.administration.messages import message_list as reading

MAX_BEHIND = 100_000  # entries that the index may lag before new work should go elsewhere
ANSWER_S = 5.0

router = APIRouter(route_class=GuardedRoute, tags=["status"])
health = APIRouter(route_class=HealthRoute, tags=["status"])


class Health(StrictShape):
    status: Literal["ok"]


class Queue(StrictShape):
    service: str
    waiting: int


class NetworkStatus(StrictShape):
    journal: Annotated[int, Field(description="The last entry of the journal; 0 for members")]
    index: Annotated[int, Field(description="The last entry that the index has; 0 for members")]
    behind: int
    directory: Annotated[int, Field(description="The entry of the latest change of configuration; 0 for members")]
    queues: list[Queue]


@health.get("/livez", response_model=Health)
async def live() -> Response:
    """The process answers."""
    return answer({"status": "ok"})


@health.get("/startupz", response_model=Health)
async def started(api: Api) -> Response:
    """The network has started: it has a directory to serve from."""
    if api.network.directory.version == 0:
        raise Unavailable("network.unavailable", "The network is starting")
    return answer({"status": "ok"})


@health.get("/readyz", response_model=Health)
async def ready(api: Api) -> Response:
    """The journal answers, the index process runs, and the index is complete and not far behind the journal."""
    api.require_index()
    try:
        async with asyncio.timeout(ANSWER_S):
            journal, index = await read_positions(api)
    except (OSError, TimeoutError):
        raise Unavailable("network.unavailable", "The store does not answer") from None
    if journal - index > MAX_BEHIND:
        raise Unavailable("network.busy", "The index is catching up with the journal")
    return answer({"status": "ok"})


@router.get("/v1/status", response_model=NetworkStatus)
async def read_status(api: Api, caller: Asking) -> Response:
    """How much waits in the mailboxes of your services, and how far the index is behind the journal."""
    queues = await reading.count_waiting(api.network, caller)
    journal, index = await read_positions(api)
    counters = {"journal": journal, "index": index, "directory": api.network.directory.version}
    return answer(
        {name: number if caller.operator else 0 for name, number in counters.items()}
        | {
            "behind": max(0, journal - index),
            "queues": [{"service": address, "waiting": count} for address, count in queues],
        }
    )


async def read_positions(api: ApiContext) -> tuple[int, int]:
    """The last entry of the journal, and the last one that the index knows."""
    head = await api.network.journal.head()
    position = await api.network.index.position()
    return head.seq, position.seq
