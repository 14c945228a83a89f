"""One of several processes of a network that share PostgreSQL, with a send port that works when a test says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.index.followed_index import FollowedIndex
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemRandomness
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.network import Network
from postroad.testing.clocks import ManualClock
from postroad.testing.network import CHEAP, MemoryNetwork
from tests.samples.send_port import SendPortScenario


class SharedNode(SendPortScenario):
    """Keeps an index of its own in memory, so that nothing but the journal tells it what others do."""

    def __init__(self, dsn: str, clock: ManualClock) -> None:
        super().__init__(clock)
        self._dsn = dsn

    @asynccontextmanager
    async def start_network(self) -> AsyncIterator[MemoryNetwork]:
        journal, index = await PostgresJournal.open(self._dsn), MemoryIndex()
        keeper = FollowedIndex(journal, index)
        await keeper.start()
        desk = SharedDesk(journal, index, self.clock, wait_for_entry=keeper.wait_for, on_committed=keeper.notify)
        await desk.open()

        async def wait_until_indexed() -> None:
            await keeper.wait_for((await journal.head()).seq)

        network = Network(
            desk=desk,
            journal=journal,
            index=index,
            clock=self.clock,
            randomness=SystemRandomness(),
            token_key=b"only for tests, never in service",
            wait_until_indexed=wait_until_indexed,
        )
        await wait_until_indexed()
        await network.configuration.load()
        passwords = Argon2Passwords(**CHEAP)
        authenticator = Authenticator(network.configuration.directory, passwords, self.clock)
        yield MemoryNetwork(network=network, authenticator=authenticator, passwords=passwords)
        await desk.close()
        await keeper.stop()
        passwords.close()
        await journal.close()
