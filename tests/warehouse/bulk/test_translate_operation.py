"""The same messages out of a running server and out of the operation that translates, on Spark: the same bytes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from postroad.cli.main import postroad
from postroad.core.mediation.formats import decode_wire
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.message import Part
from postroad.warehouse.bulk.job import BulkRun, result_frame
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import read_directories
from postroad.warehouse.bulk.translation import TranslateOperation
from tests.samples.mediated import FORMATS, posted
from tests.samples.served_network import Served, served, succeeded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.req("P5", "T3")

NOTHING = Wire((), b"")
TARGETS = [format for format in PLAIN if format is not Format.AS2]
ORDER = (Part(id="1", content_type="application/xml", data="<order><für>Müller</für></order>".encode()),)
WITH_PHOTO = (
    Part(id="order@mybiz", content_type="application/xml", data=b"<order>" + b"x" * 200 + b"</order>"),
    Part(id="photo", content_type="image/jpeg", data=bytes(range(256)) * 9, attachment=True,
         headers=(("Content-Description", "the part that is broken"),)),
)  # fmt: skip
TWO_DOCUMENTS = (*ORDER, Part(id="photo", content_type="image/jpeg", data=b"photo"))  # DIME knows only one document


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class HandedOut(NamedTuple):
    content_type: str
    body: bytes


class Traffic(NamedTuple):
    data: Path
    handed_out: dict[tuple[str, str], HandedOut]  # by session and address of the receiver


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traffic]:
    """Messages in every format to a service of every plain one, and what the server made of them."""
    folder = tmp_path_factory.mktemp("translating")
    with served(folder / "data") as running:
        _configure(running)
        handed_out: dict[tuple[str, str], HandedOut] = {}
        receivers = [f"House/{format.value}" for format in TARGETS]
        wires = [
            posted(format, parts, receivers, topic="order", handle=f"{format.value} {len(parts)}")
            for format in FORMATS
            for parts in (ORDER, WITH_PHOTO)
        ]
        for wire in wires:
            _ask(running, "House/Sender", "POST", "/v1/messages", wire)
        for receiver in receivers:
            for _ in wires:
                answer = _ask(running, receiver, "GET", "/v1/messages/next?wait=20&lease=600")
                given = HandedOut(answer.headers["content-type"], answer.body)
                handed_out[answer.headers["postroad-session"], receiver] = given
        running.end()
        yield Traffic(running.data, handed_out)


def _configure(running: Served) -> None:
    services = {"Sender": {"format": "json"}} | {format.value: {"format": format.value} for format in TARGETS}
    for name, profile in services.items():
        key = running.key(f"House/{name}")
        succeeded("keys", "make", "--output", key)
        profile["credentials"] = [{"label": "test", "keyFrom": f"file:{key}"}]  # type: ignore[assignment]
    file = running.data.parent / "network.yaml"
    file.write_text(yaml.safe_dump({"postroad": 1, "organizations": {"House": {"services": services}}}))
    succeeded("apply", file, "--yes", "--data", running.data)


def _ask(running: Served, address: str, method: str, path: str, wire: Wire = NOTHING) -> Answer:
    connection = http.client.HTTPConnection(running.url.partition("://")[2], timeout=60)
    connection.putrequest(method, path)
    connection.putheader("Authorization", f"Bearer {running.key(address).read_text().strip()}")
    for name, value in wire.headers:
        connection.putheader(name, value.encode("latin-1"))
    connection.putheader("Content-Length", str(len(wire.body)))
    connection.endheaders(wire.body)
    response = connection.getresponse()
    answer = Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
    connection.close()
    assert answer.status < 300, answer.body
    return answer


@pytest.mark.parametrize("format", TARGETS)
def test_a_journal_is_translated_to_what_the_server_handed_out(
    spark: SparkSession, traffic: Traffic, format: Format
) -> None:
    archive = str(traffic.data / "journal")
    directory = read_directories(archive).find_latest()
    receiver = directory.service(f"House/{format.value}")
    assert receiver is not None
    run = BulkRun(operation=TranslateOperation(format=format), pieces=list_pieces(archive), directory=directory)
    rows = [row for row in result_frame(spark, run).collect() if row["recipient"] == receiver.gcid]
    made = {(row["session"], receiver.address): HandedOut(row["media_type"], bytes(row["wire"])) for row in rows}
    assert made == {place: given for place, given in traffic.handed_out.items() if place[1] == receiver.address}
    assert len(made) == 2 * len(FORMATS)


def test_files_of_any_format_become_one_and_what_is_lost_is_told(tmp_path: Path, spark: SparkSession) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    for format in TARGETS:
        (archive / f"photo.{format.value}.mime").write_bytes(posted(format, TWO_DOCUMENTS, []).body)
    (archive / "nothing.json").write_bytes(b"{")
    command = ["bulk", "translate", "--in", str(archive), "--to", "dime", "--json"]
    done = CliRunner().invoke(postroad, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    rows = pq.read_table(tmp_path / "out" / "parquet").to_pylist()
    assert (told["rows"], told["handled"]) == (len(rows), len(TARGETS))
    for row in rows:
        if not row["code"]:
            taken = decode_wire(Wire([("content-type", row["media_type"])], row["wire"]))
            assert [part.data for part in taken.parts] == [part.data for part in TWO_DOCUMENTS], row["file"]
    lossy = [row for row in rows if row["dropped"]]
    assert lossy
    strict = CliRunner().invoke(postroad, [*command, "--out", str(tmp_path / "whole"), "--whole-only"])
    assert json.loads(strict.output)["faults"]["mediation.lossy"] == len(lossy)
