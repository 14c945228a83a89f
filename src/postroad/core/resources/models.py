"""Models: their size and topics, nodes, attachments, and the receivers of a topic."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Page, Resource, one_of

SIDES = one_of("producer", "consumer")
WAYS = one_of("descendants", "ancestors", "siblings", "nearest")
Path = Annotated[list[str], Meta(description="The tags from the root to its node")]


class TopicView(Resource, kw_only=True):
    """The direction in which the messages of a topic travel."""

    strategy: Annotated[str, WAYS]
    within: Annotated[int | None, Meta(description="Maximum number of levels")] = None
    tags: Annotated[list[str], Meta(description="Only at nodes whose tag matches one of these")]


class ModelView(Resource, kw_only=True):
    """The size of a model, its root, and its topics."""

    service: str
    nodes: int
    attachments: Annotated[int | None, Meta(description="Visible to people who manage the model")] = None
    root: str | None = None
    topics: Annotated[dict[str, TopicView], Meta(description="Strategies other than the default (down)")]


class NodeSummary(Resource, kw_only=True):
    tag: str
    under: Annotated[str, Meta(description="The tag of the parent node; only the root has none")]
    topics: list[str]


class NodeView(NodeSummary, kw_only=True):
    path: Annotated[list[str], Meta(description="The tags from the root to this one")]


class NodePage(Page[NodeSummary]):
    """Nodes of a model, depth first."""


class AttachmentView(Resource, kw_only=True):
    id: str
    service: Annotated[str, Meta(description="By GCID or address")]
    side: Annotated[str, SIDES]
    node: Annotated[str, Meta(description="A tag; empty beside the tree, where it has one topic")]
    topics: Annotated[list[str], Meta(description="Empty: all that the node has, now and later")]


class AttachmentPage(Page[AttachmentView]):
    """Attachments of a model, depth first."""


class Changed(Resource, kw_only=True):
    """How many were saved, and how many removed."""

    saved: int
    removed: int


class Receiver(AttachmentView, kw_only=True):
    path: Path


class Shadow(Resource, kw_only=True):
    """A node where a message ends, since another producer has the topic there."""

    node: str
    path: list[str]
    producers: Annotated[
        list[str], Meta(description="The producers that apply there instead; empty if you may not see them")
    ]


class ReceiverPage(Resource, kw_only=True, omit_defaults=True):
    """The services that would receive a message on a topic."""

    topic: str
    node: Annotated[str | None, Meta(description="Node where the message starts; null: above the root")]
    strategy: TopicView
    total: Annotated[int, Meta(description="Services that would receive it, each once")]
    shadowed: Annotated[list[Shadow], Meta(description="Nodes below which another producer applies")]
    items: list[Receiver]
    next: str | None = None
