"""The report tables against a recount in DuckDB, which shares no line with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import functions as fn

from postroad.core.audit.percentiles import RATIO, percentile_ms
from postroad.core.model.directory import Service
from postroad.warehouse.reports.anomalies import anomalies
from postroad.warehouse.reports.errors import errors
from postroad.warehouse.reports.latency import latency
from postroad.warehouse.reports.partner_days import partner_days
from postroad.warehouse.reports.partners import partners
from postroad.warehouse.reports.traffic import traffic
from postroad.warehouse.reports.undelivered import undelivered
from postroad.warehouse.staging.services import services
from tests.warehouse.conftest import Week

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def known(log: DataFrame) -> DataFrame:
    return services(log).cache()


@pytest.fixture(scope="module")
def recount(log: DataFrame, week: Week) -> Iterator[duckdb.DuckDBPyConnection]:
    """The landed log and the directory in DuckDB; copies are the rows of posts, and their ends come from the books."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        landed = log.toArrow()
        ends = [_end(week, seq, place) for seq, post in week.books.posted.items() for place in range(len(post.copies))]
        ended = pa.Table.from_pylist(ends)
        people = pa.Table.from_pylist(
            [{"gcid": gcid, "organization": one.organization} for gcid, one in week.directory.services.items()]
        )
        connection.register("landed", landed)
        connection.register("ended", ended)
        connection.register("people", people)
        connection.execute(
            "create table copies as select * exclude (state), ended.state from landed join ended using (message_seq, copy) "
            "where kind = 'message.posted'"
        )
        yield connection


def _end(week: Week, seq: int, place: int) -> dict[str, Any]:
    accepted = not week.books.posted[seq].copies[place].code
    state = week.books.ended(seq << 16 | place).name.lower() if accepted else None
    return {"message_seq": seq, "copy": place, "state": state}


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return sorted([tuple(row) for row in frame.select(*columns).collect()], key=repr)


def counted(recount: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return sorted(recount.execute(sql).fetchall(), key=repr)


@pytest.mark.req("P4")
def test_traffic(log: DataFrame, histories: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    found = rows(traffic(log, histories), "day", "hour", "type", "messages", "copies", "refused_copies", "bytes")
    expected = counted(
        recount,
        """select day, hour("at")::int, type, count(distinct seq), count(*), count(code),
             sum(case when copy = 0 then size end)::bigint
           from copies group by all
           union all select day, hour("at")::int, 'refused', count(*), 0, 0, sum(size)::bigint from landed
           where kind = 'message.refused' group by all""",
    )
    assert found == expected
    assert len({row[:3] for row in found}) == len(found)


@pytest.mark.req("P4")
def test_errors(log: DataFrame, histories: DataFrame, known: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    found = errors(log, histories, known)
    by_kind = rows(found.groupBy("what").agg({"count": "sum"}), "what", "sum(count)")
    expected = counted(
        recount,
        """select 'refused post', count(*) from landed where kind = 'message.refused'
           union all select 'refused recipient', count(*) from copies where code is not null
           union all select 'error response', count(*) from copies where status_code is not null and form <> 'network'
           union all select state, count(*) from copies where state in ('expired', 'failed', 'rejected', 'cancelled')
           group by all""",
    )
    assert by_kind == expected
    keys = rows(found, "day", "what", "code", "organization")
    assert len(set(keys)) == len(keys)
    refused = rows(found.where("what = 'refused post'"), "day", "code", "organization", "count")
    assert refused == counted(
        recount,
        "select day, code, organization, count(*) from landed join people on sender = gcid "
        "where kind = 'message.refused' group by all",
    )


@pytest.mark.req("P4")
def test_partners(histories: DataFrame, known: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        partners(histories, known), "day", "sender", "recipient", "messages", "requests", "bytes", "undelivered"
    )
    expected = counted(
        recount,
        """select day, s.organization, r.organization, count(*) filter (answers_session is null),
             count(*) filter (type = 'request'), coalesce(sum(size) filter (answers_session is null), 0)::bigint,
             count(*) filter (answers_session is null and state in ('expired', 'failed', 'rejected'))
           from copies
             join people s on s.gcid = case when answers_session is null then sender else recipient end
             join people r on r.gcid = case when answers_session is null then recipient else sender end
           where code is null group by all""",
    )
    assert found == expected


@pytest.mark.req("P4")
def test_undelivered(histories: DataFrame, known: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    found = rows(undelivered(histories, known), "message_seq", "copy", "state")
    expected = counted(
        recount,
        "select message_seq, copy, case state when 'queued' then 'under way' else state end from copies "
        "where code is null and state <> 'delivered'",
    )
    assert found == expected
    assert found


@pytest.mark.req("P4")
def test_latency_percentiles_are_right_to_a_bucket(histories: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    counts = latency(histories).where("measure = 'response'").groupBy("bucket").sum("count").collect()
    by_bucket = {row["bucket"]: row["sum(count)"] for row in counts}
    [(number, *exact)] = recount.execute(
        """with asked as (select session, at_us from copies where type = 'request' and copy = 0)
             , took as (select (r.at_us - asked.at_us) / 1000.0 as ms from copies r
                        join asked on r.answers_session = asked.session where r.form <> 'network')
           select count(*), quantile_disc(ms, 0.5), quantile_disc(ms, 0.95) from took"""
    ).fetchall()
    assert sum(by_bucket.values()) == number
    for share, milliseconds in zip((0.5, 0.95), exact, strict=True):
        assert percentile_ms(by_bucket, share) == pytest.approx(milliseconds, rel=RATIO - 1)


def test_partner_days(histories: DataFrame, known: DataFrame, recount: duckdb.DuckDBPyConnection) -> None:
    found = rows(partner_days(histories, known), "day", "organization", "messages", "answers", "errors")
    expected = counted(
        recount,
        """select day, organization, count(*) filter (answers_session is null), count(answers_session),
             count(*) filter (answers_session is not null and status_code is not null)
           from copies join people on sender = gcid where copy = 0 and form <> 'network' group by all""",
    )
    assert found == expected


def test_services_have_the_names_of_their_latest_version(known: DataFrame, week: Week) -> None:
    def shown(service: Service) -> tuple[str, str, str, str]:
        return service.gcid, service.organization, service.name, service.address

    expected = sorted(shown(service) for service in week.directory.services.values())
    assert rows(known, "service", "organization", "name", "address") == sorted(expected, key=repr)


@pytest.mark.req("P7")
def test_who_falls_silent_while_others_go_on_is_in_the_table_of_anomalies(spark: SparkSession) -> None:
    monday = date(2026, 10, 5)
    days = [monday + timedelta(days=number) for number in range(9) if number % 7 < 5]
    posted = [
        (day, house, 100, 0, 0) for day in days for house in ("Acme", "MyBiz") if (day, house) != (days[-2], "Acme")
    ]
    frame = spark.createDataFrame(posted, "day date, organization string, messages long, answers long, errors long")
    empty = {name: fn.lit(None).cast("double") for name in ("took", "spread")}
    [found] = anomalies(frame.withColumns(empty)).collect()
    assert (found["day"], found["organization"], found["measure"], found["value"]) == (days[-2], "Acme", "volume", 0)
