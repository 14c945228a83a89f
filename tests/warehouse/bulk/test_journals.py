"""Journals in files and in PostgreSQL are read alike, with their bodies, by name alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.core.model.journal import encode
from postroad.core.model.route import Copy
from postroad.ports import NewRecord
from postroad.warehouse.bulk.read import archive, journals
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchiveForm, UnreadableMessage, list_pieces
from postroad.warehouse.bulk.read.directories import apply_document, read_directories
from postroad.warehouse.bulk.read.journals import masked_name
from postroad.warehouse.bulk.read.messages import ArchiveDefaults, read_piece
from tests.warehouse.bulk.traffic import document, messages, order
from tests.warehouse.whatif.written_journal import WrittenJournal

DIRECTORY = apply_document(document())


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


def items_in(name: str) -> list[ArchivedMessage | UnreadableMessage]:
    return [item for piece in list_pieces(name) for item in read_piece(piece, ArchiveDefaults())]


def told(items: list[ArchivedMessage | UnreadableMessage]) -> list[object]:
    return [(item.place.position, item.message) if isinstance(item, ArchivedMessage) else item.code for item in items]


def test_both_journals_give_the_same_messages_however_they_are_cut(
    written: WrittenJournal, tmp_path: Path, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written.write(tmp_path)
    in_postgres(written, postgres_database)
    whole = told(items_in(str(tmp_path)))
    assert len(whole) == sum(1 for entry, _ in written.entries if "Posted" in type(entry).__name__)
    monkeypatch.setattr(archive, "PIECE_ENTRIES", 5)
    monkeypatch.setattr(journals, "READ_BYTES", 300)  # a few bodies at a time
    assert len(list_pieces(str(tmp_path))) > 5
    assert told(items_in(str(tmp_path))) == whole
    assert told(items_in(postgres_database)) == whole


def test_an_address_is_shown_without_its_password() -> None:
    assert masked_name("postgresql://me:secret@db.example:5433/net?x=y") == "postgresql://db.example/net"
    assert masked_name("/some/folder") == "/some/folder"


def test_rows_do_not_tell_the_password(written: WrittenJournal, postgres_database: str) -> None:
    in_postgres(written, postgres_database)
    assert {item.place.file for item in items_in(postgres_database)} == {masked_name(postgres_database)}
    assert list_pieces(postgres_database)[0].form is ArchiveForm.JOURNAL


def test_directories_exist_as_of_any_entry(tmp_path: Path) -> None:
    journal = WrittenJournal(DIRECTORY)
    first = journal.post(order(1, 1))
    content = document()
    content["organizations"]["MyBiz"]["description"] = "changed"
    changed = apply_document(content, DIRECTORY)
    journal.configure(changed, ("organization", "mybiz"))
    folder = journal.write(tmp_path)
    known = read_directories(str(folder))
    assert known.at(first).organizations["mybiz"].description == ""
    assert known.find_latest().organizations["mybiz"].description == "changed"
    assert (known.at(first).version, known.find_latest().version) == (1, 3)
    assert known.find_latest().rules == DIRECTORY.rules


def test_an_entry_of_an_odd_shape_costs_itself_alone(tmp_path: Path) -> None:
    journal = WrittenJournal(DIRECTORY)
    seq = journal.post(order(1, 1))
    journal.add(replace(journal.posted(seq), copies=(Copy("nowhere"),)), journal.entries[seq - 1][1])
    journal.post(order(2, 1))
    items = items_in(str(journal.write(tmp_path)))
    assert [item.code if isinstance(item, UnreadableMessage) else "" for item in items] == ["", "internal", ""]
