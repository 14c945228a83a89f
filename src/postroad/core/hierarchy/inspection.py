"""Reads a live model page by page, and previews who would receive a message and by which way.

Rules: a page costs only what it shows, wherever it is; a position stays valid after its object was removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from postroad.core.hierarchy import keys
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Strategy, Way
from postroad.errors import Refused

BESIDE = "#"  # begins the position of an attachment beside the tree


def read_nodes_page(index: ModelIndex, after: str, most: int) -> tuple[list[Node], str]:
    """Return the next nodes, depth first, and the position after them; empty at the end."""
    place = _place(after) + keys.OWN if after else keys.ROOT
    found = list(islice(index.tree.onwards(place), most + 1))
    shown = found[:most]
    nodes = [Node(tag=one.tag, under=one.parent.tag if one.parent else "", topics=one.topics) for one in shown]
    return nodes, f"/{shown[-1].key.hex()}" if len(found) > most else ""


def read_attachments_page(index: ModelIndex, after: str, most: int) -> tuple[list[Attachment], str]:
    """One page of attachments: those at nodes depth first, then those beside the tree by ID."""
    found: list[Attachment] = []
    if not after.startswith(BESIDE):
        found += islice(index.attached_onwards(_place(after) + keys.OWN if after else keys.ROOT), most + 1)
    if len(found) <= most:
        found += index.beside(after.removeprefix(BESIDE) if after.startswith(BESIDE) else "")
    if len(found) <= most:
        return found, ""
    last = found[most - 1]
    return found[:most], f"/{index.place_of(last.id).hex()}" if last.node else f"{BESIDE}{last.id}"


def _place(position: str) -> bytes:
    return bytes.fromhex(position.removeprefix("/"))


def path_to(index: ModelIndex, tag: str) -> list[str]:
    """Return the tags from the root to a node; empty for attachments beside the tree."""
    return [node.tag for node in index.tree.find(tag).upwards()][::-1] if tag else []


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPreview:
    """A preview of a message: its node, strategy, receivers, and the producers that shadow others."""

    topic: str
    node: str  # empty: above the root
    strategy: Strategy
    receivers: list[Attachment]
    shadowing: list[tuple[str, list[Attachment]]]  # nodes at which it ends, and who produces the topic there


def preview_at_node(index: ModelIndex, node: str, topic: str) -> DeliveryPreview:
    """Previews a message published at a node, even if nothing there produces the topic yet."""
    return _reception(index, node, topic, index.who_receives(node, topic))


def preview_from_service(index: ModelIndex, service: str, topic: str, node: str = "") -> DeliveryPreview:
    """Previews a message that a service publishes at the node where it is a producer of the topic."""
    sources = [one for one in index.sources(service, topic) if not node or one.node == node]
    if not sources:
        where = f" at node {node[:80]!r}" if node else ""
        raise Refused("value.invalid", f"it is not a producer of topic {topic[:80]!r}{where}; attach it as one first")
    nodes = list(dict.fromkeys(one.node for one in sources))
    if len(nodes) > 1:
        known = ", ".join(one or "beside the tree" for one in nodes[:10])
        raise Refused("value.invalid", f"it is a producer of the topic at several nodes ({known}); name one of them")
    return _reception(index, nodes[0], topic, index.publish(sources[0].id, topic))


def _reception(index: ModelIndex, node: str, topic: str, receivers: list[Attachment]) -> DeliveryPreview:
    strategy = index.strategy_of(topic)
    shadowing = []
    if strategy.way is Way.DESCENDANTS:
        below = index.table_of(topic).shadowing(index.tree.find(node) if node else None)
        shadowing = [(place.tag, [index.attachment(id) for id in sorted(region.producers)]) for place, region in below]
    return DeliveryPreview(topic=topic, node=node, strategy=strategy, receivers=receivers, shadowing=shadowing)
