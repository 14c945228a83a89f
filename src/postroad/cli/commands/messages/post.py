"""The command ``postroad post``: one message from options and files, or many from a file of JSON lines.

Rules: all lines are read before the first is posted, so that an error in one of them leaves nothing half done. All
answers are reported whatever happens next, because the user must know where to continue.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.input.message_options import (
    parse_assignments,
    parse_moment,
    parse_properties,
    parse_recipients,
    parse_status,
    read_document_part,
)
from postroad.client import Client, Message, Part, PostResult, Refused, message
from postroad.client.chunk_post import Answer, split_chunks
from postroad.core.codecs.json_form import JSON_FORM, write_result
from postroad.core.codecs.lexical import ROUTINGS
from postroad.core.model.message import MessageType


class MessageLine(NamedTuple):
    file: str
    number: int
    data: bytes

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}" if self.file else f"line {self.number}"


def post_lines(out: Output, client: Client, files: tuple[str, ...]) -> None:
    """Post all lines and print one line of output for each message, in order; exit code 3 when some were refused."""
    if not files:
        raise click.UsageError("--bulk needs a FILE of JSON lines, or - for standard input")
    lines = [line for file in files for line in _read_lines(file, is_named=len(files) > 1)]
    messages = [_decode_line(line) for line in lines]
    answers: list[Answer] = []
    try:
        with out.progress("posting", len(lines)) as advance:
            for chunk in split_chunks(messages):
                answers += client.post_many(chunk)
                _print_results(out, lines, answers[-len(chunk) :], begin=len(answers) - len(chunk))
                advance(len(answers))
    finally:
        _print_summary(out, lines, answers)
    if any(isinstance(answer, Refused) for answer in answers):
        sys.exit(ExitCode.REFUSED)


def _read_lines(file: str, *, is_named: bool) -> Iterator[MessageLine]:
    """Yield the lines that are not empty, with their line numbers."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield MessageLine(file if is_named else "", number, line)


def _decode_line(line: MessageLine) -> Message:
    try:
        return JSON_FORM.decode_post(line.data)
    except Refused as refused:
        detail = f"{line}: {refused.detail}; nothing was posted"
        raise Refused(refused.code, detail, pointer=refused.pointer) from refused


def _print_results(out: Output, lines: list[MessageLine], answers: list[Answer], begin: int) -> None:
    for line, answer in zip(lines[begin:], answers, strict=False):
        if isinstance(answer, Refused):
            place = {"file": line.file, "line": line.number} if line.file else {"line": line.number}
            out.value(place | {"code": answer.code, "detail": answer.detail, "session": answer.session})
        else:
            out.value(write_result(answer))


def _print_summary(out: Output, lines: list[MessageLine], answers: list[Answer]) -> None:
    for line, answer in zip(lines, answers, strict=False):
        if isinstance(answer, Refused):
            out.print(f"{line}: {answer.detail} [{answer.code}]")
    accepted = sum(not isinstance(answer, Refused) for answer in answers)
    unknown = f"; no response for {lines[len(answers)]} and after it" if len(answers) < len(lines) else ""
    out.print(f"{accepted} of {len(lines)} messages accepted{unknown}")


@command
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--to", multiple=True, metavar="SERVICE", help="Recipient, by address or GCID; repeatable.")
@click.option("--text", multiple=True, help="A document, given as text.")
@click.option("--attach", multiple=True, metavar="FILE", help="An attachment; repeatable.")
@click.option("--content-type", default="", help="Content type of the documents; default: detected.")
@click.option("--type", "kind", type=click.Choice([kind.value for kind in MessageType]), default="notification",
              show_default=True, help="Type of the message.")  # fmt: skip
@click.option("--from", "sender", default="", help="The posting service; default: the service of the key.")
@click.option("--topic", default="", help="Topic.")
@click.option("--handle", default="", help="The sender's own name for the message.")
@click.option("--possible-duplicate", is_flag=True, help="Refuse the message if its handle was posted before.")
@click.option("--reference", default="", help="Token that a response or acknowledgement refers to.")
@click.option("--expires", default="", metavar="TIME", help="Expiry: a time, or 30m, 48h, 7d from now.")
@click.option("--via", multiple=True, metavar="SERVICE", help="Service on the route; repeatable, in order.")
@click.option("--routing", default="", type=click.Choice(["", *ROUTINGS]), metavar="static|dynamic",
              help="When rules are evaluated: before anything is delivered, or on the way.")  # fmt: skip
@click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE", help="Argument for the recipients.")
@click.option("--property", "properties", multiple=True, metavar="NAME[:TYPE]=VALUE",
              help="Property; TYPE is string, number, boolean or date.")  # fmt: skip
@click.option("--status", default="", metavar="CODE[:TEXT]", help="Status of a response that reports a failure.")
@click.option("--bulk", is_flag=True, help="FILE holds many messages as JSON lines.")
@with_connection
def post(out: Output, connection: NetworkConnection, bulk: bool, files: tuple[str, ...], **options: Any) -> None:
    """Post a message.

    Each FILE is a document; - is standard input. Prints the session, by which `postroad trace` finds the message.
    """
    if bulk and (said := _given_options(options)):
        raise click.UsageError(f"with --bulk each line specifies its whole message; omit {', '.join(said)}")
    with connection.client() as client:
        if bulk:
            post_lines(out, client, files)
        else:
            _print_result(out, client.post_message(compose_message(files, **options)))


def _given_options(options: dict[str, Any]) -> list[str]:
    """Return the options that were given explicitly."""
    context = click.get_current_context()
    written = [name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    return [parameter.opts[0] for parameter in context.command.params if parameter.name in written]


def compose_message(
    files: tuple[str, ...], *, to: tuple[str, ...], text: tuple[str, ...], attach: tuple[str, ...], content_type: str,
    kind: str, expires: str, via: tuple[str, ...], arguments: tuple[str, ...], properties: tuple[str, ...], status: str,
    **fields: Any,
) -> Message:  # fmt: skip
    """Build the message from the options."""
    if expires:
        fields["expires_at"] = parse_moment(expires)
    if status:
        fields["status"] = parse_status(status)
    given = [Part(id=str(number), content_type=content_type, data=one.encode()) if content_type else one
             for number, one in enumerate(text, len(files) + 1)]  # fmt: skip
    return message(
        to=parse_recipients(to, parse_assignments(arguments)),
        documents=[*(read_document_part(file, content_type, number) for number, file in enumerate(files, 1)), *given],
        attachments=[
            read_document_part(file, "", len(files) + len(text) + number) for number, file in enumerate(attach, 1)
        ],
        type=kind,
        route=parse_recipients(via, {}),
        properties=parse_properties(properties),
        **fields,
    )


def _print_result(out: Output, result: PostResult) -> None:
    out.value(write_result(result))
    out.print(f"session {result.session}")
    for recipient in result.recipients:
        if recipient.code:
            click.echo(f"not sent to {recipient.service}: {recipient.detail} [{recipient.code}]", err=True)
