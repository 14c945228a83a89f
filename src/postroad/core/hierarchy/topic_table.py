"""The routing table of one topic: which consumers receive from which producers, computed in advance.

A region is a node that produces the topic, with all its consumers: those at or below it without a nearer producer.
Consumers without a producer at or above their node are the outermost region, which is that of producers outside the tree.

Rule: every consumer at a node is in exactly one region, that of the nearest producer at its node or above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from postroad.core.hierarchy import keys
from postroad.core.hierarchy.model import Attachment, Side
from postroad.core.hierarchy.sorted_chunks import SortedChunks
from postroad.core.hierarchy.tree import TreeNode


class TopicRegion:
    __slots__ = ("heard_by", "producers")

    def __init__(self, heard_by: SortedChunks[Attachment]) -> None:
        self.heard_by = heard_by  # depth first
        self.producers: set[str] = set()  # ids


class TopicTable:
    __slots__ = ("_by_node", "_outermost", "_peers", "beside")

    def __init__(self) -> None:
        self._outermost = TopicRegion(SortedChunks())
        self._by_node: dict[TreeNode, TopicRegion] = {}
        self._peers: SortedChunks[Attachment] | None = None  # all consumers at nodes, by parent; built on first use
        self.beside: dict[str, Attachment] = {}  # consumers outside the tree, by id

    @property
    def is_empty(self) -> bool:
        outermost = self._outermost
        return not (self._by_node or self.beside or outermost.producers or outermost.heard_by)

    # ---- questions ---------------------------------------------------------------------------------------------------

    def region_of(self, node: TreeNode | None) -> TopicRegion:
        """Return the region of the nearest producer at the node or above."""
        if self._by_node:
            while node:
                if region := self._by_node.get(node):
                    return region
                node = node.parent
        return self._outermost

    def shadowing(self, node: TreeNode | None) -> list[tuple[TreeNode, TopicRegion]]:
        """Return the nodes below this one, or below the top, whose own producers shadow it, without those below another one."""
        stretch = keys.beneath(node.key) if node else keys.EVERYTHING
        below = [place for place in self._by_node if place is not node and stretch[0] <= place.key < stretch[1]]
        found: list[tuple[TreeNode, TopicRegion]] = []
        for place in sorted(below, key=lambda below: below.key):
            if not found or not place.key.startswith(found[-1][0].key):
                found.append((place, self._by_node[place]))
        return found

    def upwards(self, node: TreeNode) -> Iterator[tuple[TreeNode, list[Attachment]]]:
        """Yield the nodes from here to the root, each with its consumers."""
        path = list(node.upwards())
        regions, region = [], self._outermost
        for above in reversed(path):
            region = self._by_node.get(above, region)
            regions.append(region)
        for above, region in zip(path, reversed(regions), strict=True):
            yield above, region.heard_by.between(keys.at(above.key))

    def at_peers_of(self, node: TreeNode) -> list[Attachment]:
        """Return the consumers at the siblings of this node, in the order of the siblings."""
        if node.parent is None:
            return []
        begin, end = keys.at(node.parent.key)
        own_begin, own_end = keys.beneath(keys.among_peers(node.key))
        return self._by_parent().between((begin, own_begin)) + self._by_parent().between((own_end, end))

    # ---- changes -----------------------------------------------------------------------------------------------------

    def add(self, node: TreeNode, place: bytes, attachment: Attachment) -> None:
        if attachment.side is Side.PRODUCER:
            self._add_producer(node, attachment.id)
            return
        self.region_of(node).heard_by.add(place, attachment)
        if self._peers is not None and node.parent:
            self._peers.add(keys.among_peers(place), attachment)

    def remove(self, node: TreeNode, place: bytes, attachment: Attachment) -> None:
        if attachment.side is Side.PRODUCER:
            self._remove_producer(node, attachment.id)
            return
        self.region_of(node).heard_by.remove(place)
        if self._peers is not None and node.parent:
            self._peers.remove(keys.among_peers(place))

    def add_beside(self, attachment: Attachment) -> None:
        if attachment.side is Side.PRODUCER:
            self._outermost.producers.add(attachment.id)
        else:
            self.beside[attachment.id] = attachment

    def remove_beside(self, attachment: Attachment) -> None:
        self._outermost.producers.discard(attachment.id)
        self.beside.pop(attachment.id, None)

    def _add_producer(self, node: TreeNode, id: str) -> None:
        """Add a producer; the first one at a node moves the consumers below it to a region of their own."""
        region = self._by_node.get(node)
        if region is None:
            region = TopicRegion(self.region_of(node).heard_by.cut(keys.beneath(node.key)))
            self._by_node[node] = region
        region.producers.add(id)

    def _remove_producer(self, node: TreeNode, id: str) -> None:
        """Without the last one, consumers receive again from the next producer upwards."""
        region = self._by_node[node]
        region.producers.discard(id)
        if not region.producers:
            del self._by_node[node]
            self.region_of(node).heard_by.paste(region.heard_by)

    def drop(self, node: TreeNode, removed: Iterable[TreeNode]) -> None:
        """Forget a node and all below it."""
        self.lift(node)
        for below in removed:
            self._by_node.pop(below, None)
        if self._peers is not None:
            self._peers.cut(keys.beneath(keys.among_peers(node.key)))
            self._peers.cut(keys.beneath(node.key))

    # ---- moves -------------------------------------------------------------------------------------------------------

    def lift(self, node: TreeNode) -> SortedChunks[Attachment]:
        """Before a node moves: remove the attachments at and below it that no region strictly below it contains."""
        return self.region_of(node).heard_by.cut(keys.beneath(node.key))

    def settle(
        self, node: TreeNode, moved: Iterable[TreeNode], old_key: bytes, lifted: SortedChunks[Attachment]
    ) -> None:
        """Place a moved branch: its regions move with it, and consumers that were lifted join the nearest region."""
        for below in moved:
            if region := self._by_node.get(below):
                region.heard_by.rebase(len(old_key), node.key)
        lifted.rebase(len(old_key), node.key)
        self.region_of(node).heard_by.paste(lifted)
        if self._peers is not None:
            _shift(self._peers, keys.among_peers(old_key), keys.among_peers(node.key))
            _shift(self._peers, old_key, node.key)

    # ---- peers -------------------------------------------------------------------------------------------------------

    def _by_parent(self) -> SortedChunks[Attachment]:
        """Return all consumers at nodes below the root, by parent; built on first use, and then kept up to date."""
        if self._peers is None:
            regions = (self._outermost, *self._by_node.values())
            places = (item for region in regions for item in region.heard_by.items())
            below_root = ((keys.among_peers(place), one) for place, one in places if not place.startswith(keys.OWN))
            self._peers = SortedChunks.of(sorted(below_root, key=itemgetter(0)))
        return self._peers


def _shift(chunks: SortedChunks[Attachment], old: bytes, new: bytes) -> None:
    stretch = chunks.cut(keys.beneath(old))
    stretch.rebase(len(old), new)
    chunks.paste(stretch)
