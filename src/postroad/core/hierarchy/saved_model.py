"""Converts between saved and live models: opens a model in steps, and applies every change to it.

Rules: opening pauses after every few parts, so that its caller can do other work meanwhile. A change is applied in
place; if that is not possible it is refused, and the model must be reopened. A saved object that fits nowhere
(another node of the network has removed its parent at the same moment) is left out, and the model is then marked as
incomplete.

This module also converts a resolved model change into configuration objects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, TypeVar

from postroad.core.hierarchy.changes import ResolvedChange
from postroad.core.hierarchy.index import DEFAULT_STRATEGY, ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.model_tree import (
    ModelAttachment,
    ModelNode,
    ModelTopic,
    attachment_key,
    node_key,
    topic_key,
)
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

NODE, ATTACHMENT, TOPIC = "node", "attachment", "topic"
PARTS = (NODE, ATTACHMENT, TOPIC)
PLACES_A_CHANGE = 10_000  # places are numbered by the version of the directory, and within it
AT_ONCE = 200  # parts per step

Saved = TypeVar("Saved", ModelNode, ModelAttachment)


class OpenedModel(NamedTuple):
    model: ModelIndex | None  # None: the model has no nodes
    whole: bool  # whether it contains all saved objects


def first_place(directory: Directory) -> int:
    """Return the position of the first part in the next change, after all existing ones."""
    return (directory.version + 1) * PLACES_A_CHANGE


# ---- between what is saved and what is live --------------------------------------------------------------------------


def to_live_node(node: ModelNode) -> Node:
    return Node(tag=node.tag, under=node.under, topics=node.topics)


def to_live_attachment(saved: ModelAttachment) -> Attachment:
    return Attachment(id=saved.id, service=saved.attached, side=Side(saved.side), node=saved.node, topics=saved.topics)


def to_live_strategy(saved: ModelTopic | None) -> Strategy:
    return DEFAULT_STRATEGY if saved is None else Strategy(way=Way(saved.way), within=saved.within, tags=saved.tags)


def to_saved_node(service: str, node: Node, place: int) -> ModelNode:
    return ModelNode(service=service, tag=node.tag, under=node.under, topics=node.topics, place=place)


def to_saved_attachment(service: str, one: Attachment, place: int) -> ModelAttachment:
    return ModelAttachment(
        service=service,
        id=one.id,
        attached=one.service,
        side=one.side.value,
        node=one.node,
        topics=one.topics,
        place=place,
    )


def to_saved_topic(service: str, topic: str, strategy: Strategy) -> ModelTopic:
    return ModelTopic(service=service, topic=topic, way=strategy.way.value, within=strategy.within, tags=strategy.tags)


# ---- opening ---------------------------------------------------------------------------------------------------------


def open_in_steps(directory: Directory, service: str) -> Iterator[OpenedModel | None]:
    """Build the index of a saved model in steps: yields None between steps, and the result at the end."""
    nodes = directory.parts_of(service, NODE)
    children = yield from _by_parent(nodes)
    roots = children.pop("", [])
    if not roots:
        yield OpenedModel(None, not nodes)
        return
    owner = directory.services.get(service)
    index = ModelIndex(owner.name if owner is not None else service, to_live_node(min(roots, key=_order)))
    yield from _grown(index, children)
    for topic in directory.parts_of(service, TOPIC).values():
        index.set_strategy(topic.topic, to_live_strategy(topic))
    attached = directory.parts_of(service, ATTACHMENT)
    kept = yield from _attached(index, attached)
    yield OpenedModel(index, len(index) == len(nodes) and kept == len(attached))


def open_at_once(directory: Directory, service: str) -> OpenedModel:
    """Open the whole model in one blocking call."""
    return next(opened for opened in open_in_steps(directory, service) if opened is not None)


def _by_parent(nodes: Mapping[str, ModelNode]) -> Generator[None, None, dict[str, list[ModelNode]]]:
    children: dict[str, list[ModelNode]] = defaultdict(list)
    for number, node in enumerate(nodes.values()):
        children[node.under].append(node)
        if number % AT_ONCE == AT_ONCE - 1:
            yield
    return children


def _grown(index: ModelIndex, children: Mapping[str, list[ModelNode]]) -> Iterator[None]:
    waiting = sorted(children.get(index.tree.root.tag, ()), key=_order, reverse=True)
    number = 0
    while waiting:
        node = waiting.pop()
        if _fits(index.add_node, to_live_node(node)):
            waiting += sorted(children.get(node.tag, ()), key=_order, reverse=True)
        number += 1
        if number % AT_ONCE == 0:
            yield


def _attached(index: ModelIndex, saved: Mapping[str, ModelAttachment]) -> Generator[None, None, int]:
    """Attach the attachments in the order of their positions, sorted per change; returns the number attached."""
    by_change: dict[int, list[ModelAttachment]] = defaultdict(list)
    for number, one in enumerate(saved.values()):
        by_change[one.place // PLACES_A_CHANGE].append(one)
        if number % AT_ONCE == AT_ONCE - 1:
            yield
    kept = 0
    for change in sorted(by_change):
        for one in sorted(by_change[change], key=_order):
            kept += _fits(index.attach, to_live_attachment(one))
            if kept % AT_ONCE == 0:
                yield
    return kept


def _order(part: ModelNode | ModelAttachment) -> tuple[int, str]:
    return part.place, part.tag if isinstance(part, ModelNode) else part.id


def _fits(put: Any, part: Node | Attachment) -> bool:
    try:
        put(part)
    except Refused:
        return False
    return True


# ---- following -------------------------------------------------------------------------------------------------------


def apply_changes(index: ModelIndex, service: str, touched: Iterable[tuple[str, str]], directory: Directory) -> None:
    """Apply changed objects of the directory to the index, each given by kind and key."""
    by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in PARTS}
    for kind, name in touched:
        by_kind[kind][name] = directory.object(kind, f"{service}/{name}")
    for id in by_kind[ATTACHMENT]:
        if index.is_attached(id):
            index.detach(id)
    for node in _in_order(by_kind[NODE]):
        _put_node(index, node)
    for tag, saved in by_kind[NODE].items():
        if saved is None and tag in index:
            _take_away(index, service, tag, directory)
    for one in _in_order(by_kind[ATTACHMENT]):
        index.attach(to_live_attachment(one))
    for topic, saved in by_kind[TOPIC].items():
        index.set_strategy(topic, to_live_strategy(saved))


def _in_order(parts: Mapping[str, Saved | None]) -> list[Saved]:
    return sorted((part for part in parts.values() if part is not None), key=_order)


def _put_node(index: ModelIndex, node: ModelNode) -> None:
    """Add or move a node to the end of its siblings, and set its topics."""
    if node.tag not in index:
        index.add_node(to_live_node(node))
        return
    current = index.node(node.tag)
    if current.topics != node.topics:
        index.set_topics(node.tag, node.topics)
    if current.under != node.under or current.topics == node.topics:
        index.move_node(node.tag, node.under)


def _take_away(index: ModelIndex, service: str, tag: str, directory: Directory) -> None:
    below = (node_key(service, node.tag) for node in index.tree.from_here(index.tree.find(tag)))
    there = (attachment_key(service, one.id) for one in index.attachments_beneath(tag))
    kept = [key for key in below if directory.object(NODE, key) is not None]
    kept += [key for key in there if directory.object(ATTACHMENT, key) is not None]
    if kept:
        raise Refused("configuration.conflict", f"{kept[0]} is on a node that was removed; the model is reopened")
    index.remove_node(tag, with_descendants=True)


Keyed = tuple[str, str]  # kind and key


def list_changed_objects(worked_out: ResolvedChange, service: str, directory: Directory) -> dict[Keyed, Any | None]:
    """Return every object that changes, by kind and key; None removes it. New objects take the next free positions."""
    found: dict[Keyed, Any | None] = {}
    found |= {("attachment", attachment_key(service, one.id)): None for one in worked_out.gone}
    found |= {("node", node_key(service, tag)): None for tag in worked_out.gone_nodes}
    places = count(first_place(directory))
    saved: list[Any] = []
    for node in worked_out.nodes:
        current = directory.object("node", node_key(service, node.tag))
        saved.append(to_saved_node(service, node, current.place if current is not None else next(places)))
    saved += [to_saved_node(service, node, next(places)) for node in worked_out.placed]
    saved += [to_saved_attachment(service, one, next(places)) for one in worked_out.attachments]
    for topic, strategy in worked_out.strategies:
        if strategy == DEFAULT_STRATEGY:
            found["topic", topic_key(service, topic)] = None
        else:
            saved.append(to_saved_topic(service, topic, strategy))
    return found | {object_key(item): item for item in saved}
