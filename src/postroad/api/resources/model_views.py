"""Queries of the model resources, and what builds their responses."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import asdict
from pydantic import BeforeValidator, Field

from postroad.api.pagination import PageQuery, digits
from postroad.core.configuration.entries.model_pieces import Topic
from postroad.core.configuration.shapes import Line
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.inspection import DeliveryPreview, path_to
from postroad.core.hierarchy.model import Attachment, Node, Strategy
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.core.resources.models import (
    AttachmentView,
    ModelView,
    NodeSummary,
    NodeView,
    Receiver,
    Shadow,
    TopicView,
)
from postroad.flow.administration.models import VisibleModel, describe_service

MAX_PARTS = 5_000  # models are large, and often read whole
MAX_SHADOWS = 100


class PartsQuery(PageQuery):
    limit: Annotated[int, BeforeValidator(digits), Field(ge=1, le=MAX_PARTS)] = 200
    cursor: Annotated[str, Field(max_length=4_000)] = ""


class ReceiversQuery(PartsQuery):
    topic: Annotated[Topic, Field(description="Of the message")]
    node: Annotated[Line, Field(description="Where it would be published; left out, the sender's node")] = ""
    sender: Annotated[Line, Field(description="A producer, by GCID or address; left out, anybody at the node")] = ""


def model_view(looked: VisibleModel) -> ModelView:
    index = looked.index
    return ModelView(
        service=looked.service.address,
        nodes=len(index) if index is not None else 0,
        attachments=(index.attached if index is not None else 0) if looked.all_of_it else None,
        root=index.tree.root.tag if index is not None else None,
        topics={topic: topic_view(one) for topic, one in (index.strategies if index is not None else {}).items()},
    )


def topic_view(strategy: Strategy) -> TopicView:
    return TopicView(strategy=strategy.way.value, within=strategy.within, tags=list(strategy.tags))


def node_summary(node: Node) -> NodeSummary:
    return NodeSummary(tag=node.tag, under=node.under, topics=list(node.topics))


def node_view(index: ModelIndex, tag: str) -> NodeView:
    return NodeView(**asdict(node_summary(index.node(tag))), path=path_to(index, tag))


def attachment_view(caller: Caller, one: Attachment, directory: Directory) -> AttachmentView:
    return AttachmentView(
        id=one.id,
        service=describe_service(caller, one.service, directory),
        side=one.side.value,
        node=one.node,
        topics=list(one.topics),
    )


def receiver_view(caller: Caller, one: Attachment, index: ModelIndex, directory: Directory) -> Receiver:
    return Receiver(**asdict(attachment_view(caller, one, directory)), path=path_to(index, one.node))


def shadow_views(caller: Caller, found: DeliveryPreview, looked: VisibleModel, directory: Directory) -> list[Shadow]:
    """The first nodes where the message ends; only the model's owners see the producers."""
    index = looked.index
    return [
        Shadow(
            node=tag,
            path=path_to(index, tag) if index is not None else [],
            producers=[describe_service(caller, one.service, directory) for one in producers]
            if looked.all_of_it
            else [],
        )
        for tag, producers in found.shadowing[:MAX_SHADOWS]
    ]
