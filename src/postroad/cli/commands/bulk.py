"""``postroad bulk``: whole archives of messages, on Spark, without a server."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.command import command
from postroad.cli.directory_files import directory_in_files, directory_in_journal, journal_in
from postroad.cli.job_bars import job_bar
from postroad.cli.on_spark import Cluster, on_spark
from postroad.cli.output import Output
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory

FORMS = ("lines", "messages", "envelopes", "journal")


@click.group()
def bulk() -> None:
    """Handle archives of messages on Spark, as the server would."""


@command
@click.option(
    "--in", "archive", required=True, metavar="ARCHIVE", help="File, folder, URI, or a network's data folder."
)
@click.option("--out", "folder", required=True, metavar="FOLDER", help="New folder for the results.")
@click.option("--config", "files", multiple=True, metavar="FILE", help="The network, in YAML; repeatable.")
@click.option(
    "--data", default="", metavar="FOLDER", help="The network, as the journal in this data folder has it now."
)
@click.option("--form", type=click.Choice(FORMS), help="What the archive is, where its files' names do not say.")
@click.option("--as", "sender", default="", metavar="SERVICE", help="Sender of messages that have no From.")
@click.option(
    "--at", type=click.DateTime(), help="When they are taken to be posted (UTC); else now. A journal says it."
)
@click.option("--ndjson", is_flag=True, help="Write lines of JSON too.")
@on_spark
def route(
    out: Output, archive: str, folder: str, files: tuple[str, ...], data: str, form: str | None, sender: str,
    at: datetime | None, ndjson: bool, cluster: Cluster,
) -> None:  # fmt: skip
    """Find the route of every message of an archive.

    An archive is NDJSON, a folder of message files (JSON, SOAP, envelopes), bodies of bulk posts in msgpack, or a journal.
    Each message and recipient gives a row: its itinerary, or the fault that a server would have refused it for.
    """
    from postroad.warehouse.bulk.archive import Form, pieces_of
    from postroad.warehouse.bulk.job import LaneRun
    from postroad.warehouse.bulk.output import require_new, write
    from postroad.warehouse.bulk.reading import Unsaid
    from postroad.warehouse.bulk.routing import RouteLane

    require_new(folder)
    pieces = pieces_of(archive, Form(form) if form else None)
    network = _directory(archive, pieces[0].form if pieces else Form.JOURNAL, files, data)
    spark = cluster.session("postroad bulk route")
    unsaid = Unsaid(sender=sender, at_us=_at_us(at))
    rows = spark.sparkContext.accumulator(0)
    run = LaneRun(lane=RouteLane(), pieces=pieces, directory=network, unsaid=unsaid, rows=rows)
    with job_bar(out, spark, "routing", counted=lambda: int(rows.value)):
        counts = write(spark, run, folder, ndjson=ndjson)
    _report(out, counts, folder)


def _directory(archive: str, form: str, files: tuple[str, ...], data: str) -> Directory:
    if files and data:
        raise Misconfigured(["--config and --data both name the network; give one of them"])
    if files:
        return directory_in_files(files)
    return directory_in_journal(journal_in(archive if form == "journal" and not data else data))


def _at_us(at: datetime | None) -> int:
    moment = at.replace(tzinfo=at.tzinfo or UTC).timestamp() if at is not None else time.time()
    return int(moment * 1_000_000)


def _report(out: Output, counts: dict[str, Any], folder: str) -> None:
    out.value(counts | {"folder": folder})
    out.say(f"{counts['handled']} of {counts['rows']} rows have a route")
    if counts["faults"]:
        out.table(["FAULT", "ROWS"], [[code, str(count)] for code, count in counts["faults"].items()])
    out.say(f"Written to {folder}")


bulk.add_command(route)
