"""``postroad bulk route`` from the command line to the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from postroad.cli.main import postroad
from postroad.core.codecs.json_form import JSON_FORM
from postroad.warehouse.bulk.routing import copy_from_row
from tests.warehouse.bulk.traffic import NETWORK, messages, order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "network.yaml").write_text(NETWORK)
    lines = [JSON_FORM.encode_post(message) for message in messages()]
    file = tmp_path / "archive.ndjson"
    file.write_bytes(b"\n".join([*lines, b"{", JSON_FORM.encode_post(order(99, 1, sender=""))]))
    return file


def bulk_route(*arguments: str | Path) -> Result:
    return CliRunner().invoke(postroad, ["bulk", "route", *map(str, arguments)])


def rows_in(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in spark.read.parquet(str(folder / "parquet")).collect()]


@pytest.mark.req("P5")
def test_an_archive_becomes_rows(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    config = ("--config", tmp_path / "network.yaml")
    done = bulk_route("--in", archive, "--out", tmp_path / "out", *config, "--as", "MyBiz/Watch", "--ndjson", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    rows = rows_in(spark, tmp_path / "out")
    assert told == {
        "rows": len(rows),
        "handled": sum(not row["code"] for row in rows),
        "faults": {"recipient.unknown": 2, "route.loop": 1, "wire.malformed": 1},
        "folder": str(tmp_path / "out"),
    }
    [silent] = [row for row in rows if row["handle"] == "order 99"]
    assert (silent["sender"], silent["route"]) == ("MyBiz/Watch", ["Acme/Gate", "Acme/Supply"])
    lines = [line for file in (tmp_path / "out" / "ndjson").glob("*.json") for line in file.read_text().splitlines()]
    by_place = sorted((json.loads(line) for line in lines), key=lambda row: (row["position"], row["copy"] or 0))
    handled = [copy_from_row(row) for row in by_place if row["copy"] is not None]
    assert handled == [copy_from_row(row) for row in sorted(rows, key=place) if row["copy"] is not None]


def place(row: dict[str, Any]) -> tuple[int, int]:
    return row["position"], row["copy"] or 0


def test_an_old_archive_is_routed_as_of_its_time(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    dated = order(1, 1, expires_at_us=1_700_000_000_000_000)
    archive.write_bytes(JSON_FORM.encode_post(dated))
    config = ("--config", tmp_path / "network.yaml", "--json")
    late = bulk_route("--in", archive, "--out", tmp_path / "late", *config)
    assert json.loads(late.output)["faults"] == {"message.expired": 1}
    then = bulk_route("--in", archive, "--out", tmp_path / "then", "--at", "2023-11-14T00:00:00", *config)
    assert json.loads(then.output)["faults"] == {}
    assert {row["at_us"] for row in rows_in(spark, tmp_path / "then")} == {1_699_920_000_000_000}


def test_people_are_told_in_words(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    done = bulk_route("--in", archive, "--out", tmp_path / "out", "--config", tmp_path / "network.yaml")
    assert "rows have a route" in done.output
    assert "sender.unknown" in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--in", "archive.ndjson", "--config", "network.yaml", "--out", "."), "is not empty"),
        (("--in", "archive.ndjson", "--config", "network.yaml", "--data", ".", "--out", "new"), "use one of them"),
        (("--in", "archive.ndjson", "--data", ".", "--out", "new"), "there is no journal"),
        (("--in", "missing", "--config", "network.yaml", "--out", "new"), "no such file"),
        (("--in", "archive.ndjson", "--config", "network.yaml", "--out", "new", "--conf", "x"), "spark.NAME=VALUE"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_done(
    archive: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(archive.parent)
    done = bulk_route(*arguments)
    assert (done.exit_code, said in done.stderr) == (1, True), done.stderr
    assert not (archive.parent / "new").exists()
