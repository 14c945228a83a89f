"""A model that follows random changes piece by piece is the one that is reopened of what is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from postroad.core.hierarchy.changes import ModelChange, resolve_change
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way
from postroad.core.hierarchy.saved_model import apply_changes, list_changed_objects, open_at_once
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

MODEL = "a" * 16
Draw = Callable[[st.SearchStrategy[Any]], Any]
TOPICS = ("region", "alarm")
SERVICES = ("s1", "s2")


def a_piece(draw: Draw, live: ModelIndex, number: int) -> ModelChange:
    """A few changes of a model as it is; not all of them go together."""
    tags = st.sampled_from([node.tag for node in live.describe().nodes])
    ids = [one.id for one in live.attachments()]
    topics = st.sampled_from([TOPICS, TOPICS, TOPICS[:1], ()])
    fresh = st.integers(0, 2).map(lambda which: f"new {number} {which}")
    nodes = st.one_of(
        st.builds(Node, tag=fresh, under=tags, topics=topics),
        st.builds(Node, tag=tags, under=tags, topics=topics),  # most of these move
        tags.map(live.node).flatmap(lambda node: st.builds(replace, st.just(node), topics=topics)),
    )
    attachments = st.builds(
        Attachment,
        id=st.sampled_from([*ids, f"id {number}", f"id {number} too"]),
        service=st.sampled_from(SERVICES),
        side=st.sampled_from(Side),
        node=tags,
        topics=st.sampled_from([(), (), ("region",)]),
    ) | st.builds(
        Attachment,
        id=st.just(f"beside {number}"),
        service=st.sampled_from(SERVICES),
        side=st.sampled_from(Side),
        topics=st.just(("alarm",)),
    )
    strategies = st.tuples(st.sampled_from(TOPICS), st.builds(Strategy, way=st.sampled_from(Way)))
    return ModelChange(
        nodes=draw(st.lists(nodes, max_size=3, unique_by=lambda node: node.tag).map(tuple)),
        attachments=draw(st.lists(attachments, max_size=2, unique_by=lambda one: one.id).map(tuple)),
        strategies=draw(st.lists(strategies, max_size=1).map(tuple)),
        without_nodes=(draw(tags),) if draw(st.integers(0, 5)) == 0 else (),
        without_attachments=(draw(st.sampled_from(ids)),) if ids and draw(st.integers(0, 3)) == 0 else (),
        with_descendants=draw(st.booleans()),
    )


class Saved:
    """The directory, with pieces carried out as the network does."""

    def __init__(self) -> None:
        self.directory = Directory()

    def carry_out(self, index: ModelIndex | None, piece: ModelChange) -> list[tuple[str, str]]:
        """Returns what was touched."""
        objects = list_changed_objects(resolve_change(index, piece), MODEL, self.directory)
        number = self.directory.version + 1
        changes = [ObjectChange(kind, key, number, _value(item)) for (kind, key), item in objects.items()]
        self.directory = self.directory.apply_changes(changes, number)
        return [(kind, key.partition("/")[2]) for kind, key in objects]


def _value(item: Any) -> Any:
    return None if item is None else msgspec.to_builtins(item)


@pytest.mark.req("H4")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_following_in_place_is_opening_anew(data: st.DataObject) -> None:
    saved = Saved()
    begun = [Node(tag=f"n{child}", under=f"n{(child - 1) // 2}" if child else "", topics=TOPICS) for child in range(6)]
    saved.carry_out(None, ModelChange(nodes=tuple(begun)))
    live = open_at_once(saved.directory, MODEL).model
    carried_out = 0
    for number in range(data.draw(st.integers(5, 12))):
        assert live is not None
        try:
            touched = saved.carry_out(live, a_piece(data.draw, live, number))
        except Refused as refusal:
            event(f"refused: {refusal.code}")
            continue
        carried_out += 1
        again, whole = open_at_once(saved.directory, MODEL)
        assert whole
        if again is None:
            break  # the root was removed with all below it
        apply_changes(live, MODEL, touched, saved.directory)
        assert live.describe() == again.describe()
        assert answers(live) == answers(again)
    event(f"{carried_out} pieces carried out")


def answers(index: ModelIndex) -> list[list[str]]:
    """Who receives what from everywhere, and as what everybody could publish."""
    found = []
    for node in index.describe().nodes:
        found += [[one.id for one in index.who_receives(node.tag, topic)] for topic in node.topics]
    found += [[one.id for one in index.sources(service, topic)] for service in SERVICES for topic in TOPICS]
    return [*found, *(sorted(one.id for one in index.attachments_of(service)) for service in SERVICES)]


def test_a_piece_that_is_sent_twice_changes_nothing_the_second_time() -> None:
    saved = Saved()
    piece = ModelChange(
        nodes=(Node(tag="n0", topics=TOPICS), Node(tag="n1", under="n0", topics=TOPICS)),
        attachments=(Attachment(id="a", service="s1", side=Side.CONSUMER, node="n1"),),
        strategies=(("alarm", Strategy(way=Way.ANCESTORS)),),
    )
    assert len(saved.carry_out(None, piece)) == 4
    assert saved.carry_out(open_at_once(saved.directory, MODEL).model, piece) == []


def test_what_has_lost_its_ground_is_left_out_and_known_to_be() -> None:
    saved = Saved()
    nodes = tuple(Node(tag=tag, under=under, topics=TOPICS) for tag, under in (("n0", ""), ("n1", "n0"), ("n2", "n1")))
    at_n2 = Attachment(id="a", service="s1", side=Side.CONSUMER, node="n2")
    saved.carry_out(None, ModelChange(nodes=nodes, attachments=(at_n2,)))
    live = open_at_once(saved.directory, MODEL).model
    assert live is not None
    gone = ObjectChange("node", f"{MODEL}/n1", 9, None)  # on another node of the network, which had not seen n2 yet
    saved.directory = saved.directory.apply_changes([gone], 9)
    with pytest.raises(Refused, match="reopened"):
        apply_changes(live, MODEL, [("node", "n1")], saved.directory)
    model, whole = open_at_once(saved.directory, MODEL)
    assert model is not None
    assert (len(model), list(model.attachments()), whole) == (1, [], False)
