"""Validates model elements, and words the refusals.

Rule: every refusal names the error and the next step; each is found before anything is changed.
"""

from __future__ import annotations

import re

from postroad.core.hierarchy.model import Attachment, Strategy, Way
from postroad.core.model.ids import check_name
from postroad.errors import Refused

MAX_DEPTH = 100  # levels below the root
TEXT_CHARS = 4_096  # of a topic, as in a message's header
ID_CHARS = 512
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def check_tag(tag: str) -> None:
    check_name(tag, "Node")


def check_topics(topics: tuple[str, ...]) -> None:
    for topic in topics:
        if not is_line(topic, TEXT_CHARS):
            raise Refused(
                "value.invalid",
                f"topic {topic[:80]!r} is not allowed: use 1 to {TEXT_CHARS} characters without control characters",
            )
    if len(set(topics)) < len(topics):
        twice = next(topic for topic in topics if topics.count(topic) > 1)
        raise Refused("value.invalid", f"topic {twice[:80]!r} is repeated; list it once")


def check_attachment(attachment: Attachment) -> None:
    for what, text in (("id", attachment.id), ("service", attachment.service)):
        if not is_line(text, ID_CHARS):
            raise Refused(
                "value.invalid",
                f"the {what} {text[:80]!r} of an attachment is not allowed: use 1 to {ID_CHARS} characters "
                "without control characters",
            )
    check_topics(attachment.topics)
    if not attachment.node and len(attachment.topics) != 1:
        raise Refused(
            "value.invalid", f"{attachment.id!r} is attached to no node; name the one topic it is attached to"
        )


def check_strategy(strategy: Strategy) -> None:
    if strategy.within is not None and not 0 <= strategy.within <= MAX_DEPTH:
        raise Refused("value.invalid", f"within must be a number of levels from 0 to {MAX_DEPTH}")
    if strategy.within is not None and strategy.way is Way.SIBLINGS:
        raise Refused("value.invalid", "siblings are all on one level; remove within, or use another strategy")
    if not all(is_line(tag, ID_CHARS) for tag in strategy.tags):
        raise Refused("value.invalid", "each of the strategy's tags is a tag or a pattern such as canvas-*")


def is_line(text: str, most: int) -> bool:
    return 1 <= len(text) <= most and not CONTROL.search(text)


# ---- how it is said --------------------------------------------------------------------------------------------------


def unknown_node(tag: str) -> Refused:
    return Refused("not-found", f"the model has no node {tag[:80]!r}; add it, or check the spelling of its tag")


def tag_taken(tag: str) -> Refused:
    return Refused("name.taken", f"the model already has a node {tag!r}; choose another tag")


def goes_and_comes(tag: str) -> Refused:
    return Refused("configuration.conflict", f"node {tag!r} is removed in the same change set; add it in the next one")


def two_roots(tag: str, root: str) -> Refused:
    return Refused("configuration.conflict", f"node {tag[:80]!r} has no parent, but {root!r} is already the root")


def too_deep(tag: str) -> Refused:
    return Refused("value.invalid", f"node {tag[:80]!r} would be more than {MAX_DEPTH} levels deep; use a flatter tree")


def nested_too_deep() -> Refused:
    return Refused("value.invalid", f"the model is nested too deep to be read; a tree has at most {MAX_DEPTH} levels")


def root_stays(tag: str) -> Refused:
    return Refused(
        "configuration.conflict", f"{tag!r} is the root and cannot be moved or removed; remove the model instead"
    )


def under_itself(tag: str, under: str) -> Refused:
    return Refused(
        "configuration.conflict",
        f"{tag!r} cannot be moved under {under!r}, which is itself or below it; move that one first",
    )


def has_children(tag: str) -> Refused:
    return Refused(
        "configuration.conflict", f"other nodes are under {tag!r}; move them away, or remove it with its descendants"
    )


def unknown_attachment(id: str) -> Refused:
    return Refused("not-found", f"no attachment is named {id[:80]!r}; it may already have been detached")


def id_taken(id: str) -> Refused:
    return Refused("name.taken", f"another attachment is named {id!r}; detach it first, or choose another ID")


def topic_not_there(topic: str, tag: str, topics: tuple[str, ...]) -> Refused:
    known = ", ".join(topics[:10]) or "none at all"
    return Refused("value.invalid", f"node {tag!r} has no topic {topic[:80]!r}; add the topic to it (it has: {known})")


def topic_in_use(topic: str, tag: str, id: str) -> Refused:
    return Refused("configuration.conflict", f"{id!r} is attached to topic {topic!r} of {tag!r}; detach it first")


def no_producer(id: str, topic: str) -> Refused:
    return Refused("value.invalid", f"{id[:80]!r} is not a producer of topic {topic[:80]!r}; attach it as one first")
