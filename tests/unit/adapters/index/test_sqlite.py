"""What the SQLite index does beyond its contract: old libraries, failed batches, readers beside a writer."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from postroad.adapters.index.named_sql import load_statements
from postroad.adapters.index.sqlite import SqliteIndex, SqliteReader, SqliteWriter
from postroad.adapters.index.sqlite_file import open_reader, refuse_old_sqlite, remove_index
from postroad.core.projection.project import project
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.tables import TABLES
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import JournalHead
from postroad.testing.random_journals.journals import make_plain_posts, to_records


def changes_of(count: int, first_seq: int = 1) -> Any:
    return project(to_records(list(make_plain_posts(count, first_seq)), first_seq))


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2"])
def test_a_sqlite_that_can_corrupt_its_log_is_refused(version: str) -> None:
    with pytest.raises(Misconfigured, match=r"install apsw 3\.51\.3"):
        refuse_old_sqlite(version)


def test_the_sqlite_in_use_is_young_enough() -> None:
    refuse_old_sqlite("3.51.3")
    refuse_old_sqlite(apsw.sqlite_lib_version())


async def test_a_failed_batch_leaves_nothing_and_does_not_stop_the_next(tmp_path: Path) -> None:
    index = SqliteIndex(tmp_path / "index.sqlite")
    broken = changes_of(3)
    broken["insert_access"] = [("not a number", None, "", "", "")]
    with pytest.raises(apsw.Error):
        await index.apply(broken, JournalHead(3, bytes(32)))
    assert (await index.position()).seq == 0
    assert await index.rows("message") == []
    await index.apply(changes_of(3), JournalHead(3, bytes(32)))
    assert [row[3] for row in await index.rows("message")] == [f"{number:016x}" for number in (1, 2, 3)]
    await index.close()


async def test_readers_see_whole_batches_while_the_writer_works(tmp_path: Path) -> None:
    writer = SqliteWriter(tmp_path / "index.sqlite")
    reader = SqliteReader(tmp_path / "index.sqlite")
    for first in range(1, 501, 50):
        seen = asyncio.gather(*(reader.query("all_messages", 2**62, 1000) for _ in range(4)))
        await asyncio.sleep(0)
        writer.apply(changes_of(50, first), JournalHead(first + 49, bytes(32)))
        assert {len(rows) % 50 for rows in await seen} == {0}
    assert writer.position() == await reader.position() == JournalHead(500, bytes(32))
    await reader.close()
    writer.close()


async def test_a_reader_cannot_write(tmp_path: Path) -> None:
    SqliteWriter(tmp_path / "index.sqlite").close()
    connection = open_reader(tmp_path / "index.sqlite")
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM message")
    connection.close()


async def test_a_damaged_file_is_said_plainly_and_can_be_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    SqliteWriter(path).close()
    whole = path.read_bytes()
    for damage in (bytes(512) + whole[512:], whole[:32_768] + b"\xff" * 16_384 + whole[49_152:]):
        path.write_bytes(damage)
        with pytest.raises(Misconfigured, match="index rebuild"):
            await SqliteIndex(path).apply(changes_of(1), JournalHead(1, bytes(32)))
        reader = SqliteReader(path)
        with pytest.raises((Misconfigured, Unavailable), match="index rebuild"):
            await reader.position()
        await reader.close()
    remove_index(path)
    assert list(tmp_path.iterdir()) == []
    SqliteWriter(path).close()


def test_only_its_owner_and_group_can_read_it(tmp_path: Path) -> None:
    writer = SqliteWriter(tmp_path / "index.sqlite")
    writer.apply(changes_of(1), JournalHead(1, bytes(32)))
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o640}
    writer.close()


async def test_a_missing_file_is_said_plainly(tmp_path: Path) -> None:
    reader = SqliteReader(tmp_path / "nothing.sqlite")
    with pytest.raises(Misconfigured, match="cannot be opened"):
        await reader.position()
    await reader.close()


@pytest.mark.parametrize(
    ("name", "parameters", "index"),
    [
        ("mailbox", ("a", 0, 10), "delivery_waiting"),
        ("received_by", ("a", 9, 10), "activity"),
        ("taken_by", ("a", 10), "activity"),
        ("sent_by", ("a", 9, 10), "activity"),
        ("message", ("s",), "message_session"),
        ("transaction_messages", ("s",), "message_transaction"),
        ("refused", ("s",), "refused_session"),
        ("refused_by", ("a", 9, 10), "refused_sender"),
        ("transaction_contents", ("s",), "content_transaction"),
        ("due_journeys", (9, 10), "journey_due"),
        ("due_deliveries", (9, 10), "COVERING INDEX delivery_due"),
        ("journey", (9,), "PRIMARY KEY"),
        ("dead_letters", (9, 10), "dead_letter_open"),
        ("dead_letters_at", ("s", 9, 10), "dead_letter_recipient"),
        ("dead_letters_of", ("s", 9, 10), "dead_letter_sender"),
        ("dead_letter", (9,), "PRIMARY KEY"),
        ("message_rounds", (9,), "round_message"),
        ("waiting_at", ("s", 9, 10), "delivery_waiting"),
        ("released_to", ("s",), "released_recipient"),
        ("mailbox", ("s", 9, 10), "delivery_waiting"),
        ("batch", ("b",), "PRIMARY KEY"),
        ("unsettled_batches", ("s",), "batch_unsettled"),
        ("batches_at", ("s", "b", 10), "batch_service"),
        ("all_batches", ("b", 10), "PRIMARY KEY"),
        ("batch_of", (9,), "batch_member USING INTEGER PRIMARY KEY"),
        ("batch_members", ("b", 9, 10), "batch_member_batch"),
        ("latest_number", ("s",), "PRIMARY KEY"),
        ("control_number", ("s", 9), "PRIMARY KEY"),
        ("batch_answers", ("b",), "batch_answer_batch"),
    ],
)
def test_a_question_is_answered_through_its_index(
    name: str, parameters: tuple[Any, ...], index: str, tmp_path: Path
) -> None:
    SqliteWriter(tmp_path / "index.sqlite").close()
    connection = open_reader(tmp_path / "index.sqlite")
    plan = [
        row[3]
        for row in connection.execute(
            f"EXPLAIN QUERY PLAN {load_statements('queries.sql', 'sqlite')[name]}", parameters
        )
    ]
    connection.close()
    assert any(index in step for step in plan)
    assert not any(step.startswith("SCAN") or "TEMP B-TREE FOR ORDER" in step for step in plan), plan


@pytest.mark.parametrize(
    "name",
    [
        *("transaction_deliveries", "transaction_trail", "transaction_journeys"),
        *("tried_at", "delivery_trail", "delivery", "seen", "next_due", "related", "held_back", "found"),
    ],
)
def test_no_question_about_one_thing_scans_a_table(name: str, tmp_path: Path) -> None:
    plan = plan_of(name, tmp_path)
    assert not any(step.startswith(f"SCAN {table}") for table in TABLES for step in plan), plan


def test_what_is_due_next_is_the_first_entry_of_two_indexes(tmp_path: Path) -> None:
    """And of each only as far as what is there is on its way in a batch."""
    plan = "\n".join(plan_of("next_due", tmp_path))
    assert re.findall(r"INDEX (\w+)_due", plan) == ["journey", "delivery"]
    assert re.findall(r"(\w+) USING (?:INTEGER )?PRIMARY KEY", plan) == ["batch_member", "batch"] * 2


def test_what_is_held_back_is_counted_in_the_index_of_what_waits(tmp_path: Path) -> None:
    plan = plan_of("held_back", tmp_path)
    assert any("delivery USING COVERING INDEX delivery_waiting" in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


def test_related_records_are_looked_up_by_their_whole_key(tmp_path: Path) -> None:
    """And not found by walking through the map they are in."""
    steps = [step for step in plan_of("related", tmp_path) if step.startswith("SEARCH")]
    whole_key = "PRIMARY KEY (owner=? AND map=? AND service=? AND key_name=? AND key_value=?)"
    assert steps == [f"SEARCH {table} USING {whole_key}" for table in ("relation", "reference")]


def plan_of(name: str, folder: Path) -> list[str]:
    SqliteWriter(folder / "index.sqlite").close()
    connection = open_reader(folder / "index.sqlite")
    parameters = [1] * len(QUERIES[name][0])
    plan = connection.execute(f"EXPLAIN QUERY PLAN {load_statements('queries.sql', 'sqlite')[name]}", parameters)
    steps = [row[3] for row in plan]
    connection.close()
    return steps
