"""What publishing and changing cost does not depend on how large the tree is, counted in lines of Python that run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way

SMALL, LARGE = 40, 12_000
TOPICS = ("region", "alarm")


def attachment(side: Side, number: int, topic: str) -> Attachment:
    return Attachment(id=f"{side} {number} {topic}", service="Acme/S", side=side, node=f"n{number}", topics=(topic,))


def branch(size: int) -> ModelIndex:
    """Twenty halls under a plant, and all else under the last hall: machines with alarms, of which the regions know nothing.

    The plant produces both topics. Three halls consume regions; every machine consumes and produces alarms.
    """
    index = ModelIndex("Plant", Node(tag="n0", topics=TOPICS))
    for number in range(1, size):
        index.add_node(Node(tag=f"n{number}", under="n0" if number <= 20 else "n20", topics=TOPICS))
        if number > 20:
            index.attach(attachment(Side.CONSUMER, number, "alarm"))
            index.attach(attachment(Side.PRODUCER, number, "alarm"))
    for number in (3, 7, 11):
        index.attach(attachment(Side.CONSUMER, number, "region"))
    index.attach(attachment(Side.CONSUMER, 5, "alarm"))
    for topic in TOPICS:
        index.attach(attachment(Side.PRODUCER, 0, topic))
    return index


def lines(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs, rounds of loops counted one by one."""
    count = 0

    def watch(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture(scope="module")
def trees() -> tuple[ModelIndex, ModelIndex]:
    return branch(SMALL), branch(LARGE)


CALLS: dict[str, Callable[[ModelIndex], object]] = {
    "publish": lambda i: i.publish("producer 0 region", "region"),
    "publish beside many shadowed": lambda i: i.publish("producer 0 alarm", "alarm"),
    "publish within": lambda i: i.who_receives("n0", "region", Strategy(within=1)),
    "publish to ancestors": lambda i: i.who_receives("n3", "region", Strategy(way=Way.ANCESTORS)),
    "publish to siblings": lambda i: i.who_receives("n4", "region", Strategy(way=Way.SIBLINGS)),
    "attach and detach a consumer": lambda i: there_and_back(i, attachment(Side.CONSUMER, 30, "region")),
    "attach and detach a producer": lambda i: there_and_back(i, attachment(Side.PRODUCER, 30, "region")),
    "attach and detach a shadow of many": lambda i: there_and_back(i, attachment(Side.PRODUCER, 20, "alarm")),
}


def there_and_back(index: ModelIndex, one: Attachment) -> None:
    index.attach(one)
    index.detach(one.id)


@pytest.mark.req("H4", "H6")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_publishing_costs_the_same_in_a_large_tree(
    trees: tuple[ModelIndex, ModelIndex], call: Callable[[ModelIndex], object]
) -> None:
    small, large = trees
    call(small), call(large)  # the first question for siblings sorts
    assert 5 < lines(lambda: call(large)) <= lines(lambda: call(small)) + 10


@pytest.mark.req("H6")
def test_the_receivers_are_those_few(trees: tuple[ModelIndex, ModelIndex]) -> None:
    for index in trees:
        assert [one.node for one in index.publish("producer 0 region", "region")] == ["n3", "n7", "n11"]
        assert [one.node for one in index.publish("producer 0 alarm", "alarm")] == ["n5"]


def test_lines_are_counted_round_by_round() -> None:
    assert lines(lambda: [number for number in range(500)]) >= 500  # noqa: C416
