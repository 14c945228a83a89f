"""A model as anybody would write it down in ten minutes: nested nodes, and a depth-first search for every message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from postroad.core.hierarchy.model import Attachment, Side, Strategy, Way


@dataclass(eq=False)
class Naive:
    tag: str
    topics: tuple[str, ...]
    parent: Naive | None = None
    children: list[Naive] = field(default_factory=list)
    attached: list[Attachment] = field(default_factory=list)

    def depth_first(self) -> Iterator[Naive]:
        yield self
        for child in self.children:
            yield from child.depth_first()

    def on(self, topic: str, side: Side) -> list[Attachment]:
        return [one for one in self.attached if one.side is side and topic in (one.topics or self.topics)]

    def level(self) -> int:
        return self.parent.level() + 1 if self.parent else 0


@dataclass
class NaiveModel:
    root: Naive
    beside: list[Attachment] = field(default_factory=list)

    def find(self, tag: str) -> Naive:
        return next(node for node in self.root.depth_first() if node.tag == tag)

    def add(self, tag: str, under: str, topics: tuple[str, ...]) -> None:
        parent = self.find(under)
        parent.children.append(Naive(tag, topics, parent))

    def remove(self, tag: str) -> None:
        node = self.find(tag)
        assert node.parent
        node.parent.children.remove(node)

    def move(self, tag: str, under: str) -> None:
        node, parent = self.find(tag), self.find(under)
        assert node.parent
        node.parent.children.remove(node)
        parent.children.append(node)
        node.parent = parent

    def attach(self, attachment: Attachment) -> None:
        (self.find(attachment.node).attached if attachment.node else self.beside).append(attachment)

    def detach(self, id: str) -> None:
        for attached in (self.beside, *(node.attached for node in self.root.depth_first())):
            attached[:] = [one for one in attached if one.id != id]

    def all_attached(self) -> list[Attachment]:
        return [one for node in self.root.depth_first() for one in node.attached] + self.beside

    # ---- who receives ------------------------------------------------------------------------------------------------

    def receives(self, tag: str, topic: str, strategy: Strategy) -> list[str]:
        """Ids of the consumers of a message from a node, or (no tag) from above the root."""
        nodes = [node for node in self._way(tag, topic, strategy) if _is_like(node.tag, strategy.tags)]
        if strategy.way is Way.NEAREST:
            nodes = [node for node in nodes if node.on(topic, Side.CONSUMER)][:1]
        found = [one.id for node in nodes for one in node.on(topic, Side.CONSUMER)]
        return found + [one.id for one in self.beside if one.side is Side.CONSUMER and topic in one.topics]

    def _way(self, tag: str, topic: str, strategy: Strategy) -> list[Naive]:
        levels = 1_000_000 if strategy.within is None else strategy.within
        if not tag:
            down = strategy.way is Way.DESCENDANTS and not self.root.on(topic, Side.PRODUCER)
            return list(self._down(self.root, topic, levels)) if down else []
        node = self.find(tag)
        if strategy.way is Way.DESCENDANTS:
            return list(self._down(node, topic, levels))
        if strategy.way is Way.SIBLINGS:
            return [peer for peer in node.parent.children if peer is not node] if node.parent else []
        path = [node]
        while path[-1].parent:
            path.append(path[-1].parent)
        return path[: levels + 1]

    def _down(self, node: Naive, topic: str, levels: int) -> Iterator[Naive]:
        yield node
        for child in node.children if levels else ():
            if not child.on(topic, Side.PRODUCER):
                yield from self._down(child, topic, levels - 1)


def _is_like(tag: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(tag, pattern) for pattern in patterns)
