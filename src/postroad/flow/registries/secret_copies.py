"""Copies a secret store into another one, and fits the keys of delivery tokens to a journal that was restored.

Rules: everything is copied as it is sealed, so no master key is needed. Only the ports are used, so the two stores may be of
different kinds.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from postroad.core.identity.token_ring import rewind
from postroad.core.model.stored_secrets import StoredSecret, StoredTokenKey, WrappedDataKey
from postroad.flow.registries.secret_keys import MASTER, NETWORK, PAGE
from postroad.flow.registries.secret_store import SecretStore

META = (NETWORK, MASTER)

StoreSummary = tuple[list[str], list[StoredSecret], list[WrappedDataKey], list[StoredTokenKey]]


async def summarize(store: SecretStore) -> StoreSummary:
    """Return what differs after any change of the store: digests instead of the sealed bytes, and all keys."""
    return (
        [await store.load_meta(name) for name in META],
        await store.list_secrets(),
        [key async for key in list_all_data_keys(store)],
        await store.list_token_keys(),
    )


async def copy_secret_store(source: SecretStore, target: SecretStore) -> None:
    """Copy everything into an empty store.

    Secrets come before data keys: a secret that is set meanwhile may be missing, but none is copied without its key.
    """
    places = dict.fromkeys((one.organization, one.service, one.name) for one in await source.list_secrets())
    for place in places:
        for secret in await source.find_secrets(*place):
            await target.stage(secret)
            if secret.is_active:
                await target.activate(secret)
    async for key in list_all_data_keys(source):
        await target.add_data_key(key)
    for token_key in await source.list_token_keys():
        await target.save_token_key(token_key)
    for name in META:
        if value := await source.load_meta(name):
            await target.set_meta(name, value)


async def is_empty(store: SecretStore) -> bool:
    """Whether nothing is sealed in the store."""
    return not (await store.list_secrets() or await store.list_data_keys("", 1) or await store.list_token_keys())


async def rewind_token_keys(store: SecretStore, cut: int, now_us: int) -> None:
    """Fit the token keys to a journal whose last entry is ``cut`` again; see ``rewind``."""
    before = await store.list_token_keys()
    after = {key.id: key for key in rewind(before, cut, now_us)}
    for key in before:
        if key.id not in after:
            await store.remove_token_key(key.id)
        elif after[key.id] != key:
            await store.save_token_key(after[key.id])


async def list_all_data_keys(store: SecretStore) -> AsyncIterator[WrappedDataKey]:
    after = ""
    while page := await store.list_data_keys(after, PAGE):
        for key in page:
            yield key
        after = page[-1].organization
