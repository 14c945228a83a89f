"""The command ``postroad explain``: the route of a message, and the reasons for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output

if TYPE_CHECKING:
    from postroad.client import Client


@command
@click.argument("what", metavar="FILE|SESSION")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw the route into this file.", metavar="FILE")
@click.option("--from", "sender", default="", help="The service that would post it; default: the service of the key.")
@click.option("--to", multiple=True, metavar="SERVICE", help="Recipient of a FILE that is only a document; repeatable.")
@click.option("--topic", default="", help="Topic of a FILE that is only a document.")
@click.option("--type", "kind", type=click.Choice(["notification", "request"]), default="notification",
              show_default=True, help="Type of a FILE that is only a document.")  # fmt: skip
@click.option("--property", "properties", multiple=True, metavar="NAME[:TYPE]=VALUE",
              help="Property of a FILE that is only a document.")  # fmt: skip
@with_connection
def explain(out: Output, what: str, svg: Path | None, connection: NetworkConnection, **options: Any) -> None:
    """Show the route of a message, and why it takes it.

    FILE contains a message as it could be posted (JSON or SOAP), or a document to send with --to: nothing is stored
    or sent. SESSION names a posted message: the output has the evaluated rules, the values they read, their actions, and the
    route.
    """
    with connection.client() as client:
        ask = _explanation_query(client, what, options)
        if svg is not None:
            svg.write_text(ask("svg"))
        if out.as_json:
            out.value(ask("json"))
        elif svg is None:
            out.print(ask("text").rstrip())
        else:
            out.print(f"the route is drawn in {svg}")


def _explanation_query(client: Client, what: str, options: dict[str, Any]) -> Any:
    from postroad.cli.input.messages import is_session

    if is_session(what):
        return lambda form: client.explanation(what, form)
    prepared = _message(what, **options)
    return lambda form: client.explain_message(prepared, form)


def _message(file: str, *, sender: str, to: tuple[str, ...], topic: str, kind: str, properties: tuple[str, ...]) -> Any:
    from msgspec.structs import replace

    from postroad.cli.input.message_options import document_part, parse_properties
    from postroad.cli.input.messages import message_from, read_content
    from postroad.client import message

    content = read_content(file)
    found = message_from(content)
    if found is None and not to:
        raise click.UsageError(f"{file} is a document, not a message: add --to with its recipient")
    if found is None:
        found = message(
            to=to,
            type=kind,
            topic=topic,
            properties=parse_properties(properties),
            document=document_part(content, file),
        )
    return replace(found, sender=sender or found.sender)
