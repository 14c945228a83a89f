"""Stored secrets and token keys in backups: they move between files and PostgreSQL, and fit a journal that was cut."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest

from postroad.adapters.journal.backup.contents import BackupContents
from postroad.adapters.journal.backup.secret_files import copy_stores
from postroad.adapters.secret_store.sqlite import FILE, SqliteSecretStore
from postroad.adapters.system import SystemRandomness
from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.identity.tokens import Tokens
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Organization,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.message import Delivered, Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.stored_secrets import StoredTokenKey
from postroad.flow.registries.configuration import build_save
from postroad.flow.registries.secret_vault import SecretVault
from tests.samples.push_receiver import Receiver, receiver
from tests.samples.served_network import json_lines, postroad, succeeded

MASTER_KEY, WRONG_KEY = "0d" * 32, "1e" * 32
KEY_WORDS = ("--set", f"master_key={MASTER_KEY}")
WRONG_WORDS = ("--set", f"master_key={WRONG_KEY}")
SCOPE, PATH = ("Acme", "", "hook"), "/inbox"
MYBIZ = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing", visibility=Visibility.PUBLIC)
SENDER = Caller(service=MYBIZ, level=AuthenticationLevel.KEY)
PRIVATE = 0o600

pytestmark = pytest.mark.req("O6", "O9")


@pytest.fixture
def receiving() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@asynccontextmanager
async def opened(folder: Path, store: dict[str, str] | None = None) -> AsyncIterator[RunningNetwork]:
    given = {"data": str(folder), "push_allow_private": "127.0.0.0/8", "master_key": MASTER_KEY} | (store or {})
    given |= {"segment_bytes": str(1 << 20), "least_free_bytes": str(1 << 20)}
    settings = read_settings(file=Path(os.devnull), environment={}, overrides=given)
    async with open_network(settings) as running:
        yield running


def words(store: dict[str, str]) -> list[str]:
    return [word for name, value in store.items() for word in ("--set", f"{name}={value}")]


async def configure(running: RunningNetwork, receiving: Receiver) -> None:
    push = Push(url=receiving.url(PATH), authentication=PushAuthentication.BEARER, secret_from="secret:hook")
    inbox = Service(
        gcid="b" * 16,
        organization="Acme",
        name="Inbox",
        visibility=Visibility.PUBLIC,
        delivery=DeliveryMode.PUSH,
        push=push,
    )
    items = [Organization(name="MyBiz"), Organization(name="Acme"), MYBIZ, inbox]
    await running.network.configuration.change("test", [build_save(item) for item in items])


def vault_of(running: RunningNetwork) -> SecretVault:
    assert running.network.vault is not None
    return running.network.vault


async def set_secret(running: RunningNetwork, text: str) -> None:
    await vault_of(running).set("ada@acme.example", SCOPE, text, lambda directory: None)


async def rotate(running: RunningNetwork) -> list[StoredTokenKey]:
    ring = running.network.token_keys
    assert ring is not None
    await ring.rotate(await ring.make_key())
    return token_keys(running)


def token_keys(running: RunningNetwork) -> list[StoredTokenKey]:
    assert running.network.token_keys is not None
    return running.network.token_keys.stored


async def pushed_with(running: RunningNetwork, receiving: Receiver) -> str:
    """Post a message to the push service, and return what the push used to authenticate."""
    before = len(receiving.at(PATH))
    await running.network.post(SENDER, Message(to=(Recipient("Acme/Inbox"),)))
    await asyncio.to_thread(receiving.wait_for, PATH, before + 1)
    return receiving.at(PATH)[-1].headers["authorization"]


async def leased(running: RunningNetwork) -> Delivered:
    part = Part(id="1", content_type="text/plain", data=SystemRandomness().bytes(4).hex().encode())
    await running.network.post(SENDER, Message(to=(Recipient("MyBiz/Purchasing"),), parts=(part,)))
    [delivered] = await running.network.poll(SENDER, PollRequest(wait_s=30, max=1))
    return delivered


async def settle(running: RunningNetwork, delivered: Delivered) -> str:
    """Acknowledge a delivery, and return the code of the refusal; empty if it is acknowledged."""
    [settled] = (await running.network.settle(SENDER, Settlement(tokens=(delivered.token,)))).settled
    return settled.code


def back_up(folder: Path, data: Path, *more: str) -> int:
    [told] = json_lines(succeeded("backup", folder, "--data", data, "--json", *KEY_WORDS, *more))
    return int(told["entries"])


def require_sealed(backup: Path, *canaries: str) -> None:
    """The store is in the backup, readable by its owner only, and no file contains a secret."""
    [store] = backup.glob(f"{FILE}.*")
    assert store.stat().st_mode & 0o777 == PRIVATE
    contents = b"".join(path.read_bytes() for path in backup.rglob("*") if path.is_file())
    assert [canary for canary in canaries if canary.encode() in contents] == []


def require_wrong_key_is_named(*command: str | Path) -> None:
    done = postroad(*command, *WRONG_WORDS)
    assert done.returncode == 1
    assert "add the missing key to master_key_file" in done.stderr or "It was sealed with the key" in done.stderr


async def test_secrets_and_token_keys_move_to_postgresql_and_back(
    tmp_path: Path, postgres_database: str, receiving: Receiver
) -> None:
    local, first = tmp_path / "local", tmp_path / "first"
    async with opened(local) as running:
        await configure(running, receiving)
        await set_secret(running, "canary-of-files")
        before = await leased(running)
        ring = await rotate(running)
        after = await leased(running)
    await asyncio.to_thread(back_up, first, local)
    require_sealed(first, "canary-of-files")

    shared, move = tmp_path / "shared", ("--to-postgres", postgres_database, "--nothing-lost")
    await asyncio.to_thread(require_wrong_key_is_named, "restore", first, *move, "--to", shared)
    await asyncio.to_thread(succeeded, "restore", first, *move, "--to", shared, *KEY_WORDS)
    assert not (shared / FILE).exists()
    secret = (shared / "token.secret").read_text().strip()
    store = {"acceptance": "shared", "index": "postgres", "postgres": postgres_database, "secret": secret}
    (shared / "token.secret").unlink()  # the setting has it now
    async with opened(shared, store) as running:
        assert token_keys(running) == ring
        assert await pushed_with(running, receiving) == "Bearer canary-of-files"
        assert [await settle(running, one) for one in (before, after)] == ["", ""]
        await set_secret(running, "canary-of-the-database")
        still_open = await leased(running)
    second = tmp_path / "second"
    await asyncio.to_thread(require_wrong_key_is_named, "backup", second, "--data", shared, *words(store))
    await asyncio.to_thread(back_up, second, shared, *words(store))
    require_sealed(second, "canary-of-files", "canary-of-the-database", secret)

    again = tmp_path / "again"
    await asyncio.to_thread(succeeded, "restore", second, "--to", again, "--nothing-lost", *KEY_WORDS)
    assert (again / FILE).stat().st_mode & 0o777 == PRIVATE
    async with opened(again) as running:
        assert token_keys(running) == ring
        assert await pushed_with(running, receiving) == "Bearer canary-of-the-database"
        assert await settle(running, still_open) == ""


async def test_a_wrong_master_key_is_named_also_if_only_the_store_is_sealed(
    tmp_path: Path, postgres_database: str, receiving: Receiver
) -> None:
    async with opened(tmp_path / "data") as running:
        await configure(running, receiving)
        await set_secret(running, "canary")
    backup = tmp_path / "backup"
    await asyncio.to_thread(back_up, backup, tmp_path / "data", "--secrets", "plain")
    for target in (("--to", tmp_path / "one"), ("--to-postgres", postgres_database)):
        done = await asyncio.to_thread(postroad, "restore", backup, *target, *WRONG_WORDS)
        assert (done.returncode, "add the missing key to master_key_file" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "one").exists()
    into = ("--to-postgres", postgres_database, "--nothing-lost")
    await asyncio.to_thread(succeeded, "restore", backup, *into, *KEY_WORDS)  # the failed one has left nothing


async def test_a_restore_to_before_a_rotation_signs_new_deliveries_with_the_new_key(
    tmp_path: Path, receiving: Receiver
) -> None:
    """Deliveries of entries after the cut do not exist any more; their numbers are used again."""
    data, backup = tmp_path / "data", tmp_path / "backup"
    async with opened(data) as running:
        await configure(running, receiving)
        before = await leased(running)
        cut = (await running.network.journal.head()).seq
        for _ in range(5):
            await leased(running)
        old, middle = await rotate(running)
        lost = await leased(running)
        newest = (await rotate(running))[-1]
        await leased(running)
    await asyncio.to_thread(back_up, backup, data)
    restored = tmp_path / "restored"
    await asyncio.to_thread(succeeded, "restore", backup, "--to", restored, "--until", str(cut), *KEY_WORDS)
    async with opened(restored) as running:
        assert [(key.id, key.from_seq) for key in token_keys(running)] == [(old.id, 0), (newest.id, cut + 1)]
        assert middle.id != newest.id
        assert await settle(running, before) == ""
        assert await settle(running, lost) != ""
        now = await leased(running)
        number = running.network.lookup.number(now)
        only_old = Tokens(bytes.fromhex((restored / "token.secret").read_text().strip()))
        assert not only_old.holds(now.token, number, now.session, now.recipient_gcid)
    async with opened(restored) as running:
        assert await settle(running, now) == ""
        stored = await rotate(running)
        assert [key.from_seq for key in stored] == sorted(key.from_seq or 0 for key in stored)
        assert await settle(running, await leased(running)) == ""
    assert BackupContents(backup).manifest.entries > cut


def test_a_store_is_copied_while_its_server_writes(tmp_path: Path) -> None:
    """The copy has what is committed, and nothing of a transaction in progress."""
    SqliteSecretStore.open(tmp_path / FILE)
    writer = apsw.Connection(str(tmp_path / FILE))
    writer.execute("BEGIN IMMEDIATE; INSERT INTO secret_meta VALUES ('half', 'written')")
    assert values_in(copy_stores(tmp_path)[FILE]) == []
    writer.execute("COMMIT")
    assert values_in(copy_stores(tmp_path)[FILE]) == [("half", "written")]
    writer.close()


def values_in(store: bytes) -> list[tuple[str, ...]]:
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", store)
    return list(connection.execute("SELECT name, value FROM secret_meta"))
