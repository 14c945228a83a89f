"""The command ``postroad model``: trees that messages are routed by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output

SIDES = click.Choice(["producer", "consumer"])
WAYS = click.Choice(["descendants", "ancestors", "siblings", "nearest"])
SHOWN = 200


@click.group()
def model() -> None:
    """Manage models: trees by which messages are routed."""


def with_attachment_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for where a service is attached, and as what."""
    for option in (
        click.option("--id", default="", help="Name of the attachment; default: derived from side, node and service."),
        click.option("--topic", "topics", multiple=True, help="Only this topic; repeatable. Exactly one without --at."),
        click.option("--at", "node", default="", metavar="NODE", help="Tag of the node; default: outside the tree, at a topic."),
        click.option("--as", "side", type=SIDES, required=True, help="On which side of the topics."),
    ):  # fmt: skip
        function = option(function)
    return function


@command
@click.argument("model")
@click.option(
    "--most", type=click.IntRange(1, 5_000), default=SHOWN, show_default=True, help="Maximum number of nodes."
)
@with_connection
def show(out: Output, model: str, most: int, connection: NetworkConnection) -> None:
    """Draw the tree of a model, with its attachments."""
    from postroad.cli.views.models import draw_tree

    with connection.client() as client:
        summary = client.models.model(model)
        nodes = client.models.nodes(model, most)
        attachments = client.models.attachments(model)
    out.value(dict(summary) | {"tree": nodes, "attached": attachments})
    out.show(draw_tree(summary, nodes, attachments))


@command
@click.argument("model")
@click.argument("file")
@click.option("--prune", is_flag=True, help="Also remove nodes and attachments that the file does not name.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask before removing.")
@with_connection
def import_(out: Output, model: str, file: str, prune: bool, yes: bool, connection: NetworkConnection) -> None:
    """Make a model match the file.

    FILE contains a tree in YAML or JSON; - is standard input. It is checked completely first, and then sent in pieces
    of a few thousand nodes. Each piece is applied completely or not at all; an interrupted import is simply repeated.
    """
    from postroad.cli.input.rules_and_models import read_tree
    from postroad.client.model_pieces import count_changes, read_model, saving_pieces

    tree = read_model(read_tree(file))
    total = sum(map(count_changes, saving_pieces(tree)))
    with connection.client() as client:
        if prune and not yes:
            _confirm(*map(len, client.models.absent(model, tree)))
        with out.progress("importing", total) as advance:
            done = client.models.bring(model, tree, prune=prune, progress=advance)
    out.value(done)
    out.print(f"{model}: {done['saved']} saved, {done['removed']} removed, {done['sent']} sent")


def _confirm(nodes: int, attachments: int, topics: int) -> None:
    if nodes or attachments or topics:
        click.confirm(f"Remove {nodes} nodes, {attachments} attachments and {topics} topics?", abort=True, err=True)


@command
@click.argument("model")
@with_connection
def export(out: Output, model: str, connection: NetworkConnection) -> None:
    """Print the tree of a model as YAML, as `postroad model import` takes it."""
    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        document = client.models.document(model)
    out.value(document)
    out.print(as_yaml(document).rstrip() if document else "The model has no nodes.")


@command
@click.argument("model")
@click.argument("tag")
@click.option("--under", default="", metavar="NODE", help="Tag of the parent node; only the root has none.")
@click.option("--topic", "topics", multiple=True, help="Topic of the node; repeatable.")
@with_connection
def add(out: Output, model: str, tag: str, under: str, topics: tuple[str, ...], connection: NetworkConnection) -> None:
    """Add a node, or change the topics of one."""
    from postroad.errors import Refused

    with connection.client() as client:
        try:
            under = under or client.models.node(model, tag).under
        except Refused as refusal:
            if refusal.code != "not-found":  # such a node is the root of a new model, or the network says what is wrong
                raise
    _change_model(out, connection, model, f"{tag}: saved", nodes=[{"tag": tag, "under": under, "topics": list(topics)}])


@command
@click.argument("model")
@click.argument("tag")
@click.argument("under")
@with_connection
def move(out: Output, model: str, tag: str, under: str, connection: NetworkConnection) -> None:
    """Move a node under another, with its descendants and attachments."""
    with connection.client() as client:
        node = client.models.node(model, tag)
    wish = {"tag": tag, "under": under, "topics": node.topics}
    _change_model(out, connection, model, f"{tag}: now under {under}", nodes=[wish])


@command
@click.argument("model")
@click.argument("tag", required=False)
@click.option("--with-descendants", is_flag=True, help="With all nodes below it.")
@click.option("--all", "everything", is_flag=True, help="The whole tree, without naming a node.")
@with_connection
def remove(
    out: Output, model: str, tag: str | None, with_descendants: bool, everything: bool, connection: NetworkConnection
) -> None:
    """Remove a node with its attachments, or the whole tree."""
    if bool(tag) == everything:
        raise click.UsageError("name a node, or use --all")
    if tag:
        wish = {"nodes": [tag], "withDescendants": with_descendants}
        _change_model(out, connection, model, f"{tag}: removed", remove=wish)
        return
    with connection.client() as client:
        client.models.remove(model)
    out.value({"removed": model})
    out.print(f"{model}: the tree was removed")


@command
@click.argument("model")
@click.argument("topic")
@click.option("--strategy", type=WAYS, default="descendants", show_default=True, help="Where its messages go.")
@click.option("--within", type=click.IntRange(0), help="Maximum number of levels; 0 is the node itself.")
@click.option("--tag", "tags", multiple=True, metavar="PATTERN", help="Only at nodes with this tag; repeatable.")
@with_connection
def topic(
    out: Output,
    model: str,
    topic: str,
    strategy: str,
    within: int | None,
    tags: tuple[str, ...],
    connection: NetworkConnection,
) -> None:
    """Set the direction in which the messages of a topic travel."""
    from postroad.cli.views.models import describe_strategy
    from postroad.core.resources.models import TopicView

    way = TopicView(strategy=strategy, within=within, tags=list(tags))
    _change_model(out, connection, model, f"{topic}: {describe_strategy(way)}", topics={topic: way})


def _change_model(out: Output, connection: NetworkConnection, model: str, said: str, **piece: Any) -> None:
    with connection.client() as client:
        done = client.models.change(model, piece)
    out.value(done)
    out.print(said if done.saved or done.removed else "Nothing to change.")


@command
@click.argument("model")
@click.argument("service")
@with_attachment_options
@with_connection
def attach(
    out: Output,
    model: str,
    service: str,
    side: Any,
    node: str,
    topics: tuple[str, ...],
    id: str,
    connection: NetworkConnection,
) -> None:
    """Attach a service to a node, or to a topic outside the tree."""
    with connection.client() as client:
        done = client.models.attach(model, service, side=side, node=node, topics=list(topics), id=id)
    out.value(done)
    out.print(f"{done.id}: attached")


@command
@click.argument("model")
@click.argument("service")
@with_attachment_options
@with_connection
def detach(
    out: Output,
    model: str,
    service: str,
    side: Any,
    node: str,
    topics: tuple[str, ...],
    id: str,
    connection: NetworkConnection,
) -> None:
    """Detach a service; use the options with which it was attached."""
    from postroad.core.hierarchy.model import Side, usual_id

    known = id or usual_id(Side(side), service, node=node, topic=topics[0] if topics else "")
    with connection.client() as client:
        client.models.detach(model, known)
    out.value({"removed": known})
    out.print(f"{known}: detached")


@command
@click.argument("model")
@click.argument("topic")
@click.option("--at", "node", default="", metavar="NODE", help="Where the message would be published.")
@click.option(
    "--from", "sender", default="", metavar="SERVICE", help="The publishing service: a producer of the topic."
)
@with_connection
def who_receives(out: Output, model: str, topic: str, node: str, sender: str, connection: NetworkConnection) -> None:
    """Show who would receive a message, by which path, and which producers are in between; nothing is sent."""
    from postroad.cli.views.models import describe_strategy, receiver_rows, shadow_lines

    if not node and not sender:
        raise click.UsageError("use --at NODE or --from SERVICE")
    with connection.client() as client:
        found = client.models.receivers(model, topic, node=node, sender=sender)
    out.value(found)
    out.print(
        f"{topic} from {found.node or 'above the root'}: {describe_strategy(found.strategy)}, {found.total} receivers"
    )
    out.table(["RECEIVER", "NODE", "WAY"], receiver_rows(found))
    for line in shadow_lines(found):
        out.print(line)


for below in (show, import_, export, add, move, remove, topic, attach, detach, who_receives):
    model.add_command(below)
