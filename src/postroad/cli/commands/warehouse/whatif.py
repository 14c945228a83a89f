"""The command ``postroad whatif``: replay logged traffic under changed rules and prices."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from postroad.bootstrap.routings import load_routings
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.progress import show_job_progress
from postroad.cli.framework.settings import gather_settings
from postroad.cli.framework.spark import Cluster, with_cluster
from postroad.cli.input.directories import find_journal, read_document
from postroad.cli.input.rules_and_models import read_tree
from postroad.cli.views.whatif import show_report
from postroad.errors import Misconfigured
from postroad.flow.batching.send_port import ROOM

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion


@command
@click.option("--config", "files", multiple=True, metavar="FILE", help="The change, in YAML; repeatable.")
@click.option(
    "--model", "trees", multiple=True, metavar="MODEL=FILE", help="A model, and the tree it would have; repeatable."
)
@click.option(
    "--from", "begin", type=click.DateTime(), help="Start of the traffic (UTC); default: the beginning of the journal."
)
@click.option("--to", "end", type=click.DateTime(), help="End of the traffic (UTC), exclusive; default: now.")
@click.option("--data", default="", metavar="FOLDER", help="Data folder of the network.")
@click.option(
    "--prune",
    is_flag=True,
    help="In the organizations that the files name, also remove objects that the files do not name.",
)
@click.option(
    "--baseline",
    type=click.Choice(["today", "then"]),
    default="today",
    show_default=True,
    help="Compare with today's rules, or with what really happened.",
)
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write the report as a page, with charts."
)
@click.option("--author", default="", metavar="NAME", help="Name of the author, for the page.")
@click.option("--rows", default="", metavar="FOLDER", help="Keep the result for each message, as Parquet.")
@click.option(
    "--progress", type=click.Path(path_type=Path, dir_okay=False), help="Write the progress to this file, in JSON."
)
@with_cluster
def whatif(
    out: Output, files: tuple[str, ...], trees: tuple[str, ...], begin: datetime | None, end: datetime | None,
    data: str, prune: bool, baseline: str, html: Path | None, author: str, rows: str, progress: Path | None,
    cluster: Cluster,
) -> None:  # fmt: skip
    """Show what a change of configuration would have done to logged traffic.

    The files are read as by `postroad apply`, trees as by `postroad model import --prune`. Every message of the
    journal that was posted in the given time is routed as it is and as it would be, also forwarded by exchanges and
    models, and gathered by send ports: the report has the messages that would take another route and why, the
    services that gain or lose, the batches there would be and how long messages would wait for them, and every
    party's bill before and after. Nothing is changed.
    """
    from postroad.warehouse.bulk.output import require_new_folder
    from postroad.warehouse.bulk.read.archive import list_pieces
    from postroad.warehouse.whatif.job import WhatIfJob, compare_journal, keep_rows, make_report
    from postroad.warehouse.whatif.journal_replay import TimeWindow
    from postroad.warehouse.whatif.page import render_page
    from postroad.warehouse.whatif.report import report_value

    journal = find_journal(data)
    window = TimeWindow(from_us=_us(begin), to_us=_us(end))
    question = _whatif_question(journal, data, ConfigurationChange(files, trees, prune), window, baseline)
    if rows:
        require_new_folder(rows)
    spark = cluster.session("postroad whatif")
    counted = spark.sparkContext.accumulator(0)
    run = WhatIfJob(question=question, pieces=list_pieces(journal), rows=counted)
    with show_job_progress(out, spark, "comparing", counted=lambda: int(counted.value), file=progress):
        report = make_report(spark, keep_rows(spark, compare_journal(spark, run), rows), question)
    out.value(report_value(report))
    show_report(out, report)
    if html is not None:
        html.write_text(render_page(report, _text_of(files, trees), _made_by(author)))
        out.print(f"Written to {html}")


class ConfigurationChange(NamedTuple):
    """The configuration change to test, as given on the command line."""

    files: tuple[str, ...]
    trees: tuple[str, ...]
    prune: bool


def _whatif_question(
    journal: str, data: str, change: ConfigurationChange, window: TimeWindow, baseline: str
) -> WhatIfQuestion:
    from postroad.warehouse.bulk.read.directories import read_directories
    from postroad.warehouse.whatif.journal_replay import WhatIfQuestion

    history = read_directories(journal)
    today = history.find_latest()
    settings = gather_settings(None, data, ())
    return WhatIfQuestion(
        before=today,
        after=_changed_directory_of(today, change),
        window=window,
        as_it_was=baseline == "then",
        history=history,
        routings=load_routings(settings.routings),
        batch_bytes=int(settings.message_bytes * ROOM),
    )


def _text_of(files: tuple[str, ...], trees: tuple[str, ...]) -> str:
    """Return the change as text for the report; for standard input, a note."""
    named = [*files, *(tree.partition("=")[2] for tree in trees)]
    texts = ["(the change was read from standard input)" if file == "-" else Path(file).read_text() for file in named]
    return "\n".join(text.rstrip("\n") for text in texts)


def _made_by(author: str) -> str:
    return f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC" + (f" for {author}" if author else "")


def _changed_directory_of(today: Directory, change: ConfigurationChange) -> Directory:
    from postroad.warehouse.bulk.read.directories import apply_document
    from postroad.warehouse.whatif.model_change import replace_model

    if not change.files and not change.trees:
        raise Misconfigured(["there is nothing to compare; use --config for a change, or --model for a model's tree"])
    after = apply_document(read_document(change.files), today, prune=change.prune) if change.files else today
    for given in change.trees:
        model, equals, file = given.partition("=")
        if not equals:
            raise Misconfigured([f"--model {given}: write it as MODEL=FILE"])
        after = replace_model(after, model, read_tree(file))
    return after


def _us(moment: datetime | None) -> int:
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000_000) if moment is not None else 0
