"""The port of secret stores, which the vault reads and writes; adapters implement it.

Rule: a new store is finished when it passes the contract suite in ``postroad.testing.contracts.secret_store``.
"""

from __future__ import annotations

from typing import Protocol

from postroad.core.model.stored_secrets import StoredSecret, StoredTokenKey, WrappedDataKey


class SecretStore(Protocol):
    """Stores sealed secrets and the keys that seal them; nothing in it can be read without the master key.

    A secret is staged, then recorded in the journal, then activated; each call is atomic and durable.
    """

    async def load_meta(self, name: str) -> str:
        """Return a value of the store; empty if it is not set."""
        ...

    async def add_meta(self, name: str, value: str) -> str:
        """Set a value unless it is set already; returns the value that is stored."""
        ...

    async def set_meta(self, name: str, value: str) -> None: ...

    async def find_data_key(self, organization: str) -> WrappedDataKey | None: ...

    async def add_data_key(self, key: WrappedDataKey) -> WrappedDataKey:
        """Store the key unless the organization has one; returns the one that is stored."""
        ...

    async def list_data_keys(self, after: str, limit: int) -> list[WrappedDataKey]:
        """Return data keys by organization, after the given one."""
        ...

    async def rewrap_data_key(self, before: WrappedDataKey, wrapped: bytes) -> None:
        """Replace the wrapping of a data key, unless another node has done so."""
        ...

    async def find_secrets(self, organization: str, service: str, name: str) -> list[StoredSecret]:
        """Return all versions of a secret, oldest first; usually there is one."""
        ...

    async def list_secrets(self, organization: str = "") -> list[StoredSecret]:
        """Return all versions of all secrets, of one organization if it is given, without the sealed bytes."""
        ...

    async def stage(self, secret: StoredSecret) -> bool:
        """Store a version that is not active yet; returns False if this version exists."""
        ...

    async def activate(self, secret: StoredSecret) -> None:
        """Put a version in force, and remove all older ones."""
        ...

    async def discard(self, secret: StoredSecret) -> None:
        """Remove a version that is not active."""
        ...

    async def remove(self, secret: StoredSecret) -> None:
        """Remove this version and all older ones."""
        ...

    async def list_token_keys(self) -> list[StoredTokenKey]:
        """Return the keys of delivery tokens, oldest first."""
        ...

    async def save_token_key(self, key: StoredTokenKey) -> None: ...

    async def remove_token_key(self, key_id: str) -> None: ...

    async def close(self) -> None: ...
