"""The store of sealed secrets in backups: ``secrets.sqlite``, wherever the network has its store.

Rule: the contents stay sealed. The master key is only used to check that it is the one that they were sealed with.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from postroad.adapters.desk.shared_rebuild import Replay
from postroad.adapters.journal.backup.secret_files import ReadStores, SecretContents, copy_stores
from postroad.adapters.journal.postgres_connections import Connection
from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.adapters.secret_store.postgres import PostgresSecretStore, SecretStoreOnConnection
from postroad.adapters.secret_store.sqlite import FILE, SqliteSecretStore
from postroad.adapters.system import SystemRandomness
from postroad.bootstrap.settings import Settings
from postroad.core.identity.sealing import SealingKeys
from postroad.errors import Misconfigured
from postroad.flow.registries.secret_copies import (
    StoreSummary,
    copy_secret_store,
    is_empty,
    rewind_token_keys,
    summarize,
)
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_store import SecretStore


async def open_store_reader(settings: Settings, stack: AsyncExitStack) -> ReadStores:
    """Return the function that copies the network's store as it is now."""
    if settings.acceptance == "shared":
        store = await PostgresSecretStore.open(settings.postgres)
        stack.push_async_callback(store.close)
        return SharedStoreCopy(store).read

    async def read() -> SecretContents:
        return await asyncio.to_thread(copy_stores, settings.data)

    return read


class SharedStoreCopy:
    """Copies the store of a shared network into the form of a file; again only when it has changed."""

    def __init__(self, store: SecretStore) -> None:
        self._store = store
        self._summary: StoreSummary | None = None
        self._copied: SecretContents = {}

    async def read(self) -> SecretContents:
        """Return the copy; nothing if the network stores no secrets."""
        summary = await summarize(self._store)  # before the copy, so that a change meanwhile is copied by the next call
        if summary != self._summary:
            self._copied = {} if await is_empty(self._store) else {FILE: await _copy_to_bytes(self._store)}
            self._summary = summary
        return self._copied


async def _copy_to_bytes(store: SecretStore) -> bytes:
    target = SqliteSecretStore.open_in_memory()
    try:
        await copy_secret_store(store, target)
        return target.serialize()
    finally:
        await target.close()


async def require_master_keys(stores: SecretContents, keys: SealingKeys | None) -> None:
    """Raise Misconfigured if master keys are set and the store's contents were sealed with another one."""
    if keys is None or FILE not in stores:
        return
    store = SqliteSecretStore.open_in_memory(stores[FILE])
    try:
        await SecretKeys.open(store, keys, SystemRandomness())
    finally:
        await store.close()


async def rewind_store(stores: SecretContents, cut: int, now_us: int) -> SecretContents:
    """Return the secrets with the store's token keys fitted to a journal that ends with entry ``cut``."""
    if FILE not in stores:
        return stores
    store = SqliteSecretStore.open_in_memory(stores[FILE])
    try:
        await rewind_token_keys(store, cut, now_us)
        return {**stores, FILE: store.serialize()}
    finally:
        await store.close()


class RestoredTables:
    """Fills the desk's tables and the secret store in the transaction of a restore."""

    def __init__(self, secrets: bytes) -> None:
        self._desk = Replay()
        self._secrets = secrets  # contents of the store's file; empty: there is none

    def add(self, group: RecordGroup) -> None:
        self._desk.add(group)

    async def store(self, connection: Connection) -> None:
        await self._desk.store(connection)
        if self._secrets:
            await _fill(SecretStoreOnConnection(connection), self._secrets)


async def _fill(target: SecretStore, secrets: bytes) -> None:
    if not await is_empty(target):
        raise Misconfigured(["restore: the database already stores secrets; restore into an empty database"])
    source = SqliteSecretStore.open_in_memory(secrets)
    try:
        await copy_secret_store(source, target)
    finally:
        await source.close()
