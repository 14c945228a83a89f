"""The same messages through the server's exchange and through the operation that matches, on Spark: the same answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from postroad.adapters.journal.segments import SegmentReader
from postroad.core.admission.admit import ADDRESSED
from postroad.core.model.journal import MessagePosted, decode
from postroad.flow.stages.posting import decode_parts
from postroad.warehouse.bulk.job import BulkRun, result_frame, run_locally
from postroad.warehouse.bulk.match.operation import FAILED, MatchOperation
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from postroad.warehouse.bulk.read.messages import ArchiveDefaults
from postroad.warehouse.bulk.routing import RouteOperation, copy_from_row
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion, replay_pieces
from tests.warehouse.bulk.exchange_traffic import BINDINGS, EXCHANGE, NEXT, STRICT, Played, orders, play, routings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.req("P5", "X1")

MESSAGES = 60


class Forwarded(NamedTuple):
    session: str
    queue: str
    content: bytes


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    return asyncio.run(play(tmp_path_factory.mktemp("matching") / "data", orders(MESSAGES)))


def entries(journal: str) -> list[tuple[MessagePosted, bytes]]:
    """Every post, with its first document."""
    reader = SegmentReader(Path(journal))
    found = []
    for record in reader.read_sync(0, 1 << 30).records:
        entry = decode(record.facts)
        if isinstance(entry, MessagePosted):
            parts = decode_parts(entry.parts, reader.body_sync(record.body) or b"") if record.body is not None else ()
            found.append((entry, parts[0].data if parts else b""))
    reader.close()
    return found


def written_down(journal: str, exchange: str) -> list[Forwarded]:
    """What the exchange has forwarded, by its journal."""
    return [
        Forwarded(entry.forwarded.session, copy.hops[-1].service, content)
        for entry, content in entries(journal)
        if entry.sender == exchange and entry.forwarded is not None
        for copy in entry.copies
    ]


def matched(spark: SparkSession, journal: str, exchange: str) -> list[dict[str, Any]]:
    operation = MatchOperation(exchange=exchange, sent_to_it=True, routings=routings())
    run = BulkRun(operation=operation, pieces=list_pieces(journal), directory=read_directories(journal).find_latest())
    return [row.asDict() for row in result_frame(spark, run).collect()]


def as_forwarded(rows: list[dict[str, Any]], journal: str) -> list[Forwarded]:
    """What would go out: as it came a message goes to a queue once, whatever has chosen it; what a binding made, for itself."""
    known = {entry.session: content for entry, content in entries(journal)}
    came = {Forwarded(row["session"], row["queue"], known[row["session"]]) for row in rows if row["content"] is None}
    return [*came, *(Forwarded(row["session"], row["queue"], bytes(row["content"])) for row in rows if row["content"])]


def test_an_archive_is_matched_as_the_server_matched_it(spark: SparkSession, played: Played) -> None:
    rows = matched(spark, played.journal, EXCHANGE)
    yes = [row for row in rows if not row["code"]]
    assert Counter(as_forwarded(yes, played.journal)) == Counter(written_down(played.journal, EXCHANGE))
    failed = Counter(row["binding"] for row in rows if row["code"])
    assert failed == {name: tally.errors for name, tally in played.tallies.items() if tally.errors}
    assert Counter(row["binding"] for row in yes) == {
        name: tally.matched for name, tally in played.tallies.items() if tally.matched
    }
    assert {row["binding"] for row in rows} == set(BINDINGS) - {"off"}  # each sort has been put to the test
    told = {
        (row["binding"], row["detail"] if row["code"] == FAILED else f"{row['code']}: {row['detail']}")
        for row in rows
        if row["code"]
    }
    assert {(name, tally.last_error) for name, tally in played.tallies.items() if tally.errors} <= told
    assert {row["code"] for row in rows} == {"", FAILED, "permission.denied"}


@pytest.mark.parametrize("exchange", [NEXT, STRICT])
def test_what_was_forwarded_to_it_counts_and_what_cannot_be_read_or_is_not_valid_is_refused(
    spark: SparkSession, played: Played, exchange: str
) -> None:
    rows = matched(spark, played.journal, exchange)
    yes = [row for row in rows if not row["code"]]
    assert yes
    assert Counter(as_forwarded(yes, played.journal)) == Counter(written_down(played.journal, exchange))
    refused = {row["session"]: (row["code"], row["detail"]) for row in rows if row["code"]}
    assert refused
    assert refused.items() <= played.refused.items()


def test_every_refusal_is_found_again(spark: SparkSession, played: Played) -> None:
    rows = [row for exchange in (EXCHANGE, NEXT, STRICT) for row in matched(spark, played.journal, exchange)]
    assert {row["session"] for row in rows if row["binding"] is None} == set(played.refused)


def test_what_was_forwarded_is_routed_as_it_was(played: Played) -> None:
    directory = read_directories(played.journal).find_latest()
    batches = run_locally(list_pieces(played.journal), RouteOperation(), directory, ArchiveDefaults())
    rows = [row for batch in batches for row in batch.to_pylist()]
    for entry, _ in entries(played.journal):
        if entry.type in ADDRESSED:
            mine = sorted((row for row in rows if row["session"] == entry.session), key=lambda row: row["copy"])
            assert tuple(copy_from_row(row) for row in mine) == entry.copies


@pytest.mark.req("P6")
@pytest.mark.parametrize("as_it_was", [False, True])
def test_what_if_plays_exactly_what_the_server_has_sent_on(played: Played, as_it_was: bool) -> None:
    history = read_directories(played.journal)
    today = history.find_latest()
    question = WhatIfQuestion(
        before=today, after=today, window=TimeWindow(), as_it_was=as_it_was, history=history, routings=routings()
    )
    rows = list(replay_pieces(list_pieces(played.journal), question))
    assert {row["verdict"] for row in rows if row["record"] == "message"} == {"same"}
    forwards = [row for row in rows if row["record"] == "forward"]
    for side in ("before", "after"):
        sent = Counter(
            (row["session"], row["sender"], way["recipient"]["service"], row["size"])
            for row in forwards
            for way in row[side]
        )
        assert sent == Counter(sent_on(played.journal))


def sent_on(journal: str) -> list[tuple[str, str, str, int]]:
    """By the first session: who has sent a copy on to whom, and how large it was."""
    posted = [entry for entry, _ in entries(journal)]
    first = {entry.session: entry.session for entry in posted if entry.forwarded is None}
    for entry in posted:  # in the order of the journal, so what an entry forwards is known
        if entry.forwarded is not None:
            first[entry.session] = first[entry.forwarded.session]
    return [
        (first[entry.session], entry.sender, copy.hops[-1].service, entry.size)
        for entry in posted
        if entry.forwarded is not None
        for copy in entry.copies
    ]
