"""What a bulk job leaves behind: what finished tasks reported, whole, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from postroad.core.model.message import Message
from postroad.errors import Misconfigured
from postroad.warehouse.bulk import output
from postroad.warehouse.bulk.operation import handle_messages, schema_of
from postroad.warehouse.bulk.output import publish_files, require_new_folder, write_file
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePlace
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.bulk.routing import RouteOperation
from tests.warehouse.bulk.traffic import document, order

OPERATION = RouteOperation()


def test_only_what_was_reported_stays(tmp_path: Path) -> None:
    writing = tmp_path / "out" / "_writing"
    writing.mkdir(parents=True)
    for name in ("00000-1.parquet", "00000-7.parquet", "00001-2.parquet"):  # the first share was done twice
        (writing / name).write_text(name)
    publish_files(str(tmp_path / "out"), ["00000-7.parquet", "00001-2.parquet"])
    left = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*"))
    assert left == ["parquet", "parquet/00000-7.parquet", "parquet/00001-2.parquet"]


def test_rows_are_written_in_groups_and_counted_by_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def archived(number: int, message: Message) -> ArchivedMessage:
        return ArchivedMessage(ArchivePlace("a", number), message.sender, 1, "json", 1, message)

    items = [
        archived(number, order(number, 1, sender="" if number % 3 == 0 else "MyBiz/Watch")) for number in range(9_000)
    ]
    monkeypatch.setattr(output, "GROUP_ROWS", 5_000)
    batches = handle_messages(items, OPERATION, OPERATION.prepare(apply_document(document())))
    file = tmp_path / "new" / "folder" / "rows.parquet"
    assert write_file(batches, schema_of(OPERATION), str(file)) == {"": 6_000, "sender.unknown": 3_000}
    found = pq.ParquetFile(file)
    assert found.metadata.num_row_groups < 4
    assert found.read().column("position").to_pylist() == list(range(9_000))


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    require_new_folder(str(tmp_path / "new"))
    require_new_folder(str(tmp_path))
    (tmp_path / "x").touch()
    with pytest.raises(Misconfigured, match="not empty"):
        require_new_folder(str(tmp_path))
