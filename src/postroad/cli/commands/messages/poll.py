"""The commands ``postroad poll`` and ``postroad ack``: receive waiting messages, and acknowledge them or give them back."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.input.message_options import parse_assignments
from postroad.cli.views.deliveries import delivered_lines
from postroad.core.codecs.json_form import write_delivered
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.polling import POLL_MAX, WAIT_MAX_S, Selector


@command
@click.option(
    "--max", "most", default=10, type=click.IntRange(1, POLL_MAX), help="At most this many.", show_default=True
)
@click.option(
    "--wait", "wait_s", default=0.0, type=click.FloatRange(0, WAIT_MAX_S), help="Seconds to wait for the first message."
)
@click.option("--lease", "lease_s", default=0.0, help="Lease: seconds until unacknowledged messages are redelivered.")
@click.option("--ack", is_flag=True, help="Acknowledge the messages at once.")
@click.option("--trace", is_flag=True, help="Show the services that each message has passed.")
@click.option("--from", "sender", default="", help="Only from this service.")
@click.option("--type", "kind", type=click.Choice([kind.value for kind in MessageType]), help="Only of this type.")
@click.option("--topic", default="", help="Only with this topic.")
@click.option("--session", default="", help="Only this message.")
@click.option("--transaction", default="", help="Only of this transaction (conversation).")
@click.option("--property", "properties", multiple=True, metavar="NAME=VALUE", help="Only with this property.")
@with_connection
def poll(
    out: Output, most: int, wait_s: float, lease_s: float, ack: bool, trace: bool, kind: str | None,
    properties: tuple[str, ...], connection: NetworkConnection, **texts: str,
) -> None:  # fmt: skip
    """Receive messages that wait for a service.

    The key determines the service. Without --ack they are redelivered when the lease ends; `postroad ack` settles
    them later.
    """
    select = Selector(
        type=MessageType(kind) if kind else None, properties=tuple(parse_assignments(properties).items()), **texts
    )
    with connection.client() as client:
        messages = client.poll(most, wait_s=wait_s, lease_s=lease_s, select=select, trace=trace)
        _print_messages(out, messages)
        if ack and messages:
            client.acknowledge(*messages)


def _print_messages(out: Output, messages: Sequence[Delivered]) -> None:
    """Print messages before they are acknowledged, so that none is lost unseen."""
    if not messages:
        out.print("No messages.")
    for message in messages:
        out.value(write_delivered(message))
        for line in delivered_lines(message):
            out.show(line)


@command
@click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")
@click.option("--give-back", is_flag=True, help="Give them back, to be redelivered.")
@click.option("--delay", "delay_s", default=0.0, help="With --give-back: seconds until they are redelivered.")
@click.option("--reason", default="", help="With --give-back: why; it is kept in the history.")
@with_connection
def ack(
    out: Output, tokens: tuple[str, ...], give_back: bool, delay_s: float, reason: str, connection: NetworkConnection
) -> None:
    """Acknowledge polled messages, or give them back.

    Acknowledged messages are never redelivered. Exit code 3 when one of the tokens was not accepted.
    """
    with connection.client() as client:
        result = client.give_back(*tokens, delay_s=delay_s, reason=reason) if give_back else client.acknowledge(*tokens)
    out.value(result)
    for settled in result.settled:
        what = "given back" if give_back else "acknowledged"
        out.print(f"{settled.token}: {f'{settled.detail} [{settled.code}]' if settled.code else what}")
    if any(settled.code for settled in result.settled):
        sys.exit(ExitCode.REFUSED)
