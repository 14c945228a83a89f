"""What notifications remember survives a restart, in a file and in PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.adapters.journal.segments.files import RealFiles
from postroad.adapters.notifications.states import (
    FileNotificationStore,
    MemoryNotificationStore,
    PostgresNotificationStore,
)
from postroad.ports import NotificationStore

DOCUMENT = b'{"seq":7}' + bytes(range(256)) * 1_000


async def check_contract(store: NotificationStore) -> None:
    assert await store.load() is None
    assert await store.save(b"first", b"")
    assert await store.save(DOCUMENT, b"first")
    assert await store.load() == DOCUMENT


async def check_that_the_newer_document_stays(store: NotificationStore) -> None:
    assert not await store.save(b"late", b"")
    assert not await store.save(b"late", b"first")
    assert await store.load() == DOCUMENT


async def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "followers" / "notifications.json"
    await check_contract(FileNotificationStore(file))
    assert await FileNotificationStore(file).load() == DOCUMENT
    assert [found.name for found in file.parent.iterdir()] == [file.name]


async def test_a_file_is_durable_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is synced after the new file has its name, so a power cut does not bring the old one back."""
    file, synced = tmp_path / "notifications.json", []
    monkeypatch.setattr(RealFiles, "sync_directory", lambda files, path: synced.append((path, file.read_bytes())))
    await FileNotificationStore(file).save(b"first", b"")
    await FileNotificationStore(file).save(DOCUMENT, b"first")
    assert synced == [(tmp_path, b"first"), (tmp_path, DOCUMENT)]


async def test_postgresql(postgres_database: str) -> None:
    store = await PostgresNotificationStore.open(postgres_database)
    await check_contract(store)
    await check_that_the_newer_document_stays(store)
    await store.close()
    again = await PostgresNotificationStore.open(postgres_database)
    assert await again.load() == DOCUMENT
    await again.close()


async def test_memory() -> None:
    store = MemoryNotificationStore()
    await check_contract(store)
    await check_that_the_newer_document_stays(store)
