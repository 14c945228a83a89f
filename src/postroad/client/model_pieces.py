"""Split a model into pieces that a network accepts one by one, and join them again; pure functions.

Rules: the model is valid after every piece, and sending a piece twice changes nothing, so an interrupted import is
simply repeated. A node is sent with its attachments, and never before its parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Model, Node, Side, Strategy, Way
from postroad.core.hierarchy.model_documents import parse_model, write_model
from postroad.core.resources.models import AttachmentView, ModelView, NodeSummary, TopicView
from postroad.errors import Refused

AT_ONCE = 2_000  # nodes and attachments in a piece
Value = dict[str, Any]
Present = tuple[list[str], list[str], list[str]]  # tags depth first, ids of attachments, topics with a way of their own


def read_model(document: Any) -> Model:
    """Return the model in a document, after validating it as a whole."""
    if isinstance(document, Model):
        return document  # it was read so before
    model = parse_model(document)
    ModelIndex.of(model)
    return model


def check_name(model: Model, address: str) -> None:
    """Refuse a file that names a different model."""
    name = address.partition("/")[2]
    if model.name.casefold() != name.casefold():
        raise Refused(
            "value.invalid",
            f"the file is for model {model.name!r}, not {name!r}; use that model, or change `name` in the file",
            pointer="/name",
        )


# ---- there -----------------------------------------------------------------------------------------------------------


def saving_pieces(model: Model) -> Iterator[Value]:
    """Yield the pieces that save the whole model."""
    at_node: dict[str, list[Value]] = defaultdict(list)
    for one in model.attachments:
        at_node[one.node].append(_attachment(one))
    nodes: list[Value] = []
    attachments: list[Value] = []
    for node in model.nodes:
        nodes.append({"tag": node.tag, "under": node.under, "topics": list(node.topics)})
        attachments += at_node[node.tag]
        if len(nodes) + len(attachments) >= AT_ONCE:
            yield from _pieces(nodes, attachments)
            nodes, attachments = [], []
    yield from _pieces(nodes, attachments + at_node[""])
    if model.strategies:
        yield {"topics": {topic: encode_strategy(strategy) for topic, strategy in model.strategies}}


def _pieces(nodes: list[Value], attachments: list[Value]) -> Iterator[Value]:
    """Yield pieces; a node may have more attachments than one piece holds."""
    first = AT_ONCE
    if nodes or attachments:
        yield {"nodes": nodes, "attachments": attachments[:first]}
    for begin in range(first, len(attachments), AT_ONCE):
        yield {"attachments": attachments[begin : begin + AT_ONCE]}


def find_absent(model: Model, present: Present) -> Present:
    """Return what exists but is not in the model, in the order of removal, leaves first."""
    tags, ids, topics = present
    nodes = {node.tag for node in model.nodes}
    attached = {one.id for one in model.attachments}
    led = {topic for topic, _ in model.strategies}
    return (
        [tag for tag in reversed(tags) if tag not in nodes],
        [id for id in ids if id not in attached],
        [topic for topic in topics if topic not in led],
    )


def detaching_pieces(ids: Sequence[str]) -> Iterator[Value]:
    yield from ({"remove": {"attachments": piece}} for piece in _parted(ids))


def removing_pieces(tags: Sequence[str], topics: Sequence[str]) -> Iterator[Value]:
    yield from ({"remove": {"nodes": piece}} for piece in _parted(tags))
    yield from ({"topics": {topic: {} for topic in piece}} for piece in _parted(topics))


def _parted(names: Sequence[str]) -> Iterator[list[str]]:
    return (list(names[begin : begin + AT_ONCE]) for begin in range(0, len(names), AT_ONCE))


def count_changes(piece: Mapping[str, Any]) -> int:
    removed = piece.get("remove", {})
    named = (piece.get("nodes"), piece.get("attachments"), piece.get("topics"), *removed.values())
    return sum(len(one) for one in named if one)


def _attachment(one: Attachment) -> Value:
    return {
        "id": one.id,
        "service": one.service,
        "side": one.side.value,
        "node": one.node,
        "topics": list(one.topics),
    }


def encode_strategy(strategy: Strategy) -> Value:
    return {"strategy": strategy.way.value, "within": strategy.within, "tags": list(strategy.tags)}


# ---- and back --------------------------------------------------------------------------------------------------------


def document_from(summary: ModelView, nodes: Iterable[NodeSummary], attachments: Iterable[AttachmentView]) -> Value:
    """Return the document that yields this model."""
    model = Model(
        name=summary.service.partition("/")[2],
        nodes=tuple(Node(tag=one.tag, under=one.under, topics=tuple(one.topics)) for one in nodes),
        attachments=tuple(_attached(one) for one in attachments),
        strategies=tuple((topic, _strategy(one)) for topic, one in summary.topics.items()),
    )
    return write_model(model)


def _attached(one: AttachmentView) -> Attachment:
    return Attachment(id=one.id, service=one.service, side=Side(one.side), node=one.node, topics=tuple(one.topics))


def _strategy(one: TopicView) -> Strategy:
    return Strategy(way=Way(one.strategy), within=one.within, tags=tuple(one.tags))
