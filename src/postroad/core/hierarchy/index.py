"""A live model: changed while messages flow, and queried for the receivers of a message.

The index contains the nodes, the attachments, and one routing table for each topic. Rules: a refused change changes
nothing. After any number of changes, the index answers like one that is rebuilt from its description.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.hierarchy import keys, model_checks
from postroad.core.hierarchy.model import Attachment, Model, Node, Side, Strategy
from postroad.core.hierarchy.sorted_chunks import SortedChunks
from postroad.core.hierarchy.strategies import find_receivers
from postroad.core.hierarchy.topic_table import TopicTable
from postroad.core.hierarchy.tree import Tree, TreeNode
from postroad.core.model.ids import check_name
from postroad.errors import Refused

DEFAULT_STRATEGY = Strategy()
GROUPS = {Side.PRODUCER: b"p", Side.CONSUMER: b"q"}  # in this order at a node


class ModelIndex:
    def __init__(self, name: str, root: Node) -> None:
        self.name = check_name(name, "Model")
        if root.under:
            raise model_checks.unknown_node(root.under)
        self._tree = Tree(root.tag, root.topics)
        self._tables: dict[str, TopicTable] = {}
        self._strategies: dict[str, Strategy] = {}
        self._places: dict[str, bytes] = {}  # attachments at nodes: id → key
        self._attached: SortedChunks[Attachment] = SortedChunks()  # the same, depth first
        self._beside: dict[str, Attachment] = {}  # attachments outside the tree, by id
        self._arrivals = 0
        self._sources: dict[str, dict[str, None]] = {}  # service → ids under which it produces
        self._by_service: dict[str, dict[str, None]] | None = None  # all ids; built on first use

    @classmethod
    def of(cls, model: Model) -> ModelIndex:
        """Return the index of a description, or a refusal that names its errors."""
        if not model.nodes:
            raise Refused("value.invalid", f"model {model.name!r} has no nodes; add a root")
        index = cls(model.name, model.nodes[0])
        for node in model.nodes[1:]:
            index.add_node(node)
        for topic, strategy in model.strategies:
            index.set_strategy(topic, strategy)
        for attachment in model.attachments:
            index.attach(attachment)
        return index

    def describe(self) -> Model:
        """Return the current model, depth first."""
        return Model(
            name=self.name,
            nodes=tuple(_described(node) for node in self._tree),
            attachments=tuple(self.attachments()),
            strategies=tuple(self.strategies.items()),
        )

    # ---- questions ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._tree)

    def __contains__(self, tag: object) -> bool:
        return tag in self._tree

    @property
    def attached(self) -> int:
        """The number of attachments."""
        return len(self._places) + len(self._beside)

    @property
    def tree(self) -> Tree:
        """The tree, for reading only; it is changed only here."""
        return self._tree

    def table_of(self, topic: str) -> TopicTable:
        """The routing table of a topic, for reading only."""
        return self._tables.get(topic) or TopicTable()

    def node(self, tag: str) -> Node:
        return _described(self._tree.find(tag))

    def attachments(self) -> Iterator[Attachment]:
        """Yield all attachments: at nodes depth first, then outside the tree by topic; always producers first."""
        yield from self._attached.between()
        yield from sorted(self._beside.values(), key=lambda one: (one.topics, GROUPS[one.side]))

    def attachments_at(self, tag: str) -> list[Attachment]:
        return self._attached.between(keys.at(self._tree.find(tag).key))

    def attachments_beneath(self, tag: str) -> list[Attachment]:
        """The attachments at a node and at all nodes below it."""
        return self._attached.between(keys.beneath(self._tree.find(tag).key))

    def attachments_of(self, service: str) -> list[Attachment]:
        """Return the attachments of one service; the list by service is built on first use, and then kept up to date."""
        if self._by_service is None:
            self._by_service = {}
            for one in self.attachments():
                self._by_service.setdefault(one.service, {})[one.id] = None
        return [self.attachment(id) for id in self._by_service.get(service, ())]

    def place_of(self, id: str) -> bytes:
        """Return the key of an attachment at a node; empty for one outside the tree."""
        return self._places.get(id, b"")

    def attached_onwards(self, place: bytes) -> Iterator[Attachment]:
        """Yield the attachments from this key on, depth first; the key itself need not exist."""
        return self._attached.iter_skipping((place, keys.END), lambda key: None)

    def beside(self, after: str = "") -> list[Attachment]:
        """Return the attachments outside the tree with larger IDs than this one, sorted by ID."""
        return [self._beside[id] for id in sorted(self._beside) if id > after]

    def is_attached(self, id: str) -> bool:
        return id in self._places or id in self._beside

    def attachment(self, id: str) -> Attachment:
        if id in self._beside:
            return self._beside[id]
        if id not in self._places:
            raise model_checks.unknown_attachment(id)
        return self._attached.get(self._places[id])

    def sources(self, service: str, topic: str) -> list[Attachment]:
        """The producer attachments from which a service may publish on a topic, in the order of attachment."""
        producers = [self.attachment(id) for id in self._sources.get(service, ())]
        return [producer for producer in producers if topic in self._topics_of(producer)]

    def strategy_of(self, topic: str) -> Strategy:
        return self._strategies.get(topic, DEFAULT_STRATEGY)

    @property
    def strategies(self) -> dict[str, Strategy]:
        """The strategies of topics that do not use the default."""
        return dict(sorted(self._strategies.items()))

    def publish(self, producer: str, topic: str, strategy: Strategy | None = None) -> list[Attachment]:
        """The consumers of what a producer publishes, each attachment once, in the order of delivery."""
        attachment = self.attachment(producer)
        if attachment.side is not Side.PRODUCER or topic not in self._topics_of(attachment):
            raise model_checks.no_producer(producer, topic)
        node = self._tree.find(attachment.node) if attachment.node else None
        return self._reached(node, topic, strategy)

    def who_receives(self, tag: str, topic: str, strategy: Strategy | None = None) -> list[Attachment]:
        """Return the receivers of a message published at a node, even if the node has no producer of the topic yet."""
        node = self._tree.find(tag)
        if topic not in node.topics:
            raise model_checks.topic_not_there(topic, tag, node.topics)
        return self._reached(node, topic, strategy)

    def _reached(self, node: TreeNode | None, topic: str, strategy: Strategy | None) -> list[Attachment]:
        if strategy:
            model_checks.check_strategy(strategy)
        return find_receivers(self.table_of(topic), node, strategy or self.strategy_of(topic))

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        """Adds a node as the last child of its parent."""
        self._tree.add(node.tag, node.under, node.topics)

    def remove_node(self, tag: str, *, with_descendants: bool = False) -> list[Attachment]:
        """Returns what was attached there and is detached now."""
        node = self._tree.removable(tag, with_descendants)
        removed = self._tree.from_here(node)
        for topic in _topics(removed) & self._tables.keys():
            self._tables[topic].drop(node, removed)
            self._drop_if_empty(topic)
        gone = self._attached.cut(keys.beneath(node.key)).between()
        for attachment in gone:
            self._forget(attachment)
        self._tree.remove(node)
        return gone

    def move_node(self, tag: str, under: str) -> None:
        """Moves a node, its subtree and its attachments; it becomes the last child of the new parent."""
        node, parent = self._tree.movable(tag, under)
        moved, old_key = self._tree.from_here(node), node.key
        tables = [self._tables[topic] for topic in _topics(moved) & self._tables.keys()]
        lifted = [table.lift(node) for table in tables]
        attached = self._attached.cut(keys.beneath(old_key))
        self._tree.move(node, parent)
        attached.rebase(len(old_key), node.key)
        self._places.update((attachment.id, place) for place, attachment in attached.items())
        self._attached.paste(attached)
        for table, region in zip(tables, lifted, strict=True):
            table.settle(node, moved, old_key, region)

    def set_topics(self, tag: str, topics: tuple[str, ...]) -> None:
        """Replace the topics of a node; attachments to all its topics follow."""
        node = self._tree.find(tag)
        model_checks.check_topics(topics)
        here = self.attachments_at(tag)
        for attachment in here:
            for topic in attachment.topics:
                if topic not in topics:
                    raise model_checks.topic_in_use(topic, tag, attachment.id)
        following = [attachment for attachment in here if not attachment.topics]
        for attachment in following:
            self._leave(node, attachment, [topic for topic in node.topics if topic not in topics])
            self._enter(node, attachment, [topic for topic in topics if topic not in node.topics])
        node.topics = topics

    def set_strategy(self, topic: str, strategy: Strategy) -> None:
        model_checks.check_topics((topic,))
        model_checks.check_strategy(strategy)
        if strategy == DEFAULT_STRATEGY:
            self._strategies.pop(topic, None)
        else:
            self._strategies[topic] = strategy

    # ---- attachments -------------------------------------------------------------------------------------------------

    def attach(self, attachment: Attachment) -> None:
        model_checks.check_attachment(attachment)
        if self.is_attached(attachment.id):
            raise model_checks.id_taken(attachment.id)
        if attachment.node:
            self._attach_at(self._tree.find(attachment.node), attachment)
        else:
            self._beside[attachment.id] = attachment
            self._tables.setdefault(attachment.topics[0], TopicTable()).add_beside(attachment)
        if attachment.side is Side.PRODUCER:
            self._sources.setdefault(attachment.service, {})[attachment.id] = None
        if self._by_service is not None:
            self._by_service.setdefault(attachment.service, {})[attachment.id] = None

    def _attach_at(self, node: TreeNode, attachment: Attachment) -> None:
        for topic in attachment.topics:
            if topic not in node.topics:
                raise model_checks.topic_not_there(topic, node.tag, node.topics)
        self._arrivals += 1
        place = self._places[attachment.id] = keys.place_at(node.key, GROUPS[attachment.side], self._arrivals)
        self._attached.add(place, attachment)
        self._enter(node, attachment, attachment.topics or node.topics)

    def detach(self, id: str) -> Attachment:
        attachment = self.attachment(id)
        if attachment.node:
            self._leave(self._tree.find(attachment.node), attachment, self._topics_of(attachment))
            self._attached.remove(self._places[id])
        else:
            self._tables[attachment.topics[0]].remove_beside(attachment)
            self._drop_if_empty(attachment.topics[0])
        self._forget(attachment)
        return attachment

    def _enter(self, node: TreeNode, attachment: Attachment, topics: Iterable[str]) -> None:
        for topic in topics:
            table = self._tables.get(topic) or self._tables.setdefault(topic, TopicTable())
            table.add(node, self._places[attachment.id], attachment)

    def _leave(self, node: TreeNode, attachment: Attachment, topics: Iterable[str]) -> None:
        for topic in topics:
            self._tables[topic].remove(node, self._places[attachment.id], attachment)
            self._drop_if_empty(topic)

    def _drop_if_empty(self, topic: str) -> None:
        if self._tables[topic].is_empty:
            del self._tables[topic]

    def _forget(self, attachment: Attachment) -> None:
        """Remove an attachment from the lookups by ID and service, once it is in no table."""
        del (self._places if attachment.node else self._beside)[attachment.id]
        if attachment.side is Side.PRODUCER:
            _drop(self._sources, attachment)
        if self._by_service is not None:
            _drop(self._by_service, attachment)

    def _topics_of(self, attachment: Attachment) -> tuple[str, ...]:
        return attachment.topics or self._tree.find(attachment.node).topics


def _drop(by_service: dict[str, dict[str, None]], attachment: Attachment) -> None:
    ids = by_service[attachment.service]
    del ids[attachment.id]
    if not ids:
        del by_service[attachment.service]


def _described(node: TreeNode) -> Node:
    return Node(tag=node.tag, under=node.parent.tag if node.parent else "", topics=node.topics)


def _topics(nodes: Iterable[TreeNode]) -> set[str]:
    return {topic for node in nodes for topic in node.topics}
