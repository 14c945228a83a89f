"""``postroad bulk batch`` from the command line to the files it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.main import postroad
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message, MessageType, Part, Recipient
from tests.samples.send_port import order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICY = """
standard: x12
sender: MYBIZ
receiver: ACME
envelope: {version: "00401", usage: T}
count: 3
"""


def message(data: bytes, kind: MessageType = MessageType.NOTIFICATION, attached: int = 0) -> bytes:
    parts = [Part(id=str(number), content_type="application/edi-x12", data=data) for number in range(attached + 1)]
    return JSON_FORM.encode_post(
        Message(sender="MyBiz/Sales", to=(Recipient("Acme/orders"),), type=kind, parts=tuple(parts))
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Eight orders, of which one does not fit; a request, one that goes by itself, and a broken line."""
    lines = [message(order(number)) for number in range(1, 9)]
    lines[4] = message(order(5).replace(b"SE*3", b"SE*9"))
    lines += [message(order(9), MessageType.REQUEST), message(order(9), attached=1), b"{"]
    (tmp_path / "archive.ndjson").write_bytes(b"\n".join(line.strip() for line in lines))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path / "archive.ndjson"


def bulk_batch(archive: Path, *more: str) -> Result:
    given = ["--in", archive, "--out", archive.parent / "out", "--at", "2026-01-05", *more]
    return CliRunner().invoke(postroad, ["bulk", "batch", *map(str, given)])


@pytest.mark.req("P5", "B6")
def test_an_archive_becomes_interchanges_and_every_message_is_accounted_for(spark: SparkSession, archive: Path) -> None:
    numbers = ("--first-number", "42", "--first-number", "group=7")
    done = bulk_batch(archive, "--policy", str(archive.parent / "policy.yaml"), *numbers, "--json")
    assert done.exit_code == ExitCode.OK, done.output
    told = json.loads(done.output)
    assert (told["rows"], told["batches"], told["interchanges"]) == (11, 3, 2)
    assert told["faults"] == {"batch.request": 1, "interchange.unfit": 1, "wire.malformed": 1}
    out = archive.parent / "out"
    first, second = sorted((out / "interchanges").iterdir())
    assert b"*000000042*0*T*" in first.read_bytes()
    assert [b"IEA*1*000000043~" in second.read_bytes(), b"GE*2*8~" in second.read_bytes()] == [True, True]
    rows = {row["archive_position"]: row for row in pq.read_table(out / "parquet").to_pylist()}
    outcomes = [rows[place]["outcome"] for place in sorted(rows)]
    assert outcomes == ["assembled"] * 4 + [None] + ["assembled"] + ["open"] * 2 + [None, "by itself", None]
    fourth = rows[sorted(rows)[3]]
    assert (fourth["interchange_file"], fourth["interchange"], fourth["group"]) == (
        "interchanges/00000002.x12",
        "43",
        "8",
    )
    assert (fourth["document_type"], fourth["reference"], fourth["position"]) == ("850", "0004", 0)
    listed = [json.loads(line) for line in (out / "batches.ndjson").read_text().splitlines()]
    assert [(one["state"], one["members"], one["unfit"]) for one in listed] == [
        ("assembled", 3, 0),
        ("assembled", 2, 1),
        ("open", 2, 0),
    ]
    assert not list(out.glob("_writing*"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--port"),
        (("--policy", "{policy}", "--port", "Acme/orders"), "--port"),
        (("--policy", "{policy}", "--first-number", "segment=1"), "--first-number segment=1"),
        (("--policy", "{endless}"), "no criterion would close a batch"),
        (("--policy", "{unknown}"), "standard"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(archive: Path, more: tuple[str, ...], said: str) -> None:
    folder = archive.parent
    (folder / "endless.yaml").write_text(POLICY.replace("count: 3", ""))
    (folder / "unknown.yaml").write_text(POLICY.replace("x12", "x13"))
    given = [one.format(**{name: folder / f"{name}.yaml" for name in ("policy", "endless", "unknown")}) for one in more]
    done = bulk_batch(archive, *given)
    assert done.exit_code == ExitCode.ERROR, done.output
    assert said in done.stderr
