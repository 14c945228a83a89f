"""``postroad cancel``: take a message back, as far as that is still possible."""

from __future__ import annotations

import sys

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.exits import Exit
from postroad.cli.output import Output


@command
@click.argument("session")
@connected
def cancel(out: Output, session: str, connection: Connection) -> None:
    """Withdraw what has not been delivered yet of a message.

    SESSION is what posting returned, and the key is the sender's. Exit code 3 when some of it could not be withdrawn.
    """
    from postroad.core.codecs.json_form import write_result

    with connection.client() as client:
        result = client.cancel(session)
    out.value(write_result(result))
    for recipient in result.recipients:
        what = f"{recipient.detail} [{recipient.code}]" if recipient.code else "withdrawn"
        out.say(f"{recipient.service}: {what}")
    if any(recipient.code for recipient in result.recipients):
        sys.exit(Exit.REFUSED)
