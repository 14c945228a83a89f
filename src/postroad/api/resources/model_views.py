"""Models as they are asked for and shown over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from postroad.api.pagination import PageQuery, digits
from postroad.core.configuration.model_pieces import Id, NewAttachment, NodeShape, Topic, TopicShape
from postroad.core.configuration.shapes import Line, Shape
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.looking import Reception, path_to
from postroad.core.hierarchy.nouns import Attachment, Node, Strategy
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration_models import Looked, shown

PAGE_MOST = 5_000  # models are large, and often read whole
SHADOWS_MOST = 100


# ---- what is asked ---------------------------------------------------------------------------------------------------


class PartsQuery(PageQuery):
    limit: Annotated[int, BeforeValidator(digits), Field(ge=1, le=PAGE_MOST)] = 200
    cursor: Annotated[str, Field(max_length=4_000)] = ""


class ReceiversQuery(PartsQuery):
    topic: Annotated[Topic, Field(description="Of the message")]
    node: Annotated[Line, Field(description="Where it would be published; left out, the sender's node")] = ""
    sender: Annotated[Line, Field(description="A producer, by GCID or address; left out, anybody at the node")] = ""


# ---- what is shown ---------------------------------------------------------------------------------------------------


class ModelView(Shape):
    service: str
    nodes: int
    attachments: Annotated[int | None, Field(description="For those who look after the model")] = None
    root: str | None = None
    topics: Annotated[dict[str, TopicShape], Field(description="Those that do not simply go down")]


class NodeView(NodeShape):
    path: Annotated[list[str], Field(description="The tags from the root to this one")]


class NodePage(Shape):
    items: list[NodeShape]
    next: str | None = None


class AttachmentView(NewAttachment):
    id: Id


class AttachmentPage(Shape):
    items: list[AttachmentView]
    next: str | None = None


class Changed(Shape):
    """How many were saved, and how many removed."""

    saved: int
    removed: int


class Receiver(AttachmentView):
    path: Annotated[list[str], Field(description="The tags from the root to its node")]


class Shadow(Shape):
    node: str
    path: list[str]
    producers: Annotated[list[str], Field(description="Who is heard there instead; empty for those who may not know")]


class ReceiverPage(Shape):
    topic: str
    node: Annotated[str | None, Field(description="Where the message begins; null: above the root")]
    strategy: TopicShape
    total: Annotated[int, Field(description="Services that would get it, each once")]
    shadowed: Annotated[list[Shadow], Field(description="Where it ends, since another produces the topic there")]
    items: list[Receiver]
    next: str | None = None


def model_view(looked: Looked) -> dict[str, Any]:
    index = looked.index
    return {
        "service": looked.service.address,
        "nodes": len(index) if index is not None else 0,
        "attachments": (index.attached if index is not None else 0) if looked.all_of_it else None,
        "root": index.tree.root.tag if index is not None else None,
        "topics": {topic: topic_view(one) for topic, one in (index.strategies if index is not None else {}).items()},
    }


def topic_view(strategy: Strategy) -> dict[str, Any]:
    return {"strategy": strategy.way.value, "within": strategy.within, "tags": list(strategy.tags)}


def node_view(node: Node) -> dict[str, Any]:
    return {"tag": node.tag, "under": node.under, "topics": list(node.topics)}


def attachment_view(caller: Caller, one: Attachment, directory: Directory) -> dict[str, Any]:
    return {
        "id": one.id,
        "service": shown(caller, one.service, directory),
        "side": one.side.value,
        "node": one.node,
        "topics": list(one.topics),
    }


def receiver_view(caller: Caller, one: Attachment, index: ModelIndex, directory: Directory) -> dict[str, Any]:
    return attachment_view(caller, one, directory) | {"path": path_to(index, one.node)}


def reception_view(caller: Caller, found: Reception, looked: Looked, directory: Directory) -> dict[str, Any]:
    """All but the receivers, of whom others see only their own."""
    index = looked.index
    shadowed = [
        {
            "node": tag,
            "path": path_to(index, tag) if index is not None else [],
            "producers": [shown(caller, one.service, directory) for one in producers] if looked.all_of_it else [],
        }
        for tag, producers in found.shadowing[:SHADOWS_MOST]
    ]
    return {
        "topic": found.topic,
        "node": found.node or None,
        "strategy": topic_view(found.strategy),
        "total": len({one.service for one in found.receivers}),
        "shadowed": shadowed,
    }
