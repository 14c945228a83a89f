"""What rules and routes cost: CPU microseconds per message, however many rules the network has, beside the same by hand.

    python -m benchmarks.routing
    python -m benchmarks routing

An order of 2 KB goes from its sender to its recipient, and rules bring in two services more. Each of the four has two rules, one
that holds and one that does not; all other rules of the network belong to services that are not on the way. Each figure is the
least of several interleaved rounds of CPU time, so that a busy machine does not show up as a slow rule.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import NamedTuple

import msgspec

from benchmarks.codecs import cpu_us
from benchmarks.payload import RECEIVER, SENDER
from benchmarks.routing_cases import BODY, HEADER, HOLDING, ORDER, Case, body, check, header, subject
from postroad.core.admission.admit import Admitted, admit
from postroad.core.codecs.parts import looks_like_xml
from postroad.core.codecs.xml import parse
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.journal import ObjectChange
from postroad.core.model.rule import ActionKind, Combination, Combining, Comparing, Rule, RuleAction, RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions import documents
from postroad.core.routing.conditions.compiled_rule import compile_condition, compile_rule
from postroad.core.routing.conditions.literals import pattern_of
from postroad.core.routing.conditions.places import lookup_of
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.itinerary import Routed, itineraries

ROUNDS = 9
SECONDS_PER_ROUND = 0.03
SIZES = (10, 1_000, 100_000)  # rules in the network
RULES_OF_EACH = 10  # of the services that are not on the way
COMPILED = 100
NOW_US = 1_794_909_600_000_000
SPLIT, GATE = "Mill/Split", "Yard/Gate"
ON_THE_WAY = (SENDER, SPLIT, RECEIVER, GATE)  # in the order in which their rules are tried
BRINGING = {SENDER: SPLIT, RECEIVER: GATE}

Call = Callable[[], object]


# ---- networks --------------------------------------------------------------------------------------------------------


def service(number: int, address: str) -> Service:
    organization, _, name = address.partition("/")
    return Service(gcid=f"{number:016x}", organization=organization, name=name, visibility=Visibility.PUBLIC)


def rules_on_the_way(owners: Sequence[Service], cases: Sequence[Case]) -> Iterator[Rule]:
    """Two rules for each: one that holds, and brings the next service in where there is one, and one that does not."""
    for number, owner in enumerate(owners):
        brought = BRINGING.get(owner.address, "")
        then = RuleAction(
            kind=ActionKind.ADD_SERVICE if brought else ActionKind.CHANGE_TOPIC, service=brought, topic="orders/split"
        )
        for place, case in enumerate((cases[number % HOLDING], cases[HOLDING])):
            yield Rule(
                service=owner.gcid,
                name=f"rule {place}",
                place=place,
                role=RuleRole.ANY,
                when=case.condition,
                then=(then,),
            )


def another_rule(owner: Service, place: int) -> Rule:
    """A rule as others have them: on the header and the body, different from all others."""
    when = Combination(
        operator=Combining.AND,
        conditions=(
            header(Comparing.EQUALS, "topic", f"topic {owner.gcid} {place}"),
            body(Comparing.EQUALS, f"/o:order/o:field{place}", owner.gcid),
        ),
    )
    then = (RuleAction(kind=ActionKind.STOP_RULE_EVALUATION),)
    return Rule(service=owner.gcid, name=f"rule {place}", place=place, role=RuleRole.ANY, when=when, then=then)


def network(size: int, cases: Sequence[Case]) -> Directory:
    """A network with so many rules; those on the way are made of the cases, and there are none when no case is given."""
    known = [service(number, address) for number, address in enumerate(ON_THE_WAY, 1)]
    rules = list(rules_on_the_way(known, cases)) if cases else []
    missing = size - len(rules)
    others = [service(number, f"Other/s{number}") for number in range(100, 100 + -(-missing // RULES_OF_EACH))]
    rules += [another_rule(owner, place) for owner in others for place in range(RULES_OF_EACH)][:missing]
    objects = [Organization(name="Meadow"), *known, *others, *rules]
    return Directory().apply_changes([change_of(item) for item in objects], 1)


def change_of(item: object, version: int = 1) -> ObjectChange:
    return ObjectChange(*object_key(item), version, msgspec.to_builtins(item))


def admitted(directory: Directory) -> Admitted:
    sender = directory.service(SENDER)
    return admit(ORDER, Caller(service=sender), directory, NOW_US)


def checked_route(directory: Directory, ruled: bool) -> Routed:
    """The order's route, or an error when it is not the one that this benchmark is about."""
    routed = itineraries(admitted(directory), directory)
    passed = [directory.services[hop.service].address for hop in routed.copies[0].hops]
    tried = [(directory.services[one.service].address, len(one.rules)) for one in routed.tried]
    expected = [(address, 2) for address in ON_THE_WAY] if ruled else []
    if passed != ([SPLIT, GATE, RECEIVER] if ruled else [RECEIVER]) or tried != expected:
        raise AssertionError(f"the order takes another way than meant: {passed}, {tried}")
    return routed


# ---- measuring -------------------------------------------------------------------------------------------------------


def least_us(calls: dict[str, Call]) -> dict[str, float]:
    """CPU time of each call, the least of several rounds in which all take turns."""
    repeats = {name: max(1, int(SECONDS_PER_ROUND / cpu_us(call, 3) * 1e6)) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], cpu_us(call, repeats[name]))
    return best


# The same order is routed again and again here, and must be parsed as often as different ones would be.
documents._KINDS["/"] = (looks_like_xml, parse)


def parses(call: Call) -> int:
    """How many documents a call parses."""
    count = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is parse.__code__

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return count


class Way(NamedTuple):
    """A kind of rules that stand on the order's way."""

    name: str
    cases: Sequence[Case]


WAYS = (
    Way("no rules on the way", ()),
    Way("eight rules on the header", HEADER),
    Way("eight rules on the body", BODY),
)


def routing(directory: Directory) -> Call:
    posted = admitted(directory)
    return lambda: itineraries(posted, directory)


def show_routes(directories: dict[tuple[str, int], Directory]) -> None:
    best = least_us({f"{name} {size}": routing(directory) for (name, size), directory in directories.items()})
    sizes = "".join(f"{f'{size:,} rules':>16}" for size in SIZES)
    print(f"{f'route of an order of {len(ORDER.parts[0].data)} bytes':30}{sizes}   parsed")
    for way in WAYS:
        times = "".join(f"{best[f'{way.name} {size}']:13.2f} µs" for size in SIZES)
        print(f"{way.name:30}{times}{parses(routing(directories[way.name, SIZES[-1]])):8}×")


# ---- the same conditions by hand -------------------------------------------------------------------------------------


def condition_alone(case: Case) -> Call:
    test, view = compile_condition(case.condition), subject()

    def call() -> bool:
        view.looked_at.clear()  # as for the first service that looks there
        view.shared.clear()
        return test(view)

    return call


def in_all_ways(case: Case) -> dict[str, Call]:
    """One condition on a document that is parsed already."""
    root, by_hand, path = parse(ORDER.parts[0].data), case.by_hand, case.xpath
    calls: dict[str, Call] = {"postroad": condition_alone(case), "Python": lambda: by_hand(ORDER, root)}
    return calls if path is None else {**calls, "XPath": lambda: path(root)}


def whole_message(way: Way, directory: Directory) -> dict[str, Call]:
    """Everything that eight rules cost: ours with the route and what is kept to explain it; by hand, the conditions alone."""
    data, posted = ORDER.parts[0].data, admitted(directory)
    tests = [case for number in range(len(ON_THE_WAY)) for case in (way.cases[number % HOLDING], way.cases[HOLDING])]
    paths = [case.xpath for case in tests if case.xpath is not None]
    hands = [case.by_hand for case in tests]

    def by_hand() -> list[bool]:
        root = parse(data) if paths else None
        return [test(ORDER, root) for test in hands]

    def by_xpath() -> list[object]:
        root = parse(data)
        return [path(root) for path in paths]

    calls: dict[str, Call] = {"postroad": lambda: pack_tried(itineraries(posted, directory).tried), "Python": by_hand}
    return {**calls, "XPath": by_xpath} if paths else calls


def show_comparison(directories: dict[tuple[str, int], Directory]) -> None:
    compared = {case.name: in_all_ways(case) for case in (*HEADER, *BODY)}
    for way in WAYS[1:]:
        compared[f"{way.name}: message, route, explanation"] = whole_message(way, directories[way.name, SIZES[0]])
    best = least_us({f"{name} {side}": call for name, sides in compared.items() for side, call in sides.items()})
    print(f"\n{'the same conditions':60} postroad   Python    XPath    to Python  to XPath")
    for name, sides in compared.items():
        times = {side: best[f"{name} {side}"] for side in sides}
        ratios = [f"{times['postroad'] / times[side]:9.2f}×" if side in times else "" for side in ("Python", "XPath")]
        shown = "".join(f"{times[side]:9.2f}" if side in times else " " * 9 for side in ("postroad", "Python", "XPath"))
        print(f"{name:59}{shown}   {''.join(ratios)}".rstrip())


# ---- everything around -----------------------------------------------------------------------------------------------


def compile_anew(rules: Sequence[Rule]) -> None:
    for cache in (compile_condition, lookup_of, pattern_of):
        cache.cache_clear()
    for rule in rules:
        compile_rule(rule)


def show_surroundings(directories: dict[tuple[str, int], Directory]) -> None:
    print()
    for way in WAYS[1:]:
        tried = checked_route(directories[way.name, SIZES[0]], ruled=True).tried
        took = least_us({"pack": partial(pack_tried, tried)})["pack"]
        print(f"{f'explanation of {way.name} packed, {len(pack_tried(tried))} bytes':60} {took:9.2f} µs")
    took = least_us({"parse": lambda: parse(ORDER.parts[0].data)})["parse"]
    print(f"{'the document checked and parsed, once for rules on the body':60} {took:9.2f} µs")
    rules = [another_rule(service(number, f"Other/s{number}"), 1) for number in range(COMPILED)]
    took = least_us({"compile": lambda: compile_anew(rules)})["compile"] / COMPILED
    print(f"{'a rule compiled, on the header and the body':60} {took:9.2f} µs")


def show_changes(directories: dict[tuple[str, int], Directory]) -> None:
    """One rule of the sender saved again, and the first message that meets the new snapshot."""
    for size in SIZES:
        directory = directories["eight rules on the body", size]
        change = change_of(directory.rules_of(admitted(directory).sender.gcid)[1], 2)
        itineraries(admitted(directory), directory)

        def apply(directory: Directory = directory, change: ObjectChange = change) -> Directory:
            return directory.apply_changes([change], 2)

        def apply_and_route(apply: Callable[[], Directory] = apply) -> Routed:
            fresh = apply()
            return itineraries(admitted(fresh), fresh)

        best = least_us({"change": apply, "both": apply_and_route})
        print(
            f"{f'a rule changed among {size:,}':60} {best['change']:9.1f} µs, with the first message {best['both']:9.1f} µs"
        )


def main() -> None:
    check()
    directories = {(way.name, size): network(size, way.cases) for way in WAYS for size in SIZES}
    for (name, _), directory in directories.items():
        checked_route(directory, ruled=name != WAYS[0].name)
    gc.collect()
    gc.freeze()  # as the server does once it has started
    show_routes(directories)
    show_comparison(directories)
    show_surroundings(directories)
    show_changes(directories)


if __name__ == "__main__":
    main()
