"""``postroad poll``: take what waits in a service's mailbox."""

from __future__ import annotations

from collections.abc import Sequence

import click

from postroad.cli.assignments import assignments
from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.delivered_view import delivered_lines
from postroad.cli.output import Output
from postroad.core.codecs.json_form import write_delivered
from postroad.core.model.message import Delivered, MessageType
from postroad.core.model.polling import POLL_MAX, WAIT_MAX_S, Selector


@command
@click.option(
    "--max", "most", default=10, type=click.IntRange(1, POLL_MAX), help="At most this many.", show_default=True
)
@click.option(
    "--wait", "wait_s", default=0.0, type=click.FloatRange(0, WAIT_MAX_S), help="Seconds to wait for the first."
)
@click.option("--lease", "lease_s", default=0.0, help="Seconds until they come again unless acknowledged.")
@click.option("--ack", is_flag=True, help="Acknowledge them at once.")
@click.option("--trace", is_flag=True, help="Tell which services each has passed on its way.")
@click.option("--from", "sender", default="", help="Only from this service.")
@click.option("--type", "kind", type=click.Choice([kind.value for kind in MessageType]), help="Only of this type.")
@click.option("--topic", default="", help="Only with this topic.")
@click.option("--session", default="", help="Only this one.")
@click.option("--transaction", default="", help="Only of this transaction.")
@click.option("--property", "properties", multiple=True, metavar="NAME=VALUE", help="Only with this property.")
@connected
def poll(
    out: Output, most: int, wait_s: float, lease_s: float, ack: bool, trace: bool, kind: str | None,
    properties: tuple[str, ...], connection: Connection, **texts: str,
) -> None:  # fmt: skip
    """Take messages that wait for a service.

    The key says for which service. Without --ack they come again when the lease ends; `postroad ack` settles them later.
    """
    select = Selector(
        type=MessageType(kind) if kind else None, properties=tuple(assignments(properties).items()), **texts
    )
    with connection.client() as client:
        messages = client.poll(most, wait_s=wait_s, lease_s=lease_s, select=select, trace=trace)
        _print(out, messages)
        if ack and messages:
            client.acknowledge(*messages)


def _print(out: Output, messages: Sequence[Delivered]) -> None:
    """Printed before they are acknowledged: what nobody saw must not be gone."""
    if not messages:
        out.say("No messages.")
    for message in messages:
        out.value(write_delivered(message))
        for line in delivered_lines(message):
            out.show(line)
