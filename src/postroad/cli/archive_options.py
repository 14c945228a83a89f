"""What every job over an archive asks for on the command line: the archive, the network, and what messages leave open."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from postroad.cli.directory_files import directory_in_files, directory_in_journal, journal_in
from postroad.cli.on_spark import on_spark
from postroad.cli.output import Output
from postroad.errors import Misconfigured

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory

FORMS = ("lines", "messages", "envelopes", "journal")


def over_an_archive(function: Callable[..., None]) -> Callable[..., None]:
    """What every lane asks for: the archive, where its rows go, and what the archive leaves open."""
    options = (
        click.option(
            "--in", "archive", required=True, metavar="ARCHIVE", help="File, folder, URI, or a network's data folder."
        ),
        click.option("--out", "folder", required=True, metavar="FOLDER", help="New folder for the results."),
        click.option("--config", "files", multiple=True, metavar="FILE", help="The network, in YAML; repeatable."),
        click.option(
            "--data", default="", metavar="FOLDER", help="The network, as the journal in this data folder has it now."
        ),
        click.option(
            "--form", type=click.Choice(FORMS), help="What the archive is, where its files' names do not say."
        ),
        click.option("--as", "sender", default="", metavar="SERVICE", help="Sender of messages that have no From."),
        click.option(
            "--at", type=click.DateTime(), help="When they are taken to be posted (UTC); else now. A journal says it."
        ),
        click.option("--ndjson", is_flag=True, help="Write lines of JSON too."),
        on_spark,
    )
    for option in reversed(options):
        function = option(function)
    return function


class Where(NamedTuple):
    """The archive, the network, and what is taken for granted about the messages."""

    archive: str
    folder: str
    files: tuple[str, ...]
    data: str
    form: str | None
    sender: str
    at: datetime | None


def network_of(where: Where, form: str) -> Directory:
    if where.files and where.data:
        raise Misconfigured(["--config and --data both name the network; give one of them"])
    if where.files:
        return directory_in_files(where.files)
    return directory_in_journal(journal_in(where.archive if form == "journal" and not where.data else where.data))


def at_us(at: datetime | None) -> int:
    moment = at.replace(tzinfo=at.tzinfo or UTC).timestamp() if at is not None else time.time()
    return int(moment * 1_000_000)


def tell_faults(out: Output, counts: dict[str, Any], folder: str) -> None:
    if counts["faults"]:
        out.table(["FAULT", "ROWS"], [[code, str(count)] for code, count in counts["faults"].items()])
    out.say(f"Written to {folder}")
