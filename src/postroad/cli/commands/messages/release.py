"""The command ``postroad release``: push all messages that wait for release for a service."""

from __future__ import annotations

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output


@command
@click.argument("service")
@with_connection
def release(out: Output, service: str, connection: NetworkConnection) -> None:
    """Push all messages that wait for release at a service.

    For services whose profile has `release:`. Later messages wait for release again.
    """
    with connection.client() as client:
        released = client.release(service)
    out.value(released)
    out.print(_describe_release(released.service, released.going, released.not_before))


def _describe_release(service: str, going: int, not_before: str | None) -> str:
    if not going:
        return f"{service}: no message waits for release (to retry a paused push now: `postroad services try-push {service}`)"
    messages = "1 message is" if going == 1 else f"{going} messages are"
    return f"{service}: {messages} released" + (
        f", when the delivery window opens at {not_before}" if not_before else ""
    )
