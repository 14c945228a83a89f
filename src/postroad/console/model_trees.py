"""A branch of a model as a page shows it: nested, with what is attached at each node, as much of it as a page can carry.

Kept rules: a branch costs what is shown of it, however large the model is, and everything in it can be come to, a page after
the other; others than those who look after the model see what they have attached themselves.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from postroad.core.hierarchy import keys
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.nouns import Attachment
from postroad.core.hierarchy.tree import TreeNode
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration_models import Looked, shown

NODES_MOST = 300
ATTACHED_MOST = 20  # shown at one node
OPEN_LEVELS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    id: str
    service: str  # as the viewer knows it
    side: str
    topics: tuple[str, ...]
    is_own: bool


@dataclass(slots=True, kw_only=True)
class Branch:
    tag: str
    topics: tuple[str, ...]
    attached: list[Attached]
    more_attached: int
    is_open: bool
    below: list[Branch] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The eyes of one person on one model."""

    caller: Caller
    looked: Looked
    directory: Directory
    own: Container[str]  # GCIDs of their services, which are looked for at every node

    def branch(self, index: ModelIndex, tag: str, after: str = "") -> tuple[Branch, str]:
        """The node with what is below it, from behind another on; and the last of them, where there are more behind that."""
        start = index.tree.find(tag)
        last = index.tree.find(after) if after in index else start
        if not last.key.startswith(start.key):
            last = start
        above = self._way_to(index, last, start)
        behind = takewhile(lambda node: node.depth > start.depth, index.tree.onwards(last.key + keys.OWN))
        for number, node in enumerate(behind):
            if number == NODES_MOST:
                return above[0], last.tag
            last = node
            del above[node.depth - start.depth :]
            above[-1].below.append(self._node(index, node, start))
            above.append(above[-1].below[-1])
        return above[0], ""

    def _way_to(self, index: ModelIndex, node: TreeNode, start: TreeNode) -> list[Branch]:
        """The nodes from the start down to this one, each below the one before it."""
        nodes = [*takewhile(lambda one: one is not start, node.upwards()), start][::-1]
        way = [self._node(index, one, start) for one in nodes]
        for upper, lower in pairwise(way):
            upper.is_open = True
            upper.below.append(lower)
        way[-1].is_open = True
        return way

    def attached(self, one: Attachment) -> Attached:
        return Attached(
            id=one.id,
            service=shown(self.caller, one.service, self.directory),
            side=one.side.value,
            topics=one.topics,
            is_own=one.service in self.own,
        )

    def may_see(self, found: list[Attachment]) -> list[Attachment]:
        if self.looked.all_of_it:
            return found
        return [one for one in found if one.service in self.own]

    def _node(self, index: ModelIndex, node: TreeNode, start: TreeNode) -> Branch:
        found = self.may_see(index.attachments_at(node.tag))
        return Branch(
            tag=node.tag,
            topics=node.topics,
            attached=[self.attached(one) for one in found[:ATTACHED_MOST]],
            more_attached=max(0, len(found) - ATTACHED_MOST),
            is_open=node.depth - start.depth < OPEN_LEVELS,
        )
