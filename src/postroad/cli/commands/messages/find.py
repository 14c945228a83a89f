"""The command ``postroad find``: find a message by its session, handle, search key or other text."""

from __future__ import annotations

import sys
from shlex import quote

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.views.search_results import show_search_results
from postroad.core.audit.history.status_text import NOTHING_FOUND, SEARCH_HINT


@command
@click.argument("text")
@click.option(
    "--most",
    default=50,
    type=click.IntRange(0),
    help="Maximum number to show, newest first; 0: all.",
    show_default=True,
)
@with_connection
def find(out: Output, text: str, most: int, connection: NetworkConnection) -> None:
    """Find messages by any of their identifiers, and show where they are.

    TEXT is a session, token, handle, control number, a partner's reference, a batch's id or a search key, or the
    address or GCID of a service; complete, in upper or lower case. A single message is shown with where it is, since
    when, and what happens next and when. Only what the key's owner may see is found; if nothing is found, the exit
    code is 3.
    """
    if not text.strip():
        raise click.BadParameter("enter an identifier of the message", param_hint="TEXT")
    with connection.client() as client:
        found = client.find(text, most=most + 1 if most else 0)
    if not found:
        out.error("not-found", f"No matches for {text!r}. {NOTHING_FOUND} {SEARCH_HINT}")
        sys.exit(ExitCode.REFUSED)
    shown = found[:most] if most else found
    for one in shown:
        out.value(one)
    show_search_results(out, shown)
    if len(shown) < len(found):
        out.print(f"… and more; to show all: postroad find --most 0 {quote(text)}")
