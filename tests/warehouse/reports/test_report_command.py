"""`postroad report`: the tables of a warehouse on the terminal, in files and as charts; no Spark is needed for it."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from deltalake import write_deltalake

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.main import postroad
from postroad.core.audit.percentiles import milliseconds_of, percentile_ms
from postroad.warehouse.reports.catalog import REPORTS

FIRST, SECOND = date(2026, 10, 1), date(2026, 10, 2)
PNG, SVG = b"\x89PNG", b"<?xml"

TABLES: dict[str, list[dict[str, Any]]] = {
    "services": [
        {"service": "aa", "address": "Acme/Supply"},
        {"service": "a0", "address": "Acme/Supply"},  # until it was registered again
        {"service": "bb", "address": "MyBiz/Orders"},
    ],
    "traffic": [
        {
            "day": day,
            "hour": 9,
            "type": type_,
            "messages": count,
            "copies": count,
            "refused_copies": 0,
            "bytes": 10 * count,
        }
        for day in (FIRST, SECOND)
        for type_, count in (("request", 5), ("notification", 3), ("response", 4), ("refused", 1))
    ],
    "errors": [
        {"day": FIRST, "what": "expired", "code": "route.expired", "organization": "Acme", "count": 2},
        {"day": SECOND, "what": "expired", "code": "route.expired", "organization": "MyBiz", "count": 3},
        {"day": SECOND, "what": "refused post", "code": "wire.malformed", "organization": "MyBiz", "count": 9},
    ],
    "latency": [
        {"day": FIRST, "measure": "working", "service": "aa" if bucket % 3 else "a0", "bucket": bucket, "count": 10}
        for bucket in range(100, 110)
    ]
    + [
        {"day": SECOND, "measure": "working", "service": "bb", "bucket": 50, "count": 500},
        {"day": SECOND, "measure": "response", "service": "bb", "bucket": 80, "count": 7},
        {"day": SECOND, "measure": "waiting", "service": "cc", "bucket": 10, "count": 7},
    ],
    "partners": [
        {"day": day, "sender": sender, "recipient": "Acme", "messages": count}
        | {"requests": 1, "bytes": 100, "errors": 0, "undelivered": 0}
        for day in (FIRST, SECOND)
        for sender, count in (("MyBiz", 4), ("Other", 2))
    ],
    "undelivered": [
        {"day": SECOND, "session": "s1", "posted_at_us": 1_790_900_000_000_000, "type": "request", "state": "expired"}
        | {"sender_organization": "MyBiz", "recipient_organization": "Acme", "attempts": 0, "reason": "late"},
    ],
    "anomalies": [
        {"day": SECOND, "organization": "Acme", "measure": "volume", "value": 90.0, "expected": 9.0, "score": 12.5},
    ],
    "batches": [
        batch | {"bytes": 1_000, "sending_us": 2_000_000, "verdict": None}
        for batch in (
            {"day": FIRST, "service": "aa", "state": "sent", "closed_by": "count", "members": 9}
            | {"member_waiting_us": 10_000_000},
            {"day": SECOND, "service": "aa", "state": "suspended", "closed_by": "schedule", "members": 1}
            | {"member_waiting_us": 110_000_000},
            {
                "day": SECOND,
                "service": "bb",
                "state": "open",
                "closed_by": None,
                "members": 3,
                "member_waiting_us": None,
            },
        )
    ],
    "charges": [
        {"day": FIRST, "organization": "MyBiz", "currency": "EUR", "part": "originator", "micros": 1_500_000},
        {"day": SECOND, "organization": "MyBiz", "currency": "EUR", "part": "originator", "micros": 250_001},
        {"day": SECOND, "organization": "Acme", "currency": "EUR", "part": "vendor", "micros": -400_000},
    ],
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warehouse")
    for name, rows in TABLES.items():
        write_deltalake(str(folder / name), pa.Table.from_pylist(rows))
    return folder


def ran(warehouse: Path, *arguments: str) -> Result:
    return CliRunner().invoke(postroad, ["report", *arguments, "--warehouse", str(warehouse)])


def told(warehouse: Path, *arguments: str) -> list[dict[str, Any]]:
    done = ran(warehouse, *arguments, "--json")
    assert done.exit_code == ExitCode.OK, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.req("P4")
@pytest.mark.parametrize("name", REPORTS)
def test_every_report_has_a_table_a_chart_and_files(warehouse: Path, tmp_path: Path, name: str) -> None:
    for form, begins in (("png", PNG), ("svg", SVG)):
        target, chart = tmp_path / f"{name}.csv", tmp_path / f"{name}.{form}"
        done = ran(warehouse, name, "--plot", str(chart), "--out", str(target))
        assert done.exit_code == ExitCode.OK, done.stderr
        assert chart.read_bytes().startswith(begins)
    with target.open() as file:
        headings, *rows = csv.reader(file)
    records = told(warehouse, name)
    assert headings == list(records[0])
    assert len(rows) == len(records)
    assert headings[0].replace("_", " ").upper() in done.stdout


def test_a_period_cuts_days_off(warehouse: Path) -> None:
    assert [row["day"] for row in told(warehouse, "traffic")] == ["2026-10-01", "2026-10-02"]
    [row] = told(warehouse, "traffic", "--from", "2026-10-02", "--to", "2026-10-02")
    assert (row["requests"], row["responses"], row["refused"], row["bytes"]) == (5, 4, 1, 130)
    assert told(warehouse, "traffic", "--from", "2026-10-03") == []


def test_errors_are_summed_up_and_say_whose_they_are(warehouse: Path) -> None:
    first, second = told(warehouse, "errors")
    assert (first["code"], first["count"]) == ("wire.malformed", 9)
    assert (second["code"], second["count"], second["most_often_at"], second["there"]) == (
        "route.expired",
        5,
        "MyBiz",
        3,
    )


def test_slow_services_come_by_their_names(warehouse: Path) -> None:
    slowest, other = told(warehouse, "slow")
    assert (slowest["service"], slowest["deliveries"]) == ("Acme/Supply", 100)
    assert slowest["p90_ms"] == round(milliseconds_of(108), 1)
    assert other["p50_ms"] == other["p99_ms"] == round(milliseconds_of(50), 1)


def test_top_limits_the_rows(warehouse: Path) -> None:
    [row] = told(warehouse, "partners", "--top", "1")
    assert (row["sender"], row["recipient"], row["messages"]) == ("MyBiz", "Acme", 8)


def test_ports_say_what_they_gathered_and_which_batches_need_somebody(warehouse: Path) -> None:
    acme, mine = told(warehouse, "batches")
    assert (acme["port"], acme["batches"], acme["messages"], acme["messages_each"]) == ("Acme/Supply", 2, 10, 5.0)
    assert (acme["waiting_s"], acme["sending_s"]) == (20.0, 2.0)  # nine waited ten seconds, one a hundred and ten
    assert (acme["suspended"], acme["under_way"], acme["closed_mostly_by"]) == (1, 0, "count")
    assert (mine["under_way"], mine["closed_mostly_by"], mine["waiting_s"]) == (1, "", 0.0)
    assert "1 suspended" in ran(warehouse, "batches").output


def test_money_stays_whole(warehouse: Path) -> None:
    mine, acme = told(warehouse, "cost")
    assert mine == {"organization": "MyBiz", "currency": "EUR", "charged_micros": 1_750_001, "earned_micros": 0}
    assert acme["earned_micros"] == 400_000
    assert "1.750001" in ran(warehouse, "cost").stdout


def test_what_is_not_there_is_said(tmp_path: Path, warehouse: Path) -> None:
    missing = ran(tmp_path, "traffic")
    assert missing.exit_code == ExitCode.ERROR
    assert "postroad pipeline run" in missing.stderr
    chart = ran(warehouse, "traffic", "--plot", str(tmp_path / "chart.gif"))
    assert chart.exit_code == ExitCode.ERROR
    assert ".png or .svg" in chart.stderr
    file = ran(warehouse, "traffic", "--out", str(tmp_path / "report.xls"))
    assert ".csv or .json" in file.stderr


def test_percentiles_of_counts() -> None:
    counts = {1: 50, 2: 40, 30: 10}
    assert [percentile_ms(counts, share) for share in (0.5, 0.51, 0.9, 0.99)] == [
        milliseconds_of(bucket) for bucket in (1, 2, 2, 30)
    ]
    with pytest.raises(ValueError, match="at least one value"):
        percentile_ms({}, 0.5)
