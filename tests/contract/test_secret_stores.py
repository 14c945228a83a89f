"""Each secret store passes the contract suite; the file is private, and a newer one is refused."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from postroad.adapters.memory.secret_store import MemorySecretStore
from postroad.adapters.secret_store.postgres import PostgresSecretStore
from postroad.adapters.secret_store.sqlite import FILE, SqliteSecretStore
from postroad.errors import Misconfigured
from postroad.flow.registries.secret_store import SecretStore
from postroad.testing.contracts.secret_store.contract import SecretStoreContract


class TestMemorySecretStore(SecretStoreContract):
    async def open(self) -> SecretStore:
        return MemorySecretStore()

    async def reopen(self, store: SecretStore) -> SecretStore:
        return store  # a restart would lose it


class TestSqliteSecretStore(SecretStoreContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.path = tmp_path / FILE

    async def open(self) -> SecretStore:
        return SqliteSecretStore.open(self.path)

    async def reopen(self, store: SecretStore) -> SecretStore:
        await store.close()
        return SqliteSecretStore.open(self.path)

    async def test_only_its_owner_may_read_the_file(self) -> None:
        await (await self.open()).close()
        assert self.path.stat().st_mode & 0o777 == 0o600

    async def test_a_file_of_a_newer_version_is_refused(self) -> None:
        await (await self.open()).close()
        connection = apsw.Connection(str(self.path))
        connection.pragma("user_version", 99)
        connection.close()
        with pytest.raises(Misconfigured, match="start a newer postroad"):
            await self.open()

    async def test_what_is_not_a_database_is_refused(self) -> None:
        self.path.write_bytes(b"not a database at all, but long enough" * 100)
        with pytest.raises(Misconfigured, match="restore it from a backup"):
            await self.open()


class TestPostgresSecretStore(SecretStoreContract):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_database: str) -> None:
        self.dsn = postgres_database

    async def open(self) -> SecretStore:
        return await PostgresSecretStore.open(self.dsn)

    async def reopen(self, store: SecretStore) -> SecretStore:
        await store.close()
        return await PostgresSecretStore.open(self.dsn)
