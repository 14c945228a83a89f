"""Reads stored secrets for the services that may use them.

Rules: the journal decides which version is in force. A service reads its own secrets and those of its organization, and no
others. No error contains a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from postroad.core.identity.sealing import UnsealError
from postroad.core.model.directory import Service
from postroad.core.model.secret_entries import SECRET, secret_key
from postroad.core.model.snapshot import Directory
from postroad.core.model.stored_secrets import KnownSecret, StoredSecret, find_current
from postroad.errors import Misconfigured
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_store import SecretStore

Scope = tuple[str, str, str]  # organization, GCID of the service or empty, name


@dataclass(frozen=True, slots=True)
class ReadSecret:
    """A secret as it was read, or why it could not be opened."""

    changes: int  # made on this node before it was read
    text: str | None = field(default=None, repr=False)
    fault: str = ""


class SecretReader:
    """Reads secrets from the store, and keeps those that profiles refer to in memory."""

    def __init__(
        self, store: SecretStore, keys: SecretKeys, directory: Callable[[], Directory], *, is_shared: bool
    ) -> None:
        self.store = store
        self.keys = keys
        self._directory = directory
        self._is_shared = is_shared  # other nodes change secrets, so each use reads the store
        self._read: dict[Scope, ReadSecret] = {}
        self._changes = 0

    async def prepare(self, service: Service, name: str) -> None:
        """Read the service's own secret NAME, and its organization's, for ``recall``."""
        for scope in list_scopes(service, name):
            known = self._read.get(scope)
            if self._is_shared or known is None or known.changes != self._changes:
                self._read[scope] = await self._load(scope)

    def recall(self, service: Service, name: str) -> str:
        """Return the secret as ``prepare`` has read it; raises Misconfigured if there is none or it cannot be opened."""
        for scope in list_scopes(service, name):
            found = self._read.get(scope)
            if found is not None and found.fault:
                raise Misconfigured([found.fault])
            if found is not None and found.text is not None:
                return found.text
        raise Misconfigured([_missing(service, name)])

    def check(self, service: Service, name: str) -> None:
        """Raise Misconfigured if the directory does not list the secret."""
        directory = self._directory()
        if not any(directory.secret(*scope) for scope in list_scopes(service, name)):
            raise Misconfigured([_missing(service, name)])

    async def find_missing(self, organization: str) -> set[str]:
        """Return the keys of the organization's secrets that are listed but not stored, as after an incomplete restore."""
        owner = organization.casefold()
        rows: dict[str, list[StoredSecret]] = {}
        for row in await self.store.list_secrets(owner):
            rows.setdefault(secret_key(row.organization, row.service, row.name), []).append(row)
        listed = self._directory().secrets.of(owner)
        return {key for key in listed if find_current(rows.get(key, []), self._known_by(key)) is None}

    async def _load(self, scope: Scope) -> ReadSecret:
        place, changes = place_of(scope), self._changes
        row = find_current(await self.store.find_secrets(*place), self.find_known(place))
        if row is None:
            return ReadSecret(changes)
        try:
            text = await self.keys.unseal(row.sealed, *place, str(row.version))
        except UnsealError as error:
            return ReadSecret(changes, fault=f"secret:{scope[2]} of {scope[0]}: {error}. Set it again")
        return ReadSecret(changes, text.decode())

    def find_known(self, place: Scope) -> KnownSecret:
        """Return what the directory knows of a secret."""
        return self._known_by(secret_key(*place))

    def _known_by(self, key: str) -> KnownSecret:
        directory = self._directory()
        return KnownSecret(directory.secrets.get(key), directory.object_version(SECRET, key))


def place_of(scope: Scope) -> Scope:
    """Return where a secret is stored: names are compared without case."""
    organization, service, name = scope
    return organization.casefold(), service, name.casefold()


def list_scopes(service: Service, name: str) -> tuple[Scope, Scope]:
    """Return where a service's secret is looked for: its own first, then its organization's."""
    return (service.organization, service.gcid, name), (service.organization, "", name)


def _missing(service: Service, name: str) -> str:
    return f"secret:{name} does not exist; an owner of {service.organization} can set it"
