"""Live models against a naive depth-first search, and against an index rebuilt, after random sequences of changes."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from postroad.core.hierarchy import sorted_chunks
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way
from postroad.core.hierarchy.model_documents import parse_model, write_model
from postroad.errors import Refused
from tests.property.naive_model import Naive, NaiveModel

TOPICS = ("region", "alarm")
SOME_TOPICS = st.sampled_from([TOPICS, TOPICS, TOPICS[:1], TOPICS[:1], TOPICS[1:], ()])
STRATEGIES = st.builds(
    Strategy,
    way=st.sampled_from(Way),
    within=st.none() | st.integers(0, 3),
    tags=st.sampled_from([(), (), ("*1*",), ("n2", "n?")]),
).filter(lambda strategy: strategy.way is not Way.SIBLINGS or strategy.within is None)
ALL_WAYS = [Strategy(way=way) for way in Way] + [Strategy(within=1), Strategy(tags=("*1*",))]


ROLES = [(), (Side.CONSUMER,), (Side.CONSUMER,), (Side.CONSUMER, Side.CONSUMER), (Side.PRODUCER,), tuple(Side)]


class Models(RuleBasedStateMachine):
    """The same changes to both; then everybody is asked everything."""

    def __init__(self) -> None:
        super().__init__()
        self.numbered = 0

    @initialize(
        shape=st.lists(st.tuples(st.integers(0, 99), SOME_TOPICS, st.sampled_from(ROLES)), min_size=3, max_size=12)
    )
    def begin(self, shape: list[tuple[int, tuple[str, ...], tuple[Side, ...]]]) -> None:
        """A tree to begin with, in which each node stands under any of those before it."""
        self.index = ModelIndex("Regions", Node(tag="n0", topics=TOPICS))
        self.naive = NaiveModel(Naive("n0", TOPICS))
        tags = ["n0"]
        for above, topics, sides in shape:
            tags.append(self._add(tags[above % len(tags)], topics))
            for side in sides:
                self._attach(side, tags[-1], ())

    def a_tag(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([node.tag for node in self.naive.root.depth_first()]))

    def number(self) -> int:
        self.numbered += 1
        return self.numbered

    # ---- changes -----------------------------------------------------------------------------------------------------

    @rule(data=st.data(), topics=SOME_TOPICS, several=st.integers(1, 4))
    def add(self, data: st.DataObject, topics: tuple[str, ...], several: int) -> None:
        under = self.a_tag(data)
        for _ in range(several):
            self._add(under, topics)

    def _add(self, under: str, topics: tuple[str, ...]) -> str:
        tag = f"n{self.number()}"
        self.index.add_node(Node(tag=tag, under=under, topics=topics))
        self.naive.add(tag, under, topics)
        return tag

    @rule(data=st.data(), side=st.sampled_from(Side), several=st.integers(1, 3))
    def attach(self, data: st.DataObject, side: Side, several: int) -> None:
        node = self.naive.find(self.a_tag(data))
        topics = (
            data.draw(st.just(()) | st.lists(st.sampled_from(node.topics), unique=True).map(tuple))
            if node.topics
            else ()
        )
        for _ in range(several):
            self._attach(side, node.tag, topics)

    @rule(side=st.sampled_from(Side), topic=st.sampled_from(TOPICS))
    def attach_to_topic(self, side: Side, topic: str) -> None:
        self._attach(side, "", (topic,))

    def _attach(self, side: Side, tag: str, topics: tuple[str, ...]) -> None:
        number = self.number()
        one = Attachment(id=f"a{number}", service=f"Acme/S{number % 5}", side=side, node=tag, topics=topics)
        self.index.attach(one)
        self.naive.attach(one)

    @precondition(lambda self: self.naive.all_attached())
    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.naive.all_attached()))
        assert self.index.detach(one.id) == one
        self.naive.detach(one.id)

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        tag, under = self.a_tag(data), self.a_tag(data)
        below = [node.tag for node in self.naive.find(tag).depth_first()]
        if tag == "n0" or under in below:
            with pytest.raises(Refused):
                self.index.move_node(tag, under)
            return
        event("moved a tree" if len(below) > 1 else "moved a leaf")
        self.index.move_node(tag, under)
        self.naive.move(tag, under)

    @rule(data=st.data(), with_descendants=st.booleans())
    def remove(self, data: st.DataObject, with_descendants: bool) -> None:
        node = self.naive.find(self.a_tag(data))
        if node.tag == "n0" or (node.children and not with_descendants):
            with pytest.raises(Refused):
                self.index.remove_node(node.tag, with_descendants=with_descendants)
            return
        gone = self.index.remove_node(node.tag, with_descendants=with_descendants)
        assert {one.id for one in gone} == {one.id for below in node.depth_first() for one in below.attached}
        self.naive.remove(node.tag)

    @rule(data=st.data(), topics=SOME_TOPICS)
    def set_topics(self, data: st.DataObject, topics: tuple[str, ...]) -> None:
        node = self.naive.find(self.a_tag(data))
        if any(not set(one.topics) <= set(topics) for one in node.attached):
            with pytest.raises(Refused):
                self.index.set_topics(node.tag, topics)
            return
        self.index.set_topics(node.tag, topics)
        node.topics = topics

    # ---- questions ---------------------------------------------------------------------------------------------------

    @rule(strategy=STRATEGIES)
    def ask(self, strategy: Strategy) -> None:
        for node in self.naive.root.depth_first():
            for topic in node.topics:
                found = [one.id for one in self.index.who_receives(node.tag, topic, strategy)]
                assert found == self.naive.receives(node.tag, topic, strategy)

    @invariant()
    def publishes_as_a_depth_first_search_would(self) -> None:
        for one in self.naive.all_attached():
            if one.side is Side.PRODUCER:
                for topic in one.topics or self.naive.find(one.node).topics:
                    found = [consumer.id for consumer in self.index.publish(one.id, topic)]
                    assert found == self.naive.receives(one.node, topic, Strategy())
                    assert one in self.index.sources(one.service, topic)

    def teardown(self) -> None:
        if not hasattr(self, "index"):
            return
        for strategy in ALL_WAYS:
            self.ask(strategy)
        described = self.index.describe()
        assert [node.tag for node in described.nodes] == [node.tag for node in self.naive.root.depth_first()]
        assert parse_model(write_model(described)) == described
        again = ModelIndex.of(described)
        assert again.describe() == described
        for strategy in ALL_WAYS:
            assert answers(again, strategy) == answers(self.index, strategy)


def answers(index: ModelIndex, strategy: Strategy) -> dict[tuple[str, str], list[Attachment]]:
    nodes = index.describe().nodes
    return {(node.tag, topic): index.who_receives(node.tag, topic, strategy) for node in nodes for topic in node.topics}


@pytest.mark.req("H2", "H3", "H4", "H5")
@pytest.mark.parametrize("chunk", [2, sorted_chunks.CHUNK], ids=["tiny chunks", "usual chunks"])
def test_any_changes_leave_a_model_that_answers_like_a_naive_one(chunk: int) -> None:
    """With tiny chunks the list is split and joined all the time."""
    with mock.patch.object(sorted_chunks, "CHUNK", chunk):
        run_state_machine_as_test(Models, settings=settings(max_examples=100, stateful_step_count=25))


# ---- sorted chunks -----------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 99)
STEPS = st.one_of(
    st.tuples(st.just("add"), NUMBERS, NUMBERS),
    st.tuples(st.just("remove"), NUMBERS, NUMBERS),
    st.tuples(st.just("cut and paste"), NUMBERS, NUMBERS),
    st.tuples(st.just("look"), NUMBERS, NUMBERS),
)


@given(steps=st.lists(STEPS, max_size=150), chunk=st.integers(1, 6))
def test_sorted_chunks_are_a_sorted_dictionary(steps: list[tuple[str, int, int]], chunk: int) -> None:
    with mock.patch.object(sorted_chunks, "CHUNK", chunk):
        ours: sorted_chunks.SortedChunks[int] = sorted_chunks.SortedChunks()
        plain: dict[bytes, int] = {}
        for what, first, second in steps:
            take_step(ours, plain, what, min(first, second), max(first, second))
            assert list(ours.items()) == sorted(plain.items())
            assert len(ours) == len(plain)
            assert bool(ours) == bool(plain)


def take_step(ours: sorted_chunks.SortedChunks[Any], plain: dict[bytes, int], what: str, low: int, high: int) -> None:
    key, stretch = bytes([low]), (bytes([low]), bytes([high]))
    within = [value for here, value in sorted(plain.items()) if stretch[0] <= here < stretch[1]]
    if what == "add" and key not in plain:
        plain[key] = low
        ours.add(key, low)
    elif what == "remove" and key in plain:
        del plain[key]
        ours.remove(key)
    elif what == "cut and paste":
        taken = ours.cut(stretch)
        assert (taken.between(), ours.holds(stretch)) == (within, False)
        ours.paste(taken)
    elif what == "look":
        assert ours.between(stretch) == within
        assert ours.holds(stretch) == bool(within)
        assert all(ours.get(here) == value for here, value in plain.items())
        assert list(ours.iter_skipping(stretch, lambda here: None if here[0] % 3 else bytes([here[0] + 1]))) == [
            value for value in within if value % 3
        ]
