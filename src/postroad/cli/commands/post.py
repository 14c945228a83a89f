"""``postroad post``: one message from options, files and standard input, or many from a file of JSON lines."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from postroad.cli.assignments import assignments, moment
from postroad.cli.bulk_file import post_lines
from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output
from postroad.cli.posting import document, properties_of, recipients, status_of
from postroad.client import Message, Part, PostResult, message
from postroad.core.codecs.json_form import write_result
from postroad.core.codecs.lexical import ROUTINGS
from postroad.core.model.message import MessageType


@command
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--to", multiple=True, metavar="SERVICE", help="Recipient, by address or GCID; repeatable.")
@click.option("--text", multiple=True, help="A document given right here.")
@click.option("--attach", multiple=True, metavar="FILE", help="An attachment; repeatable.")
@click.option("--content-type", default="", help="Of the documents; found by looking at them otherwise.")
@click.option("--type", "kind", type=click.Choice([kind.value for kind in MessageType]), default="notification",
              show_default=True, help="Type of the message.")  # fmt: skip
@click.option("--from", "sender", default="", help="The posting service; the key says it otherwise.")
@click.option("--topic", default="", help="Topic.")
@click.option("--handle", default="", help="The sender's own name for the message.")
@click.option("--possible-duplicate", is_flag=True, help="Refuse it if the handle was posted before.")
@click.option("--reference", default="", help="Token that a response or acknowledgement refers to.")
@click.option("--expires", default="", metavar="TIME", help="When it expires: a time, or 30m, 48h, 7d from now.")
@click.option("--via", multiple=True, metavar="SERVICE", help="Service to pass on the way; repeatable, in order.")
@click.option("--routing", default="", type=click.Choice(["", *ROUTINGS]), metavar="static|dynamic",
              help="When rules are tried: before anything is delivered, or on the way.")  # fmt: skip
@click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE", help="Argument for the recipients.")
@click.option("--property", "properties", multiple=True, metavar="NAME[:TYPE]=VALUE",
              help="Property; TYPE is string, number, boolean or date.")  # fmt: skip
@click.option("--status", default="", metavar="CODE[:TEXT]", help="Status of a response that reports a failure.")
@click.option("--bulk", is_flag=True, help="FILE holds many messages as JSON lines.")
@connected
def post(out: Output, connection: Connection, bulk: bool, files: tuple[str, ...], **options: Any) -> None:
    """Post a message.

    Each FILE is a document; - is standard input. Prints the session, by which `postroad trace` finds the message.
    """
    if bulk and (said := _said(options)):
        raise click.UsageError(f"with --bulk each line says all of its message; leave out {', '.join(said)}")
    with connection.client() as client:
        if bulk:
            post_lines(out, client, files)
        else:
            _report(out, client.post_message(composed(files, **options)))


def _said(options: dict[str, Any]) -> list[str]:
    """Those of the options that were really written."""
    context = click.get_current_context()
    written = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return [parameter.opts[0] for parameter in context.command.params if parameter.name in written]


def composed(
    files: tuple[str, ...], *, to: tuple[str, ...], text: tuple[str, ...], attach: tuple[str, ...], content_type: str,
    kind: str, expires: str, via: tuple[str, ...], arguments: tuple[str, ...], properties: tuple[str, ...], status: str,
    **fields: Any,
) -> Message:  # fmt: skip
    """The message that the options describe; what is left over has the model's own names."""
    if expires:
        fields["expires_at"] = moment(expires)
    if status:
        fields["status"] = status_of(status)
    given = [Part(id=str(number), content_type=content_type, data=one.encode()) if content_type else one
             for number, one in enumerate(text, len(files) + 1)]  # fmt: skip
    return message(
        to=recipients(to, assignments(arguments)),
        documents=[*(document(file, content_type, number) for number, file in enumerate(files, 1)), *given],
        attachments=[document(file, "", len(files) + len(text) + number) for number, file in enumerate(attach, 1)],
        type=kind,
        route=recipients(via, {}),
        properties=properties_of(properties),
        **fields,
    )


def _report(out: Output, result: PostResult) -> None:
    out.value(write_result(result))
    out.say(f"session {result.session}")
    for recipient in result.recipients:
        if recipient.code:
            click.echo(f"not sent to {recipient.service}: {recipient.detail} [{recipient.code}]", err=True)
