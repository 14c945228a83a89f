"""The commands ``postroad batches`` and ``postroad batch``: list, inspect, release, pause, resume and drop batches."""

from __future__ import annotations

from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.cli.views.batches import describe_action, show_batch, show_batches, show_members
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_actions import BATCH_ACTIONS, BatchAction

STATES = (*(state.value for state in BatchState), "all")
MEMBERS_SHOWN = 20
MEMBER_HELP = "\n\nDELIVERY is its number, as in the list of members."


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
        found = client.batches.list(service, state or "")
    for one in found:
        out.value(one)
    show_batches(out, found)
    if not found:
        out.print("No batches.")


@click.group()
def batch() -> None:
    """Manage one batch of messages that are sent together."""


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
    """List all messages that have joined a batch, in the order of arrival."""
    with connection.client() as client:
        found = client.batches.members(batch)
    for one in found:
        out.value(one)
    show_members(out, found)
    if not found:
        out.print("No members.")


def make_command(action: BatchAction) -> click.Command:
    """Return the command of an action, with the options that the action needs."""

    def act(out: Output, batch: str, reason: str, connection: NetworkConnection, **member: int) -> None:
        with connection.client() as client:
            found = getattr(client.batches, action.method)(batch, **member, reason=reason)
        out.value(found)
        out.print(describe_action(action.past, found))

    act.__name__ = action.method
    act.__doc__ = action.description + (MEMBER_HELP if action.of_member else "")
    run = with_connection(act)
    required: dict[str, Any] = {"required": True} if action.needs_reason else {"default": ""}
    run = click.option("--reason", **required, help="Recorded with the action.")(run)
    if action.of_member:
        run = click.argument("delivery", type=int)(run)
    return command(click.argument("batch")(run))


def add_actions(group: click.Group) -> None:
    """Add the command of each action; those with its old names are hidden."""
    for action in BATCH_ACTIONS.values():
        group.add_command(make_command(action))
        for name in action.old_names:
            hidden = make_command(action)
            hidden.hidden = True
            group.add_command(hidden, name)


batch.add_command(show)
batch.add_command(members)
add_actions(batch)
