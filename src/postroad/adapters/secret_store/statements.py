"""The statements of the secret store and their parameters and rows, the same for SQLite and PostgreSQL.

Rule: an adapter only runs statements; what a call means is here once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from postroad.adapters.journal.postgres_schema import load_named_statements
from postroad.core.model.stored_secrets import StoredSecret, StoredTokenKey, WrappedDataKey

PACKAGE = "postroad.adapters.secret_store"
POSTGRES_SQL = load_named_statements(PACKAGE, "secrets.sql")
SQLITE_SQL = {name: re.sub(r"\$(\d+)", r"?\1", sql) for name, sql in POSTGRES_SQL.items()}

Statement = tuple[str, tuple[Any, ...]]  # name and parameters
Rows = list[Sequence[Any]]


class SqlSecretStore(ABC):
    """Implements ``SecretStore`` on any database that runs the named statements."""

    @abstractmethod
    async def _run(self, *statements: Statement) -> Rows:
        """Run the statements in one transaction; returns the rows of the last one."""

    async def load_meta(self, name: str) -> str:
        rows = await self._run(("meta", (name,)))
        return str(rows[0][0]) if rows else ""

    async def add_meta(self, name: str, value: str) -> str:
        await self._run(("add_meta", (name, value)))
        return await self.load_meta(name)

    async def set_meta(self, name: str, value: str) -> None:
        await self._run(("set_meta", (name, value)))

    async def find_data_key(self, organization: str) -> WrappedDataKey | None:
        rows = await self._run(("data_key", (organization,)))
        return _data_key(rows[0]) if rows else None

    async def add_data_key(self, key: WrappedDataKey) -> WrappedDataKey:
        await self._run(("add_data_key", (key.organization, key.wrapped)))
        return await self.find_data_key(key.organization) or key

    async def list_data_keys(self, after: str, limit: int) -> list[WrappedDataKey]:
        return [_data_key(row) for row in await self._run(("data_keys", (after, limit)))]

    async def rewrap_data_key(self, before: WrappedDataKey, wrapped: bytes) -> None:
        await self._run(("rewrap_data_key", (before.organization, before.wrapped, wrapped)))

    async def find_secrets(self, organization: str, service: str, name: str) -> list[StoredSecret]:
        rows = await self._run(("find", (organization, service, name)))
        return [StoredSecret._make((*row[:5], bytes(row[5]), bool(row[6]), row[7])) for row in rows]

    async def list_secrets(self, organization: str = "") -> list[StoredSecret]:
        rows = await self._run(("list_of", (organization,)) if organization else ("list", ()))
        return [StoredSecret._make((*row[:5], b"", bool(row[5]), row[6])) for row in rows]

    async def stage(self, secret: StoredSecret) -> bool:
        values = (*_place(secret), secret.version, secret.digest, secret.sealed, secret.staged_at_us)
        return bool(await self._run(("stage", values)))

    async def activate(self, secret: StoredSecret) -> None:
        await self._run(("activate", (*_place(secret), secret.version)), ("remove_older", _place(secret)))

    async def discard(self, secret: StoredSecret) -> None:
        await self._run(("discard", (*_place(secret), secret.version)))

    async def remove(self, secret: StoredSecret) -> None:
        await self._run(("remove", (*_place(secret), secret.version)))

    async def list_token_keys(self) -> list[StoredTokenKey]:
        return [StoredTokenKey(row[0], bytes(row[1]), *row[2:]) for row in await self._run(("token_keys", ()))]

    async def save_token_key(self, key: StoredTokenKey) -> None:
        await self._run(("save_token_key", tuple(key)))

    async def remove_token_key(self, key_id: str) -> None:
        await self._run(("remove_token_key", (key_id,)))


def _data_key(row: Sequence[Any]) -> WrappedDataKey:
    return WrappedDataKey(row[0], bytes(row[1]))


def _place(secret: StoredSecret) -> tuple[str, str, str]:
    return secret.organization, secret.service, secret.name
