"""A model as it is saved: every node, attachment and directed topic is an object of its service.

So one of a million objects can change alone. ``core.hierarchy`` interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNode:
    service: str  # GCID of the model
    tag: str
    under: str = ""  # the tag of the node above; only the root has none
    topics: tuple[str, ...] = ()
    place: int = 0  # orders the nodes under the same node


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAttachment:
    service: str  # GCID of the model
    id: str
    attached: str  # GCID of the service that produces or consumes
    side: str  # producer or consumer
    node: str = ""  # the tag; empty: beside the tree, at one topic
    topics: tuple[str, ...] = ()  # empty: all of the node, now and later
    place: int = 0  # orders the attachments at one node


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTopic:
    """A topic whose messages are not simply passed down the tree."""

    service: str  # GCID of the model
    topic: str
    way: str = "descendants"
    within: int | None = None
    tags: tuple[str, ...] = ()


def node_key(service: str, tag: str) -> str:
    return f"{service}/{tag}"


def attachment_key(service: str, id: str) -> str:
    return f"{service}/{id}"


def topic_key(service: str, topic: str) -> str:
    return f"{service}/{topic}"
