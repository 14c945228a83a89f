"""What a piece of a model comes to, as objects of the configuration."""

from __future__ import annotations

from itertools import count
from typing import Any

from postroad.core.hierarchy.index import USUAL
from postroad.core.hierarchy.pieces import WorkedOut
from postroad.core.hierarchy.saved import first_place, saved_attachment, saved_node, saved_topic
from postroad.core.model.model_tree import attachment_key, node_key, topic_key
from postroad.core.model.snapshot import Directory, object_key

Keyed = tuple[str, str]  # kind and key


def objects_of(worked_out: WorkedOut, service: str, directory: Directory) -> dict[Keyed, Any | None]:
    """Every object that changes, by kind and key; None goes. What is new takes the next free places."""
    found: dict[Keyed, Any | None] = {}
    found |= {("attachment", attachment_key(service, one.id)): None for one in worked_out.gone}
    found |= {("node", node_key(service, tag)): None for tag in worked_out.gone_nodes}
    places = count(first_place(directory))
    saved: list[Any] = []
    for node in worked_out.nodes:
        current = directory.object("node", node_key(service, node.tag))
        saved.append(saved_node(service, node, current.place if current is not None else next(places)))
    saved += [saved_node(service, node, next(places)) for node in worked_out.placed]
    saved += [saved_attachment(service, one, next(places)) for one in worked_out.attachments]
    for topic, strategy in worked_out.strategies:
        if strategy == USUAL:
            found["topic", topic_key(service, topic)] = None
        else:
            saved.append(saved_topic(service, topic, strategy))
    return found | {object_key(item): item for item in saved}
