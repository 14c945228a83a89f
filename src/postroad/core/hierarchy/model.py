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

    DESCENDANTS = "descendants"  # the node and all below it, but for what a nearer producer shadows; depth first
    ANCESTORS = "ancestors"  # the node and all above it, the nearest first
    SIBLINGS = "siblings"  # the nodes beside it, themselves and not what is below them
    NEAREST = "nearest"  # the first node with a consumer: itself, or else the next one upwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way, and what narrows it."""

    way: Way = Way.DESCENDANTS
    within: int | None = None  # so many levels at most; 0 is the node itself
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
    topics: tuple[str, ...] = ()  # none: all that the node has, now and later


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    tag: str
    under: str = ""  # the tag of the node above; only the root has none
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: str
    nodes: tuple[Node, ...]  # the root first, every other one after the node it stands under
    attachments: tuple[Attachment, ...] = ()
    strategies: tuple[tuple[str, Strategy], ...] = ()  # of topics that do not simply go down


def usual_id(side: Side, service: str, *, node: str = "", topic: str = "") -> str:
    """The id of an attachment that was written without one: a service is rarely on one side of one place twice."""
    place = node or f"#{topic}"  # no tag begins like that
    return f"{side}:{place}:{service}"
