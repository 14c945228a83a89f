"""Journals in files and in PostgreSQL are read alike, with their bodies, by name alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.core.model.journal import Copy, encode
from postroad.ports import NewRecord
from postroad.warehouse.bulk import archive, journals
from postroad.warehouse.bulk.archive import Form, pieces_of
from postroad.warehouse.bulk.archived import Archived, Unreadable
from postroad.warehouse.bulk.configuration import changed_directory, directories_in
from postroad.warehouse.bulk.journals import shown
from postroad.warehouse.bulk.reading import Unsaid, read
from tests.warehouse.bulk.traffic import document, messages, order
from tests.warehouse.whatif.written_journal import WrittenJournal

DIRECTORY = changed_directory(document())


@pytest.fixture
def written() -> WrittenJournal:
    journal = WrittenJournal(DIRECTORY)
    for message in messages() * 3:
        journal.post(message)
    return journal


def in_postgres(journal: WrittenJournal, address: str) -> None:
    async def write() -> None:
        stored = await PostgresJournal.open(address)
        records = [NewRecord(encode(entry), body) for entry, body in journal.entries]
        for start in range(0, len(records), 7):
            await stored.append(records[start : start + 7])
        await stored.close()

    asyncio.run(write())


def items_in(name: str) -> list[Archived | Unreadable]:
    return [item for piece in pieces_of(name) for item in read(piece, Unsaid())]


def told(items: list[Archived | Unreadable]) -> list[object]:
    return [(item.place.position, item.message) if isinstance(item, Archived) else item.code for item in items]


def test_both_journals_give_the_same_messages_however_they_are_cut(
    written: WrittenJournal, tmp_path: Path, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.write(tmp_path)
    in_postgres(written, postgres_database)
    whole = told(items_in(str(tmp_path)))
    assert len(whole) == sum(1 for entry, _ in written.entries if "Posted" in type(entry).__name__)
    monkeypatch.setattr(archive, "PIECE_ENTRIES", 5)
    monkeypatch.setattr(journals, "READ_BYTES", 300)  # a few bodies at a time
    assert len(pieces_of(str(tmp_path))) > 5
    assert told(items_in(str(tmp_path))) == whole
    assert told(items_in(postgres_database)) == whole


def test_an_address_is_shown_without_its_password() -> None:
    assert shown("postgresql://me:secret@db.example:5433/net?x=y") == "postgresql://db.example/net"
    assert shown("/some/folder") == "/some/folder"


def test_rows_do_not_tell_the_password(written: WrittenJournal, postgres_database: str) -> None:
    in_postgres(written, postgres_database)
    assert {item.place.file for item in items_in(postgres_database)} == {shown(postgres_database)}
    assert pieces_of(postgres_database)[0].form is Form.JOURNAL


def test_directories_exist_as_of_any_entry(tmp_path: Path) -> None:
    journal = WrittenJournal(DIRECTORY)
    first = journal.post(order(1, 1))
    content = document()
    content["organizations"]["MyBiz"]["description"] = "changed"
    changed = changed_directory(content, DIRECTORY)
    journal.configure(changed, ("organization", "mybiz"))
    folder = journal.write(tmp_path)
    known = directories_in(str(folder))
    assert known.at(first).organizations["mybiz"].description == ""
    assert known.latest().organizations["mybiz"].description == "changed"
    assert (known.at(first).version, known.latest().version) == (1, 3)
    assert known.latest().rules == DIRECTORY.rules


def test_an_entry_of_an_odd_shape_costs_itself_alone(tmp_path: Path) -> None:
    journal = WrittenJournal(DIRECTORY)
    seq = journal.post(order(1, 1))
    journal.add(replace(journal.posted(seq), copies=(Copy("nowhere"),)), journal.entries[seq - 1][1])
    journal.post(order(2, 1))
    items = items_in(str(journal.write(tmp_path)))
    assert [item.code if isinstance(item, Unreadable) else "" for item in items] == ["", "internal", ""]
