"""What it costs to test a message against all bindings of an exchange, as a ratio to a bare lxml parse of the same messages.

    python -m benchmarks.exchange [BINDINGS …]

Each figure is the least of several interleaved rounds of CPU time over the same orders, parsing included on every side. Beside
the matcher stand the naive loops, as far as they are bearable: lxml's XPath for every binding, Qpid's way of parsing for every
binding, and Saxon, one compiled function for every binding. Before anything is timed, the matcher's answers are compared with
those of a loop. The first line says what the network's own parser costs, with its limits and without DTDs: no ratio can be lower.
"""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any

from lxml import etree
from saxonche import PySaxonProcessor  # type: ignore[import-not-found]

from benchmarks.exchange_orders import drawn, header, order, repeating
from postroad.adapters.saxon.query_text import read_query
from postroad.core.codecs.xml import parse
from postroad.core.exchange.matching import Incoming, Matcher

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
FLOORS = {1_000: 2.2, 10_000: 2.8, 100_000: 4.0}  # of the ratio, that eight repeating shapes must keep
ORDERS = 200
ROUNDS = 7
LOOP_MOST, SAXON_MOST = 1_000, 100
LOOP_ORDERS = 20

Message = tuple[bytes, dict[str, Any]]
Side = Callable[[Message], object]


def messages(kinds: int = 1) -> list[Message]:
    draw = random.Random(3)
    return [(order(draw, draw.randrange(kinds)), header(draw)) for _ in range(ORDERS)]


def queries(count: int, kinds: int) -> list[str]:
    """Of repeating shapes, or drawn at random over so many kinds of documents."""
    draw = random.Random(7)
    return [repeating(draw) if not kinds else drawn(draw, kinds) for _ in range(count)]


# ---- sides -----------------------------------------------------------------------------------------------------------


def bare(message: Message) -> object:
    return etree.fromstring(message[0])


def matching(matcher: Matcher) -> Callable[[Message], frozenset[Any]]:
    def match(message: Message) -> frozenset[Any]:
        content, items = message
        return matcher.match(Incoming(headers=items, content=content, root=partial(parse, content))).decided

    return match


def by_xpath(bound: Sequence[str]) -> Callable[[Message], frozenset[int]]:
    compiled = [etree.XPath(query) for query in bound]

    def match(message: Message) -> frozenset[int]:
        tree = etree.fromstring(message[0])
        return frozenset(key for key, path in enumerate(compiled) if path(tree, **message[1]))

    return match


def parsing_for_each(bound: Sequence[str]) -> Side:
    compiled = [etree.XPath(query) for query in bound]
    return lambda message: [path(etree.fromstring(message[0]), **message[1]) for path in compiled]


def by_saxon(bound: Sequence[str]) -> Side:
    """In this process and without walls: the engine alone, as a loop over bindings would use it."""
    processor = PySaxonProcessor(license=False)

    def compiled(query: str) -> Any:
        xquery = processor.new_xquery_processor()
        xquery.set_query_content(f"({read_query(query).as_function().text})(1)")
        return xquery.run_query_to_value().head

    functions = [compiled(query) for query in bound]

    def match(message: Message) -> object:
        node = processor.parse_xml(xml_text=message[0].decode())
        region, weight = (
            processor.make_string_value(message[1]["region"]),
            processor.make_integer_value(message[1]["weight"]),
        )
        items = processor.make_map2({"region": region, "weight": weight})
        return [function.call([node, items]) for function in functions]

    return match


# ---- measuring -------------------------------------------------------------------------------------------------------


def bind_all(bound: Sequence[str]) -> tuple[Matcher, float]:
    """A matcher, and the microseconds each binding took."""
    matcher = Matcher()
    began = process_time()
    for key, query in enumerate(bound):
        matcher.bind(key, query)
    return matcher, (process_time() - began) / len(bound) * 1e6


def unbind_us(matcher: Matcher, bound: Sequence[str]) -> float:
    some = range(0, len(bound), max(1, len(bound) // 1_000))
    began = process_time()
    for key in some:
        matcher.unbind(key)
    took = (process_time() - began) / len(some) * 1e6
    for key in some:
        matcher.bind(key, bound[key])
    return took


def bytes_each(bound: Sequence[str]) -> float:
    """Memory for each binding; of at most so many that watching the memory does not take minutes."""
    gc.collect()
    tracemalloc.start()
    matcher, _ = bind_all(bound[:10_000])
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / len(matcher)


def each_us(side: Side, given: Sequence[Message]) -> list[float]:
    took = []
    for message in given:
        began = process_time()
        side(message)
        took.append((process_time() - began) * 1e6)
    return took


def least_mean_us(sides: dict[str, Side], given: Sequence[Message], rounds: int = ROUNDS) -> dict[str, float]:
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, side in sides.items():
            began = process_time()
            for message in given:
                side(message)
            best[name] = min(best[name], (process_time() - began) / len(given) * 1e6)
    return best


def check(bound: Sequence[str], given: Sequence[Message]) -> None:
    """That the matcher answers as a loop over the first bindings does."""
    some = bound[:LOOP_MOST]
    matcher, _ = bind_all(some)
    ours, loop = matching(matcher), by_xpath(some)
    for message in given[:LOOP_ORDERS]:
        if ours(message) != loop(message):
            raise AssertionError(f"the loop finds others than the matcher: {ours(message) ^ loop(message)}")


def show(name: str, kinds: int, sizes: Sequence[int]) -> list[str]:
    """A table of one workload; gives what was missed."""
    given = messages(kinds or 1)
    check(queries(LOOP_MOST, kinds), given)
    print(
        f"\n{name:32}{'µs':>9}{'ratio':>8}{'p99, µs':>9}{'matches':>9}{'bind':>8}{'unbind':>8}{'bytes':>8}  naive loops, ratio"
    )
    missed = []
    for size in sizes:
        bound = queries(size, kinds)
        memory = bytes_each(bound)
        matcher, bind = bind_all(bound)
        gc.collect()
        gc.freeze()  # as the server does once it has started
        ours = matching(matcher)
        best = least_mean_us({"bare": bare, "ours": ours}, given)
        ratio = best["ours"] / best["bare"]
        met = sum(len(ours(message)) for message in given) / len(given)
        tail = sorted(each_us(ours, given))[int(len(given) * 0.99)]
        loops = naive(bound, given, best["bare"])
        unbind = unbind_us(matcher, bound)
        print(
            f"{size:32,}{best['ours']:9.1f}{ratio:7.2f}x{tail:9.0f}{met:9.2f}{bind:8.1f}{unbind:8.1f}{memory:8.0f}  {loops}"
        )
        if not kinds and ratio > FLOORS.get(size, ratio):
            missed.append(f"{size:,} bindings: {ratio:.2f}x, and {FLOORS[size]}x is allowed")
    return missed


def naive(bound: Sequence[str], given: Sequence[Message], bare_us: float) -> str:
    sides: dict[str, Side] = {}
    if len(bound) <= LOOP_MOST:
        sides |= {"XPath": by_xpath(bound), "parse each": parsing_for_each(bound)}
    if len(bound) <= SAXON_MOST:
        sides["Saxon"] = by_saxon(bound)
    took = least_mean_us(sides, given[:LOOP_ORDERS], rounds=2)
    return ", ".join(f"{name} {us / bare_us:,.0f}x" for name, us in took.items())


def main() -> int:
    sizes = [int(word.replace(",", "")) for word in sys.argv[1:]] or SIZES
    given = messages()
    parsed = least_mean_us({"bare": bare, "ours": lambda message: parse(message[0])}, given)
    print(f"bare parse {parsed['bare']:.1f} µs, the network's own {parsed['ours'] / parsed['bare']:.2f}x")
    missed = show("eight shapes that repeat", 0, sizes)
    for kinds in (1, 5, 50):
        show(f"random shapes, {kinds} kinds of documents", kinds, sizes)
    for fault in missed:
        print(f"missed: {fault}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
