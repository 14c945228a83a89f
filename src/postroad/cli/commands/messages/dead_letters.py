"""The command ``postroad dead-letters``: list failed deliveries, resend or drop them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.cli.input.message_options import parse_moment
from postroad.cli.views.dead_letters import report_results, show_dead_letter, show_dead_letters
from postroad.core.model.dead_letter_actions import DROP, RESEND, LetterAction

if TYPE_CHECKING:
    from postroad.client import Client
    from postroad.client.dead_letters import DeadLetterFilters
    from postroad.core.resources.dead_letters import LetterResult

FILTERS = ("service", "sender", "cause", "topic", "session", "since", "until")


@click.group()
def dead_letters() -> None:
    """List, resend and drop messages that failed permanently."""


def with_filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select dead letters, passed to the command as ``filters``."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        filters = {name: value for name in FILTERS if (value := options.pop(name))}
        for name in {"since", "until"} & set(filters):
            filters[name] = parse_moment(filters[name], past=True).isoformat()
        return function(*arguments, filters=filters, **options)

    for option in (
        click.option("--until", default="", metavar="TIME", help="Failed before this time."),
        click.option(
            "--since", default="", metavar="TIME", help="Failed at this time or later; 2h means two hours ago."
        ),
        click.option("--session", default="", help="Session ID of the message."),
        click.option("--topic", default="", help="Topic of the message."),
        click.option("--cause", default="", help="Cause, as `postroad dead-letters groups` names it."),
        click.option("--from", "sender", default="", metavar="SERVICE", help="Service that sent the message."),
        click.option("--service", default="", help="Service at which it failed."),
    ):
        run = option(run)
    return run


def with_selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that handle one dead letter or many."""
    for option in (
        click.option("--rate", default=0.0, type=click.FloatRange(0), help="Maximum number per second; 0: no limit."),
        click.option("--dry-run", is_flag=True, help="Only show how many match."),
        click.option("--all", "everything", is_flag=True, help="All of your dead letters, without a filter."),
        click.argument("delivery", type=int, default=0),
    ):
        function = option(function)
    return function


@command
@with_filters
@with_connection
def list_(out: Output, filters: DeadLetterFilters, connection: NetworkConnection) -> None:
    """List dead letters that were neither resent nor dropped, oldest first."""
    with connection.client() as client:
        found = client.dead_letters.list(**filters)
    for letter in found:
        out.value(letter)
    show_dead_letters(out, found)
    if not found:
        out.print("No dead letters.")


@command
@with_filters
@with_connection
def groups(out: Output, filters: DeadLetterFilters, connection: NetworkConnection) -> None:
    """Count dead letters by service and cause."""
    with connection.client() as client:
        found = client.dead_letters.groups(**filters)
    for group in found:
        out.value(group)
    rows = [[str(one.count), one.service, one.cause, one.newest, str(one.example), one.meaning] for one in found]
    if rows:
        out.table(["LETTERS", "AT", "CAUSE", "NEWEST", "DELIVERY", "MEANING"], rows)
    else:
        out.print("No dead letters.")


@command
@click.argument("delivery", type=int)
@with_connection
def show(out: Output, delivery: int, connection: NetworkConnection) -> None:
    """Show one dead letter with its history and its parts.

    DELIVERY is its number, as in the list. `postroad trace SESSION --documents` shows its contents, to those who may
    see them.
    """
    with connection.client() as client:
        found = client.dead_letters.letter(delivery)
    out.value(found)
    show_dead_letter(out, found)


@command
@with_selection_options
@click.option("--reason", default="", help="Recorded with the action.")
@click.option("--expires", default="", metavar="TIME", help="New time-to-live, such as 2h; default: the original one.")
@with_filters
@with_connection
def resend(
    out: Output,
    connection: NetworkConnection,
    filters: DeadLetterFilters,
    delivery: int,
    reason: str,
    expires: str,
    **how: Any,
) -> None:
    """Resend dead letters, each to where it failed, oldest first.

    Name one by its DELIVERY number, or many by filters (or --all). Those that cannot be delivered are listed with the
    reason and stay; the others are resent.
    """
    seconds = max(1, round((parse_moment(expires) - datetime.now(UTC)).total_seconds())) if expires else 0
    with connection.client() as client:
        letters = client.dead_letters
        if delivery:
            number = letters.resend(delivery, reason=reason, expires_in_s=seconds)
            out.value({"letter": delivery, "delivery": number})
            out.print(f"{RESEND.past} as {number}")
            return

        def deal(progress: Callable[[int], None]) -> list[LetterResult]:
            return letters.resend_many(
                reason=reason, expires_in_s=seconds, rate=how["rate"], progress=progress, **filters
            )

        _handle_many(out, client, filters, RESEND, deal, **how)


@command
@with_selection_options
@click.option("--reason", required=True, help="Recorded with the action.")
@with_filters
@with_connection
def drop(
    out: Output, connection: NetworkConnection, filters: DeadLetterFilters, delivery: int, reason: str, **how: Any
) -> None:
    """Drop dead letters; they stay failed, and are no longer listed.

    Name one by its DELIVERY number, or many by filters (or --all).
    """
    with connection.client() as client:
        if delivery:
            client.dead_letters.drop(delivery, reason)
            out.value({"letter": delivery})
            out.print(DROP.past)
            return

        def deal(progress: Callable[[int], None]) -> list[LetterResult]:
            return client.dead_letters.drop_many(reason, rate=how["rate"], progress=progress, **filters)

        _handle_many(out, client, filters, DROP, deal, **how)


def _handle_many(
    out: Output,
    client: Client,
    filters: DeadLetterFilters,
    action: LetterAction,
    deal: Callable[[Callable[[int], None]], list[LetterResult]],
    *,
    everything: bool,
    dry_run: bool,
    rate: float,
) -> None:
    if bool(filters) == everything:
        raise click.UsageError("select dead letters by a DELIVERY, at least one filter, or --all")
    counted = client.dead_letters.count(**filters)
    if dry_run:
        out.value(counted)
        out.print(f"{counted.matches}{'' if counted.complete else ' or more'} would be {action.past}")
        show_dead_letters(out, counted.sample)
        return
    with out.progress(f"letters {action.past}", counted.matches) as advance:
        dealt = deal(advance)
    report_results(out, dealt, action.past)


for below in (list_, groups, show, resend, drop):
    dead_letters.add_command(below)
