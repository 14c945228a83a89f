"""``postroad whatif``: last month's traffic under changed rules and prices, before anybody is touched by them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from postroad.bootstrap.routings import load_routings
from postroad.cli.command import command
from postroad.cli.configuring import settings_from
from postroad.cli.directory_files import document_in, journal_in
from postroad.cli.job_bars import job_bar
from postroad.cli.model_files import tree_in
from postroad.cli.on_spark import Cluster, on_spark
from postroad.cli.output import Output
from postroad.cli.whatif_view import show_report
from postroad.errors import Misconfigured
from postroad.flow.batch_port import ROOM

if TYPE_CHECKING:
    from postroad.core.model.snapshot import Directory
    from postroad.warehouse.whatif.traffic import Question, Window


@command
@click.option("--config", "files", multiple=True, metavar="FILE", help="The change, in YAML; repeatable.")
@click.option(
    "--model", "trees", multiple=True, metavar="MODEL=FILE", help="A model, and the tree it would have; repeatable."
)
@click.option("--from", "begin", type=click.DateTime(), help="First moment of the traffic (UTC); else the journal's.")
@click.option("--to", "end", type=click.DateTime(), help="Moment before which it was posted (UTC); else now.")
@click.option("--data", default="", metavar="FOLDER", help="Data folder of the network.")
@click.option("--prune", is_flag=True, help="Also without what the files do not name, in the organizations they name.")
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
@click.option("--author", default="", metavar="NAME", help="Who asks, for the page.")
@click.option("--rows", default="", metavar="FOLDER", help="Keep what is said of each message, as Parquet.")
@click.option(
    "--progress", type=click.Path(path_type=Path, dir_okay=False), help="Say in this file how far it is, in JSON."
)
@on_spark
def whatif(
    out: Output, files: tuple[str, ...], trees: tuple[str, ...], begin: datetime | None, end: datetime | None,
    data: str, prune: bool, baseline: str, html: Path | None, author: str, rows: str, progress: Path | None,
    cluster: Cluster,
) -> None:  # fmt: skip
    """Say what a change of configuration would have done to logged traffic.

    The files are taken as `postroad apply` would take them, trees as `postroad model import --prune`. Every message of the
    journal that was posted in the time named is routed as it is and as it would be, sent on by exchanges and models likewise, and
    gathered by send ports: the report has the messages that would take another way and why, the services that gain or lose, the
    batches there would be and how long messages would wait for them, and every party's bill before and after. Nothing is changed.
    """
    from postroad.warehouse.bulk.archive import pieces_of
    from postroad.warehouse.bulk.output import require_new
    from postroad.warehouse.whatif.job import WhatIfRun, compared_rows, kept, report_of
    from postroad.warehouse.whatif.page import page
    from postroad.warehouse.whatif.report import as_json
    from postroad.warehouse.whatif.traffic import Window

    journal = journal_in(data)
    window = Window(from_us=_us(begin), to_us=_us(end))
    question = _question(journal, data, Change(files, trees, prune), window, baseline)
    if rows:
        require_new(rows)
    spark = cluster.session("postroad whatif")
    counted = spark.sparkContext.accumulator(0)
    run = WhatIfRun(question=question, pieces=pieces_of(journal), rows=counted)
    with job_bar(out, spark, "comparing", counted=lambda: int(counted.value), file=progress):
        report = report_of(spark, kept(spark, compared_rows(spark, run), rows), question)
    out.value(as_json(report))
    show_report(out, report)
    if html is not None:
        html.write_text(page(report, _text_of(files, trees), _made_by(author)))
        out.say(f"Written to {html}")


class Change(NamedTuple):
    """What would be different, as said on the command line."""

    files: tuple[str, ...]
    trees: tuple[str, ...]
    prune: bool


def _question(journal: str, data: str, change: Change, window: Window, baseline: str) -> Question:
    from postroad.warehouse.bulk.configuration import directories_in
    from postroad.warehouse.whatif.traffic import Question

    history = directories_in(journal)
    today = history.latest()
    settings = settings_from(None, data, ())
    return Question(
        before=today,
        after=_changed(today, change),
        window=window,
        as_it_was=baseline == "then",
        history=history,
        routings=load_routings(settings.routings),
        batch_bytes=int(settings.message_bytes * ROOM),
    )


def _text_of(files: tuple[str, ...], trees: tuple[str, ...]) -> str:
    """The change as it was written; of a change on standard input, that it was there."""
    named = [*files, *(tree.partition("=")[2] for tree in trees)]
    texts = ["(the change was read from standard input)" if file == "-" else Path(file).read_text() for file in named]
    return "\n".join(text.rstrip("\n") for text in texts)


def _made_by(author: str) -> str:
    return f"Written {datetime.now(UTC):%Y-%m-%d %H:%M} UTC" + (f" for {author}" if author else "")


def _changed(today: Directory, change: Change) -> Directory:
    from postroad.warehouse.bulk.changed_models import with_model
    from postroad.warehouse.bulk.configuration import changed_directory

    if not change.files and not change.trees:
        raise Misconfigured(["nothing would be different; name a change with --config, or a model's tree with --model"])
    after = changed_directory(document_in(change.files), today, prune=change.prune) if change.files else today
    for given in change.trees:
        model, equals, file = given.partition("=")
        if not equals:
            raise Misconfigured([f"--model {given}: write it as MODEL=FILE"])
        after = with_model(after, model, tree_in(file))
    return after


def _us(moment: datetime | None) -> int:
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000_000) if moment is not None else 0
