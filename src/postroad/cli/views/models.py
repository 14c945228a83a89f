"""Models on the terminal: the tree with its attachments, and the receivers of a message."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from postroad.core.resources.models import AttachmentView, ModelView, NodeSummary, ReceiverPage, TopicView

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

SIGNS = {"producer": "▶", "consumer": "◀"}
COLOURS = {"producer": "green", "consumer": "cyan"}


def draw_tree(summary: ModelView, nodes: list[NodeSummary], attachments: list[AttachmentView]) -> Tree:
    """Draw the given nodes, which are in depth-first order; the other nodes of the model are counted."""
    from rich.text import Text
    from rich.tree import Tree

    at_node: dict[str, list[AttachmentView]] = defaultdict(list)
    for one in attachments:
        at_node[one.node].append(one)
    trees: dict[str, Tree] = {"": Tree(Text(summary.service, style="bold"))}
    for node in nodes:
        branch = trees[node.tag] = trees[node.under].add(_node(node))
        for one in at_node[node.tag]:
            branch.add(_attachment(one, node.topics))
    for one in at_node[""]:
        trees[""].add(_attachment(one, []))
    for topic, way in summary.topics.items():
        trees[""].add(Text(f"{topic}: {describe_strategy(way)}", style="dim"))
    if summary.nodes > len(nodes):
        trees[""].add(Text(f"… and {summary.nodes - len(nodes)} more nodes", style="dim"))
    return trees[""]


def _node(node: NodeSummary) -> Text:
    from rich.text import Text

    return Text.assemble((node.tag, "bold"), "  ", (", ".join(node.topics), "dim"))


def _attachment(one: AttachmentView, topics: list[str]) -> Text:
    from rich.text import Text

    some = f"  {', '.join(one.topics)}" if one.topics and one.topics != topics else ""
    side = one.side
    return Text.assemble((f"{SIGNS[side]} {side} ", COLOURS[side]), one.service, (some, "dim"))


def describe_strategy(way: TopicView) -> str:
    """Describe a topic's routing strategy."""
    levels = "level" if way.within == 1 else "levels"
    within = f", within {way.within} {levels}" if way.within is not None else ""
    tags = f", only at {', '.join(way.tags)}" if way.tags else ""
    return f"to {way.strategy}{within}{tags}"


def receiver_rows(found: ReceiverPage) -> list[list[str]]:
    return [[one.service, one.node or "(outside the tree)", " / ".join(one.path)] for one in found.items]


def shadow_lines(found: ReceiverPage) -> list[str]:
    """Return where the message stops, and which service shadows it."""
    return [
        f"not below {' / '.join(one.path)}: {', '.join(one.producers) or 'another'} produces {found.topic} there"
        for one in found.shadowed
    ]
