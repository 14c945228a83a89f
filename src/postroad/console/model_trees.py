"""A branch of a model as a page shows it: nested nodes with attachments, up to a page's limit.

Rules: the cost of a branch depends on what is shown, however large the model is, and all of it can be reached page by
page. People who do not manage the model see only their own attachments.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from postroad.core.hierarchy import keys
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment
from postroad.core.hierarchy.tree import TreeNode
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.base import describe_service
from postroad.flow.administration.models import VisibleModel

MAX_NODES = 300
MAX_ATTACHED = 20  # shown at one node
OPEN_LEVELS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAttachment:
    id: str
    service: str  # as the viewer knows it
    side: str
    topics: tuple[str, ...]
    is_own: bool


@dataclass(slots=True, kw_only=True)
class ModelBranch:
    tag: str
    topics: tuple[str, ...]
    attached: list[ShownAttachment]
    more_attached: int
    is_open: bool
    below: list[ModelBranch] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelViewer:
    """One person's view of one model; hides attachments that the person may not see."""

    caller: Caller
    looked: VisibleModel
    directory: Directory
    own: Container[str]  # GCIDs of their services, which are looked for at every node

    def branch(self, index: ModelIndex, tag: str, after: str = "") -> tuple[ModelBranch, str]:
        """Return a node with its children after ``after``, and the last of them if there are more."""
        start = index.tree.find(tag)
        last = index.tree.find(after) if after in index else start
        if not last.key.startswith(start.key):
            last = start
        above = self._way_to(index, last, start)
        behind = takewhile(lambda node: node.depth > start.depth, index.tree.onwards(last.key + keys.OWN))
        for number, node in enumerate(behind):
            if number == MAX_NODES:
                return above[0], last.tag
            last = node
            del above[node.depth - start.depth :]
            above[-1].below.append(self._node(index, node, start))
            above.append(above[-1].below[-1])
        return above[0], ""

    def _way_to(self, index: ModelIndex, node: TreeNode, start: TreeNode) -> list[ModelBranch]:
        """The nodes from the start down to this one, each below the one before it."""
        nodes = [*takewhile(lambda one: one is not start, node.upwards()), start][::-1]
        way = [self._node(index, one, start) for one in nodes]
        for upper, lower in pairwise(way):
            upper.is_open = True
            upper.below.append(lower)
        way[-1].is_open = True
        return way

    def show_attachment(self, one: Attachment) -> ShownAttachment:
        return ShownAttachment(
            id=one.id,
            service=describe_service(self.caller, one.service, self.directory),
            side=one.side.value,
            topics=one.topics,
            is_own=one.service in self.own,
        )

    def may_see(self, found: list[Attachment]) -> list[Attachment]:
        if self.looked.all_of_it:
            return found
        return [one for one in found if one.service in self.own]

    def _node(self, index: ModelIndex, node: TreeNode, start: TreeNode) -> ModelBranch:
        found = self.may_see(index.attachments_at(node.tag))
        return ModelBranch(
            tag=node.tag,
            topics=node.topics,
            attached=[self.show_attachment(one) for one in found[:MAX_ATTACHED]],
            more_attached=max(0, len(found) - MAX_ATTACHED),
            is_open=node.depth - start.depth < OPEN_LEVELS,
        )
