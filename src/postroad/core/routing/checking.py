"""Everything that is wrong with a rule, found when it is saved.

Rule: a rule without faults compiles, and cannot make a route invalid by anything that could be known from the rule itself.
Each fault names its place as a pointer into the rule's JSON form, and all of them are found at once, except that patterns are not
checked behind the first one that is refused: finding out that a pattern is too large is expensive.
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
    Action,
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Comparison,
    Condition,
    Place,
    Rule,
    RuleRole,
    ValueType,
)
from postroad.core.model.snapshot import Directory
from postroad.core.routing.literals import content_of, literal_of, pattern_of
from postroad.core.routing.places import lookup_of
from postroad.errors import Refused

DEPTH_MOST = 20
CONDITIONS_MOST = 200
VALUES_MOST = 1_000
ACTIONS_MOST = 50
ARGUMENTS_MOST = DEFAULT_LIMITS.arguments
TEXT_CHARS = DEFAULT_LIMITS.text_chars
DESCRIPTION_CHARS = 4_000


class Fault(NamedTuple):
    """Something wrong in a rule, and its place as a JSON pointer."""

    pointer: str
    detail: str


def rule_faults(rule: Rule, directory: Directory, service: Service) -> list[Fault]:
    """What is wrong with a rule of this service; an empty list when nothing is."""
    return [
        *_naming_faults(rule),
        *condition_faults(rule.when, "/when", directory, service),
        *_action_faults(rule, directory, service),
    ]


def _naming_faults(rule: Rule) -> Iterator[Fault]:
    if not NAME.match(rule.name):
        yield Fault("/name", "use 1 to 64 letters, digits, spaces or . & ( ) + - _, starting with a letter or digit")
    if len(rule.description) > DESCRIPTION_CHARS or NOT_XML.search(rule.description):
        yield Fault("/description", f"use at most {DESCRIPTION_CHARS} characters, none of them control characters")


# ---- conditions ------------------------------------------------------------------------------------------------------


def condition_faults(when: Condition, at: str, directory: Directory, service: Service) -> Iterator[Fault]:
    """What is wrong with a condition that stands at a place.

    Walks without recursion, since how deep a condition goes is for its writer to say and for us to refuse.
    """
    waiting: list[tuple[str, int, Condition]] = [(at, 1, when)]
    count = 0
    has_bad_pattern = False
    while waiting:
        pointer, depth, condition = waiting.pop()
        count += 1
        if count > CONDITIONS_MOST:
            yield Fault(at, f"a rule has at most {CONDITIONS_MOST} conditions; make two rules of it")
            return
        here = f"{pointer}/{condition.operator.value}"
        if isinstance(condition, Comparison):
            if condition.operator is Comparing.MATCHES:
                if has_bad_pattern:
                    continue
                faults = list(_comparison_faults(condition, here, directory, service))
                has_bad_pattern = bool(faults)
                yield from faults
            else:
                yield from _comparison_faults(condition, here, directory, service)
        elif depth >= DEPTH_MOST:
            yield Fault(here, f"conditions are nested at most {DEPTH_MOST} deep; make two rules of it")
        else:
            yield from _combination_faults(condition, here)
            waiting += reversed([(place, depth + 1, inner) for place, inner in _inner(condition, here)])


def _inner(condition: Combination, here: str) -> list[tuple[str, Condition]]:
    if condition.operator is Combining.NOT and len(condition.conditions) == 1:
        return [(here, condition.conditions[0])]
    return [(f"{here}/{number}", inner) for number, inner in enumerate(condition.conditions)]


def _combination_faults(condition: Combination, here: str) -> Iterator[Fault]:
    if condition.operator is Combining.NOT and len(condition.conditions) != 1:
        yield Fault(here, "not turns exactly one condition round; combine several by and, or, xor inside it")
    elif not condition.conditions:
        yield Fault(here, f"{condition.operator.value} combines at least one condition")


def _comparison_faults(comparison: Comparison, here: str, directory: Directory, service: Service) -> Iterator[Fault]:
    yield from place_faults(comparison.place, here, directory, service)
    if comparison.other is not None:
        yield from place_faults(comparison.other, f"{here}/other", directory, service)
    yield from _operand_faults(comparison, here)


def place_faults(place: Place, here: str, directory: Directory, service: Service) -> Iterator[Fault]:
    yield from _refusals(
        f"{here}/{place.where.value}", _not_a_text if NOT_XML.search(place.path) else lambda: lookup_of(place)
    )
    if NOT_XML.search(place.document):
        yield from _refusals(f"{here}/document", _not_a_text)
    kinds = (AssetKind.SCHEMA, AssetKind.DTD)
    if place.schema and not any(directory.asset(service.gcid, kind, place.schema) for kind in kinds):
        yield Fault(
            f"{here}/schema", f"{service.address} has no schema {place.schema[:80]!r}, nor a DTD; register it first"
        )


_TAKES_CONTENT = frozenset({Comparing.EQUALS, Comparing.NOT_EQUALS})


def _operand_faults(comparison: Comparison, here: str) -> Iterator[Fault]:
    operator = comparison.operator
    given = [bool(comparison.values), bool(comparison.content), comparison.other is not None]
    if operator is Comparing.EXISTS:
        if any(given):
            yield Fault(here, "exists compares with nothing; leave value, content and other out")
        return
    if sum(given) != 1:
        yield Fault(here, f"{operator.value} compares with exactly one of value, content and other")
    elif comparison.content:
        yield from _content_faults(comparison, here)
    elif comparison.other is not None and operator is Comparing.MATCHES:
        yield Fault(f"{here}/other", "a pattern is written in the rule; give it as value")
    else:
        yield from _value_faults(comparison, here)


def _content_faults(comparison: Comparison, here: str) -> Iterator[Fault]:
    if comparison.operator not in _TAKES_CONTENT or comparison.type is not ValueType.STRING:
        yield Fault(
            f"{here}/content", "element content is compared as a whole, by equals or notEquals and without a type"
        )
    else:
        yield from _refusals(f"{here}/content", lambda: content_of(comparison.content, comparison.place))


def _value_faults(comparison: Comparison, here: str) -> Iterator[Fault]:
    several = comparison.operator is Comparing.EQUALS_ONE_OF
    if len(comparison.values) > (VALUES_MOST if several else 1):
        limit = f"at most {VALUES_MOST} values" if several else "one value; use equalsOneOf for several"
        yield Fault(f"{here}/values", f"{comparison.operator.value} takes {limit}")
        return
    for number, value in enumerate(comparison.values):
        yield from _refusals(f"{here}/values/{number}" if several else f"{here}/value", _reading(comparison, value))


def _reading(comparison: Comparison, value: str) -> Callable[[], object]:
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


def _refusals(pointer: str, attempt: Callable[[], object]) -> Iterator[Fault]:
    try:
        attempt()
    except Refused as refusal:
        yield Fault(pointer, refusal.detail)


# ---- actions ---------------------------------------------------------------------------------------------------------

_MISPLACED = {
    (ActionKind.ADD_SERVICE_AFTER, RuleRole.RECIPIENT): "nothing comes after a recipient; use addServiceBefore",
    (ActionKind.ADD_SERVICE_BEFORE, RuleRole.SENDER): "nothing comes before a sender; use addServiceAfter",
    (
        ActionKind.REDIRECT,
        RuleRole.SENDER,
    ): "only who receives a message can redirect it; name another recipient instead",
}


def _action_faults(rule: Rule, directory: Directory, service: Service) -> Iterator[Fault]:
    if not rule.then:
        yield Fault("/then", "a rule has at least one action")
    if len(rule.then) > ACTIONS_MOST:
        yield Fault("/then", f"a rule has at most {ACTIONS_MOST} actions; make two rules of it")
        return
    kinds = [action.kind for action in rule.then]
    for kind in (ActionKind.REDIRECT, ActionKind.CHANGE_TOPIC, ActionKind.STOP_RULE_EVALUATION):
        if kinds.count(kind) > 1:
            yield Fault("/then", f"{kind.value} stands at most once in a rule")
    if ActionKind.CHANGE_TOPIC in kinds and INCLUDING.isdisjoint(kinds):
        where = f"/then/{kinds.index(ActionKind.CHANGE_TOPIC)}/changeTopic"
        yield Fault(where, "changeTopic holds for the services that the same rule brings in; add or redirect to one")
    for number, action in enumerate(rule.then):
        here = f"/then/{number}"
        misplaced = _MISPLACED.get((action.kind, rule.role))
        if misplaced:
            yield Fault(f"{here}/{action.kind.value}", misplaced)
        if action.kind in INCLUDING:
            yield from _including_faults(action, here, directory, service)
        else:
            yield from _plain_faults(action, here)


def _including_faults(action: Action, here: str, directory: Directory, service: Service) -> Iterator[Fault]:
    yield from _service_faults(action, f"{here}/{action.kind.value}", directory, service)
    if not _is_header_text(action.topic):
        yield Fault(f"{here}/topic", f"a topic has at most {TEXT_CHARS} characters, none of them control characters")
    names = [argument.name for argument in action.arguments]
    if len(names) > ARGUMENTS_MOST:
        yield Fault(f"{here}/arguments", f"a service is given at most {ARGUMENTS_MOST} arguments")
    if len(set(names)) < len(names):
        yield Fault(f"{here}/arguments", "argument names are unique; one of them is used twice")
    if any(not 0 < len(name) <= NAME_CHARS or not _is_header_text(name) for name in names):
        yield Fault(
            f"{here}/arguments", f"argument names have 1 to {NAME_CHARS} characters, none of them control characters"
        )
    if not all(_is_header_text(argument.value) for argument in action.arguments):
        yield Fault(
            f"{here}/arguments", f"an argument has at most {TEXT_CHARS} characters, none of them control characters"
        )


def _service_faults(action: Action, here: str, directory: Directory, service: Service) -> Iterator[Fault]:
    if not action.service:
        yield Fault(here, f"{action.kind.value} names a service")
        return
    named = directory.service(action.service)
    if named is None or not directory.visible(named, service.organization):
        yield Fault(here, f"there is no service {action.service[:120]!r} that you can use; check it in the directory")
    elif named.gcid == service.gcid:
        yield Fault(here, "a service cannot bring itself in: the route would never end")


def _plain_faults(action: Action, here: str) -> Iterator[Fault]:
    """Of the actions that bring no service in."""
    kind = action.kind.value
    if action.kind is ActionKind.CHANGE_TOPIC and not (action.topic and _is_header_text(action.topic)):
        yield Fault(f"{here}/{kind}", f"changeTopic names the topic, in at most {TEXT_CHARS} characters")
    if action.kind is ActionKind.STOP_RULE_EVALUATION and action.topic:
        yield Fault(f"{here}/topic", f"{kind} changes no topic; leave it out")
    if action.service or action.arguments or action.pays or action.isolates or action.absorbs:
        yield Fault(
            f"{here}/{kind}", f"{kind} brings no service in; leave service, arguments, pays, isolate and errors out"
        )


def _is_header_text(text: str) -> bool:
    return len(text) <= TEXT_CHARS and not NOT_XML.search(text)
