"""``postroad release``: have everything pushed that is held back for a service."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output


@command
@click.argument("service")
@connected
def release(out: Output, service: str, connection: Connection) -> None:
    """Have everything pushed that is held back for a service.

    Said of services whose profile has `release:`. What comes later is held back again.
    """
    with connection.client() as client:
        released = client.release(service)
    out.value(released)
    out.say(_said(released["service"], released["going"], released["notBefore"]))


def _said(service: str, going: int, not_before: str | None) -> str:
    if not going:
        return f"{service}: no message waits for a release (to try a paused push now: `postroad services try-push {service}`)"
    messages = "1 message is" if going == 1 else f"{going} messages are"
    return f"{service}: {messages} going" + (f", when the delivery window opens at {not_before}" if not_before else "")
