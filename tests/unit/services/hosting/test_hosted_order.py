"""Messages of one sender go on from a hosted in-transit service in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.directory import Visibility
from postroad.core.model.message import MessageType
from postroad.services.hosting.hosted_services import run_hosted_services
from postroad.testing.network import memory_network
from tests.samples.service_tools import UpperCase, document, engines
from tests.unit.services.hosting.test_hosting import Parties, stop


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
    async with memory_network() as running, run_hosted_services(running.network, engines(transformer)):
        mybiz = await running.register("MyBiz/Purchasing")
        acme = await running.register("TheAcmeCompany/Supply", visibility=Visibility.PUBLIC)
        parties = Parties(running, mybiz, acme)
        await parties.host("Transmatics/xslt", Hosting.XSLT, (AssetKind.STYLESHEET, "a", "<a/>"))
        sessions = [
            await parties.post(stop("Transmatics/xslt"), part=document(f"<n{number}/>"), type=MessageType.NOTIFICATION)
            for number in range(4)
        ]
        assert [(await parties.arrived(acme)).session for _ in sessions] == sessions
