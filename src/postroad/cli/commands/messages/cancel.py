"""The command ``postroad cancel``: withdraw a message as far as this is still possible."""

from __future__ import annotations

import sys

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output


@command
@click.argument("session")
@with_connection
def cancel(out: Output, session: str, connection: NetworkConnection) -> None:
    """Cancel the copies of a message that have not been delivered yet.

    SESSION is what posting returned, and the key is the sender's. Exit code 3 if some copies could not be
    cancelled.
    """
    from postroad.core.codecs.json_form import write_result

    with connection.client() as client:
        result = client.cancel(session)
    out.value(write_result(result))
    for recipient in result.recipients:
        what = f"{recipient.detail} [{recipient.code}]" if recipient.code else "withdrawn"
        out.print(f"{recipient.service}: {what}")
    if any(recipient.code for recipient in result.recipients):
        sys.exit(ExitCode.REFUSED)
