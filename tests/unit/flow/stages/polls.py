"""Knowing when a poll in a network in memory has begun to wait."""

from __future__ import annotations

from postroad.adapters.desk.local import LocalDesk
from postroad.core.model.caller import Caller
from postroad.flow.network import Network
from tests.waiting import eventually_async


async def until_a_poll_waits(network: Network, caller: Caller) -> None:
    desk, service = network.desk, caller.service
    assert isinstance(desk, LocalDesk)
    assert service is not None
    await eventually_async(lambda: bool(desk._hot.arrivals(service.gcid)), why="no poll waits")
