"""Two networks in this process, each with a server of its own, that tell the time by the same clock."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from postroad.api.serve import serve
from postroad.bootstrap import Settings, open_network, read_settings
from postroad.client import Client
from postroad.ports import Clock

START_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartnerNetwork:
    """A network, seen from outside: its folder and its address."""

    data: Path
    url: str

    def client(self, key: Path) -> Client:
        return Client(self.url, key.read_text().strip())

    def operator(self) -> Client:
        return self.client(self.data / "operator.key")


@contextmanager
def running(folder: Path, names: tuple[str, ...], clock: Clock) -> Iterator[dict[str, PartnerNetwork]]:
    """The networks of these names, for as long as the block lasts."""
    partners: dict[str, PartnerNetwork] = {}
    loop, started, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    def listening(partner: PartnerNetwork) -> None:
        partners[partner.data.name] = partner
        if len(partners) == len(names):
            started.set()

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            servers = [group.create_task(_serve(_settings(folder / name), clock, listening)) for name in names]
            await ended.wait()
            for server in servers:
                server.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), name="networks", daemon=True)
    thread.start()
    if not started.wait(START_S):
        raise RuntimeError("the networks did not start")
    try:
        yield partners
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(START_S)


async def _serve(settings: Settings, clock: Clock, listening: Callable[[PartnerNetwork], None]) -> None:
    def announce(url: str) -> None:
        (settings.data / "url").write_text(url)  # where the command line looks for it
        listening(PartnerNetwork(data=settings.data, url=url))

    async with open_network(settings, clock=clock) as network:
        await serve(network, announce)


def _settings(data: Path) -> Settings:
    chosen = {"data": str(data), "port": "0", "push_allow_private": "127.0.0.0/8"}
    return read_settings(file=Path(os.devnull), environment={}, overrides=chosen)
