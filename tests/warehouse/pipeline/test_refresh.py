"""However events arrive — at once, in pieces, late, twice, the old ones last — the tables are the same in the end."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from postroad.core.model import ids
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import AnsweredDelivery, MessagePosted, decode, encode
from postroad.core.model.message import MessageType
from postroad.core.model.route import Copy, Hop
from postroad.ports import NewRecord
from postroad.testing.traffic.generate import Traffic
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.pipeline import TABLES, refresh
from postroad.warehouse.store.delta import DeltaStore
from tests.warehouse.conftest import landed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PLAN = TrafficPlan(organizations=15, days=6, messages=500, seed=2)
LANDED_ON = date(2026, 11, 1)
SOME = [table for table in TABLES if table.name in ("services", "message_histories", "transactions", "traffic")]
NAMES = [table.name for table in SOME]


@pytest.fixture(scope="module")
def records() -> list[NewRecord]:
    return list(Traffic(PLAN).records())


@pytest.fixture(scope="module")
def at_once(
    spark: SparkSession, records: list[NewRecord], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Any]]:
    """Every table, when all events were there from the beginning."""
    store = DeltaStore(spark, tmp_path_factory.mktemp("at-once"))
    land(store, spark, records)
    done = refresh(store)
    assert {table.name for table in TABLES} <= {one.table for one in done}
    return {table.name: contents(store, table.name) for table in TABLES}


def land(store: DeltaStore, spark: SparkSession, records: list[NewRecord], first_seq: int = 1, app: str = "") -> None:
    from pyspark.sql import functions as fn

    frame = landed(spark, records, first_seq).withColumn("landed_on", fn.lit(LANDED_ON)).coalesce(1)
    store.append(frame, "log", app or f"test {first_seq}", 1)


def contents(store: DeltaStore, table: str) -> list[Any]:
    return sorted((row.asDict(recursive=True) for row in store.read(table).collect()), key=repr)


def cut(records: list[NewRecord]) -> int:
    """A place in the middle of a day, in the stretch in which a clock is behind."""
    newest = 0
    for place, record in enumerate(records):
        at_us = decode(record.facts).at_us
        if place > len(records) // 2 and at_us < newest:
            return place
        newest = max(newest, at_us)
    raise AssertionError("nothing comes late")


def test_each_table_is_full(at_once: dict[str, list[Any]]) -> None:
    # Made-up traffic has no send ports and no tariff; test_batches.py and tests/warehouse/billing bring these tables up.
    assert [name for name, found in at_once.items() if not found] == [
        "batches", "anomalies", "charges", "invoice_lines",
    ]  # fmt: skip


@pytest.mark.req("P1", "P2")
def test_in_pieces_only_touched_days_are_made_anew(
    spark: SparkSession, tmp_path: Path, records: list[NewRecord], at_once: dict[str, list[Any]]
) -> None:
    store = DeltaStore(spark, tmp_path)
    place = cut(records)
    land(store, spark, records[:place])
    [first] = [one for one in refresh(store, SOME) if one.table == "message_histories"]
    land(store, spark, records[place:], place + 1)
    [second] = [one for one in refresh(store, SOME) if one.table == "message_histories"]
    assert set(second.days) & set(first.days)  # what came late belongs to days that were there
    assert set(first.days) - set(second.days)  # and the other days were left alone
    assert {name: contents(store, name) for name in NAMES} == {name: at_once[name] for name in NAMES}
    assert refresh(store, SOME) == []


@pytest.mark.req("P1", "P2")
def test_twice_and_the_old_ones_last(
    spark: SparkSession, tmp_path: Path, records: list[NewRecord], at_once: dict[str, list[Any]]
) -> None:
    store = DeltaStore(spark, tmp_path)
    place = cut(records)
    land(store, spark, records[place - 20 :], place - 19)  # twenty entries are landed twice
    refresh(store, SOME)
    land(store, spark, records[:place])
    refresh(store, SOME)
    assert {name: contents(store, name) for name in NAMES} == {name: at_once[name] for name in NAMES}


class Failing(DeltaStore):
    """A store that fails once, when a certain table is to be replaced."""

    fails_at = "transactions"

    def replace_days(self, df: DataFrame, name: str, days: Collection[date], app: str, version: int) -> bool:
        if name == self.fails_at:
            self.fails_at = ""
            raise OSError("no space left")
        return super().replace_days(df, name, days, app, version)


def test_a_run_that_broke_off_is_simply_repeated(
    spark: SparkSession, tmp_path: Path, records: list[NewRecord], at_once: dict[str, list[Any]]
) -> None:
    store = Failing(spark, tmp_path)
    land(store, spark, records)
    with pytest.raises(OSError, match="no space"):
        refresh(store, SOME)
    assert {one.table for one in refresh(store, SOME)} == {"transactions", "traffic"}
    assert {name: contents(store, name) for name in NAMES} == {name: at_once[name] for name in NAMES}


def test_configuration_alone_touches_no_day(
    spark: SparkSession, tmp_path: Path, records: list[NewRecord], at_once: dict[str, list[Any]]
) -> None:
    """A network begins with its configuration, and is configured again when nothing else happens."""
    store = DeltaStore(spark, tmp_path)
    traffic_from = next(
        place for place, record in enumerate(records) if decode(record.facts).at_us > PLAN.start_us + 10
    )
    land(store, spark, records[:traffic_from])
    assert [one.days for one in refresh(store, SOME)] == [()] * len(SOME)
    land(store, spark, records[traffic_from:], traffic_from + 1)
    refresh(store, SOME)
    land(store, spark, records[traffic_from - 1 : traffic_from], len(records) + 1, "the same configuration again")
    assert [one.days for one in refresh(store, SOME)] == [()] * len(SOME)
    assert {name: contents(store, name) for name in NAMES} == {name: at_once[name] for name in NAMES}


@pytest.mark.req("P2")
def test_an_answer_that_came_the_day_before_by_another_clock_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    midnight_us = 1_793_491_200_000_000  # 2026-11-01
    asked, answered = (ids.session(midnight_us + ahead, bytes(10)) for ahead in (1_000, -1_000))
    there, back = (Copy("to", (Hop(gcid * 16),)) for gcid in "ba")
    posted = (MessageType.REQUEST, "", 1, "json", 0, 1, (), (there,))
    request = MessagePosted(midnight_us + 1_000, asked, asked, "a" * 16, *posted)
    response = MessagePosted(
        midnight_us - 1_000, answered, asked, "b" * 16, MessageType.RESPONSE, *posted[1:-1], (back,),
        answers=AnsweredDelivery(delivery_number(1, 0), asked),
    )  # fmt: skip
    store = DeltaStore(spark, tmp_path)
    tables = [table for table in SOME if table.name in ("message_histories", "transactions")]
    for place, entry in enumerate((request, response), 1):
        land(store, spark, [NewRecord(encode(entry), None)], place)
        refresh(store, tables)
    [found] = contents(store, "transactions")
    assert (found["day"], found["responses"], found["response_us"]) == (date(2026, 11, 1), 1, 0)


def test_nothing_landed_is_nothing_to_do(spark: SparkSession, tmp_path: Path) -> None:
    assert refresh(DeltaStore(spark, tmp_path)) == []
