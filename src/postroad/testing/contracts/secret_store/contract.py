"""The contract suite of secret stores. A new store's test is a subclass that opens one.

    class TestMyStore(SecretStoreContract):
        async def open(self) -> SecretStore: ...
        async def reopen(self, store: SecretStore) -> SecretStore: ...

Run with pytest and pytest-asyncio in auto mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from postroad.core.model.stored_secrets import StoredSecret, StoredTokenKey, WrappedDataKey
from postroad.flow.registries.secret_store import SecretStore

FIRST = StoredSecret("acme", "", "hook", 1, "ab" * 32, b"\x00sealed\xff", is_active=False, staged_at_us=7)
SECOND = FIRST._replace(version=2, sealed=b"other", digest="cd" * 32)
OF_SERVICE = FIRST._replace(service="0123456789abcdef")
OTHERS = FIRST._replace(organization="birch")


class SecretStoreContract(ABC):
    """The whole suite; each test opens a store of its own."""

    @abstractmethod
    async def open(self) -> SecretStore:
        """Return a new, empty store."""

    @abstractmethod
    async def reopen(self, store: SecretStore) -> SecretStore:
        """Return the same store closed and opened again, like after a restart."""

    async def test_a_new_store_is_empty(self) -> None:
        store = await self.open()
        assert await store.list_secrets() == []
        assert await store.list_data_keys("", 10) == []
        assert await store.list_token_keys() == []
        assert await store.find_data_key("acme") is None
        assert await store.load_meta("network") == ""
        await store.close()

    async def test_the_first_value_stays_unless_it_is_set(self) -> None:
        store = await self.open()
        assert await store.add_meta("network", "one") == "one"
        assert await store.add_meta("network", "two") == "one"
        await store.set_meta("network", "three")
        assert await store.load_meta("network") == "three"
        await store.close()

    async def test_an_organization_has_one_data_key(self) -> None:
        store = await self.open()
        first = WrappedDataKey("acme", b"\x01\x00")
        assert await store.add_data_key(first) == first
        assert await store.add_data_key(WrappedDataKey("acme", b"later")) == first
        await store.add_data_key(WrappedDataKey("birch", b"b"))
        assert await store.list_data_keys("", 1) == [first]
        assert [key.organization for key in await store.list_data_keys("acme", 10)] == ["birch"]
        await store.close()

    async def test_a_data_key_is_rewrapped_only_as_it_was_read(self) -> None:
        store = await self.open()
        first = await store.add_data_key(WrappedDataKey("acme", b"old"))
        await store.rewrap_data_key(first, b"new")
        await store.rewrap_data_key(first, b"a slower node's")
        assert await store.find_data_key("acme") == WrappedDataKey("acme", b"new")
        await store.close()

    async def test_a_staged_version_is_not_active_and_is_not_replaced(self) -> None:
        store = await self.open()
        assert await store.stage(FIRST)
        assert not await store.stage(FIRST._replace(sealed=b"another node's"))
        assert await store.find_secrets("acme", "", "hook") == [FIRST]
        await store.close()

    async def test_activating_a_version_removes_older_ones(self) -> None:
        store = await self.open()
        for secret in (FIRST, OF_SERVICE, OTHERS):
            await store.stage(secret)
            await store.activate(secret)
        await store.stage(SECOND)
        assert [one.is_active for one in await store.find_secrets("acme", "", "hook")] == [True, False]
        await store.activate(SECOND)
        assert await store.find_secrets("acme", "", "hook") == [SECOND._replace(is_active=True)]
        assert await store.find_secrets("acme", OF_SERVICE.service, "hook") == [OF_SERVICE._replace(is_active=True)]
        assert await store.find_secrets("birch", "", "hook") == [OTHERS._replace(is_active=True)]
        await store.close()

    async def test_a_late_activation_of_an_older_version_changes_nothing(self) -> None:
        store = await self.open()
        await store.stage(FIRST)
        await store.stage(SECOND)
        await store.activate(SECOND)
        await store.activate(FIRST)
        assert [one.version for one in await store.find_secrets("acme", "", "hook")] == [2]
        await store.close()

    async def test_only_a_version_that_is_not_active_is_discarded(self) -> None:
        store = await self.open()
        await store.stage(FIRST)
        await store.activate(FIRST)
        await store.stage(SECOND)
        await store.discard(SECOND)
        await store.discard(FIRST)
        assert [one.version for one in await store.find_secrets("acme", "", "hook")] == [1]
        await store.close()

    async def test_removal_leaves_newer_versions_and_other_secrets(self) -> None:
        store = await self.open()
        for secret in (FIRST, SECOND, OTHERS, OF_SERVICE):
            await store.stage(secret)
        await store.remove(FIRST)
        assert [one.version for one in await store.find_secrets("acme", "", "hook")] == [2]
        await store.remove(SECOND)
        assert await store.find_secrets("acme", "", "hook") == []
        assert [one.organization for one in await store.list_secrets()] == ["acme", "birch"]
        await store.close()

    async def test_lists_contain_no_sealed_bytes(self) -> None:
        store = await self.open()
        await store.stage(FIRST)
        await store.stage(OTHERS)
        assert await store.list_secrets() == [FIRST._replace(sealed=b""), OTHERS._replace(sealed=b"")]
        assert await store.list_secrets("birch") == [OTHERS._replace(sealed=b"")]
        await store.close()

    async def test_token_keys_are_listed_by_age_and_changed_in_place(self) -> None:
        store = await self.open()
        new = StoredTokenKey("new", b"w", 20, None, None, None)
        base = StoredTokenKey("base", b"", 10, 0, 10, 0)
        for key in (new, base):
            await store.save_token_key(key)
        await store.save_token_key(new._replace(from_seq=1 << 40, signs_at_us=30))
        assert await store.list_token_keys() == [base, new._replace(from_seq=1 << 40, signs_at_us=30)]
        await store.remove_token_key("base")
        assert [key.id for key in await store.list_token_keys()] == ["new"]
        await store.close()

    async def test_everything_is_there_after_a_restart(self) -> None:
        store = await self.open()
        await store.stage(FIRST)
        await store.activate(FIRST)
        await store.add_data_key(WrappedDataKey("acme", b"k"))
        await store.set_meta("master", "id")
        again = await self.reopen(store)
        assert await again.find_secrets("acme", "", "hook") == [FIRST._replace(is_active=True)]
        assert await again.find_data_key("acme") == WrappedDataKey("acme", b"k")
        assert await again.load_meta("master") == "id"
        await again.close()
