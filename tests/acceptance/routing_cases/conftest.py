"""The network in which the routing cases happen."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.samples.routing_scenario import RoutingScenario


@pytest.fixture
async def scenario() -> AsyncIterator[RoutingScenario]:
    async with RoutingScenario() as scenario:
        yield scenario
