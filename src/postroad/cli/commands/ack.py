"""``postroad ack``: say what became of polled messages."""

from __future__ import annotations

import sys

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.exits import Exit
from postroad.cli.output import Output


@command
@click.argument("tokens", nargs=-1, required=True, metavar="TOKEN...")
@click.option("--give-back", is_flag=True, help="Not handled: let them come again.")
@click.option("--delay", "delay_s", default=0.0, help="With --give-back: seconds until they come again.")
@click.option("--reason", default="", help="With --give-back: why; it is kept in the history.")
@connected
def ack(
    out: Output, tokens: tuple[str, ...], give_back: bool, delay_s: float, reason: str, connection: Connection
) -> None:
    """Acknowledge polled messages, or give them back.

    Acknowledged messages never come again. Exit code 3 when one of the tokens was not accepted.
    """
    with connection.client() as client:
        result = client.give_back(*tokens, delay_s=delay_s, reason=reason) if give_back else client.acknowledge(*tokens)
    out.value(result)
    for settled in result.settled:
        what = "given back" if give_back else "acknowledged"
        out.say(f"{settled.token}: {f'{settled.detail} [{settled.code}]' if settled.code else what}")
    if any(settled.code for settled in result.settled):
        sys.exit(Exit.REFUSED)
