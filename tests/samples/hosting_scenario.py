"""A scenario with services that the network runs itself; only the engines are played."""

from __future__ import annotations

from typing import Any, Self

from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Argument, Delivered, MessageType, Part, Recipient
from postroad.services.engines import Engines
from postroad.testing import Scenario
from postroad.testing.scenario import Who
from tests.samples.service_tools import UpperCase, document, engines

ORDER = document("<Order><CustomerNumber>3489</CustomerNumber><Zip>62701</Zip></Order>")
SOON_S = 30.0
BUYER, SUPPLY, XSLT = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "Transmatics/xslt"
STYLESHEET = (AssetKind.STYLESHEET, "a", "<a/>")


class HostingScenario(Scenario):
    """MyBiz and Acme, and between them what a test hosts."""

    def __init__(self, engines_to_use: Engines | None = None, *, runs: bool = True) -> None:
        super().__init__(engines=(engines_to_use or engines(UpperCase())) if runs else None)

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.service(BUYER, visibility=Visibility.PRIVATE)
        await self.service(SUPPLY)
        return self

    async def host(self, address: str, hosted: Hosting, *assets: tuple[AssetKind, str, str], **profile: Any) -> Caller:
        caller = await self.service(address, hosted=hosted, **profile)
        for kind, name, content in assets:
            await self.asset(address, kind, name, content)
        return caller

    async def send(self, *stops: Recipient, to: str | Recipient = SUPPLY, part: Part = ORDER, **header: Any) -> str:
        """Post a request as MyBiz; returns its session."""
        return (
            await self.post(BUYER, to, route=stops, parts=(part,), **{"type": MessageType.REQUEST} | header)
        ).session

    async def ask(self, to: str, /, **arguments: str) -> Delivered:
        """Send a request to a hosted service; returns the response."""
        await self.send(to=stop(to, **arguments))
        return await self.arrived(BUYER)

    async def arrived(self, at: Who) -> Delivered:
        """Wait for one message, and acknowledge it."""
        [delivered] = await self.take(at, max=1, wait_s=SOON_S)
        return delivered

    async def nothing_arrives(self, at: Who) -> bool:
        return not await self.poll(at, wait_s=0.2)


def stop(service: str, **arguments: str) -> Recipient:
    return Recipient(service, tuple(Argument(name.rstrip("_"), value) for name, value in arguments.items()))
