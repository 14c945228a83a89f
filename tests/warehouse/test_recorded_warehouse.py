"""A warehouse of an earlier version is continued, and has the rows that a new one is given by the same journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from postroad.cli.main import postroad
from postroad.client import Client
from tests.samples.recordings import VERSIONS, Store, key_of, server_on, unpack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]  # the commands take the session that is there
WRITTEN_BY = {"landed_at", "landed_on", "schema_version"}  # columns about the landing itself
NOT_MADE_OF_ENTRIES = {"known_files"}  # the files of the log, which differ
PERIOD = "2026-10"
NEXT_DAYS = "2026-10-08"  # nothing recorded belongs to it or a later day

Tables = dict[str, list[tuple[str, ...]]]
EVERY_COLUMN: Mapping[str, set[str]] = MappingProxyType({})


def run(*arguments: str | Path) -> list[dict[str, Any]]:
    done = CliRunner().invoke(postroad, [*map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def columns(folder: Path) -> dict[str, set[str]]:
    tables = [path for path in folder.iterdir() if (path / "_delta_log").is_dir()]
    return {path.name: set(DeltaTable(str(path)).to_pyarrow_table().column_names) for path in tables}


def rows(folder: Path, until: str = "", only: Mapping[str, set[str]] = EVERY_COLUMN) -> Tables:
    """The rows of every table, sorted; with ``until``, only those of tables that have days, and of earlier days.

    ``only`` names the columns that count, by table: later versions add some.
    """
    found: Tables = {}
    for path in sorted(folder.iterdir()):
        if not (path / "_delta_log").is_dir() or path.name in NOT_MADE_OF_ENTRIES:
            continue
        table = DeltaTable(str(path)).to_pyarrow_table()
        if until and "day" not in table.column_names:
            continue
        names = sorted((set(table.column_names) & only.get(path.name, set(table.column_names))) - WRITTEN_BY)
        values = [one for one in table.select(names).to_pylist() if not until or str(one["day"]) < until]
        found[path.name] = sorted(tuple(repr(one[name]) for name in names) for one in values)
    return found


@pytest.mark.req("P1")
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_recorded_warehouse_is_continued(spark: SparkSession, version: Path, tmp_path: Path) -> None:
    data, folder = unpack(version / "embedded.tar.xz", tmp_path / "data"), tmp_path / "data" / "warehouse"
    unpack(version / "warehouse.tar.xz", folder)
    recorded, known = rows(folder, NEXT_DAYS), columns(folder)
    with server_on(Store(kind="embedded", data=data)) as server, Client(server.url, key_of("Harbor/Desk")) as sender:
        sender.post(to="Mill/Store", document="<new/>")
    [continued] = run("pipeline", "run", "--data", data)
    assert continued["landed"]["after"] > 0
    run("pipeline", "run", "--data", data, "--warehouse", tmp_path / "fresh")
    fresh = rows(tmp_path / "fresh", NEXT_DAYS, known)
    assert fresh["message_histories"]
    assert set(recorded.pop("log")) <= set(
        fresh["log"]
    )  # the first recording has invoices that were issued after it was landed
    for name, found in recorded.items():
        assert found == fresh[name], name
    afterwards = rows(tmp_path / "fresh")
    assert len(afterwards["message_histories"]) == len(fresh["message_histories"]) + 1
    for name, found in rows(folder).items():
        assert found == afterwards[name], name
    [reconciled] = run("billing", "reconcile", PERIOD, "--data", data)
    assert reconciled["differences"] == []
