"""Opens the secrets of a network: the store and the vault by the settings, and the keys of delivery tokens.

Rule: without a master key, the network runs and stores no secrets. If something is stored already, it does not start without
the key, so that pushes do not fail one after the other.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from postroad.adapters.master_keys import read_master_keys
from postroad.adapters.memory.secret_store import MemorySecretStore
from postroad.adapters.secret_store.postgres import PostgresSecretStore
from postroad.adapters.secret_store.sqlite import FILE, SqliteSecretStore
from postroad.adapters.secrets import OperatorsSecrets
from postroad.adapters.system import SystemRandomness
from postroad.bootstrap.settings import Settings
from postroad.core.identity.sealing import SealingKeys
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.flow.network import Network
from postroad.flow.registries.network_secrets import NetworkSecrets
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_reader import SecretReader
from postroad.flow.registries.secret_store import SecretStore
from postroad.flow.registries.secret_vault import SecretVault
from postroad.flow.registries.token_keys import SPREAD_US, TokenKeyRing
from postroad.ports import Secrets

SECRETS_FOLDER = "push-secrets"


def open_operator_secrets(settings: Settings) -> OperatorsSecrets:
    """Return the secrets that the operator keeps in files and variables."""
    return OperatorsSecrets(settings.data / SECRETS_FOLDER, os.environ)


async def read_keys(settings: Settings) -> SealingKeys | None:
    """Return the master keys, or None if none is set."""
    return await asyncio.to_thread(
        read_master_keys, settings.master_key, settings.master_key_file, settings.master_key_command
    )


async def open_vault(settings: Settings, network: Network, stack: AsyncExitStack) -> SecretVault | None:
    """Open the vault of a network whose directory is loaded; None without a master key."""
    masters = await read_keys(settings)
    store = await _open_store(settings, must_exist=masters is None)
    if store is None:
        return None
    stack.push_async_callback(store.close)
    if masters is None:
        await _refuse_missing_key(store)
        return None
    keys = await SecretKeys.open(store, masters, network.randomness)
    vault = SecretVault(
        store,
        keys,
        network.configuration,
        network.clock,
        network.wait_until_indexed,
        is_shared=settings.acceptance == "shared",
    )
    await vault.repair()
    return vault


async def open_token_ring(
    settings: Settings, network: Network, base_key: bytes, leads: Callable[[], Awaitable[bool]]
) -> TokenKeyRing | None:
    """Load the keys of delivery tokens; None without a master key, so that there is only the network's first key."""
    vault = network.vault
    if vault is None:
        return None
    ring = TokenKeyRing(
        network.plumbing,
        network.tokens,
        vault.store,
        vault.keys,
        base_key,
        leads,
        is_shared=settings.acceptance == "shared",
        spread_us=SPREAD_US,
    )
    await ring.load()
    return ring


@asynccontextmanager
async def read_secrets(settings: Settings, directory: Directory) -> AsyncIterator[Secrets]:
    """Provide the secrets of a network for checks, also while its server runs; nothing is changed."""
    async with AsyncExitStack() as stack:
        operators, masters = open_operator_secrets(settings), await read_keys(settings)
        store = await _open_store(settings, must_exist=True)
        if store is not None:
            stack.push_async_callback(store.close)
        if store is None or masters is None:
            yield NetworkSecrets(operators, None)
            return
        keys = await SecretKeys.open(store, masters, SystemRandomness())
        yield NetworkSecrets(operators, SecretReader(store, keys, lambda: directory, is_shared=True))


async def _open_store(settings: Settings, *, must_exist: bool) -> SecretStore | None:
    """Open the store; None if a file must exist and does not."""
    if settings.acceptance == "shared":
        return await PostgresSecretStore.open(settings.postgres)
    if settings.index == "memory":
        return None if must_exist else MemorySecretStore()
    path = settings.data / FILE
    return None if must_exist and not path.exists() else SqliteSecretStore.open(path)


async def _refuse_missing_key(store: SecretStore) -> None:
    if await store.list_data_keys("", 1) or await store.list_token_keys():
        raise Misconfigured(
            [
                "master key: secrets are stored in this network, but no master key is set; set master_key_file, "
                "master_key_command or master_key to the key that they were sealed with"
            ]
        )
