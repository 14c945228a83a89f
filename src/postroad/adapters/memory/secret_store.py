"""The secret store in memory, for tests and networks without files."""

from __future__ import annotations

from postroad.core.model.stored_secrets import StoredSecret, StoredTokenKey, WrappedDataKey

_Place = tuple[str, str, str]


class MemorySecretStore:
    """Implements ``SecretStore``; everything is lost with the process."""

    def __init__(self) -> None:
        self._meta: dict[str, str] = {}
        self._data_keys: dict[str, WrappedDataKey] = {}
        self._secrets: dict[_Place, dict[int, StoredSecret]] = {}
        self._token_keys: dict[str, StoredTokenKey] = {}

    async def load_meta(self, name: str) -> str:
        return self._meta.get(name, "")

    async def add_meta(self, name: str, value: str) -> str:
        return self._meta.setdefault(name, value)

    async def set_meta(self, name: str, value: str) -> None:
        self._meta[name] = value

    async def find_data_key(self, organization: str) -> WrappedDataKey | None:
        return self._data_keys.get(organization)

    async def add_data_key(self, key: WrappedDataKey) -> WrappedDataKey:
        return self._data_keys.setdefault(key.organization, key)

    async def list_data_keys(self, after: str, limit: int) -> list[WrappedDataKey]:
        return [key for name, key in sorted(self._data_keys.items()) if name > after][:limit]

    async def rewrap_data_key(self, before: WrappedDataKey, wrapped: bytes) -> None:
        if self._data_keys.get(before.organization) == before:
            self._data_keys[before.organization] = before._replace(wrapped=wrapped)

    async def find_secrets(self, organization: str, service: str, name: str) -> list[StoredSecret]:
        versions = self._secrets.get((organization, service, name), {})
        return [versions[number] for number in sorted(versions)]

    async def list_secrets(self, organization: str = "") -> list[StoredSecret]:
        found = [one for versions in self._secrets.values() for one in versions.values()]
        return sorted(one._replace(sealed=b"") for one in found if organization in ("", one.organization))

    async def stage(self, secret: StoredSecret) -> bool:
        versions = self._secrets.setdefault(secret[:3], {})
        if secret.version in versions:
            return False
        versions[secret.version] = secret._replace(is_active=False)
        return True

    async def activate(self, secret: StoredSecret) -> None:
        versions = self._secrets.get(secret[:3], {})
        if secret.version in versions:
            versions[secret.version] = versions[secret.version]._replace(is_active=True)
        newest = max((number for number, one in versions.items() if one.is_active), default=0)
        self._secrets[secret[:3]] = {number: one for number, one in versions.items() if number >= newest}

    async def discard(self, secret: StoredSecret) -> None:
        versions = self._secrets.get(secret[:3], {})
        if secret.version in versions and not versions[secret.version].is_active:
            del versions[secret.version]

    async def remove(self, secret: StoredSecret) -> None:
        versions = self._secrets.get(secret[:3], {})
        self._secrets[secret[:3]] = {number: one for number, one in versions.items() if number > secret.version}

    async def list_token_keys(self) -> list[StoredTokenKey]:
        return sorted(self._token_keys.values(), key=lambda key: (key.added_at_us, key.id))

    async def save_token_key(self, key: StoredTokenKey) -> None:
        self._token_keys[key.id] = key

    async def remove_token_key(self, key_id: str) -> None:
        self._token_keys.pop(key_id, None)

    async def close(self) -> None:
        """Nothing to close."""
