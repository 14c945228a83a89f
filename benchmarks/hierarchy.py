"""What models cost: publishing by the number of receivers, and changes by the size of the tree, beside a depth-first search.

    python -m benchmarks.hierarchy [--publish]

The tree has ten children under every node. Consumers are scattered over it at random, each topic with its own; the producer is at
the root, so that a search has to look at every node. Each figure of publishing is the least of several interleaved rounds of CPU
time; each figure of a change is the mean over a thousand leaves, and the least of several rounds of that. A large tree does not
fit into the processor's caches: what that costs is the difference between leaves that are scattered and leaves side by side.
--publish rewrites the section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import io
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from benchmarks.codecs import cpu_us
from benchmarks.machine import description
from benchmarks.routing import least_us
from benchmarks.sections import PAGE, publish
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way

SIZES = (1_000, 30_000, 1_000_000)  # nodes
CHILDREN = 10
RECEIVERS = (1, 1_000, 100_000)
SHADOWS = 100_000  # producers below, which the one receiver of this topic is not below
PLACES = 1_000
ROUNDS = 5
DENSITY = 10  # one node in so many has a consumer, where changes are measured
SHADOWED, CHANGED = "shadowed", "changed"
TOPICS = (*(f"to {count}" for count in RECEIVERS), SHADOWED, CHANGED)


def tag(number: int) -> str:
    return f"node {number}"


def attachment(side: Side, topic: str, number: int) -> Attachment:
    id = f"{side} {topic} {number}"
    return Attachment(id=id, service=f"Acme/{number}", side=side, node=tag(number), topics=(topic,))


def tree(size: int) -> ModelIndex:
    index = ModelIndex("Tree", Node(tag=tag(0), topics=TOPICS))
    for number in range(1, size):
        index.add_node(Node(tag=tag(number), under=tag((number - 1) // CHILDREN), topics=TOPICS))
    return index


def attach_all(index: ModelIndex, side: Side, topic: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        index.attach(attachment(side, topic, number))


# ---- by hand ---------------------------------------------------------------------------------------------------------


class Plain:
    """A node for a search: everything that it needs is at hand."""

    __slots__ = ("children", "consumers", "produces")

    def __init__(self) -> None:
        self.children: list[Plain] = []
        self.consumers: dict[str, list[Attachment]] = {}
        self.produces: set[str] = set()


def plain_tree(index: ModelIndex) -> Plain:
    nodes = [Plain() for _ in range(len(index))]
    for number in range(1, len(nodes)):
        nodes[(number - 1) // CHILDREN].children.append(nodes[number])
    for one in index.attachments():
        node, topic = nodes[int(one.node.removeprefix("node "))], one.topics[0]
        if one.side is Side.PRODUCER:
            node.produces.add(topic)
        else:
            node.consumers.setdefault(topic, []).append(one)
    return nodes[0]


def searched(root: Plain, topic: str) -> list[Attachment]:
    """The receivers by a depth-first search, as models are usually told."""
    found: list[Attachment] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if topic in node.consumers:
            found += node.consumers[topic]
        waiting += [child for child in reversed(node.children) if topic not in child.produces]
    return found


# ---- publishing ------------------------------------------------------------------------------------------------------


def populate(index: ModelIndex) -> None:
    """Consumers of every topic, and a producer of each at the root."""
    draw = random.Random(7)
    places = range(1, len(index))
    for count in RECEIVERS:
        attach_all(index, Side.CONSUMER, f"to {count}", draw.sample(places, count))
    leaves = range(len(index) // 2, len(index))
    shadows = draw.sample(leaves, SHADOWS)
    attach_all(index, Side.CONSUMER, SHADOWED, [*shadows, 1])
    attach_all(index, Side.PRODUCER, SHADOWED, shadows)
    for topic in TOPICS[:-1]:
        index.attach(attachment(Side.PRODUCER, topic, 0))


def publishing(index: ModelIndex, topic: str, strategy: Strategy | None = None) -> Callable[[], list[Attachment]]:
    return partial(index.publish, f"{Side.PRODUCER} {topic} 0", topic, strategy)


def show_publishing(index: ModelIndex) -> None:
    root = plain_tree(index)
    calls = {topic: publishing(index, topic) for topic in TOPICS[:-1]}
    for topic, call in calls.items():
        if call() != searched(root, topic):
            raise AssertionError(f"a search finds others than the table: {topic}")
    gc.collect()
    gc.freeze()  # as the server does once it has started
    best = least_us(dict(calls))
    print(
        f"{f'publish in a tree of {len(index):,} nodes':40}{'receivers':>12}{'µs':>12}{'ns each':>10}{'search, ms':>14}"
    )
    for topic, call in calls.items():
        count, took = len(call()), best[topic]
        by_search = min(cpu_us(partial(searched, root, topic), 1) for _ in range(3)) / 1000
        name = f"1, beside {SHADOWS:,} shadowed" if topic == SHADOWED else topic.replace("to", "to all of")
        print(f"{name:40}{count:12,}{took:12.2f}{took * 1000 / count:10.1f}{by_search:14.1f}")


def show_strategies(index: ModelIndex) -> None:
    """Of the topic with the most receivers, from a node in the middle of the tree."""
    topic, middle = TOPICS[len(RECEIVERS) - 1], tag(1_000)
    strategies = {
        "descendants": Strategy(),
        "descendants within 1": Strategy(within=1),
        "descendants whose tag is like *7": Strategy(tags=("*7",)),
        "ancestors": Strategy(way=Way.ANCESTORS),
        "siblings": Strategy(way=Way.SIBLINGS),
        "nearest": Strategy(way=Way.NEAREST),
    }
    calls = {name: partial(index.who_receives, middle, topic, strategy) for name, strategy in strategies.items()}
    began = process_time()
    calls["siblings"]()
    sorting_ms = (process_time() - began) * 1000
    best = least_us(dict(calls))
    print(f"\n{'who receives from a node in the middle':40}{'receivers':>12}{'µs':>12}")
    for name, call in calls.items():
        print(f"{name:40}{len(call()):12,}{best[name]:12.2f}")
    print(f"(the first question for siblings of a topic sorts its consumers, once: {sorting_ms:.0f} ms)")


# ---- changes ---------------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """Something done at a node, and undone."""

    names: tuple[str, str]
    ready: Callable[[int], Any]  # what is given to both, made before the time counts
    do: Callable[[Any], object]
    undo: Callable[[Any], object]
    side_by_side: bool = False  # at neighbouring leaves; otherwise scattered, each far from the last in memory too
    with_consumer: bool = False  # at leaves that have one


def changes(index: ModelIndex) -> Iterator[Change]:
    for side in (Side.CONSUMER, Side.PRODUCER):
        yield Change(
            (f"attach a {side}", f"detach a {side}"),
            partial(attachment, side, CHANGED),
            index.attach,
            lambda one: index.detach(one.id),
        )
    yield Change(
        ("attach consumers side by side", "detach consumers side by side"),
        partial(attachment, Side.CONSUMER, CHANGED),
        index.attach,
        lambda one: index.detach(one.id),
        side_by_side=True,
    )
    yield Change(
        ("add a node", "remove a node"),
        lambda number: Node(tag=f"new {number}", under=tag(number), topics=TOPICS),
        index.add_node,
        lambda node: index.remove_node(node.tag),
    )
    yield Change(
        ("move a node with its consumer", "move it back"),
        lambda number: (tag(number), tag((number - 1) // CHILDREN)),
        lambda tags: index.move_node(tags[0], tag(1)),
        lambda tags: index.move_node(*tags),
        with_consumer=True,
    )


def least_of_changes(index: ModelIndex) -> dict[str, float]:
    """Every change at a thousand leaves, one after the other; then undone at all of them."""
    gc.collect()
    gc.freeze()
    draw = random.Random(11)
    best: dict[str, float] = {}
    for change in changes(index):
        leaves = [n for n in range(len(index) // 2, len(index)) if (n % DENSITY == 0) == change.with_consumer]
        for _ in range(ROUNDS):
            count = min(PLACES, len(leaves))
            places = leaves[-count:] if change.side_by_side else draw.sample(leaves, count)
            given = [change.ready(number) for number in places]
            for name, call in zip(change.names, (change.do, change.undo), strict=True):
                took = mean_us(call, given)
                best[name] = min(best.get(name, took), took)
    return best


def mean_us(call: Callable[[Any], object], given: Sequence[Any]) -> float:
    began = process_time()
    for one in given:
        call(one)
    return (process_time() - began) / len(given) * 1e6


def prepared(index: ModelIndex) -> ModelIndex:
    """One producer at the root, and a consumer at one node in ten."""
    attach_all(index, Side.CONSUMER, CHANGED, range(0, len(index), DENSITY))
    index.attach(attachment(Side.PRODUCER, CHANGED, 0))
    return index


def show_changes(largest: ModelIndex) -> None:
    best = [least_of_changes(prepared(tree(size))) for size in SIZES[:-1]]
    best.append(least_of_changes(prepared(largest)))
    print(f"\n{'a change, µs, by the number of nodes':40}" + "".join(f"{size:12,}" for size in SIZES))
    for name in best[0]:
        print(f"{name:40}" + "".join(f"{of_size[name]:12.2f}" for of_size in best))


def show_branches(index: ModelIndex) -> None:
    """A tenth of the tree at once; what is attached goes along."""
    nodes = len(index)
    moved_ms = mean_us(lambda under: index.move_node(tag(1), under), [tag(2)]) / 1000
    removed_ms = mean_us(lambda gone: index.remove_node(gone, with_descendants=True), [tag(1)]) / 1000
    print(f"\na branch of {nodes - len(index):,} nodes: moved in {moved_ms:.0f} ms, removed in {removed_ms:.0f} ms")


# ---- memory ----------------------------------------------------------------------------------------------------------


def resident_bytes() -> int:
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not say how much memory this process has")


def show_memory(bare: int, with_nodes: int, with_attachments: int, index: ModelIndex) -> None:
    attached = sum(1 for _ in index.attachments())
    print(f"\n{'memory':40}{'count':>12}{'MB':>12}{'bytes each':>12}")
    for name, count, taken in (
        ("nodes", len(index), with_nodes - bare),
        ("attachments, all they say included", attached, with_attachments - with_nodes),
    ):
        print(f"{name:40}{count:12,}{taken / 1e6:12.0f}{taken / count:12.0f}")


def measure() -> None:
    bare = resident_bytes()
    index = tree(SIZES[-1])
    with_nodes = resident_bytes()
    populate(index)
    with_attachments = resident_bytes()
    show_publishing(index)
    show_strategies(index)
    show_memory(bare, with_nodes, with_attachments, index)
    show_changes(index)
    show_branches(index)


def main() -> None:
    options = argparse.ArgumentParser(description="What models cost")
    options.add_argument("--publish", action="store_true", help="rewrite the documentation's tables")
    given = options.parse_args()
    shown = io.StringIO()
    with redirect_stdout(shown):
        measure()
    text = shown.getvalue().rstrip()
    print(text)
    if given.publish:
        about = "\n".join(f"- {name}: {value}" for name, value in description(PAGE.parent, with_peer=False).items())
        head = f"`python -m benchmarks.hierarchy` on {datetime.now(UTC):%Y-%m-%d}."
        publish("hierarchy", f"{head}\n\n{about}\n\n```text\n{text}\n```")


if __name__ == "__main__":
    main()
