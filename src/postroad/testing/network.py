"""A complete network in memory: the real stages and the real codecs, without files and sockets.

For the tests of applications that talk to postroad, for the tutorial, and for our own tests::

    async with memory_network() as running:
        mybiz = await running.register("MyBiz/Purchasing")
        acme = await running.register("Acme/Supply", visibility=Visibility.PUBLIC)
        await running.network.post(mybiz, Message(to=(Recipient("Acme/Supply"),)))
        [delivered] = await running.network.poll(acme, PollRequest())
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.index.followed_index import FollowedIndex
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.memory.secret_store import MemorySecretStore
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemClock, SystemRandomness
from postroad.core.identity import api_key
from postroad.core.identity.sealing import SealingKey, SealingKeys
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    Credential,
    CredentialKind,
    Organization,
    Person,
    Role,
    Service,
)
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_vault import SecretVault
from postroad.flow.registries.token_keys import TokenKeyRing
from postroad.flow.stages.expire import is_always_leader
from postroad.ports import Clock, Journal, Passwords, Randomness

CHEAP = {"memory_kib": 8, "passes": 1}  # argon2 with minimal cost: for tests only
TOKEN_KEY = b"only for tests, never in service"
MASTER_KEY = SealingKey(b"for tests, and never in service!")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNetwork:
    network: Network
    authenticator: Authenticator
    passwords: Passwords
    wake_all: Callable[[], None] = lambda: None  # makes all waiting tasks check the clock again

    async def register(self, address: str, **profile: Any) -> Caller:
        """Create a service, and its organization if needed; returns its caller."""
        organization, _, name = address.partition("/")
        service = Service(
            gcid=ids.gcid(self.network.randomness.bytes(8)), organization=organization, name=name, **profile
        )
        changes = [build_save(service)]
        if self.network.directory.organization(organization) is None:
            changes.insert(0, build_save(Organization(name=organization)))
        await self.network.configuration.change("test", changes)
        return Caller(service=service, level=AuthenticationLevel.KEY)

    async def enroll(
        self, email: str, *, organization: str = "", role: Role = Role.OWNER, operator: bool = False
    ) -> Caller:
        """Create a person; returns their caller."""
        person = Person(email=email, organization=organization, role=role, operator=operator)
        changes = [build_save(person)]
        if organization and self.network.directory.organization(organization) is None:
            changes.insert(0, build_save(Organization(name=organization)))
        await self.network.configuration.change("test", changes)
        return Caller(person=person, level=AuthenticationLevel.KEY)

    async def key_for(self, caller: Caller) -> str:
        """Give a service or a person a new API key, and return it."""
        key = api_key.make(self.network.randomness.bytes(api_key.RANDOM_BYTES))
        credential = Credential(
            id=key.id,
            kind=CredentialKind.KEY,
            secret=key.hash,
            service=caller.service.gcid if caller.service else "",
            person=caller.person.email if caller.person else "",
        )
        await self.network.configuration.change("test", [build_save(credential)])
        return key.text


@dataclass(slots=True, kw_only=True)
class MemoryStorage:
    """The storage of a network: start a second network over it to test a restart, with a new index to test its loss."""

    journal: Journal = field(default_factory=MemoryJournal)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    secrets: MemorySecretStore = field(default_factory=MemorySecretStore)


@asynccontextmanager
async def memory_network(
    clock: Clock | None = None, *, storage: MemoryStorage | None = None, randomness: Randomness | None = None
) -> AsyncIterator[MemoryNetwork]:
    """Run a network for the duration of the block; only ``storage`` remains."""
    clock, storage = clock or SystemClock(), storage or MemoryStorage()
    journal = storage.journal
    keeper = FollowedIndex(journal, storage.index, look_again_s=None)
    await keeper.start()
    desk = LocalDesk(journal, storage.index, clock, wait_for_entry=keeper.wait_for, on_committed=keeper.notify)
    await desk.open()

    async def wait_until_indexed() -> None:
        await keeper.wait_for((await journal.head()).seq)

    network = Network(
        desk=desk,
        journal=journal,
        index=storage.index,
        clock=clock,
        randomness=randomness or SystemRandomness(),
        token_key=TOKEN_KEY,
        wait_until_indexed=wait_until_indexed,
    )
    await wait_until_indexed()
    await network.configuration.load()
    await _open_secrets(network, storage)
    passwords = Argon2Passwords(**CHEAP)
    authenticator = Authenticator(network.configuration.directory, passwords, clock)
    try:
        yield MemoryNetwork(network=network, authenticator=authenticator, passwords=passwords, wake_all=desk.wake_all)
    finally:
        await desk.close()
        await keeper.stop()
        passwords.close()


async def _open_secrets(network: Network, storage: MemoryStorage) -> None:
    """Give the network a vault and a ring of token keys, with a master key that is only for tests."""
    # Separate random numbers, so that those of a test do not depend on it.
    keys = await SecretKeys.open(storage.secrets, SealingKeys([MASTER_KEY]), SystemRandomness())
    network.vault = SecretVault(
        storage.secrets, keys, network.configuration, network.clock, network.wait_until_indexed, is_shared=False
    )
    await network.vault.repair()
    network.token_keys = TokenKeyRing(
        network.plumbing, network.tokens, storage.secrets, keys, TOKEN_KEY, is_always_leader, is_shared=False
    )
    await network.token_keys.load()
