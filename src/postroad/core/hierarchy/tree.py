"""The nodes of a live model: found by tag, kept depth first, moved with their subtrees.

Rule: a cycle is impossible. A node is added below an existing one, and never moved below itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.hierarchy import keys, model_checks
from postroad.core.hierarchy.sorted_chunks import SortedChunks


class TreeNode:
    """A node of the tree at its current position, compared by identity."""

    __slots__ = ("depth", "key", "numbered", "parent", "tag", "topics")

    def __init__(self, tag: str, parent: TreeNode | None, topics: tuple[str, ...]) -> None:
        self.tag = tag
        self.topics = topics
        self.parent = parent
        self.numbered = 0  # children so far; the numbers of those that have gone are not given again
        self.depth: int = parent.depth + 1 if parent else 0
        self.key: bytes = parent.next_key() if parent else keys.ROOT

    def next_key(self) -> bytes:
        """The key of a new last child."""
        self.numbered += 1
        return self.key + keys.step(self.numbered)

    def upwards(self) -> Iterator[TreeNode]:
        """The node, the one above it, and so on up to the root."""
        node: TreeNode | None = self
        while node:
            yield node
            node = node.parent


class Tree:
    __slots__ = ("_by_tag", "_in_order", "root")

    def __init__(self, tag: str, topics: tuple[str, ...]) -> None:
        self._by_tag: dict[str, TreeNode] = {}
        self._in_order: SortedChunks[TreeNode] = SortedChunks()
        self.root = self._enter(tag, None, topics)

    def __len__(self) -> int:
        return len(self._by_tag)

    def __iter__(self) -> Iterator[TreeNode]:
        """Depth first."""
        return iter(self._in_order.between())

    def __contains__(self, tag: object) -> bool:
        return tag in self._by_tag

    def onwards(self, place: bytes = keys.ROOT) -> Iterator[TreeNode]:
        """Yield the nodes from this key on, depth first; the key itself need not exist."""
        return self._in_order.iter_skipping((place, keys.END), lambda key: None)

    def find(self, tag: str) -> TreeNode:
        node = self._by_tag.get(tag)
        if node is None:
            raise model_checks.unknown_node(tag)
        return node

    def add(self, tag: str, under: str, topics: tuple[str, ...]) -> TreeNode:
        """A new last child."""
        if not under:
            raise model_checks.two_roots(tag, self.root.tag)
        return self._enter(tag, self.find(under), topics)

    def _enter(self, tag: str, parent: TreeNode | None, topics: tuple[str, ...]) -> TreeNode:
        model_checks.check_tag(tag)
        model_checks.check_topics(topics)
        if tag in self._by_tag:
            raise model_checks.tag_taken(tag)
        if parent and parent.depth >= model_checks.MAX_DEPTH:
            raise model_checks.too_deep(tag)
        node = self._by_tag[tag] = TreeNode(tag, parent, topics)
        self._in_order.add(node.key, node)
        return node

    def from_here(self, node: TreeNode) -> list[TreeNode]:
        """The node and all below it, depth first."""
        return self._in_order.between(keys.beneath(node.key))

    def removable(self, tag: str, with_descendants: bool) -> TreeNode:
        node = self.find(tag)
        if node is self.root:
            raise model_checks.root_stays(tag)
        if not with_descendants and self._in_order.holds(keys.below(node.key)):
            raise model_checks.has_children(tag)
        return node

    def remove(self, node: TreeNode) -> None:
        for gone in self._in_order.cut(keys.beneath(node.key)).between():
            del self._by_tag[gone.tag]

    def movable(self, tag: str, under: str) -> tuple[TreeNode, TreeNode]:
        node, parent = self.find(tag), self.find(under)
        if node is self.root:
            raise model_checks.root_stays(tag)
        if parent.key.startswith(node.key):
            raise model_checks.under_itself(tag, under)
        down = parent.depth + 1 - node.depth
        if down > 0 and max(below.depth for below in self.from_here(node)) + down > model_checks.MAX_DEPTH:
            raise model_checks.too_deep(tag)
        return node, parent

    def move(self, node: TreeNode, parent: TreeNode) -> None:
        """Make it, with all below it, the last child of another; everything else keeps its key."""
        moved = self._in_order.cut(keys.beneath(node.key))
        length, prefix, down = len(node.key), parent.next_key(), parent.depth + 1 - node.depth
        moved.rebase(length, prefix)
        for key, below in moved.items():
            below.key = key
            below.depth += down
        node.parent = parent
        self._in_order.paste(moved)
