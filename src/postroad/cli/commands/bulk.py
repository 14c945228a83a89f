"""``postroad bulk``: whole archives of messages, on Spark, without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from postroad.bootstrap.routings import load_routings
from postroad.cli.archive_options import Where, at_us, network_of, over_an_archive, tell_faults
from postroad.cli.command import command
from postroad.cli.commands.bulk_batch import batch
from postroad.cli.configuring import settings_from
from postroad.cli.job_bars import job_bar
from postroad.cli.on_spark import Cluster
from postroad.cli.output import Output
from postroad.core.model.formats import PLAIN, Format

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.bulk.lane import Lane

SHOWN_MOST = 20  # bindings
TARGETS = [format.value for format in PLAIN if format is not Format.AS2]  # which takes keys


@click.group()
def bulk() -> None:
    """Handle archives of messages on Spark, as the server would."""


@command
@over_an_archive
def route(out: Output, ndjson: bool, cluster: Cluster, **where: Any) -> None:
    """Find the route of every message of an archive.

    An archive is NDJSON, a folder of message files (JSON, SOAP, envelopes, or any plain format), bodies of bulk posts in msgpack,
    or a journal. Each message and recipient gives a row: its itinerary, or the fault that a server would have refused it for.
    """
    from postroad.warehouse.bulk.routing import RouteLane

    counts = _done(out, cluster, RouteLane(), "routing", ndjson, Where(**where))
    _report(out, counts, where["folder"], "have a route")


@command
@over_an_archive
@click.option("--to", "format", required=True, type=click.Choice(TARGETS), help="The format to translate to.")
@click.option("--whole-only", is_flag=True, help="A message of which something would be lost is a fault.")
def translate(out: Output, ndjson: bool, cluster: Cluster, format: str, whole_only: bool, **where: Any) -> None:
    """Translate every message of an archive to another format, to the same bytes that the server gives.

    Each message and recipient gives a row with the bytes, their content type, and what has no place in the format. The network
    need not be known, unless the archive is a journal.
    """
    from postroad.warehouse.bulk.translating import TranslateLane

    lane = TranslateLane(format=Format(format), whole_only=whole_only)
    counts = _done(out, cluster, lane, "translating", ndjson, Where(**where), needs_network=False)
    _report(out, counts, where["folder"], f"are {format} now")


@command
@over_an_archive
@click.option("--exchange", required=True, metavar="SERVICE", help="The exchange whose bindings are asked.")
@click.option("--sent-to-it", is_flag=True, help="Only messages that name the exchange as recipient, or on their way.")
def match(out: Output, ndjson: bool, cluster: Cluster, exchange: str, sent_to_it: bool, **where: Any) -> None:
    """Match every message of an archive with all bindings of an exchange.

    Each message is taken as if it had been sent to the exchange. It gives a row for each binding that says yes, with what the
    binding makes of it, and for each that fails. Queries and scripts run as confined as in the server.
    """
    from postroad.warehouse.bulk.matching import MatchLane, exchange_named
    from postroad.warehouse.bulk.matching_counts import by_binding

    routings = load_routings(settings_from(None, where["data"], ()).routings)
    lane = MatchLane(exchange=exchange, sent_to_it=sent_to_it, routings=routings)
    network = Where(**where)
    counts = _done(
        out, cluster, lane, "matching", ndjson, network, check=lambda directory: exchange_named(exchange, directory)
    )
    bindings = by_binding(cluster.session("postroad bulk match"), network.folder)
    rows = [[one["binding"], one["queue"] or "", str(one["matches"]), str(one["errors"])] for one in bindings]
    out.table(["BINDING", "QUEUE", "MATCHES", "ERRORS"], rows[:SHOWN_MOST])
    if len(rows) > SHOWN_MOST:
        out.say(f"… and more; --json has up to {len(rows)} of them, the folder all")
    _report(out, counts | {"bindings": bindings}, network.folder, "are matches")


def _done(
    out: Output, cluster: Cluster, lane: Lane, doing: str, ndjson: bool, where: Where, *,
    needs_network: bool = True, check: Callable[[Directory], object] | None = None,
) -> dict[str, Any]:  # fmt: skip
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.bulk.archive import Form, pieces_of
    from postroad.warehouse.bulk.job import LaneRun
    from postroad.warehouse.bulk.output import require_new, write
    from postroad.warehouse.bulk.reading import Unsaid

    require_new(where.folder)
    pieces = pieces_of(where.archive, Form(where.form) if where.form else None)
    form = pieces[0].form if pieces else Form.JOURNAL
    is_named = bool(where.files or where.data or form is Form.JOURNAL)
    network = network_of(where, form) if needs_network or is_named else Directory()
    if check is not None:
        check(network)
    spark = cluster.session(f"postroad bulk {lane.name}")
    rows = spark.sparkContext.accumulator(0)
    unsaid = Unsaid(sender=where.sender, at_us=at_us(where.at))
    run = LaneRun(lane=lane, pieces=pieces, directory=network, unsaid=unsaid, rows=rows)
    with job_bar(out, spark, doing, counted=lambda: int(rows.value)):
        return write(spark, run, where.folder, ndjson=ndjson)


def _report(out: Output, counts: dict[str, Any], folder: str, what: str) -> None:
    out.value(counts | {"folder": folder})
    out.say(f"{counts['handled']} of {counts['rows']} rows {what}")
    tell_faults(out, counts, folder)


bulk.add_command(route)
bulk.add_command(translate)
bulk.add_command(match)
bulk.add_command(batch)
