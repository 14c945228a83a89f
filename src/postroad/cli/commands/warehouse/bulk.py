"""The command ``postroad bulk``: route, translate, match or batch archives of messages on Spark, without a server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from postroad.bootstrap.routings import load_routings
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.progress import show_job_progress
from postroad.cli.framework.settings import gather_settings
from postroad.cli.framework.spark import Cluster
from postroad.cli.input.archives import (
    ArchiveOptions,
    posting_time_us,
    print_errors,
    read_directory,
    with_archive_options,
)
from postroad.cli.input.configuration import read_configuration_files
from postroad.core.model.formats import PLAIN, Format
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.bulk.batch.send_ports import BulkSendPort
    from postroad.warehouse.bulk.operation import BulkOperation

SCOPES = ("interchange", "group", "member")
POLICY_ORGANIZATION = "Archive"  # in which a policy is at home that belongs to no network


@command
@with_archive_options
@click.option("--port", default="", metavar="SERVICE", help="The batcher whose policy decides.")
@click.option(
    "--policy", default="", metavar="FILE", help="Instead of --port and a network: a section `batching`, in YAML."
)
@click.option("--sent-to-it", is_flag=True, help="Only messages with the port as recipient.")
@click.option("--until", type=click.DateTime(), help="End of time after the last message (UTC); default: never.")
@click.option("--release", is_flag=True, help="Close batches that are still open at the end, as if released.")
@click.option(
    "--largest",
    type=click.IntRange(1),
    help="Maximum bytes of a batch's messages; a server uses nine tenths of message_bytes.",
)
@click.option(
    "--first-number", "numbers", multiple=True, metavar="[SCOPE=]NUMBER",
    help="The first control number to use; SCOPE is interchange (the default), group or member. Repeatable.",
)  # fmt: skip
def batch(
    out: Output, ndjson: bool, cluster: Cluster, port: str, policy: str, sent_to_it: bool, until: datetime | None,
    release: bool, largest: int | None, numbers: tuple[str, ...], **where: Any,
) -> None:  # fmt: skip
    """Assemble the messages of an archive into interchanges, by a send port's policy and to the same bytes as the server.

    Each message is treated as if it had been sent to the port, in the order of the archive. The folder gets every
    interchange as a file, a list of the batches with what closed them, and a row for each message with its
    interchange and position.
    """
    from postroad.warehouse.bulk.batch.assembly import BatchRun, write_batches
    from postroad.warehouse.bulk.batch.folding import NO_END_US
    from postroad.warehouse.bulk.batch.gathering import GatherOperation
    from postroad.warehouse.bulk.job import BulkRun
    from postroad.warehouse.bulk.output import location, require_new_folder, write_lines
    from postroad.warehouse.bulk.read.messages import ArchiveDefaults

    asked = ArchiveOptions(**where)
    first_numbers = _first_numbers(numbers)
    require_new_folder(asked.folder)
    pieces, network, found = _batch_input(asked, port, policy)
    found = found.within(largest or 0)
    spark = cluster.session("postroad bulk batch")
    rows = spark.sparkContext.accumulator(0)
    operation = GatherOperation(port=found, folder=location(asked.folder), sent_to_it=sent_to_it)
    unsaid = ArchiveDefaults(sender=asked.sender, at_us=posting_time_us(asked.at))
    run = BatchRun(
        gather=BulkRun(operation=operation, pieces=pieces, directory=network, unsaid=unsaid, rows=rows),
        port=found,
        folder=asked.folder,
        until_us=posting_time_us(until) if until is not None else NO_END_US,
        release=release,
        first_numbers=first_numbers,
    )
    with show_job_progress(out, spark, "batching", counted=lambda: int(rows.value)):
        counts = write_batches(spark, run)
    if ndjson:
        write_lines(spark, location(asked.folder))
    _report_batches(out, counts, asked.folder)


def _batch_input(where: ArchiveOptions, port: str, policy: str) -> tuple[list[Any], Directory, BulkSendPort]:
    """Return the pieces to read, the directory, and the send port."""
    from postroad.warehouse.bulk.batch.send_ports import find_named_send_port
    from postroad.warehouse.bulk.read.archive import ArchiveForm, list_pieces
    from postroad.warehouse.bulk.read.directories import apply_document

    if bool(port) == bool(policy):
        raise Misconfigured(["use --port with a batcher, or --policy with a policy"])
    pieces = list_pieces(where.archive, ArchiveForm(where.form) if where.form else None)
    if policy:
        return (
            pieces,
            Directory(),
            find_named_send_port(f"{POLICY_ORGANIZATION}/batcher", apply_document(_network_around(policy))),
        )
    network = read_directory(where, pieces[0].form)
    return pieces, network, find_named_send_port(port, network)


def _network_around(policy: str) -> dict[str, Any]:
    """Return the smallest configuration in which a policy can be read and checked."""
    content = read_configuration_files((policy,), sys.stdin.read, {})
    profile = content if isinstance(content.get("batching"), dict) else {"batching": content}
    batching = profile["batching"] | {"sendsTo": f"{POLICY_ORGANIZATION}/receiver"}
    batcher = profile | {"hosted": "batcher", "batching": batching}
    return {"postroad": 1, "organizations": {POLICY_ORGANIZATION: {"services": {"batcher": batcher, "receiver": {}}}}}


def _first_numbers(given: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in given:
        scope, _, number = text.rpartition("=")
        scope = scope or "interchange"
        if scope not in SCOPES or not number.isascii() or not number.isdigit() or not int(number):
            raise Misconfigured(
                [f"--first-number {text}: write it as NUMBER, or as SCOPE=NUMBER; scopes: {', '.join(SCOPES)}"]
            )
        found[scope] = int(number)
    return found


def _report_batches(out: Output, counts: dict[str, Any], folder: str) -> None:
    out.value(counts | {"folder": folder})
    out.print(f"{counts['rows']} rows; {counts['interchanges']} interchanges of {counts['bytes']} bytes")
    out.table(["BATCHES", "COUNT"], [[state, str(count)] for state, count in counts["states"].items()])
    print_errors(out, counts, folder)


MAX_SHOWN = 20  # bindings
TARGETS = [format.value for format in PLAIN if format is not Format.AS2]  # which takes keys


@click.group()
def bulk() -> None:
    """Process archives of messages on Spark, as the server would."""


@command
@with_archive_options
def route(out: Output, ndjson: bool, cluster: Cluster, **where: Any) -> None:
    """Find the route of every message of an archive.

    An archive is NDJSON, a folder of message files (JSON, SOAP, envelopes, or any external format), bodies of bulk
    posts in msgpack, or a journal. Each message and recipient gives a row: its itinerary, or the error with which a
    server would have refused it.
    """
    from postroad.warehouse.bulk.routing import RouteOperation

    counts = _run_operation(out, cluster, RouteOperation(), "routing", ndjson, ArchiveOptions(**where))
    _report_rows(out, counts, where["folder"], "have a route")


@command
@with_archive_options
@click.option("--to", "format", required=True, type=click.Choice(TARGETS), help="Target format.")
@click.option("--whole-only", is_flag=True, help="Treat lossy conversions as errors.")
def translate(out: Output, ndjson: bool, cluster: Cluster, format: str, whole_only: bool, **where: Any) -> None:
    """Translate every message of an archive to another format, to the same bytes as the server.

    Each message and recipient gives a row with the bytes, their content type, and what the format cannot carry. The
    network is needed only if the archive is a journal.
    """
    from postroad.warehouse.bulk.translation import TranslateOperation

    operation = TranslateOperation(format=Format(format), whole_only=whole_only)
    counts = _run_operation(
        out, cluster, operation, "translating", ndjson, ArchiveOptions(**where), needs_network=False
    )
    _report_rows(out, counts, where["folder"], f"are {format} now")


@command
@with_archive_options
@click.option("--exchange", required=True, metavar="SERVICE", help="The exchange whose bindings are evaluated.")
@click.option("--sent-to-it", is_flag=True, help="Only messages with the exchange as recipient or on their route.")
def match(out: Output, ndjson: bool, cluster: Cluster, exchange: str, sent_to_it: bool, **where: Any) -> None:
    """Match every message of an archive with all bindings of an exchange.

    Each message is treated as if it had been sent to the exchange. It gives a row for each binding that matches, with
    the binding's result, and for each that fails. Queries and scripts run in the same sandbox as in the server.
    """
    from postroad.warehouse.bulk.match.operation import MatchOperation, count_by_binding, find_exchange

    routings = load_routings(gather_settings(None, where["data"], ()).routings)
    operation = MatchOperation(exchange=exchange, sent_to_it=sent_to_it, routings=routings)
    network = ArchiveOptions(**where)
    counts = _run_operation(
        out, cluster, operation, "matching", ndjson, network, check=lambda directory: find_exchange(exchange, directory)
    )
    bindings = count_by_binding(cluster.session("postroad bulk match"), network.folder)
    rows = [[one["binding"], one["queue"] or "", str(one["matches"]), str(one["errors"])] for one in bindings]
    out.table(["BINDING", "QUEUE", "MATCHES", "ERRORS"], rows[:MAX_SHOWN])
    if len(rows) > MAX_SHOWN:
        out.print(f"… and more; --json shows up to {len(rows)}, the folder has all")
    _report_rows(out, counts | {"bindings": bindings}, network.folder, "are matches")


def _run_operation(
    out: Output, cluster: Cluster, operation: BulkOperation, doing: str, ndjson: bool, where: ArchiveOptions, *,
    needs_network: bool = True, check: Callable[[Directory], object] | None = None,
) -> dict[str, Any]:  # fmt: skip
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.bulk.job import BulkRun
    from postroad.warehouse.bulk.output import require_new_folder, write_results
    from postroad.warehouse.bulk.read.archive import ArchiveForm, list_pieces
    from postroad.warehouse.bulk.read.messages import ArchiveDefaults

    require_new_folder(where.folder)
    pieces = list_pieces(where.archive, ArchiveForm(where.form) if where.form else None)
    form = pieces[0].form if pieces else ArchiveForm.JOURNAL
    is_named = bool(where.files or where.data or form is ArchiveForm.JOURNAL)
    network = read_directory(where, form) if needs_network or is_named else Directory()
    if check is not None:
        check(network)
    spark = cluster.session(f"postroad bulk {operation.name}")
    rows = spark.sparkContext.accumulator(0)
    unsaid = ArchiveDefaults(sender=where.sender, at_us=posting_time_us(where.at))
    run = BulkRun(operation=operation, pieces=pieces, directory=network, unsaid=unsaid, rows=rows)
    with show_job_progress(out, spark, doing, counted=lambda: int(rows.value)):
        return write_results(spark, run, where.folder, ndjson=ndjson)


def _report_rows(out: Output, counts: dict[str, Any], folder: str, what: str) -> None:
    out.value(counts | {"folder": folder})
    out.print(f"{counts['handled']} of {counts['rows']} rows {what}")
    print_errors(out, counts, folder)


bulk.add_command(route)
bulk.add_command(translate)
bulk.add_command(match)
bulk.add_command(batch)
