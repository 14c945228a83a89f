"""What it costs to test a message against all bindings of an exchange, as a ratio to a bare lxml parse of the same messages.

    python -m benchmarks.exchange [--publish] [BINDINGS …]

Each figure is the least of many interleaved rounds of CPU time over the same orders, parsing included on every side. Beside
the matcher stand the naive loops, as far as they are bearable: lxml's XPath for every binding, Qpid's way of parsing for every
binding, and Saxon, one compiled function for every binding. Before anything is timed, the matcher's answers are compared with
those of a loop. The first line says what the network's own parser costs, with its limits and without DTDs: no ratio can be lower.
The exit code is 1 when a floor is missed. --publish rewrites the section of docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tracemalloc
from collections.abc import Sequence
from datetime import UTC, datetime
from time import process_time

from benchmarks.exchange_orders import drawn, header, order, repeating
from benchmarks.exchange_sides import Message, Side, bare, by_saxon, by_xpath, matching, parsing_for_each
from benchmarks.machine import description
from benchmarks.sections import PAGE, publish
from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.matcher import Matcher

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
FLOORS = {1_000: 2.2, 10_000: 2.8, 100_000: 4.0}  # of the ratio, that eight repeating shapes must keep
ORDERS = 200
ROUNDS = 40
AT_ONCE = 10
MAX_LOOP, MAX_SAXON = 1_000, 100
LOOP_ORDERS = 20


def messages(kinds: int = 1) -> list[Message]:
    draw = random.Random(3)
    return [(order(draw, draw.randrange(kinds)), header(draw)) for _ in range(ORDERS)]


def queries(count: int, kinds: int) -> list[str]:
    """Of repeating shapes, or drawn at random over so many kinds of documents."""
    draw = random.Random(7)
    return [repeating(draw) if not kinds else drawn(draw, kinds) for _ in range(count)]


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
    """The mean over all messages; of each few of them, the least of all rounds, so that what else goes on here counts little."""
    batches = [given[start : start + AT_ONCE] for start in range(0, len(given), AT_ONCE)]
    best = {name: [float("inf")] * len(batches) for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            for place, batch in enumerate(batches):
                began = process_time()
                for message in batch:
                    side(message)
                best[name][place] = min(best[name][place], process_time() - began)
    return {name: sum(least) / len(given) * 1e6 for name, least in best.items()}


def check(bound: Sequence[str], given: Sequence[Message]) -> None:
    """That the matcher answers as a loop over the first bindings does."""
    some = bound[:MAX_LOOP]
    matcher, _ = bind_all(some)
    ours, loop = matching(matcher), by_xpath(some)
    for message in given[:LOOP_ORDERS]:
        if ours(message) != loop(message):
            raise AssertionError(f"the loop finds others than the matcher: {ours(message) ^ loop(message)}")


HEADINGS = f"{'µs':>9}{'ratio':>8}{'p99, µs':>9}{'matches':>9}{'bind':>8}{'unbind':>8}{'bytes':>8}"


def table(name: str, kinds: int, sizes: Sequence[int]) -> tuple[list[str], list[str]]:
    """A table of one workload, and what was missed."""
    given = messages(kinds or 1)
    check(queries(MAX_LOOP, kinds), given)
    lines, missed = [f"{name:28}{HEADINGS}  naive loops, ratio"], []
    for size in sizes:
        line, ratio = row(queries(size, kinds), given)
        lines.append(line)
        if not kinds and ratio > FLOORS.get(size, ratio):
            missed.append(f"missed: {size:,} bindings: {ratio:.2f}x, and {FLOORS[size]}x is allowed")
    return lines, missed


def row(bound: Sequence[str], given: Sequence[Message]) -> tuple[str, float]:
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
    cost = f"{best['ours']:9.1f}{ratio:7.2f}x{tail:9.0f}{met:9.2f}{bind:8.1f}{unbind:8.1f}{memory:8.0f}"
    return f"{len(bound):28,}{cost}  {loops}".rstrip(), ratio


def naive(bound: Sequence[str], given: Sequence[Message], bare_us: float) -> str:
    sides: dict[str, Side] = {}
    if len(bound) <= MAX_LOOP:
        sides |= {"XPath": by_xpath(bound), "parse each": parsing_for_each(bound)}
    if len(bound) <= MAX_SAXON:
        sides["Saxon"] = by_saxon(bound)
    took = least_mean_us(sides, given[:LOOP_ORDERS], rounds=2)
    return ", ".join(f"{name} {us / bare_us:,.0f}x" for name, us in took.items())


def parsing() -> str:
    best = least_mean_us({"bare": bare, "ours": lambda message: parse(message[0])}, messages())
    return f"bare parse {best['bare']:.1f} µs, the network's own {best['ours'] / best['bare']:.2f}x"


def measured(sizes: Sequence[int]) -> tuple[str, bool]:
    """All tables, and whether a floor was missed."""
    lines, missed = [parsing()], []
    for kinds in (0, 1, 5, 50):
        name = f"random, {kinds} kinds" if kinds else "eight shapes that repeat"
        rows, faults = table(name, kinds, sizes)
        lines += ["", *rows]
        missed += faults
    return "\n".join([*lines, "", *missed]).strip(), bool(missed)


def main() -> int:
    options = argparse.ArgumentParser(description="What testing a message against all bindings costs")
    options.add_argument("--publish", action="store_true")
    options.add_argument("sizes", nargs="*", type=lambda word: int(word.replace(",", "")), metavar="BINDINGS")
    given = options.parse_args()
    text, missed = measured(given.sizes or SIZES)
    print(text)
    if given.publish:
        about = "\n".join(f"- {name}: {value}" for name, value in description(PAGE.parent, with_peer=False).items())
        head = f"`python -m benchmarks.exchange` on {datetime.now(UTC):%Y-%m-%d}."
        publish("exchange", f"{head}\n\n{about}\n\n```text\n{text}\n```")
    return missed


if __name__ == "__main__":
    sys.exit(main())
