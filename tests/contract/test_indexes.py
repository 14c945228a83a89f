"""Every index keeps the contract of its port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.memory.index import MemoryIndex
from postroad.ports import Index
from postroad.testing.contracts.index.contract import IndexContract


class TestMemoryIndex(IndexContract):
    @pytest.fixture
    def index(self) -> Index:
        return MemoryIndex()


class TestSqliteIndex(IndexContract):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[Index]:
        index = SqliteIndex(tmp_path / "index.sqlite")
        yield index
        await index.close()


class TestPostgresIndex(IndexContract):
    @pytest.fixture
    async def index(self, postgres_database: str) -> AsyncIterator[Index]:
        index = await PostgresIndex.open(postgres_database)
        yield index
        await index.close()
