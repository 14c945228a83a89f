"""A branch of a model as a page shows it: nested, with what is attached at each node, as much of it as a page can carry.

Kept rules: a branch costs what is shown of it, however large the model is; others than those who look after the model see what
they have attached themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.nouns import Attachment
from postroad.core.hierarchy.tree import TreeNode
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration_models import Looked, own_services, shown

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
    is_cut: bool = False  # there is more below it than is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The eyes of one person on one model."""

    caller: Caller
    looked: Looked
    directory: Directory

    def branch(self, index: ModelIndex, tag: str) -> Branch:
        """The node with what is below it."""
        start = index.tree.find(tag)
        beneath = takewhile(lambda node: node is start or node.depth > start.depth, index.tree.onwards(start.key))
        top = last = self._node(index, start, start)
        above = [top]
        for number, node in enumerate(beneath):
            if number == NODES_MOST:
                last.is_cut = True
                break
            if node is start:
                continue
            del above[node.depth - start.depth :]
            last = self._node(index, node, start)
            above[-1].below.append(last)
            above.append(last)
        return top

    def attached(self, one: Attachment) -> Attached:
        return Attached(
            id=one.id,
            service=shown(self.caller, one.service, self.directory),
            side=one.side.value,
            topics=one.topics,
            is_own=one.service in own_services(self.caller, self.directory),
        )

    def may_see(self, found: list[Attachment]) -> list[Attachment]:
        if self.looked.all_of_it:
            return found
        own = own_services(self.caller, self.directory)
        return [one for one in found if one.service in own]

    def _node(self, index: ModelIndex, node: TreeNode, start: TreeNode) -> Branch:
        found = self.may_see(index.attachments_at(node.tag))
        return Branch(
            tag=node.tag,
            topics=node.topics,
            attached=[self.attached(one) for one in found[:ATTACHED_MOST]],
            more_attached=max(0, len(found) - ATTACHED_MOST),
            is_open=node.depth - start.depth < OPEN_LEVELS,
        )
