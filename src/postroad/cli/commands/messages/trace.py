"""The command ``postroad trace``: the full history of a message's transaction."""

from __future__ import annotations

from binascii import b2a_base64
from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.cli.views.traces import trace_tree
from postroad.client import Part
from postroad.core.resources.base import Resource


@command
@click.argument("session")
@click.option("--documents", is_flag=True, help="Show the documents, and what each service changed in them.")
@with_connection
def trace(out: Output, session: str, documents: bool, connection: NetworkConnection) -> None:
    """Show the whole history of a message's transaction.

    SESSION is what posting returned, of any message of the transaction. The output has what the key's organization
    may see. Documents are shown to the services concerned and not to operators, so use a service's key with
    --documents.
    """
    with connection.client() as client:
        history = client.trace(session)
        contents = client.contents(history) if documents else {}
    out.value(history_value(history))
    if documents:
        out.value({"documents": {str(delivery): list(map(part_value, parts)) for delivery, parts in contents.items()}})
    out.show(trace_tree(history, contents))
    if documents and not contents:
        out.print("No documents: only the services concerned may see them. Use the key of one of them with --key-file.")


def history_value(part: Any) -> Any:
    """Return a history in the JSON of ``--json``: fields by their names in Python, times in microseconds since 1970."""
    if isinstance(part, Resource):
        names = (f"{one}_us" if hasattr(part, f"{one}_us") else one for one in part.__struct_fields__)
        return {name: history_value(getattr(part, name)) for name in names}
    return [history_value(one) for one in part] if isinstance(part, list) else part


def part_value(part: Part) -> dict[str, Any]:
    known = {"id": part.id, "contentType": part.content_type, "attachment": part.attachment, "size": len(part.data)}
    try:
        return known | {"text": part.data.decode()}
    except UnicodeDecodeError:
        return known | {"base64": b2a_base64(part.data, newline=False).decode()}
