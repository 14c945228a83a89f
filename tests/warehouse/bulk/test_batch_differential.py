"""The same messages through a batcher on a clock that tests move, and through the bulk operation on Spark: the same bytes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.core.model.batch_policy import BatchPolicy, Controlled, SortKey, Types, Unfinished
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.message import MessageType
from postroad.core.model.rule import MessageSection, ValueLocation, ValueType
from postroad.flow.stages.posting import decode_parts
from postroad.ports import NewRecord
from postroad.warehouse.bulk.batch.assembly import BatchRun, write_batches
from postroad.warehouse.bulk.batch.gathering import GatherOperation
from postroad.warehouse.bulk.batch.send_ports import find_named_send_port
from postroad.warehouse.bulk.job import BulkRun
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from tests.samples.send_port import SendPortScenario, order, send_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PORT = "Acme/orders"
SMALL = SegmentSettings(segment_bytes=1 << 20, least_free_bytes=0)
MESSAGES = 40
BY_TOTAL = SortKey(
    place=ValueLocation(where=MessageSection.HEADER, path="properties.total"), type=ValueType.NUMBER, descending=True
)
REGION = ValueLocation(where=MessageSection.HEADER, path="properties.region")
POLICIES = {
    "count and idle": BatchPolicy(count=4, idle_s=50),
    "bytes, grouped and sorted": BatchPolicy(bytes=200, age_s=300, group_by=(REGION,), sort_by=(BY_TOTAL,)),
    "types apart, some alone, some marked by the application": BatchPolicy(
        count=3,
        cron=("*/2 * * * *",),
        types=Types.APART,
        takes_types=("850", "860"),
        controlled=Controlled(unfinished_after_s=400, unfinished=Unfinished.SEND),
    ),
}


class Played(NamedTuple):
    journal: str
    interchanges: list[bytes]  # in the order in which they were posted
    until_us: int


async def play(policy: BatchPolicy, folder: Path, seed: int) -> Played:
    chance = random.Random(seed)
    async with send_port(policy) as there:
        for number in range(1, MESSAGES + 1):
            await _post(there, number, chance)
            await _run(there)
            there.clock.advance(chance.choice((1, 1, 5, 20, 70)))
            await _run(there)
        until_us = there.clock.now_us()
        records = (await there.network.journal.read(0, 1 << 30)).records
        bodies = [await there.network.journal.body(one.body) if one.body is not None else None for one in records]
    journal = SegmentJournal.open(folder / "journal", SMALL)
    await journal.append([NewRecord(one.facts, body) for one, body in zip(records, bodies, strict=True)])
    await journal.close()
    entries = [(decode(one.facts), body) for one, body in zip(records, bodies, strict=True)]
    made = [
        decode_parts(entry.parts, body or b"")[0].data
        for entry, body in entries
        if isinstance(entry, MessagePosted) and entry.assembled is not None
    ]
    return Played(str(folder / "journal"), [bytes(one) for one in made], until_us)


async def _run(there: SendPortScenario) -> None:
    """What is due goes off on time, and interchanges are taken at once."""
    await there.port.work()
    for interchange in await there.poll():
        await there.acknowledge(interchange)
    await there.port.work()


async def _post(there: SendPortScenario, number: int, chance: random.Random) -> None:
    data = order(number)
    if chance.random() < 0.2:
        data = data.replace(b"*850*", b"*860*")
    elif chance.random() < 0.1:
        data = data.replace(b"*850*", b"*810*")
    elif chance.random() < 0.1:
        data = data.replace(b"SE*3*", b"SE*9*")  # does not fit
    properties = {"region": chance.choice(("north", "south"))}
    if chance.random() < 0.8:
        properties["total"] = str(chance.randrange(100))
    if chance.random() < 0.4:
        properties |= {"BatchID": chance.choice("AB"), "BatchEnd": str(chance.random() < 0.3).lower()}
    kind = MessageType.REQUEST if number == 7 else MessageType.NOTIFICATION
    await there.send(data, type=kind, properties=properties)


@pytest.mark.req("B6", "P5")
@pytest.mark.parametrize("name", POLICIES)
def test_an_archive_gives_the_bytes_that_the_batcher_gave(spark: SparkSession, tmp_path: Path, name: str) -> None:
    played = asyncio.run(play(POLICIES[name], tmp_path / "data", seed=len(name)))
    assert len(played.interchanges) > 3
    directory = read_directories(played.journal).find_latest()
    port, folder = find_named_send_port(PORT, directory), str(tmp_path / "out")
    operation = GatherOperation(port=port, folder=folder, sent_to_it=True)
    gather = BulkRun(operation=operation, pieces=list_pieces(played.journal), directory=directory)
    counts = write_batches(spark, BatchRun(gather=gather, port=port, folder=folder, until_us=played.until_us))
    files = sorted((tmp_path / "out" / "interchanges").iterdir())
    assert [file.read_bytes() for file in files] == played.interchanges
    listed = [json.loads(line) for line in (tmp_path / "out" / "batches.ndjson").read_text().splitlines()]
    _check_manifest(tmp_path / "out", listed, counts)


def _check_manifest(out: Path, listed: list[dict[str, Any]], counts: dict[str, Any]) -> None:
    rows = pq.read_table(out / "parquet").to_pylist()
    assert len({row["session"] for row in rows}) == len(rows) == MESSAGES == counts["rows"]
    assert counts["faults"]["batch.request"] == 1
    for one in listed:
        mine = [row for row in rows if row["batch"] == one["batch"] and not row["code"]]
        assert len(mine) == one["members"]
        if one["state"] != "assembled":
            assert {row["outcome"] for row in mine} == {one["state"]}
            continue
        stream = (out / one["file"]).read_bytes()
        assert hashlib.sha256(stream).hexdigest() == one["sha256"]
        references = [row["reference"] for row in sorted(mine, key=lambda row: int(row["position"]))]
        assert [stated.split(b"~")[0].decode()[-4:] for stated in stream.split(b"~ST*")[1:]] == references
        assert {row["interchange"] for row in mine} == {str(one["numbers"]["interchange"][0])}
