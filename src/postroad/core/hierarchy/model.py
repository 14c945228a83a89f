"""The written form of a model: nodes, attachments, and routing strategies of topics.

A description is flat, with every node after its parent, so that a million nodes are one tuple and no recursion. Rule:
a description is not validated. That happens when a ``ModelIndex`` is made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """On which side of a topic a service is attached."""

    PRODUCER = "producer"
    CONSUMER = "consumer"


class Way(StrEnum):
    """Where a message goes from the node of its producer."""

    DESCENDANTS = (
        "descendants"  # the node and all below it, except a nearer producer's node and all below that; depth first
    )
    ANCESTORS = "ancestors"  # the node and all above it, the nearest first
    SIBLINGS = "siblings"  # the siblings, without their descendants
    NEAREST = "nearest"  # the first node with a consumer: itself, or else the next one upwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way with optional limits."""

    way: Way = Way.DESCENDANTS
    within: int | None = None  # maximum number of levels; 0 is the node itself
    tags: tuple[str, ...] = ()  # only consumers at nodes whose tag is like one of these: canvas-*


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A service at a node, or, without a node, beside the tree at one topic.

    Beside the tree, a producer's messages enter above the root, and a consumer receives the topic wherever it is
    published.
    """

    id: str
    service: str  # address or GCID
    side: Side
    node: str = ""  # its tag
    topics: tuple[str, ...] = ()  # empty: all topics of the node, now and later


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    tag: str
    under: str = ""  # the tag of the parent; empty for the root
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: str
    nodes: tuple[Node, ...]  # the root first, every other node after its parent
    attachments: tuple[Attachment, ...] = ()
    strategies: tuple[tuple[str, Strategy], ...] = ()  # strategies of topics that do not use the default


def usual_id(side: Side, service: str, *, node: str = "", topic: str = "") -> str:
    """Return the default id of an attachment; unique unless a service is attached twice on one side of a node."""
    place = node or f"#{topic}"  # no tag begins with this
    return f"{side}:{place}:{service}"
