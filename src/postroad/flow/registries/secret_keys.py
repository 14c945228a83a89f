"""The keys that seal secrets: one data key for each organization, sealed with a master key.

Rule: every use of a key is bound to this network and to the owner of what is sealed, so no row of the store can be moved to
another organization or network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from postroad.core.identity.sealing import (
    KEY_BYTES,
    NONCE_BYTES,
    SealingKey,
    SealingKeys,
    UnsealError,
    find_key_id,
    seal,
)
from postroad.core.model.stored_secrets import StoredTokenKey, WrappedDataKey
from postroad.errors import Misconfigured
from postroad.flow.registries.secret_store import SecretStore
from postroad.ports import Randomness

NETWORK, MASTER = "network", "master"  # values of the store: the network's ID, and the ID of the master key in use
NETWORK_ID_BYTES = 16
PAGE = 200


class MasterKeyUse(NamedTuple):
    """How many keys are sealed with each master key, by its ID, and which one is used for new ones."""

    in_use: str
    counts: dict[str, int]


class SecretKeys:
    """Creates, reads and rewraps data keys, and wraps the keys of delivery tokens."""

    def __init__(self, store: SecretStore, masters: SealingKeys, randomness: Randomness, network_id: str) -> None:
        self._store = store
        self._masters = masters
        self._randomness = randomness
        self._network_id = network_id
        self._data_keys: dict[str, SealingKey] = {}

    @classmethod
    async def open(cls, store: SecretStore, masters: SealingKeys, randomness: Randomness) -> SecretKeys:
        """Return the keys of the network; raises Misconfigured if a master key is missing that something is sealed with."""
        network_id = await store.add_meta(NETWORK, randomness.bytes(NETWORK_ID_BYTES).hex())
        await store.add_meta(MASTER, masters.first.id)
        keys = cls(store, masters, randomness, network_id)
        use = await keys.count_uses()
        if not use.counts and use.in_use not in masters.ids:  # nothing is sealed yet, so any key will do
            await store.set_meta(MASTER, masters.first.id)
            return keys
        if missing := sorted({use.in_use, *use.counts} - set(masters.ids)):
            raise Misconfigured(
                [
                    f"master key: secrets are sealed with the master key {', '.join(missing)}, but the keys that are set are "
                    f"{', '.join(masters.ids)}; add the missing key to master_key_file, master_key_command or master_key"
                ]
            )
        return keys

    @property
    def available(self) -> tuple[str, ...]:
        """Return the IDs of the master keys that this node has, newest first."""
        return self._masters.ids

    async def seal(self, text: bytes, organization: str, *context: str) -> bytes:
        """Seal a text with the data key of the organization, which is created at the first use."""
        key = await self._find_data_key(organization) or await self._create_data_key(organization)
        owner = ("secret", self._network_id, organization)
        return seal(key, text, self._nonce(), *owner, *context)

    async def unseal(self, sealed: bytes, organization: str, *context: str) -> bytes:
        """Return the text; raises UnsealError."""
        key = await self._find_data_key(organization)
        if key is None:
            raise UnsealError("The data key of its organization is missing")
        return SealingKeys([key]).unseal(sealed, "secret", self._network_id, organization, *context)

    async def wrap_token_key(self, key: SealingKey) -> bytes:
        return seal(await self._find_master(), key.key, self._nonce(), "token key", self._network_id, key.id)

    def unwrap_token_key(self, stored: StoredTokenKey) -> bytes:
        return self._masters.unseal(stored.wrapped, "token key", self._network_id, stored.id)

    async def count_uses(self) -> MasterKeyUse:
        counts: dict[str, int] = {}
        async for key in self._list_data_keys():
            counts[find_key_id(key.wrapped)] = counts.get(find_key_id(key.wrapped), 0) + 1
        for token_key in await self._store.list_token_keys():
            if token_key.wrapped:
                counts[find_key_id(token_key.wrapped)] = counts.get(find_key_id(token_key.wrapped), 0) + 1
        return MasterKeyUse(await self._store.load_meta(MASTER), counts)

    async def rotate_master(self) -> int:
        """Seal every key with the first master key; returns how many were sealed again. An interrupted call is repeated."""
        await self._store.set_meta(MASTER, self._masters.first.id)
        done = await self._rewrap_token_keys()
        while rewrapped := await self._rewrap_data_keys():  # another node may have created one with the old master key
            done += rewrapped
        return done

    async def _rewrap_data_keys(self) -> int:
        first, done = self._masters.first, 0
        async for before in self._list_data_keys():
            if find_key_id(before.wrapped) != first.id:
                key = self._unwrap(before)
                await self._store.rewrap_data_key(before, self._wrap(first, key, before.organization))
                done += 1
        return done

    async def _rewrap_token_keys(self) -> int:
        first, done = self._masters.first, 0
        for stored in await self._store.list_token_keys():
            if stored.wrapped and find_key_id(stored.wrapped) != first.id:
                key = SealingKey(self.unwrap_token_key(stored), stored.id)
                await self._store.save_token_key(stored._replace(wrapped=await self.wrap_token_key(key)))
                done += 1
        return done

    async def _list_data_keys(self) -> AsyncIterator[WrappedDataKey]:
        after = ""
        while page := await self._store.list_data_keys(after, PAGE):
            for key in page:
                yield key
            after = page[-1].organization

    async def _find_data_key(self, organization: str) -> SealingKey | None:
        known = self._data_keys.get(organization)
        if known is None and (stored := await self._store.find_data_key(organization)) is not None:
            known = self._data_keys[organization] = self._unwrap(stored)
        return known

    async def _create_data_key(self, organization: str) -> SealingKey:
        new = SealingKey(self._randomness.bytes(KEY_BYTES))
        wrapped = self._wrap(await self._find_master(), new, organization)
        stored = await self._store.add_data_key(WrappedDataKey(organization, wrapped))
        key = self._data_keys[organization] = self._unwrap(stored)  # that of another node, if it was faster
        return key

    async def _find_master(self) -> SealingKey:
        """Return the master key for new keys; not the first one before ``rotate_master``, as other nodes may lack it."""
        master = self._masters.find(await self._store.load_meta(MASTER))
        if master is None:
            raise Misconfigured(
                [
                    "master key: another node has rotated to a key that this node lacks; add it here, and restart the node"
                ]
            )
        return master

    def _wrap(self, master: SealingKey, key: SealingKey, organization: str) -> bytes:
        return seal(master, key.key, self._nonce(), "data key", self._network_id, organization)

    def _unwrap(self, stored: WrappedDataKey) -> SealingKey:
        return SealingKey(self._masters.unseal(stored.wrapped, "data key", self._network_id, stored.organization))

    def _nonce(self) -> bytes:
        return self._randomness.bytes(NONCE_BYTES)
