"""Messages of one sender go on from a hosted in-transit service in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from postroad.core.model.asset import Hosting
from postroad.core.model.message import MessageType
from tests.samples.hosting_scenario import STYLESHEET, SUPPLY, XSLT, HostingScenario, stop
from tests.samples.service_tools import UpperCase, document, engines


class FirstIsLast(UpperCase):
    """Finishes the first document after all others."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._left = count
        self._others_done = asyncio.Event()

    async def transform(self, stylesheet: str, document: bytes, parameters: Mapping[str, str]) -> bytes:
        if b"n0" in document:
            await asyncio.wait_for(self._others_done.wait(), 30)
        else:
            self._left -= 1
            if self._left == 1:
                self._others_done.set()
        return await super().transform(stylesheet, document, parameters)


@pytest.mark.req("D6")
async def test_a_hosted_service_that_finishes_out_of_order_answers_in_order() -> None:
    transformer = FirstIsLast(4)
    async with HostingScenario(engines(transformer)) as scenario:
        await scenario.host(XSLT, Hosting.XSLT, STYLESHEET)
        sessions = [
            await scenario.send(stop(XSLT), part=document(f"<n{number}/>"), type=MessageType.NOTIFICATION)
            for number in range(4)
        ]
        assert [(await scenario.arrived(SUPPLY)).session for _ in sessions] == sessions
