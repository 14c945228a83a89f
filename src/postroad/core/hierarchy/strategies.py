"""Routing strategies: the ways that a message can take through a model.

Rules: the usual way visits only the receivers. ``within`` skips what is too deep, a branch at a time; ``tags``
filters the receivers that were found. A nearer producer shadows only what comes from above: messages that go up or
aside reach producers of the same topic too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice

from postroad.core.hierarchy import keys
from postroad.core.hierarchy.model import Attachment, Strategy, Way
from postroad.core.hierarchy.topic_table import TopicTable
from postroad.core.hierarchy.tree import TreeNode


def find_receivers(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> list[Attachment]:
    """Return the consumers that a message from a node reaches; attachments beside the tree come last."""
    found = WAYS[strategy.way](table, node, strategy)
    found.extend(table.beside.values())
    return found


def descendants(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> list[Attachment]:
    """Return the consumers below a node; levels are counted from the root for messages that enter above it."""
    chunks, key = table.region_of(node).heard_by, node.key if node else keys.ROOT
    if strategy.within is None:
        return _sieved(chunks.between(keys.beneath(key)), strategy)
    too_deep = partial(keys.skip_below_depth, start=len(key), levels=strategy.within)
    return _sieved(list(chunks.iter_skipping(keys.beneath(key), too_deep)), strategy)


def ancestors(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> list[Attachment]:
    return [*chain.from_iterable(_upwards(table, node, strategy))]


def siblings(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> list[Attachment]:
    return _sieved(table.at_peers_of(node), strategy) if node else []


def nearest(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> list[Attachment]:
    return next(filter(None, _upwards(table, node, strategy)), [])


# From above the root (no node), a message can only go down.
WAYS: dict[Way, Callable[[TopicTable, TreeNode | None, Strategy], list[Attachment]]] = {
    Way.DESCENDANTS: descendants,
    Way.ANCESTORS: ancestors,
    Way.SIBLINGS: siblings,
    Way.NEAREST: nearest,
}


def _upwards(table: TopicTable, node: TreeNode | None, strategy: Strategy) -> Iterator[list[Attachment]]:
    levels = None if strategy.within is None else strategy.within + 1
    for above, consumers in islice(table.upwards(node) if node else (), levels):
        if _is_like(above.tag, strategy.tags):
            yield consumers


def _sieved(found: list[Attachment], strategy: Strategy) -> list[Attachment]:
    if not strategy.tags:
        return found
    return [consumer for consumer in found if _is_like(consumer.node, strategy.tags)]


def _is_like(tag: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(tag, pattern) for pattern in patterns)
