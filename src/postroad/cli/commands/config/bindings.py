"""The commands ``postroad bind``, ``unbind`` and ``bindings``: the bindings of queues to exchanges."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, cast

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output

if TYPE_CHECKING:
    from postroad.client.bindings import BindingFields
    from postroad.core.model.message import Message

FILE_SIGN = "@"


def with_binding_options(function: Any) -> Any:
    """Add the options that select messages for a binding."""
    for option in (
        click.option("--routing-key", default="", metavar="TOPIC", help="Only messages with this topic."),
        click.option("--routing", default="", metavar="NAME",
                     help="Query or script installed at the exchange, or a function that the operator has registered."),
        click.option("--script", default="", metavar="TEXT|@FILE", help="Script that selects messages."),
        click.option("--query", default="", metavar="TEXT|@FILE", help="XQuery that selects messages."),
    ):  # fmt: skip
        function = option(function)
    return function


@command
@click.argument("exchange")
@click.argument("queue")
@with_binding_options
@click.option(
    "--name", default="", help="Name of the binding; replaces an existing binding with this name. Default: generated."
)
@click.option("--description", default="", help="Description.")
@click.option("--off", is_flag=True, help="Save it disabled, until `postroad bindings enable`.")
@with_connection
def bind(
    out: Output,
    exchange: str,
    queue: str,
    name: str,
    description: str,
    off: bool,
    connection: NetworkConnection,
    **given: str,
) -> None:
    """Bind a queue to an exchange: messages that match a query, a routing key or both are sent to it.

    QUEUE is the service that gets them, by address or GCID. Without --query, --script, --routing and --routing-key,
    every message matches. The result of a query replaces the message.
    """
    from postroad.cli.views.bindings import bound_line

    wanted = _wanted(given)
    wanted["description"], wanted["enabled"] = description, not off
    with connection.client() as client:
        bound = client.bindings.bind(exchange, queue, name=name, **wanted)
    out.value(bound)
    out.print(bound_line(bound, exchange))


@command
@click.argument("exchange")
@click.argument("name")
@with_connection
def unbind(out: Output, exchange: str, name: str, connection: NetworkConnection) -> None:
    """Remove a binding of an exchange."""
    with connection.client() as client:
        client.bindings.unbind(exchange, name)
    out.value({"removed": name})
    out.print(f"{name}: removed")


class BindingsGroup(click.Group):
    """Lists bindings for ``postroad bindings EXCHANGE``; every other first word is a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=BindingsGroup)
def bindings() -> None:
    """List and manage the bindings of exchanges.

    `postroad bindings EXCHANGE` is short for `postroad bindings list EXCHANGE`.
    """


@command
@click.argument("exchange")
@click.option("--queue", default="", help="Only bindings of this service's queue.")
@with_connection
def list_(out: Output, exchange: str, queue: str, connection: NetworkConnection) -> None:
    """List the bindings of an exchange: how each is evaluated, how often it matched, and its errors."""
    from postroad.cli.views.bindings import COLUMNS, binding_rows, error_lines

    with connection.client() as client:
        found = client.bindings.list(exchange, queue=queue)
    for binding in found:
        out.value(binding)
    if not found:
        out.print("No bindings.")
        return
    out.table(COLUMNS, binding_rows(found))
    for line in error_lines(found):
        out.print(line)


@command
@click.argument("exchange")
@click.argument("name")
@with_connection
def show(out: Output, exchange: str, name: str, connection: NetworkConnection) -> None:
    """Print one binding as YAML, as configuration files have it."""
    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        binding = client.bindings.binding(exchange, name)
    out.value(binding)
    written = {
        field: value for field, value in dict(binding).items() if field not in ("name", "version") and value != ""
    }
    out.print(as_yaml({binding.name: written}).rstrip())


@command
@click.argument("exchange")
@click.argument("name")
@with_connection
def enable(out: Output, exchange: str, name: str, connection: NetworkConnection) -> None:
    """Enable a binding."""
    _switch(out, connection, exchange, name, enabled=True)


@command
@click.argument("exchange")
@click.argument("name")
@with_connection
def disable(out: Output, exchange: str, name: str, connection: NetworkConnection) -> None:
    """Disable a binding; it stays stored and forwards nothing."""
    _switch(out, connection, exchange, name, enabled=False)


def _switch(out: Output, connection: NetworkConnection, exchange: str, name: str, *, enabled: bool) -> None:
    with connection.client() as client:
        switched = client.bindings.switch(exchange, name, enabled=enabled)
    out.value(switched)
    out.print(f"{switched.name}: {'on' if enabled else 'off'}")


@command
@click.argument("exchange")
@click.argument("name")
@with_connection
def explain(out: Output, exchange: str, name: str, connection: NetworkConnection) -> None:
    """Show how a binding is evaluated: shared with all others, prefiltered, or always evaluated."""
    from postroad.cli.views.bindings import explanation_lines

    with connection.client() as client:
        found = client.bindings.explain(exchange, name)
    out.value(found)
    for line in explanation_lines(name, found):
        out.print(line)


@command
@click.argument("exchange")
@click.argument("on", metavar="FILE|SESSION")
@with_binding_options
@click.option("--topic", default="", help="Topic of a FILE that is only a document.")
@click.option("--property", "properties", multiple=True, metavar="NAME[:TYPE]=VALUE",
              help="Property of a FILE that is only a document.")  # fmt: skip
@with_connection
def try_(
    out: Output,
    exchange: str,
    on: str,
    topic: str,
    properties: tuple[str, ...],
    connection: NetworkConnection,
    **given: str,
) -> None:
    """Show which bindings a message would match, and what would be sent.

    FILE holds a message as it could be posted (JSON or SOAP), or a document; SESSION names a message that was posted. With
    --query, --script, --routing or --routing-key, this binding is tested instead of the existing ones. Nothing is
    stored or sent. Exit code 1 if none matches.
    """
    from postroad.cli.views.bindings import trial_lines

    subject = _subject(on, topic, properties)
    wanted = _wanted(given)
    with connection.client() as client:
        found = client.bindings.try_out(exchange, subject, **wanted)
    out.value(found)
    for line in trial_lines(found):
        out.print(line)
    if not any(one.outcome == "goes" for one in found.items):
        sys.exit(ExitCode.ERROR)


def _subject(on: str, topic: str, properties: tuple[str, ...]) -> Message | str:
    from postroad.cli.input.message_options import document_part, parse_properties
    from postroad.cli.input.messages import is_session, message_from, read_content
    from postroad.client import message

    if is_session(on):
        return on
    content = read_content(on)
    found = message_from(content)
    if found is not None:
        return found
    return message(to=(), topic=topic, properties=parse_properties(properties), document=document_part(content, on))


def _wanted(given: dict[str, str]) -> BindingFields:
    texts = {name: _text_of(value) for name, value in given.items() if value}
    if sum(name in texts for name in ("query", "script", "routing")) > 1:
        raise click.UsageError("use only one of --query, --script and --routing")
    return cast("BindingFields", texts)


def _text_of(value: str) -> str:
    from postroad.cli.input.messages import read_text

    return read_text(value[1:]) if value.startswith(FILE_SIGN) else value


for below in (list_, show, enable, disable, explain, try_):
    bindings.add_command(below)
