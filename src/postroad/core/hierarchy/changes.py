"""Resolves a change of a model: what to save and what to remove, or a refusal that names the error.

    ModelChange (as requested) ──resolve_change(index, change)──▶ ResolvedChange (as it will be saved)

The parts of a change are applied in one order: detachments, removed nodes, new or changed nodes, attachments, directions of
topics. Rules: the index is only read, so a refused change changes nothing. What is already as requested is not saved again,
so a change may be sent twice. The model is as valid after a change as before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from postroad.core.hierarchy import model_checks
from postroad.core.hierarchy.index import DEFAULT_STRATEGY, ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    nodes: tuple[Node, ...] = ()  # added, or made so: another ``under`` moves a node, other topics replace those it has
    attachments: tuple[Attachment, ...] = ()  # attached, or put in the place of what has their id
    strategies: tuple[tuple[str, Strategy], ...] = ()
    without_nodes: tuple[str, ...] = ()  # with all that is attached to them
    without_attachments: tuple[str, ...] = ()
    with_descendants: bool = False  # of the nodes that go; otherwise each of those must be named too

    def __len__(self) -> int:
        gone = len(self.without_nodes) + len(self.without_attachments)
        return len(self.nodes) + len(self.attachments) + len(self.strategies) + gone


@dataclass(slots=True, kw_only=True)
class ResolvedChange:
    nodes: list[Node] = field(default_factory=list)  # as they stand already, but for their topics
    placed: list[Node] = field(default_factory=list)  # behind all others under theirs: new ones, and those that move
    attachments: list[Attachment] = field(default_factory=list)
    strategies: list[tuple[str, Strategy]] = field(default_factory=list)  # the usual one: nothing is saved of the topic
    gone_nodes: list[str] = field(default_factory=list)
    gone: list[Attachment] = field(default_factory=list)  # detached; those that only change are among the others alone

    def __len__(self) -> int:
        nodes = len(self.nodes) + len(self.placed) + len(self.gone_nodes)
        return nodes + len(self.attachments) + len(self.gone) + len(self.strategies)


def resolve_change(index: ModelIndex | None, piece: ModelChange) -> ResolvedChange:
    """Resolves a change; ``index`` is None while the model has no nodes."""
    draft = _Draft(index)
    for id in piece.without_attachments:
        draft.detach(draft.attachment(id))
    draft.set_aside(piece.attachments)
    draft.remove(piece.without_nodes, piece.with_descendants)
    for node in piece.nodes:
        draft.put(node)
    for attachment in piece.attachments:
        draft.attach(attachment)
    for topic, strategy in piece.strategies:
        draft.lead(topic, strategy)
    return draft.found


class _Draft:
    """The model as it will be after the change, on top of the current one."""

    def __init__(self, index: ModelIndex | None) -> None:
        self.found = ResolvedChange()
        self._index = index
        self._nodes: dict[str, Node | None] = {}
        self._detached: set[str] = set()
        self._attached: set[str] = set()
        self._deeper = 0  # by so much a branch may have grown through moves of this piece
        self._root = index.tree.root.tag if index is not None else ""

    # ---- looking -----------------------------------------------------------------------------------------------------

    def node(self, tag: str) -> Node:
        if tag in self._nodes:
            node = self._nodes[tag]
        else:
            node = self._index.node(tag) if self._index is not None and tag in self._index else None
        if node is None:
            raise model_checks.unknown_node(tag)
        return node

    def attachment(self, id: str) -> Attachment:
        if self._index is None or id in self._detached:
            raise model_checks.unknown_attachment(id)
        return self._index.attachment(id)

    def _has(self, tag: str) -> bool:
        if tag in self._nodes:
            return self._nodes[tag] is not None
        return self._index is not None and tag in self._index

    def _upwards(self, tag: str) -> Iterator[str]:
        while tag:
            yield tag
            tag = self.node(tag).under

    def _height(self, tag: str) -> int:
        """How many levels there are below a node."""
        if self._index is None or tag not in self._index:
            return 0
        node = self._index.tree.find(tag)
        return max(below.depth for below in self._index.tree.from_here(node)) - node.depth

    # ---- going -------------------------------------------------------------------------------------------------------

    def detach(self, attachment: Attachment) -> None:
        self._detached.add(attachment.id)
        self.found.gone.append(attachment)

    def set_aside(self, attachments: tuple[Attachment, ...]) -> None:
        """Treat attachments that the same change replaces as detached, so that their nodes can be changed."""
        if self._index is not None:
            self._detached.update(
                one.id for one in attachments if self._index.is_attached(one.id) and not self._is_so(one)
            )

    def remove(self, tags: tuple[str, ...], with_descendants: bool) -> None:
        named = set(tags)
        for tag in tags:
            if tag in self._nodes:
                continue  # with a branch that was named before
            if self._index is None:
                raise model_checks.unknown_node(tag)
            self._remove_branch(self._index, tag, named, with_descendants)

    def _remove_branch(self, index: ModelIndex, tag: str, named: set[str], with_descendants: bool) -> None:
        branch = index.tree.from_here(index.tree.find(tag))
        if tag == self._root and len(named) < len(index) and not with_descendants:
            raise model_checks.root_stays(tag)
        for below in branch:
            if below.tag not in named and not with_descendants:
                raise model_checks.has_children(tag)
            if below.tag not in self._nodes:
                self._nodes[below.tag] = None
                self.found.gone_nodes.append(below.tag)
        for attachment in index.attachments_beneath(tag):
            if attachment.id not in self._detached:
                self.detach(attachment)
        if tag == self._root:
            self._root = ""

    # ---- coming ------------------------------------------------------------------------------------------------------

    def put(self, node: Node) -> None:
        model_checks.check_tag(node.tag)
        model_checks.check_topics(node.topics)
        if node.tag in self._nodes:
            raise model_checks.tag_taken(node.tag) if self._nodes[node.tag] else model_checks.goes_and_comes(node.tag)
        if not self._has(node.tag):
            self._add(node)
        else:
            self._change(self.node(node.tag), node)
        self._nodes[node.tag] = node

    def _add(self, node: Node) -> None:
        if not node.under:
            if self._root:
                raise model_checks.two_roots(node.tag, self._root)
            self._root = node.tag
        elif sum(1 for _ in self._upwards(node.under)) > model_checks.MAX_DEPTH:
            raise model_checks.too_deep(node.tag)
        self.found.placed.append(node)

    def _change(self, current: Node, node: Node) -> None:
        for attachment in self._index.attachments_at(node.tag) if self._index is not None else ():
            missing = [topic for topic in attachment.topics if topic not in node.topics]
            if missing and attachment.id not in self._detached:
                raise model_checks.topic_in_use(missing[0], node.tag, attachment.id)
        if node.under != current.under:
            self._check_move(current, node)
            self.found.placed.append(node)
        elif node.topics != current.topics:
            self.found.nodes.append(node)

    def _check_move(self, current: Node, node: Node) -> None:
        if not current.under or not node.under:
            raise model_checks.root_stays(self._root)
        path = list(self._upwards(node.under))
        if node.tag in path:
            raise model_checks.under_itself(node.tag, node.under)
        height = self._height(node.tag) + self._deeper
        if len(path) + height > model_checks.MAX_DEPTH:
            raise model_checks.too_deep(node.tag)
        self._deeper += height + 1

    # ---- attaching ---------------------------------------------------------------------------------------------------

    def attach(self, attachment: Attachment) -> None:
        model_checks.check_attachment(attachment)
        if attachment.id in self._attached:
            raise model_checks.id_taken(attachment.id)
        self._attached.add(attachment.id)
        if attachment.node:
            node = self.node(attachment.node)
            for topic in attachment.topics:
                if topic not in node.topics:
                    raise model_checks.topic_not_there(topic, node.tag, node.topics)
        elif not self._root:
            raise model_checks.unknown_node("")
        if attachment.id in self._detached or not self._is_so(attachment):
            self.found.attachments.append(attachment)

    def _is_so(self, attachment: Attachment) -> bool:
        index = self._index
        return index is not None and index.is_attached(attachment.id) and index.attachment(attachment.id) == attachment

    def lead(self, topic: str, strategy: Strategy) -> None:
        model_checks.check_topics((topic,))
        model_checks.check_strategy(strategy)
        current = self._index.strategy_of(topic) if self._index is not None else DEFAULT_STRATEGY
        if strategy != current:
            self.found.strategies.append((topic, strategy))
