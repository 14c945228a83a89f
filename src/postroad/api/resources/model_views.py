"""Request and response types of the model resources."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from postroad.api.pagination import PageQuery, digits
from postroad.core.configuration.entries.model_pieces import Id, NewAttachment, NodeShape, Topic, TopicShape
from postroad.core.configuration.shapes import Line, StrictShape
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.inspection import DeliveryPreview, path_to
from postroad.core.hierarchy.model import Attachment, Node, Strategy
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.models import VisibleModel, describe_service

MAX_PARTS = 5_000  # models are large, and often read whole
MAX_SHADOWS = 100


# ---- what is asked ---------------------------------------------------------------------------------------------------


class PartsQuery(PageQuery):
    limit: Annotated[int, BeforeValidator(digits), Field(ge=1, le=MAX_PARTS)] = 200
    cursor: Annotated[str, Field(max_length=4_000)] = ""


class ReceiversQuery(PartsQuery):
    topic: Annotated[Topic, Field(description="Session ID of the message")]
    node: Annotated[Line, Field(description="Where it would be published; default: the sender's node")] = ""
    sender: Annotated[Line, Field(description="A producer, by GCID or address; default: any producer at the node")] = ""


# ---- what is shown ---------------------------------------------------------------------------------------------------


class ModelView(StrictShape):
    service: str
    nodes: int
    attachments: Annotated[int | None, Field(description="Visible to people who manage the model")] = None
    root: str | None = None
    topics: Annotated[dict[str, TopicShape], Field(description="Strategies other than the default (down)")]


class NodeView(NodeShape):
    path: Annotated[list[str], Field(description="The tags from the root to this one")]


class NodePage(StrictShape):
    items: list[NodeShape]
    next: str | None = None


class AttachmentView(NewAttachment):
    id: Id


class AttachmentPage(StrictShape):
    items: list[AttachmentView]
    next: str | None = None


class Changed(StrictShape):
    """How many were saved, and how many removed."""

    saved: int
    removed: int


class Receiver(AttachmentView):
    path: Annotated[list[str], Field(description="The tags from the root to its node")]


class Shadow(StrictShape):
    node: str
    path: list[str]
    producers: Annotated[
        list[str], Field(description="The producers that apply there instead; empty if you may not see them")
    ]


class ReceiverPage(StrictShape):
    topic: str
    node: Annotated[str | None, Field(description="Node where the message starts; null: above the root")]
    strategy: TopicShape
    total: Annotated[int, Field(description="Services that would receive it, each once")]
    shadowed: Annotated[list[Shadow], Field(description="Nodes below which another producer applies")]
    items: list[Receiver]
    next: str | None = None


def model_view(looked: VisibleModel) -> dict[str, Any]:
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
        "service": describe_service(caller, one.service, directory),
        "side": one.side.value,
        "node": one.node,
        "topics": list(one.topics),
    }


def receiver_view(caller: Caller, one: Attachment, index: ModelIndex, directory: Directory) -> dict[str, Any]:
    return attachment_view(caller, one, directory) | {"path": path_to(index, one.node)}


def reception_view(
    caller: Caller, found: DeliveryPreview, looked: VisibleModel, directory: Directory
) -> dict[str, Any]:
    """All but the receivers; other organizations see only their own."""
    index = looked.index
    shadowed = [
        {
            "node": tag,
            "path": path_to(index, tag) if index is not None else [],
            "producers": [describe_service(caller, one.service, directory) for one in producers]
            if looked.all_of_it
            else [],
        }
        for tag, producers in found.shadowing[:MAX_SHADOWS]
    ]
    return {
        "topic": found.topic,
        "node": found.node or None,
        "strategy": topic_view(found.strategy),
        "total": len({one.service for one in found.receivers}),
        "shadowed": shadowed,
    }
