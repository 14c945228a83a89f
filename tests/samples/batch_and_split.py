"""A scenario in which batchers and splitters both run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.core.model.directory import Visibility
from postroad.core.model.message import Delivered
from postroad.flow.batching.stage import BatchStage
from postroad.services.engines import Engines
from postroad.testing import Scenario
from tests.samples.service_tools import UpperCase
from tests.waiting import WITHIN_S

ERP, TO_ACME = "MyBiz/erp", "MyBiz/to-acme"


@asynccontextmanager
async def batch_and_split() -> AsyncIterator[Scenario]:
    """Open a scenario with MyBiz/erp; a test adds the batchers and splitters."""
    async with Scenario(engines=Engines(transformer=UpperCase(), judges={})) as scenario:
        await scenario.service(ERP, visibility=Visibility.PRIVATE)
        stage = BatchStage(scenario.network)
        stage.start()
        try:
            yield scenario
        finally:
            await stage.close()


async def got(scenario: Scenario, address: str, count: int = 1) -> list[Delivered]:
    """Wait for that many messages of a service, and acknowledge them."""
    found: list[Delivered] = []
    while len(found) < count:
        some = await scenario.take(address, max=count, wait_s=WITHIN_S)
        assert some, f"{len(found)} of {count} came"
        found += some
    return found
