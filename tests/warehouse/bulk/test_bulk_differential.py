"""The same traffic through a running server and through the bulk operation on Spark: the same routes, the same bytes."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from postroad.adapters.journal.segments import SegmentReader
from postroad.core.model.journal import MessagePosted, MessageRefused, decode, encode
from postroad.core.model.route import Copy
from postroad.flow.stages.entries import MAX_DETAIL
from postroad.ports import BodyAt
from postroad.warehouse.bulk.job import BulkRun, result_frame
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from postroad.warehouse.bulk.read.messages import ArchiveDefaults
from postroad.warehouse.bulk.routing import RouteOperation, copy_from_row
from tests.samples.served_network import Served, served, succeeded
from tests.warehouse.bulk.traffic import BUYER, CODECS, SELLER, document, messages, wires

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDINGS = {"json": "json", "soap11": "xml", "soap12": "soap", "envelope": "envelope"}
NOW_US = 1_900_000_000_000_000

Posted = tuple[int, MessagePosted | MessageRefused, BodyAt | None]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A network that has been posted every wire of the traffic, one after the other."""
    folder = tmp_path_factory.mktemp("differential")
    with served(folder / "data") as running:
        configure(running)
        connection = http.client.HTTPConnection(running.url.partition("://")[2])
        for (form, wire), message in zip(wires(), messages() * len(CODECS), strict=True):
            headers = {
                "Content-Type": CODECS[form].media_type,
                "Authorization": f"Bearer {running.key(message.sender).read_text().strip()}",
            }
            connection.request("POST", "/v1/messages", wire, headers)
            connection.getresponse().read()
        connection.close()
        running.end()
        yield running


def configure(running: Served) -> None:
    content = document()
    for address in (BUYER, SELLER):
        succeeded("keys", "make", "--output", running.key(address))
        house, _, name = address.partition("/")
        credential = {"label": "test", "keyFrom": f"file:{running.key(address)}"}
        content["organizations"][house]["services"][name]["credentials"] = [credential]
    file = running.data.parent / "network.yaml"
    file.write_text(yaml.safe_dump(content))
    succeeded("apply", file, "--yes", "--data", running.data)


@pytest.fixture(scope="module")
def journal(network: Served) -> list[Posted]:
    """What the server wrote down of each post, in order."""
    reader = SegmentReader(network.data / "journal")
    found: list[Posted] = []
    for record in reader.read_sync(0, 1 << 30).records:
        entry = decode(record.facts)
        if isinstance(entry, MessagePosted | MessageRefused):
            found.append((record.seq, entry, record.body))
    reader.close()
    return found


def operation_rows(spark: SparkSession, archive: Path, data: Path) -> list[dict[str, Any]]:
    run = BulkRun(
        operation=RouteOperation(),
        pieces=list_pieces(str(archive)),
        directory=read_directories(str(data / "journal")).find_latest(),
        unsaid=ArchiveDefaults(at_us=NOW_US),
    )
    return [row.asDict(recursive=True) for row in result_frame(spark, run).collect()]


def as_written_down(rows: list[dict[str, Any]]) -> tuple[Copy, ...] | tuple[str, str]:
    """The rows of one message as its entry would have them: copies, or code and detail of the refusal."""
    if [row["copy"] for row in rows] == [None]:
        return rows[0]["code"], rows[0]["detail"][:MAX_DETAIL]
    return tuple(copy_from_row(row) for row in sorted(rows, key=lambda row: row["copy"]))


@pytest.mark.req("P5")
def test_an_archive_is_routed_as_the_server_routed_the_same_wires(
    spark: SparkSession, network: Served, journal: list[Posted], tmp_path: Path
) -> None:
    for number, (form, wire) in enumerate(wires()):
        (tmp_path / f"{number:03}.{ENDINGS[form]}").write_bytes(wire)
    by_file: dict[int, list[dict[str, Any]]] = {}
    for row in operation_rows(spark, tmp_path, network.data):
        by_file.setdefault(int(Path(row["file"]).name[:3]), []).append(row)
    assert len(by_file) == len(journal) == len(wires())
    for number, (_, entry, body) in enumerate(journal):
        rows = by_file[number]
        if isinstance(entry, MessageRefused):
            assert as_written_down(rows) == (entry.code, entry.detail)
            continue
        copies = as_written_down(rows)
        assert copies == entry.copies
        assert encode(entry) == encode(with_copies(entry, copies))
        assert {bytes(row["digest"]) if row["digest"] else None for row in rows} == {body.digest if body else None}
        assert (rows[0]["size"], rows[0]["handle"], rows[0]["topic"]) == (entry.size, entry.handle, entry.topic)


def with_copies(entry: MessagePosted, copies: Any) -> MessagePosted:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return MessagePosted(**(fields | {"copies": copies}))


@pytest.mark.req("P5")
def test_the_journal_itself_is_routed_as_it_was(spark: SparkSession, network: Served, journal: list[Posted]) -> None:
    accepted = {seq: (entry, body) for seq, entry, body in journal if isinstance(entry, MessagePosted)}
    by_entry: dict[int, list[dict[str, Any]]] = {}
    for row in operation_rows(spark, network.data, network.data):
        by_entry.setdefault(row["position"], []).append(row)
    assert set(by_entry) == set(accepted)
    for seq, (entry, body) in accepted.items():
        rows = by_entry[seq]
        assert as_written_down(rows) == entry.copies
        assert {bytes(row["digest"]) if row["digest"] else None for row in rows} == {body.digest if body else None}
        assert {row["session"] for row in rows} == {entry.session}
