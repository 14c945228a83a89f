"""``postroad bulk match`` from the command line to the files it writes."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from postroad.cli.main import postroad
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Recipient
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk import operation
from postroad.warehouse.bulk.job import run_locally
from postroad.warehouse.bulk.match.operation import MatchOperation
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from postroad.warehouse.bulk.read.messages import ArchiveDefaults
from tests.warehouse.bulk.exchange_traffic import BINDINGS, EXCHANGE, QUEUES, bindings, directory_of, orders, unbound
from tests.warehouse.whatif.written_journal import WrittenJournal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Which the tree of all bindings decides, so that no engine has to be started.
DECIDED = ("everything", "north", "large", "by key", "json")
# Four of 20 orders cannot be read as XML, which is an error at each of the three bindings that look inside; one line is broken.
FAULTS = {"binding.failed": 4 * 3, "wire.malformed": 1}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Lines of which some are for somebody else and one is broken, and a network's data folder beside them."""
    kept = [one for one in bindings() if one.name in DECIDED]
    WrittenJournal(directory_of([*unbound(), *kept])).write(tmp_path / "data")
    messages = [replace(one, sender="MyBiz/Desk") for one in orders(20)]
    messages[3:6] = [replace(one, to=(Recipient("Queues/b1"),)) for one in messages[3:6]]
    file = tmp_path / "archive.ndjson"
    file.write_bytes(b"\n".join([*(JSON_FORM.encode_post(message) for message in messages), b"{"]))
    return file


def bulk_match(archive: Path, out: str, *more: str) -> Result:
    data, folder = archive.parent / "data", archive.parent / out
    given = ["--in", archive, "--data", data, "--out", folder, *more]
    return CliRunner().invoke(postroad, ["bulk", "match", *map(str, given)])


@pytest.mark.req("P5")
def test_an_archive_becomes_one_row_for_each_binding_that_says_yes(spark: SparkSession, archive: Path) -> None:
    done = bulk_match(archive, "out", "--exchange", "acme/orders", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    rows = pq.read_table(archive.parent / "out" / "parquet").to_pylist()
    yes = [row for row in rows if not row["code"]]
    assert (told["rows"], told["handled"], told["faults"]) == (len(rows), len(yes), FAULTS)
    assert {one["binding"]: one["matches"] for one in told["bindings"]} == {
        name: sum(row["binding"] == name for row in yes) for name in DECIDED
    }
    assert told["bindings"][0] == {"binding": "everything", "queue": "Queues/b1", "matches": 20, "errors": 0}
    assert {one["binding"]: one["errors"] for one in told["bindings"] if one["errors"]} == {
        "north": 4, "large": 4, "json": 4,
    }  # fmt: skip
    large = {row["handle"] for row in yes if row["binding"] == "large"}
    assert large == {"h14", "h15", "h19"}
    assert {row["queue"] for row in yes if row["binding"] == "north"} == {BINDINGS["north"]["queue"]}


def test_messages_for_others_can_be_left_out(archive: Path) -> None:
    directory = read_directories(str(archive.parent / "data" / "journal")).find_latest()
    for_all = rows_of(archive, MatchOperation(exchange=EXCHANGE), directory)
    for_it = rows_of(archive, MatchOperation(exchange=EXCHANGE, sent_to_it=True), directory)
    assert {row["handle"] for row in for_all} - {row["handle"] for row in for_it} == {"h3", "h4", "h5"}


def rows_of(archive: Path, operation: MatchOperation, directory: Directory) -> list[dict[str, Any]]:
    batches = run_locally(list_pieces(str(archive)), operation, directory, ArchiveDefaults())
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("exchange", "said"),
    [("Acme/Nowhere", "service Acme/Nowhere does not exist"), ("MyBiz/Desk", "MyBiz/Desk is not an exchange")],
)
def test_what_is_no_exchange_is_refused_before_anything_is_done(archive: Path, exchange: str, said: str) -> None:
    done = bulk_match(archive, "new", "--exchange", exchange)
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
    assert not (archive.parent / "new").exists()


def test_rows_that_carry_much_are_written_in_smaller_batches(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever bindings make of messages, a worker holds no more than a batch of it."""
    monkeypatch.setattr(operation, "BATCH_BYTES", 200)
    script = "def route(message):\n    return 'x' * 100\n"
    items = [*unbound(), Binding(exchange=EXCHANGE, name="long", queue=QUEUES[0], script=script)]
    batches = list(
        run_locally(
            list_pieces(str(archive)), MatchOperation(exchange=EXCHANGE), directory_of(items), ArchiveDefaults()
        )
    )
    assert sum(batch.num_rows for batch in batches) == 21
    assert max(batch.num_rows for batch in batches) == 2


def test_processes_for_members_programs_end_with_the_work(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when whoever wants the rows stops in the middle."""
    monkeypatch.setattr(operation, "BATCH_ROWS", 1)
    script = Binding(exchange=EXCHANGE, name="all", queue=QUEUES[0], script="def route(message):\n    return True\n")
    before = engines()
    pieces = list_pieces(str(archive))
    with closing(
        run_locally(pieces, MatchOperation(exchange=EXCHANGE), directory_of([*unbound(), script]), ArchiveDefaults())
    ) as rows:
        assert next(rows).num_rows == 1
        assert len(engines() - before) == 1
    assert engines() == before


def engines() -> set[int]:
    """The confined processes that this one has started."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in children if b"postroad.adapters" in Path(f"/proc/{pid}/cmdline").read_bytes()}
