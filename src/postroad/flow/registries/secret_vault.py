"""Sets and removes the secrets of organizations.

A secret is set in three steps: it is *staged* in the store, *recorded* in the journal, and *activated* in the store. Rules: the
journal decides which version is in force, so a crash between two steps leaves the old version or the new one, never none. No
secret is in the journal, in a log or in an error text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hashlib import sha256

from postroad.core.model.secret_entries import REMOVED, SECRET, SET, SecretChanged, SecretRecord, secret_key
from postroad.core.model.snapshot import Directory
from postroad.core.model.stored_secrets import StoredSecret, list_repairs
from postroad.errors import Refused
from postroad.flow.concurrency.commit import run_to_completion
from postroad.flow.plumbing import WaitUntilIndexed
from postroad.flow.registries.configuration import Configuration
from postroad.flow.registries.secret_keys import SecretKeys
from postroad.flow.registries.secret_reader import Scope, SecretReader, place_of
from postroad.flow.registries.secret_store import SecretStore
from postroad.ports import Clock

ABANDONED_AFTER_US = 60_000_000  # on a shared network, another node may still be setting a younger version

Check = Callable[[Directory], object]  # raises Refused if the change is not allowed


class SecretVault(SecretReader):
    """Reads and changes the secrets of a network."""

    def __init__(
        self,
        store: SecretStore,
        keys: SecretKeys,
        configuration: Configuration,
        clock: Clock,
        wait_until_indexed: WaitUntilIndexed,
        *,
        is_shared: bool,
    ) -> None:
        super().__init__(store, keys, configuration.directory, is_shared=is_shared)
        self._configuration = configuration
        self._clock = clock
        self._wait_until_indexed = wait_until_indexed
        self._one_at_a_time = asyncio.Lock()

    async def repair(self) -> None:
        """Finish what a crash has left undone; called at the start, when the directory is loaded."""
        now_us = self._clock.now_us()
        before_us = now_us - ABANDONED_AFTER_US if self._is_shared else now_us + 1
        rows = [
            (row, self.find_known((row.organization, row.service, row.name))) for row in await self.store.list_secrets()
        ]
        repairs = list_repairs(rows, before_us)
        for row in repairs.activate:
            await self.store.activate(row)
        for row in repairs.discard:
            await self.store.discard(row)
        for row in repairs.remove:
            await self.store.remove(row)

    async def set(self, by: str, scope: Scope, text: str, check: Check) -> SecretRecord:
        """Set a secret; returns when its new version is in force on all nodes. ``check`` runs on the newest directory."""
        return await run_to_completion(self._set(by, scope, text, check))

    async def remove(self, by: str, scope: Scope, check: Check) -> None:
        """Remove a secret; it is no longer used when this returns."""
        await run_to_completion(self._remove(by, scope, check))

    async def _set(self, by: str, scope: Scope, text: str, check: Check) -> SecretRecord:
        async with self._one_at_a_time:
            check(self._directory())
            staged = await self._stage(scope, text)
            entry = self._entry(by, SET, scope, staged.version, staged.digest)
            try:
                directory = await self._configuration.record_secret(lambda newest: _checked(check, newest, entry))
            except Refused:
                await self.store.discard(staged)
                raise
            await self.store.activate(staged)
            self._changes += 1
            record = directory.secret(*scope)
            if record is None:
                raise _busy(scope)
            return record

    async def _remove(self, by: str, scope: Scope, check: Check) -> None:
        async with self._one_at_a_time:
            check(self._directory())
            rows = await self._settle_interrupted(scope)
            entry = self._entry(by, REMOVED, scope, self._next_version(scope, rows))
            await self._configuration.record_secret(lambda newest: _checked(check, newest, entry))
            for row in rows:
                await self.store.remove(row)
            self._changes += 1

    def _entry(self, by: str, what: str, scope: Scope, version: int, digest: str = "") -> SecretChanged:
        organization, service, name = scope
        return SecretChanged(
            at_us=self._clock.now_us(),
            by=by,
            what=what,
            organization=organization,
            service=service,
            name=name,
            version=version,
            digest=digest,
        )

    async def _stage(self, scope: Scope, text: str) -> StoredSecret:
        """Seal the text as the next version, and store it; it is not in force yet."""
        place = place_of(scope)
        version = self._next_version(scope, await self._settle_interrupted(scope))
        sealed = await self.keys.seal(text.encode(), *place, str(version))
        staged = StoredSecret(
            *place, version, sha256(sealed).hexdigest(), sealed, is_active=False, staged_at_us=self._clock.now_us()
        )
        if not await self.store.stage(staged):
            raise _busy(scope)
        return staged

    def _next_version(self, scope: Scope, rows: list[StoredSecret]) -> int:
        """Return a version that was never used, also if the journal was restored to an earlier entry than the store."""
        return 1 + max([self.find_known(place_of(scope)).last_version, *(row.version for row in rows)])

    async def _settle_interrupted(self, scope: Scope) -> list[StoredSecret]:
        """Return the stored versions; activates or discards one whose change was interrupted."""
        place = place_of(scope)
        rows = await self.store.find_secrets(*place)
        staged = [row for row in rows if not row.is_active]
        if not staged:
            return rows
        if self._is_shared and self._clock.now_us() - staged[-1].staged_at_us < ABANDONED_AFTER_US:
            raise _busy(scope)
        await self._wait_until_indexed()
        await self._configuration.load()
        for row in staged:
            if self.find_known(place).is_recorded(row):
                await self.store.activate(row)
            else:
                await self.store.discard(row)
        return await self.store.find_secrets(*place)


def _checked(check: Check, directory: Directory, entry: SecretChanged) -> SecretChanged:
    """Return the entry if the change is still allowed and no other node has used its version."""
    check(directory)
    key = secret_key(entry.organization, entry.service, entry.name)
    if directory.object_version(SECRET, key) >= entry.version:
        raise _busy((entry.organization, entry.service, entry.name))
    return entry


def _busy(scope: Scope) -> Refused:
    return Refused("version.conflict", f"Another client is changing the secret {scope[2]}; try again in a minute")
