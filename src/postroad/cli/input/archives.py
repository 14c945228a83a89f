"""Command-line options of all bulk jobs: the archive, the network, and defaults for missing message fields."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from postroad.cli.framework.output import Output
from postroad.cli.framework.spark import with_cluster
from postroad.cli.input.directories import directory_from_files, directory_from_journal, find_journal
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory

FORMS = ("lines", "messages", "envelopes", "journal")


def with_archive_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a bulk operation: the archive, the output folder, and defaults for missing fields."""
    options = (
        click.option(
            "--in", "archive", required=True, metavar="ARCHIVE", help="File, folder, URI, or a network's data folder."
        ),
        click.option("--out", "folder", required=True, metavar="FOLDER", help="New folder for the results."),
        click.option("--config", "files", multiple=True, metavar="FILE", help="The network, in YAML; repeatable."),
        click.option("--data", default="", metavar="FOLDER", help="The network, from the journal in this data folder."),
        click.option("--form", type=click.Choice(FORMS), help="Kind of the archive; default: detected by file names."),
        click.option("--as", "sender", default="", metavar="SERVICE", help="Sender of messages without From."),
        click.option(
            "--at",
            type=click.DateTime(),
            help="Assumed time of posting (UTC); default: now. Journals contain the time.",
        ),
        click.option("--ndjson", is_flag=True, help="Also write JSON lines."),
        with_cluster,
    )
    for option in reversed(options):
        function = option(function)
    return function


class ArchiveOptions(NamedTuple):
    """The archive, the network, and the defaults for missing message fields."""

    archive: str
    folder: str
    files: tuple[str, ...]
    data: str
    form: str | None
    sender: str
    at: datetime | None


def read_directory(where: ArchiveOptions, form: str) -> Directory:
    if where.files and where.data:
        raise Misconfigured(["--config and --data both specify the network; use one of them"])
    if where.files:
        return directory_from_files(where.files)
    return directory_from_journal(find_journal(where.archive if form == "journal" and not where.data else where.data))


def posting_time_us(at: datetime | None) -> int:
    moment = at.replace(tzinfo=at.tzinfo or UTC).timestamp() if at is not None else time.time()
    return int(moment * 1_000_000)


def print_errors(out: Output, counts: dict[str, Any], folder: str) -> None:
    if counts["faults"]:
        out.table(["FAULT", "ROWS"], [[code, str(count)] for code, count in counts["faults"].items()])
    out.print(f"Written to {folder}")
