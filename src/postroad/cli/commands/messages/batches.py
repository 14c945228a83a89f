"""The commands ``postroad batches`` and ``postroad batch``: list, inspect, release, pause, resume and drop batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.cli.views.batches import describe_action, show_batch, show_batches, show_members

if TYPE_CHECKING:
    from postroad.client.batches import Batches

STATES = ("open", "closed", "assembled", "sent", "suspended", "dropped", "dissolved", "all")
MEMBERS_SHOWN = 20


@command
@click.argument("service", default="")
@click.option(
    "--state", type=click.Choice(STATES), help="Only batches in this state; default: all that have not been sent."
)
@with_connection
def batches(out: Output, service: str, state: str | None, connection: NetworkConnection) -> None:
    """List batches: how full each is, when it will be sent, and why it has not been sent yet.

    SERVICE is the batcher, by address or GCID; default: all of your organization.
    """
    with connection.client() as client:
        found = client.batches.listed(service, state or "")
    for one in found:
        out.value(one)
    show_batches(out, found)
    if not found:
        out.say("No batches.")


@click.group()
def batch() -> None:
    """Manage one batch of messages that leave together."""


@command
@click.argument("batch")
@with_connection
def show(out: Output, batch: str, connection: NetworkConnection) -> None:
    """Show one batch: its criteria, its interchange with control numbers, the partner's acknowledgment, and its first members.

    BATCH is its id, as listed by `postroad batches`.
    """
    with connection.client() as client:
        found = client.batches.batch(batch)
        some = client.batches.members(batch, most=MEMBERS_SHOWN + 1)
    out.value(found)
    show_batch(out, found, some[:MEMBERS_SHOWN], is_all=len(some) <= MEMBERS_SHOWN)


@command
@click.argument("batch")
@with_connection
def members(out: Output, batch: str, connection: NetworkConnection) -> None:
    """List all that ever joined a batch, in the order of arrival."""
    with connection.client() as client:
        found = client.batches.members(batch)
    for one in found:
        out.value(one)
    show_members(out, found)
    if not found:
        out.say("No members.")


@command
@click.argument("batch")
@click.option("--reason", default="", help="Recorded with the action.")
@with_connection
def release(out: Output, batch: str, reason: str, connection: NetworkConnection) -> None:
    """Close a batch now, even if its criteria are not met, and resume it if it was paused."""
    _change_batch(out, connection, "released", lambda batches: batches.release(batch, reason=reason))


@command
@click.argument("batch")
@click.option("--reason", default="", help="Recorded with the action.")
@with_connection
def hold(out: Output, batch: str, reason: str, connection: NetworkConnection) -> None:
    """Pause a batch: it still gathers messages, and is not sent until it is released."""
    _change_batch(out, connection, "paused", lambda batches: batches.hold(batch, reason=reason))


@command
@click.argument("batch")
@click.option("--reason", default="", help="Recorded with the action.")
@with_connection
def let_go(out: Output, batch: str, reason: str, connection: NetworkConnection) -> None:
    """Resume a paused batch."""
    _change_batch(out, connection, "resumed", lambda batches: batches.let_go(batch, reason=reason))


@command
@click.argument("batch")
@click.argument("delivery", type=int)
@click.option("--reason", required=True, help="Recorded with the action.")
@with_connection
def take_out(out: Output, batch: str, delivery: int, reason: str, connection: NetworkConnection) -> None:
    """Remove one message from a batch: it becomes a dead letter, and the others continue.

    DELIVERY is its number, as in the list of members.
    """
    _change_batch(out, connection, "taken out", lambda batches: batches.take_out(batch, delivery, reason))


@command
@click.argument("batch")
@click.option("--reason", default="", help="Recorded with the action.")
@with_connection
def resume(out: Output, batch: str, reason: str, connection: NetworkConnection) -> None:
    """Resume a suspended batch, with the same bytes if they were made."""
    _change_batch(out, connection, "resumed", lambda batches: batches.resume(batch, reason=reason))


@command
@click.argument("batch")
@click.option("--reason", required=True, help="Recorded with the action.")
@with_connection
def drop(out: Output, batch: str, reason: str, connection: NetworkConnection) -> None:
    """Drop a suspended batch: its members become dead letters, which can be resent."""
    _change_batch(out, connection, "dropped", lambda batches: batches.drop(batch, reason))


def _change_batch(
    out: Output, connection: NetworkConnection, done: str, act: Callable[[Batches], dict[str, Any]]
) -> None:
    with connection.client() as client:
        found = act(client.batches)
    out.value(found)
    out.say(describe_action(done, found))


for below in (show, members, release, hold, let_go, take_out, resume, drop):
    batch.add_command(below)
