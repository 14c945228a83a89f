"""The vault: scopes, versions, moved rows, a crash at each step, and what is in the journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from postroad.adapters.memory.secret_store import MemorySecretStore
from postroad.adapters.system import SystemRandomness
from postroad.core.identity.sealing import SealingKey, SealingKeys, find_key_id
from postroad.core.model.directory import Service
from postroad.core.model.journal import decode
from postroad.core.model.secret_entries import SecretChanged
from postroad.core.model.stored_secrets import StoredSecret
from postroad.errors import Misconfigured, Refused
from postroad.flow.registries.secret_keys import MASTER, SecretKeys
from postroad.flow.registries.secret_vault import SecretVault
from postroad.testing.network import MemoryNetwork, MemoryStorage, memory_network

INBOX = Service(gcid="a" * 16, organization="Acme", name="Inbox")
OUTBOX = Service(gcid="b" * 16, organization="Acme", name="Outbox")
FOREIGN = Service(gcid="c" * 16, organization="Birch", name="Inbox")
OF_ACME, OF_INBOX = ("Acme", "", "hook"), ("Acme", INBOX.gcid, "hook")
CANARY = "canary-0d9fd3b74c1da9d2"


class Crash(BaseException):
    """The process ends here."""


class CrashingStore(MemorySecretStore):
    """Ends the process before or after one of its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.before = self.after = ""

    async def stage(self, secret: StoredSecret) -> bool:
        return bool(await self._crash("stage", super().stage, secret))

    async def activate(self, secret: StoredSecret) -> None:
        await self._crash("activate", super().activate, secret)

    async def remove(self, secret: StoredSecret) -> None:
        await self._crash("remove", super().remove, secret)

    async def _crash(self, name: str, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        if self.before == name:
            raise Crash
        done = await work(*arguments)
        if self.after == name:
            raise Crash
        return done


def vault_of(running: MemoryNetwork) -> SecretVault:
    vault = running.network.vault
    assert vault is not None
    return vault


async def set_(running: MemoryNetwork, scope: tuple[str, str, str], text: str) -> int:
    return (await vault_of(running).set("ada@acme.example", scope, text, lambda directory: None)).version


async def read(running: MemoryNetwork, service: Service, name: str = "hook") -> str:
    vault = vault_of(running)
    await vault.prepare(service, name)
    return vault.recall(service, name)


async def changes_in(running: MemoryNetwork) -> list[SecretChanged]:
    entries = [decode(record.facts) for record in (await running.network.journal.read(0)).records]
    return [entry for entry in entries if isinstance(entry, SecretChanged)]


async def test_a_services_own_secret_goes_before_its_organizations() -> None:
    async with memory_network() as running:
        await set_(running, OF_ACME, "for all")
        assert await read(running, INBOX) == await read(running, OUTBOX, "HOOK") == "for all"
        await set_(running, OF_INBOX, "its own")
        assert (await read(running, INBOX), await read(running, OUTBOX)) == ("its own", "for all")


@pytest.mark.req("O9")
async def test_no_one_elses_secret_is_found() -> None:
    async with memory_network() as running:
        await set_(running, OF_ACME, CANARY)
        await set_(running, OF_INBOX, CANARY)
        for service, name in ((FOREIGN, "hook"), (FOREIGN, "../acme/hook"), (OUTBOX, "none"), (FOREIGN, "")):
            with pytest.raises(Misconfigured, match="does not exist") as fault:
                await read(running, service, name)
            assert CANARY not in str(fault.value)


async def test_a_change_is_used_at_once_and_a_removed_secret_no_more() -> None:
    async with memory_network() as running:
        assert await set_(running, OF_ACME, "first") == 1
        assert await read(running, INBOX) == "first"
        assert await set_(running, OF_ACME, "second") == 2
        assert await read(running, INBOX) == "second"
        await vault_of(running).remove("ada", OF_ACME, lambda directory: None)
        with pytest.raises(Misconfigured):
            await read(running, INBOX)
        assert await vault_of(running).store.list_secrets() == []
        assert await set_(running, OF_ACME, "third") == 4  # a version is never used again


@pytest.mark.req("O9")
async def test_the_journal_records_who_set_what_and_never_the_secret() -> None:
    storage = MemoryStorage()
    async with memory_network(storage=storage) as running:
        await set_(running, OF_ACME, CANARY)
        await vault_of(running).remove("bob@acme.example", OF_ACME, lambda directory: None)
        one, two = await changes_in(running)
        assert (one.by, one.what, one.organization, one.name, one.version) == (
            "ada@acme.example", "set", "Acme", "hook", 1,
        )  # fmt: skip
        assert (two.by, two.what, two.version, two.digest) == ("bob@acme.example", "removed", 2, "")
        facts = b"".join(record.facts for record in (await running.network.journal.read(0)).records)
        assert CANARY.encode() not in facts
        await running.network.wait_until_indexed()
        tables = str([await running.network.index.rows(table) for table in ("object", "object_version", "access")])
        assert CANARY not in tables
        assert "ada@acme.example" in tables


async def test_a_refused_change_leaves_nothing_behind() -> None:
    def refuse(directory: object) -> None:
        raise Refused("permission.denied", "no")

    async with memory_network() as running:
        with pytest.raises(Refused, match="no"):
            await vault_of(running).set("eve", OF_ACME, CANARY, refuse)
        assert await vault_of(running).store.list_secrets() == []
        assert await changes_in(running) == []


@pytest.mark.req("O9")
@pytest.mark.parametrize(
    ("moment", "step", "found"),
    [
        ("before", "stage", "old"),
        ("after", "stage", "old"),
        ("before", "activate", "new"),
        ("after", "activate", "new"),
    ],
)
async def test_a_crash_at_any_step_leaves_the_old_or_the_new_version(moment: str, step: str, found: str) -> None:
    store = CrashingStore()
    storage = MemoryStorage(secrets=store)
    async with memory_network(storage=storage) as running:
        await set_(running, OF_ACME, "old")
        setattr(store, moment, step)
        with pytest.raises(Crash):
            await set_(running, OF_ACME, "new")
        store.before = store.after = ""
        assert await read(running, INBOX) == found  # as another node reads it
    async with memory_network(storage=storage) as again:
        assert await read(again, INBOX) == found
        [row] = await store.find_secrets("acme", "", "hook")
        assert row.is_active
        await set_(again, OF_ACME, "newest")
        assert await read(again, INBOX) == "newest"
        assert len(await store.find_secrets("acme", "", "hook")) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_crash_during_a_removal_does_not_bring_the_secret_back(moment: str) -> None:
    store = CrashingStore()
    storage = MemoryStorage(secrets=store)
    async with memory_network(storage=storage) as running:
        await set_(running, OF_ACME, "old")
        setattr(store, moment, "remove")
        with pytest.raises(Crash):
            await vault_of(running).remove("ada", OF_ACME, lambda directory: None)
        store.before = store.after = ""
        with pytest.raises(Misconfigured):
            await read(running, INBOX)
    async with memory_network(storage=storage) as again:
        with pytest.raises(Misconfigured):
            await read(again, INBOX)
        assert await store.list_secrets() == []


async def test_a_crash_between_store_and_journal_is_settled_by_the_next_change() -> None:
    store = CrashingStore()
    async with memory_network(storage=MemoryStorage(secrets=store)) as running:
        store.after = "stage"
        with pytest.raises(Crash):
            await set_(running, OF_ACME, "lost")
        store.after = ""
        assert await set_(running, OF_ACME, "kept") == 1
        assert await read(running, INBOX) == "kept"


@pytest.mark.req("O9")
async def test_a_row_that_was_moved_cannot_be_opened() -> None:
    async with memory_network() as running:
        await set_(running, OF_ACME, CANARY)
        await set_(running, ("Acme", "", "other"), "another secret")
        await set_(running, ("Birch", "", "hook"), "of Birch")
        store = vault_of(running).store
        [mine] = await store.find_secrets("acme", "", "hook")
        [theirs] = await store.find_secrets("birch", "", "hook")
        for moved in (
            mine._replace(organization="birch", version=theirs.version + 1),
            mine._replace(name="other", version=mine.version + 1),
            mine._replace(service=INBOX.gcid),
            mine._replace(version=mine.version + 1),
        ):
            await store.stage(moved)
            await store.activate(moved)
        for service, name in ((FOREIGN, "hook"), (OUTBOX, "other"), (INBOX, "hook"), (OUTBOX, "hook")):
            with pytest.raises(Misconfigured, match="Set it again") as fault:
                await read(running, service, name)
            assert CANARY not in str(fault.value)


async def test_a_secret_that_the_store_has_lost_is_reported() -> None:
    storage = MemoryStorage()
    async with memory_network(storage=storage) as running:
        await set_(running, OF_ACME, "lost")
        await set_(running, OF_INBOX, "kept")
        [row] = await storage.secrets.find_secrets("acme", "", "hook")
        await storage.secrets.remove(row)
        assert await vault_of(running).find_missing("ACME") == {"acme//hook"}
        with pytest.raises(Misconfigured):
            await read(running, OUTBOX)


async def test_a_store_that_is_ahead_of_a_restored_journal_stays_usable() -> None:
    """The journal of a restore to a past point knows an older version than the store."""
    storage = MemoryStorage()
    async with memory_network(storage=storage) as running:
        for text in ("one", "two", "three"):
            await set_(running, OF_ACME, text)
    async with memory_network(storage=replace(MemoryStorage(), secrets=storage.secrets)) as restored:
        assert await read(restored, INBOX) == "three"
        assert await set_(restored, OF_ACME, "four") == 4
        assert await read(restored, INBOX) == "four"


OLD, NEW = SealingKey(b"o" * 32), SealingKey(b"n" * 32)


async def keys_of(store: MemorySecretStore, *masters: SealingKey) -> SecretKeys:
    return await SecretKeys.open(store, SealingKeys(masters), SystemRandomness())


class InterruptedStore(MemorySecretStore):
    """Ends the process after so many rewrapped keys."""

    left = 1_000

    async def rewrap_data_key(self, before: Any, wrapped: bytes) -> None:
        if not self.left:
            raise Crash
        self.left -= 1
        await super().rewrap_data_key(before, wrapped)


@pytest.mark.req("O9")
@pytest.mark.parametrize("done", range(6))
async def test_the_master_key_is_rotated_after_a_crash_at_any_key(done: int) -> None:
    store = InterruptedStore()
    keys = await keys_of(store, OLD)
    sealed = {f"org{number}": await keys.seal(b"text", f"org{number}", "x") for number in range(5)}
    both = await keys_of(store, NEW, OLD)
    assert (await both.count_uses()).counts == {OLD.id: 5}
    store.left = done
    if done < 5:
        with pytest.raises(Crash):
            await both.rotate_master()
        store.left = 1_000
        assert await keys.unseal(sealed["org4"], "org4", "x") == b"text"  # the other node goes on reading
        both = await keys_of(store, NEW, OLD)
    await both.rotate_master()
    assert (await both.count_uses()) == (NEW.id, {NEW.id: 5})
    fresh = await keys_of(store, NEW)
    for organization, text in sealed.items():
        assert await fresh.unseal(text, organization, "x") == b"text"


async def test_new_data_keys_use_the_old_master_key_until_the_rotation() -> None:
    """A node with both keys must not seal what a node with the old key alone cannot open."""
    store = MemorySecretStore()
    old_node, new_node = await keys_of(store, OLD), await keys_of(store, NEW, OLD)
    sealed = await new_node.seal(b"text", "acme", "x")
    assert await old_node.unseal(sealed, "acme", "x") == b"text"
    await new_node.rotate_master()
    [key] = await store.list_data_keys("", 10)
    assert find_key_id(key.wrapped) == NEW.id
    with pytest.raises(Misconfigured, match="add it here, and restart"):
        await old_node.seal(b"text", "birch", "x")


@pytest.mark.req("O9")
async def test_a_wrong_master_key_stops_the_start_and_names_both() -> None:
    store = MemorySecretStore()
    await (await keys_of(store, OLD)).seal(b"text", "acme", "x")
    with pytest.raises(Misconfigured, match=f"{OLD.id}.*{NEW.id}.*add the missing key"):
        await keys_of(store, NEW)
    assert await store.load_meta(MASTER) == OLD.id


async def test_a_master_key_that_seals_nothing_can_be_replaced() -> None:
    store = MemorySecretStore()
    await keys_of(store, OLD)
    await (await keys_of(store, NEW)).seal(b"text", "acme", "x")
    assert (await (await keys_of(store, NEW)).count_uses()) == (NEW.id, {NEW.id: 1})


async def test_an_organization_of_two_nodes_has_one_data_key() -> None:
    store = MemorySecretStore()
    one, two = await keys_of(store, OLD), await keys_of(store, OLD)
    sealed = await one.seal(b"text", "acme", "x")
    assert await two.unseal(sealed, "acme", "x") == b"text"
    assert len(await store.list_data_keys("", 10)) == 1
