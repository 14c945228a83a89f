"""``postroad bulk batch``: an archive assembled into interchanges by the policy of a send port."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.archive_options import Where, at_us, network_of, over_an_archive, tell_faults
from postroad.cli.command import command
from postroad.cli.job_bars import job_bar
from postroad.cli.on_spark import Cluster
from postroad.cli.output import Output
from postroad.cli.references import read_documents
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.warehouse.bulk.send_ports import SendPort

SCOPES = ("interchange", "group", "member")
HOUSE = "Archive"  # in which a policy is at home that belongs to no network


@command
@over_an_archive
@click.option("--port", default="", metavar="SERVICE", help="The batcher whose policy decides.")
@click.option(
    "--policy", default="", metavar="FILE", help="Instead of --port and a network: a section `batching`, in YAML."
)
@click.option("--sent-to-it", is_flag=True, help="Only messages that name the port as recipient.")
@click.option(
    "--until", type=click.DateTime(), help="How far time goes on after the last message (UTC); else for ever."
)
@click.option("--release", is_flag=True, help="Close what is still open then, as if somebody had asked for it.")
@click.option(
    "--largest", type=click.IntRange(1), help="Bytes of members at most; a server has nine tenths of message_bytes."
)
@click.option(
    "--first-number", "numbers", multiple=True, metavar="[SCOPE=]NUMBER",
    help="The first control number to use; SCOPE is interchange (as if left out), group or member. Repeatable.",
)  # fmt: skip
def batch(
    out: Output, ndjson: bool, cluster: Cluster, port: str, policy: str, sent_to_it: bool, until: datetime | None,
    release: bool, largest: int | None, numbers: tuple[str, ...], **where: Any,
) -> None:  # fmt: skip
    """Assemble the messages of an archive into interchanges, by a send port's policy and to the same bytes as the server.

    Each message is taken as if it had been sent to the port, in the order of the archive. The folder gets every interchange as a
    file, a list of the batches with what closed them, and a row for each message that says where in which interchange it is.
    """
    from postroad.warehouse.bulk.batching import BatchRun, write_batches
    from postroad.warehouse.bulk.folding import FOR_EVER_US
    from postroad.warehouse.bulk.gathering import GatherLane
    from postroad.warehouse.bulk.job import LaneRun
    from postroad.warehouse.bulk.output import location, require_new, write_lines
    from postroad.warehouse.bulk.reading import Unsaid

    asked = Where(**where)
    first_numbers = _first_numbers(numbers)
    require_new(asked.folder)
    pieces, network, found = _subject(asked, port, policy)
    found = found.within(largest or 0)
    spark = cluster.session("postroad bulk batch")
    rows = spark.sparkContext.accumulator(0)
    lane = GatherLane(port=found, folder=location(asked.folder), sent_to_it=sent_to_it)
    unsaid = Unsaid(sender=asked.sender, at_us=at_us(asked.at))
    run = BatchRun(
        gather=LaneRun(lane=lane, pieces=pieces, directory=network, unsaid=unsaid, rows=rows),
        port=found,
        folder=asked.folder,
        until_us=at_us(until) if until is not None else FOR_EVER_US,
        release=release,
        first_numbers=first_numbers,
    )
    with job_bar(out, spark, "batching", counted=lambda: int(rows.value)):
        counts = write_batches(spark, run)
    if ndjson:
        write_lines(spark, location(asked.folder))
    _report(out, counts, asked.folder)


def _subject(where: Where, port: str, policy: str) -> tuple[list[Any], Directory, SendPort]:
    """What is read, under which configuration, and the port that it comes to."""
    from postroad.warehouse.bulk.archive import Form, pieces_of
    from postroad.warehouse.bulk.configuration import changed_directory
    from postroad.warehouse.bulk.send_ports import send_port_named

    if bool(port) == bool(policy):
        raise Misconfigured(["name a batcher with --port, or a policy of its own with --policy"])
    pieces = pieces_of(where.archive, Form(where.form) if where.form else None)
    if policy:
        return pieces, Directory(), send_port_named(f"{HOUSE}/batcher", changed_directory(_network_around(policy)))
    network = network_of(where, pieces[0].form)
    return pieces, network, send_port_named(port, network)


def _network_around(policy: str) -> dict[str, Any]:
    """The least network in which a policy can be read and checked as any other."""
    content = read_documents((policy,), sys.stdin.read, {})
    profile = content if isinstance(content.get("batching"), dict) else {"batching": content}
    batching = profile["batching"] | {"sendsTo": f"{HOUSE}/receiver"}
    batcher = profile | {"hosted": "batcher", "batching": batching}
    return {"postroad": 1, "organizations": {HOUSE: {"services": {"batcher": batcher, "receiver": {}}}}}


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


def _report(out: Output, counts: dict[str, Any], folder: str) -> None:
    out.value(counts | {"folder": folder})
    out.say(f"{counts['rows']} rows; {counts['interchanges']} interchanges of {counts['bytes']} bytes")
    out.table(["BATCHES", "COUNT"], [[state, str(count)] for state, count in counts["states"].items()])
    tell_faults(out, counts, folder)
