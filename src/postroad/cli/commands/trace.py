"""``postroad trace``: where is my message, and how did it get there?"""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output
from postroad.cli.trace_view import trace_tree


@command
@click.argument("session")
@connected
def trace(out: Output, session: str, connection: Connection) -> None:
    """Show the whole history of a message's transaction.

    SESSION is what posting returned, of any message of the transaction. Shown is what the key's organization may see.
    """
    with connection.client() as client:
        history = client.trace(session)
    out.value(history)
    out.show(trace_tree(history))
