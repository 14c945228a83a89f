"""A model as it is saved: every node, attachment and topic with its own direction is an object of its service.

So one of a million changes without the others. ``core.hierarchy`` interprets them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNode:
    service: str  # GCID of the model
    tag: str
    under: str = ""  # the tag of the node above; only the root has none
    topics: tuple[str, ...] = ()
    place: int = 0  # nodes under the same one stand in the order of their places


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAttachment:
    service: str  # GCID of the model
    id: str
    attached: str  # GCID of the service that produces or consumes
    side: str  # producer or consumer
    node: str = ""  # the tag; empty: beside the tree, at one topic
    topics: tuple[str, ...] = ()  # none: all that the node has, now and later
    place: int = 0  # those at one node stand in the order of their places


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTopic:
    """A topic whose messages do not simply go down the tree."""

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
