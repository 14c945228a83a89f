"""Live models: what changes mean for those attached, and what is refused."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Model, Node, Side, Strategy, Way
from postroad.core.hierarchy.model_checks import MAX_DEPTH
from postroad.core.model.refusals import REFUSALS
from postroad.errors import Refused

TOPICS = ("region", "alarm")


def producer(id: str, node: str, *topics: str) -> Attachment:
    return Attachment(id=id, service=f"Acme/{id}", side=Side.PRODUCER, node=node, topics=topics)


def consumer(id: str, node: str, *topics: str) -> Attachment:
    return Attachment(id=id, service=f"Acme/{id}", side=Side.CONSUMER, node=node, topics=topics)


def world() -> ModelIndex:
    """A root over two continents, one of them with two countries; a consumer at each, called like its node."""
    index = ModelIndex("World", Node(tag="world", topics=TOPICS))
    for tag, under in (("europe", "world"), ("france", "europe"), ("spain", "europe"), ("asia", "world")):
        index.add_node(Node(tag=tag, under=under, topics=TOPICS))
    for tag in ("world", "europe", "france", "spain", "asia"):
        index.attach(consumer(tag, tag))
    return index


def ids(found: list[Attachment]) -> list[str]:
    return [one.id for one in found]


# ---- who receives ----------------------------------------------------------------------------------------------------


@pytest.mark.req("H5")
@pytest.mark.parametrize(
    ("at", "strategy", "expected"),
    [
        ("europe", Strategy(), ["europe", "france", "spain"]),
        ("world", Strategy(within=1), ["world", "europe", "asia"]),
        ("europe", Strategy(within=0), ["europe"]),
        ("world", Strategy(tags=("*a*",)), ["france", "spain", "asia"]),
        ("france", Strategy(way=Way.ANCESTORS), ["france", "europe", "world"]),
        ("france", Strategy(way=Way.ANCESTORS, within=1), ["france", "europe"]),
        ("france", Strategy(way=Way.ANCESTORS, tags=("world", "asia")), ["world"]),
        ("europe", Strategy(way=Way.SIBLINGS), ["asia"]),
        ("world", Strategy(way=Way.SIBLINGS), []),
        ("france", Strategy(way=Way.NEAREST), ["france"]),
        ("france", Strategy(way=Way.NEAREST, tags=("e*",)), ["europe"]),
        ("france", Strategy(way=Way.NEAREST, within=1, tags=("w*",)), []),
    ],
)
def test_strategies(at: str, strategy: Strategy, expected: list[str]) -> None:
    assert ids(world().who_receives(at, "region", strategy)) == expected


@pytest.mark.req("H5")
def test_a_topic_goes_the_way_that_the_model_says() -> None:
    index = world()
    index.attach(producer("p", "france"))
    index.set_strategy("alarm", Strategy(way=Way.ANCESTORS))
    assert ids(index.publish("p", "alarm")) == ["france", "europe", "world"]
    assert ids(index.publish("p", "region")) == ["france"]
    index.set_strategy("alarm", Strategy())
    assert ids(index.publish("p", "alarm")) == ["france"]
    assert index.describe().strategies == ()


def test_what_goes_up_or_aside_is_shadowed_by_nobody() -> None:
    index = world()
    for tag in ("world", "europe", "spain"):
        index.attach(producer(f"p {tag}", tag))
    assert ids(index.who_receives("france", "region", Strategy(way=Way.ANCESTORS))) == ["france", "europe", "world"]
    assert ids(index.who_receives("france", "region", Strategy(way=Way.SIBLINGS))) == ["spain"]


@pytest.mark.req("H3")
def test_one_topic_is_shadowed_and_the_other_is_not() -> None:
    index = world()
    index.attach(producer("p", "world"))
    index.attach(producer("q", "europe", "region"))
    assert ids(index.publish("p", "region")) == ["world", "asia"]
    assert ids(index.publish("p", "alarm")) == ["world", "europe", "france", "spain", "asia"]


def test_a_shadow_lasts_as_long_as_one_producer_is_there() -> None:
    index = world()
    for id, tag in (("p", "world"), ("q", "europe"), ("r", "europe")):
        index.attach(producer(id, tag))
    index.detach("q")
    assert ids(index.publish("p", "region")) == ["world", "asia"]
    index.detach("r")
    assert ids(index.publish("p", "region")) == ["world", "europe", "france", "spain", "asia"]


@pytest.mark.req("H4")
def test_those_attached_to_a_topic_stand_beside_the_tree() -> None:
    """The producer's messages come in above the root, the consumer hears everything on the topic, last."""
    index = world()
    for one in (producer("news", "", "region"), consumer("log", "", "region"), producer("p", "europe")):
        index.attach(one)
    assert ids(index.publish("news", "region")) == ["world", "asia", "log"]
    assert ids(index.publish("p", "region")) == ["europe", "france", "spain", "log"]
    assert ids(index.publish("news", "region", Strategy(within=0))) == ["world", "log"]
    assert ids(index.publish("news", "region", Strategy(way=Way.ANCESTORS))) == ["log"]
    assert index.detach("log") == consumer("log", "", "region")
    assert ids(index.publish("p", "region")) == ["europe", "france", "spain"]


def test_a_service_knows_as_what_it_publishes() -> None:
    index = world()
    index.attach(Attachment(id="north", service="Acme/News", side=Side.PRODUCER, node="europe"))
    index.attach(Attachment(id="east", service="Acme/News", side=Side.PRODUCER, node="asia", topics=("alarm",)))
    assert ids(index.sources("Acme/News", "alarm")) == ["north", "east"]
    assert ids(index.sources("Acme/News", "region")) == ["north"]
    index.detach("north")
    assert ids(index.sources("Acme/News", "region")) == []
    assert ids(index.sources("Acme/europe", "region")) == []  # a consumer


# ---- changes ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("H4")
def test_a_moved_node_hears_whom_it_stands_under_now() -> None:
    index = world()
    index.attach(producer("p", "europe"))
    index.attach(producer("q", "asia"))
    index.move_node("spain", "asia")
    assert ids(index.publish("p", "region")) == ["europe", "france"]
    assert ids(index.publish("q", "region")) == ["asia", "spain"]
    assert index.node("spain") == Node(tag="spain", under="asia", topics=TOPICS)


def test_a_removed_node_takes_along_what_was_attached() -> None:
    index = world()
    index.attach(producer("p", "europe"))
    gone = index.remove_node("europe", with_descendants=True)
    assert ids(gone) == ["p", "europe", "france", "spain"]
    assert ids(index.who_receives("world", "region")) == ["world", "asia"]
    assert len(index) == 2
    index.add_node(Node(tag="europe", under="world", topics=TOPICS))
    index.attach(consumer("france", "europe"))
    assert ids(index.who_receives("world", "region")) == ["world", "asia", "france"]


def test_nothing_of_a_removed_branch_is_kept() -> None:
    """Neither in the regions below it nor among the siblings, which are kept once somebody has asked for them."""
    index = world()
    for tag in ("europe", "france"):
        index.attach(producer(f"p {tag}", tag))
    index.who_receives("asia", "region", Strategy(way=Way.SIBLINGS))
    names = {one.id for one in index.remove_node("europe", with_descendants=True)}
    gc.collect()
    kept = [one for one in gc.get_objects() if isinstance(one, Attachment) and one.id in names]
    assert (len(names), kept) == (5, [])


def test_those_attached_to_a_node_follow_its_topics() -> None:
    index = world()
    index.set_topics("france", ("region", "weather"))
    assert ids(index.who_receives("france", "weather")) == ["france"]
    assert ids(index.who_receives("europe", "alarm")) == ["europe", "spain"]
    assert ids(index.who_receives("europe", "region")) == ["europe", "france", "spain"]


def test_consumers_at_one_node_are_served_in_the_order_of_their_coming() -> None:
    index = world()
    for id in ("b", "a", "c"):
        index.attach(consumer(id, "france"))
    index.detach("a")
    index.attach(consumer("a", "france"))
    assert ids(index.who_receives("france", "region")) == ["france", "b", "c", "a"]
    assert ids(index.attachments_at("france")) == ["france", "b", "c", "a"]


# ---- refusals --------------------------------------------------------------------------------------------------------

Change = Callable[[ModelIndex], object]
REFUSED: list[tuple[str, str, Change]] = [
    ("not-found", "no node 'atlantis'", lambda i: i.node("atlantis")),
    ("not-found", "no node 'atlantis'", lambda i: i.add_node(Node(tag="x", under="atlantis"))),
    ("not-found", "no node 'atlantis'", lambda i: i.attach(consumer("x", "atlantis"))),
    ("not-found", "no node 'atlantis'", lambda i: i.move_node("spain", "atlantis")),
    ("not-found", "no node 'atlantis'", lambda i: i.who_receives("atlantis", "region")),
    ("not-found", "attachment is named 'x'", lambda i: i.detach("x")),
    ("not-found", "attachment is named 'x'", lambda i: i.publish("x", "region")),
    ("name.taken", "already has a node 'spain'", lambda i: i.add_node(Node(tag="spain", under="asia"))),
    ("name.taken", "named 'spain'", lambda i: i.attach(consumer("spain", "asia"))),
    ("name.invalid", "Node name", lambda i: i.add_node(Node(tag="a*", under="asia"))),
    ("name.invalid", "Node name", lambda i: i.add_node(Node(tag="", under="asia"))),
    ("configuration.conflict", "is already the root", lambda i: i.add_node(Node(tag="mars"))),
    ("configuration.conflict", "is the root", lambda i: i.move_node("world", "asia")),
    ("configuration.conflict", "is the root", lambda i: i.remove_node("world", with_descendants=True)),
    ("configuration.conflict", "itself or below", lambda i: i.move_node("europe", "spain")),
    ("configuration.conflict", "itself or below", lambda i: i.move_node("europe", "europe")),
    ("configuration.conflict", "with its descendants", lambda i: i.remove_node("europe")),
    ("configuration.conflict", "'source' is attached", lambda i: i.set_topics("asia", ("alarm",))),
    ("value.invalid", "no topic 'weather'", lambda i: i.attach(consumer("x", "asia", "weather"))),
    ("value.invalid", "no topic 'weather'", lambda i: i.who_receives("asia", "weather")),
    ("value.invalid", "not a producer", lambda i: i.publish("spain", "region")),
    ("value.invalid", "not a producer", lambda i: i.publish("source", "alarm")),
    ("value.invalid", "is repeated", lambda i: i.set_topics("asia", ("a", "region", "a"))),
    ("value.invalid", "control characters", lambda i: i.add_node(Node(tag="x", under="asia", topics=("a\nb",)))),
    ("value.invalid", "control characters", lambda i: i.set_strategy("", Strategy())),
    ("value.invalid", "the id ''", lambda i: i.attach(consumer("", "asia"))),
    ("value.invalid", "one topic", lambda i: i.attach(consumer("x", ""))),
    ("value.invalid", "one topic", lambda i: i.attach(consumer("x", "", "region", "alarm"))),
    ("value.invalid", "number of levels", lambda i: i.set_strategy("region", Strategy(within=-1))),
    ("value.invalid", "one level", lambda i: i.who_receives("asia", "region", Strategy(way=Way.SIBLINGS, within=1))),
    ("value.invalid", "pattern", lambda i: i.set_strategy("region", Strategy(tags=("",)))),
]


@pytest.mark.parametrize(("code", "said", "change"), REFUSED, ids=[f"{code} {said}" for code, said, _ in REFUSED])
def test_what_cannot_be_is_refused_and_changes_nothing(code: str, said: str, change: Change) -> None:
    index = world()
    index.attach(consumer("named", "asia", "region"))
    index.attach(producer("source", "asia", "region"))
    before = index.describe()
    with pytest.raises(Refused, match=said) as refused:
        change(index)
    assert (refused.value.code, code in REFUSALS) == (code, True)
    assert index.describe() == before


def test_a_tree_grows_only_so_deep_also_by_moves() -> None:
    index = ModelIndex("Deep", Node(tag="0"))
    for depth in range(1, MAX_DEPTH + 1):
        index.add_node(Node(tag=str(depth), under=str(depth - 1)))
    index.add_node(Node(tag="pair", under="0"))
    index.add_node(Node(tag="below", under="pair"))
    with pytest.raises(Refused, match="levels deep"):
        index.add_node(Node(tag="x", under=str(MAX_DEPTH)))
    with pytest.raises(Refused, match="levels deep"):
        index.move_node("pair", str(MAX_DEPTH - 1))
    index.move_node("pair", str(MAX_DEPTH - 2))
    with pytest.raises(Refused, match="levels deep"):
        index.add_node(Node(tag="x", under="below"))
    index.move_node("pair", "0")
    index.add_node(Node(tag="x", under="below"))


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((), "add a root"),
        ((Node(tag="a", under="b"), Node(tag="b", under="a")), "no node 'b'"),
        ((Node(tag="a"), Node(tag="b", under="c"), Node(tag="c", under="b")), "no node 'c'"),
        ((Node(tag="a"), Node(tag="b")), "is already the root"),
    ],
)
def test_a_description_that_is_no_tree_is_refused(nodes: tuple[Node, ...], said: str) -> None:
    with pytest.raises(Refused, match=said):
        ModelIndex.of(Model(name="M", nodes=nodes))
