"""One of several processes of a network that share PostgreSQL, with a send port that works when a test says so."""

from __future__ import annotations

from typing import Any

from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.index.followed_index import FollowedIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemRandomness
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.batching.send_port import SendPortWorker
from postroad.flow.network import Network
from postroad.testing.clocks import ManualClock
from postroad.testing.network import CHEAP, MemoryNetwork
from tests.samples.batching_bench import Bench


class SharedNode(Bench):
    """Keeps an index of its own in memory, so that nothing but the journal tells it what others do."""

    journal: Any

    def __init__(self, dsn: str, clock: ManualClock) -> None:
        self._dsn, self.clock = dsn, clock

    async def open(self) -> None:
        self.journal = await PostgresJournal.open(self._dsn)
        index = MemoryIndex()
        keeper = FollowedIndex(self.journal, index)
        await keeper.start()
        desk = SharedDesk(self.journal, index, self.clock, indexed=keeper.wait_for, on_committed=keeper.notify)
        await desk.open()

        async def indexed() -> None:
            await keeper.wait_for((await self.journal.head()).seq)

        network = Network(
            desk=desk,
            journal=self.journal,
            index=index,
            clock=self.clock,
            randomness=SystemRandomness(),
            token_key=b"only for tests, never in service",
            indexed=indexed,
        )
        await indexed()
        await network.configuration.load()
        passwords = Argon2Passwords(**CHEAP)
        authenticator = Authenticator(network.configuration.directory, passwords, self.clock)
        self.running = MemoryNetwork(network=network, authenticator=authenticator, passwords=passwords)
        self._close = desk, keeper, passwords
        if (service := network.directory.service("Acme/orders")) is not None:
            self.port = SendPortWorker(network, service.gcid)

    async def close(self) -> None:
        await super().close()
        await self.journal.close()
