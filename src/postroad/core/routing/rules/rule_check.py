"""Checks a rule when it is saved, and reports all its errors.

Rule: a rule without errors compiles, and never makes a route invalid by what the rule itself specifies.
Each error names its location as a pointer into the rule's JSON form. All errors are found at once, except that
patterns after the first refused one are not checked, since detecting a pattern that is too large is expensive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.codecs.limits import DEFAULT_LIMITS, NAME_CHARS
from postroad.core.model.asset import AssetKind
from postroad.core.model.directory import Service
from postroad.core.model.ids import NAME
from postroad.core.model.rule import (
    INCLUDING,
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.literals import content_of, literal_of, pattern_of
from postroad.core.routing.conditions.places import lookup_of
from postroad.errors import Refused

MAX_CONDITION_DEPTH = 20
MAX_CONDITIONS = 200
MAX_VALUES = 1_000
MAX_ACTIONS = 50
MAX_ARGUMENTS = DEFAULT_LIMITS.arguments
TEXT_CHARS = DEFAULT_LIMITS.text_chars
DESCRIPTION_CHARS = 4_000


class RuleError(NamedTuple):
    """An error in a rule, and its location as a JSON pointer."""

    pointer: str
    detail: str


def find_rule_errors(rule: Rule, directory: Directory, service: Service) -> list[RuleError]:
    """Return the errors of a rule of this service; empty if there are none."""
    return [
        *_naming_faults(rule),
        *find_condition_errors(rule.when, "/when", directory, service),
        *_action_faults(rule, directory, service),
    ]


def _naming_faults(rule: Rule) -> Iterator[RuleError]:
    if not NAME.match(rule.name):
        yield RuleError(
            "/name", "use 1 to 64 letters, digits, spaces or . & ( ) + - _, starting with a letter or digit"
        )
    if len(rule.description) > DESCRIPTION_CHARS or NOT_XML.search(rule.description):
        yield RuleError("/description", f"use at most {DESCRIPTION_CHARS} characters, none of them control characters")


# ---- conditions ------------------------------------------------------------------------------------------------------


def find_condition_errors(when: Condition, at: str, directory: Directory, service: Service) -> Iterator[RuleError]:
    """Yield the errors of a condition at this pointer.

    Works without recursion, since a client chooses the nesting depth and we limit it.
    """
    waiting: list[tuple[str, int, Condition]] = [(at, 1, when)]
    count = 0
    has_bad_pattern = False
    while waiting:
        pointer, depth, condition = waiting.pop()
        count += 1
        if count > MAX_CONDITIONS:
            yield RuleError(at, f"a rule has at most {MAX_CONDITIONS} conditions; make two rules of it")
            return
        here = f"{pointer}/{condition.operator.value}"
        if isinstance(condition, ValueComparison):
            if condition.operator is Comparing.MATCHES:
                if has_bad_pattern:
                    continue
                faults = list(_comparison_faults(condition, here, directory, service))
                has_bad_pattern = bool(faults)
                yield from faults
            else:
                yield from _comparison_faults(condition, here, directory, service)
        elif depth >= MAX_CONDITION_DEPTH:
            yield RuleError(here, f"conditions are nested at most {MAX_CONDITION_DEPTH} deep; make two rules of it")
        else:
            yield from _combination_faults(condition, here)
            waiting += reversed([(place, depth + 1, inner) for place, inner in _inner(condition, here)])


def _inner(condition: Combination, here: str) -> list[tuple[str, Condition]]:
    if condition.operator is Combining.NOT and len(condition.conditions) == 1:
        return [(here, condition.conditions[0])]
    return [(f"{here}/{number}", inner) for number, inner in enumerate(condition.conditions)]


def _combination_faults(condition: Combination, here: str) -> Iterator[RuleError]:
    if condition.operator is Combining.NOT and len(condition.conditions) != 1:
        yield RuleError(here, "not turns exactly one condition round; combine several by and, or, xor inside it")
    elif not condition.conditions:
        yield RuleError(here, f"{condition.operator.value} combines at least one condition")


def _comparison_faults(
    comparison: ValueComparison, here: str, directory: Directory, service: Service
) -> Iterator[RuleError]:
    yield from find_place_errors(comparison.place, here, directory, service)
    if comparison.other is not None:
        yield from find_place_errors(comparison.other, f"{here}/other", directory, service)
    yield from _operand_faults(comparison, here)


def find_place_errors(place: ValueLocation, here: str, directory: Directory, service: Service) -> Iterator[RuleError]:
    yield from _refusals(
        f"{here}/{place.where.value}", _not_a_text if NOT_XML.search(place.path) else lambda: lookup_of(place)
    )
    if NOT_XML.search(place.document):
        yield from _refusals(f"{here}/document", _not_a_text)
    kinds = (AssetKind.SCHEMA, AssetKind.DTD)
    if place.schema and not any(directory.asset(service.gcid, kind, place.schema) for kind in kinds):
        yield RuleError(
            f"{here}/schema", f"{service.address} has no schema {place.schema[:80]!r}, nor a DTD; register it first"
        )


_TAKES_CONTENT = frozenset({Comparing.EQUALS, Comparing.NOT_EQUALS})


def _operand_faults(comparison: ValueComparison, here: str) -> Iterator[RuleError]:
    operator = comparison.operator
    given = [bool(comparison.values), bool(comparison.content), comparison.other is not None]
    if operator is Comparing.EXISTS:
        if any(given):
            yield RuleError(here, "exists compares with nothing; leave value, content and other out")
        return
    if sum(given) != 1:
        yield RuleError(here, f"{operator.value} compares with exactly one of value, content and other")
    elif comparison.content:
        yield from _content_faults(comparison, here)
    elif comparison.other is not None and operator is Comparing.MATCHES:
        yield RuleError(f"{here}/other", "a pattern is written in the rule; give it as value")
    else:
        yield from _value_faults(comparison, here)


def _content_faults(comparison: ValueComparison, here: str) -> Iterator[RuleError]:
    if comparison.operator not in _TAKES_CONTENT or comparison.type is not ValueType.STRING:
        yield RuleError(
            f"{here}/content", "element content is compared as a whole, by equals or notEquals and without a type"
        )
    else:
        yield from _refusals(f"{here}/content", lambda: content_of(comparison.content, comparison.place))


def _value_faults(comparison: ValueComparison, here: str) -> Iterator[RuleError]:
    several = comparison.operator is Comparing.EQUALS_ONE_OF
    if len(comparison.values) > (MAX_VALUES if several else 1):
        limit = f"at most {MAX_VALUES} values" if several else "one value; use equalsOneOf for several"
        yield RuleError(f"{here}/values", f"{comparison.operator.value} takes {limit}")
        return
    for number, value in enumerate(comparison.values):
        yield from _refusals(f"{here}/values/{number}" if several else f"{here}/value", _reading(comparison, value))


def _reading(comparison: ValueComparison, value: str) -> Callable[[], object]:
    if NOT_XML.search(value):
        return _not_a_text
    if comparison.operator is not Comparing.MATCHES:
        return lambda: literal_of(value, comparison.type)
    if comparison.type is not ValueType.STRING:
        return _not_a_string
    return lambda: pattern_of(value)


def _not_a_text() -> None:
    raise Refused("rule.invalid", "it holds control characters, which no message can hold; leave them out")


def _not_a_string() -> None:
    raise Refused("rule.invalid", "a pattern is matched with strings; leave the type out")


def _refusals(pointer: str, attempt: Callable[[], object]) -> Iterator[RuleError]:
    try:
        attempt()
    except Refused as refusal:
        yield RuleError(pointer, refusal.detail)


# ---- actions ---------------------------------------------------------------------------------------------------------

_MISPLACED = {
    (ActionKind.ADD_SERVICE_AFTER, RuleRole.RECIPIENT): "nothing comes after a recipient; use addServiceBefore",
    (ActionKind.ADD_SERVICE_BEFORE, RuleRole.SENDER): "nothing comes before a sender; use addServiceAfter",
    (
        ActionKind.REDIRECT,
        RuleRole.SENDER,
    ): "only who receives a message can redirect it; name another recipient instead",
}


def _action_faults(rule: Rule, directory: Directory, service: Service) -> Iterator[RuleError]:
    if not rule.then:
        yield RuleError("/then", "a rule has at least one action")
    if len(rule.then) > MAX_ACTIONS:
        yield RuleError("/then", f"a rule has at most {MAX_ACTIONS} actions; make two rules of it")
        return
    kinds = [action.kind for action in rule.then]
    for kind in (ActionKind.REDIRECT, ActionKind.CHANGE_TOPIC, ActionKind.STOP_RULE_EVALUATION):
        if kinds.count(kind) > 1:
            yield RuleError("/then", f"{kind.value} may be in a rule only once")
    if ActionKind.CHANGE_TOPIC in kinds and INCLUDING.isdisjoint(kinds):
        where = f"/then/{kinds.index(ActionKind.CHANGE_TOPIC)}/changeTopic"
        yield RuleError(
            where, "changeTopic applies to the services that the same rule includes; add or redirect to one"
        )
    for number, action in enumerate(rule.then):
        here = f"/then/{number}"
        misplaced = _MISPLACED.get((action.kind, rule.role))
        if misplaced:
            yield RuleError(f"{here}/{action.kind.value}", misplaced)
        if action.kind in INCLUDING:
            yield from _including_faults(action, here, directory, service)
        else:
            yield from _plain_faults(action, here)


def _including_faults(action: RuleAction, here: str, directory: Directory, service: Service) -> Iterator[RuleError]:
    yield from _service_faults(action, f"{here}/{action.kind.value}", directory, service)
    if not _is_header_text(action.topic):
        yield RuleError(
            f"{here}/topic", f"a topic has at most {TEXT_CHARS} characters, none of them control characters"
        )
    names = [argument.name for argument in action.arguments]
    if len(names) > MAX_ARGUMENTS:
        yield RuleError(f"{here}/arguments", f"a service is given at most {MAX_ARGUMENTS} arguments")
    if len(set(names)) < len(names):
        yield RuleError(f"{here}/arguments", "argument names are unique; one of them is used twice")
    if any(not 0 < len(name) <= NAME_CHARS or not _is_header_text(name) for name in names):
        yield RuleError(
            f"{here}/arguments", f"argument names have 1 to {NAME_CHARS} characters, none of them control characters"
        )
    if not all(_is_header_text(argument.value) for argument in action.arguments):
        yield RuleError(
            f"{here}/arguments", f"an argument has at most {TEXT_CHARS} characters, none of them control characters"
        )


def _service_faults(action: RuleAction, here: str, directory: Directory, service: Service) -> Iterator[RuleError]:
    if not action.service:
        yield RuleError(here, f"{action.kind.value} names a service")
        return
    named = directory.service(action.service)
    if named is None or not directory.visible(named, service.organization):
        yield RuleError(
            here, f"service {action.service[:120]!r} does not exist, or you may not use it; check the directory"
        )
    elif named.gcid == service.gcid:
        yield RuleError(here, "a service cannot include itself: the route would never end")


def _plain_faults(action: RuleAction, here: str) -> Iterator[RuleError]:
    """Yield the errors of actions that add no service."""
    kind = action.kind.value
    if action.kind is ActionKind.CHANGE_TOPIC and not (action.topic and _is_header_text(action.topic)):
        yield RuleError(f"{here}/{kind}", f"changeTopic names the topic, in at most {TEXT_CHARS} characters")
    if action.kind is ActionKind.STOP_RULE_EVALUATION and action.topic:
        yield RuleError(f"{here}/topic", f"{kind} changes no topic; leave it out")
    if action.service or action.arguments or action.pays or action.isolates or action.absorbs:
        yield RuleError(
            f"{here}/{kind}", f"{kind} includes no service; remove service, arguments, pays, isolate and errors"
        )


def _is_header_text(text: str) -> bool:
    return len(text) <= TEXT_CHARS and not NOT_XML.search(text)
