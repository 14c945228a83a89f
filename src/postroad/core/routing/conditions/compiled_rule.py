"""Conditions compiled into functions of a message.

A condition on a missing or unreadable value is false, whatever its operator. A location with several nodes satisfies
a comparison if any of them does, and ``notEquals`` if there is a value and none is equal. Character data is compared
with character data, element content with element content. Rule: expensive work is done when a rule is compiled;
evaluation reads only what it must, and stops as soon as the result is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    ValueComparison,
    ValueLocation,
    rule_key,
)
from postroad.core.routing.budget import COMPILING_STEPS, CONDITION_STEPS, PATTERN_STEPS
from postroad.core.routing.conditions.operators import operator_test
from postroad.core.routing.conditions.place_content import NO_CONTENT
from postroad.core.routing.conditions.places import lookup_of
from postroad.core.routing.conditions.subject import Subject

CONDITIONS_CACHED = 100_000

ConditionTest = Callable[[Subject], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledRule:
    rule: Rule
    holds: ConditionTest
    reads_documents: bool
    key: str  # under which the rule is saved
    topic: str  # for the services that the rule includes; empty: the message's own
    stops: bool  # if it holds, no more rules of its service are tried
    steps: int  # cost of evaluating it, without reading values


def compile_rule(rule: Rule) -> CompiledRule:
    """Compile a rule; raises Refused if ``rule_check`` reports its condition."""
    return CompiledRule(
        rule=rule,
        holds=compile_condition(rule.when),
        reads_documents=reads_documents(rule.when),
        key=rule_key(rule.service, rule.name),
        topic=next((action.topic for action in rule.then if action.kind is ActionKind.CHANGE_TOPIC), ""),
        stops=any(action.kind is ActionKind.STOP_RULE_EVALUATION for action in rule.then),
        steps=CONDITION_STEPS * sum(1 for _ in comparisons_of(rule.when)),
    )


def comparisons_of(condition: Condition) -> Iterator[ValueComparison]:
    if isinstance(condition, Combination):
        for inner in condition.conditions:
            yield from comparisons_of(inner)
    else:
        yield condition


def compiling_steps(rule: Rule) -> int:
    """Return the cost of compiling a rule, in budget steps."""
    return sum(
        PATTERN_STEPS if one.operator is Comparing.MATCHES else COMPILING_STEPS for one in comparisons_of(rule.when)
    )


@lru_cache(maxsize=CONDITIONS_CACHED)
def compile_condition(condition: Condition) -> ConditionTest:
    if isinstance(condition, Combination):
        return _combination(condition.operator, [compile_condition(inner) for inner in condition.conditions])
    return _comparison(condition)


def reads_documents(condition: Condition) -> bool:
    """Whether evaluating the condition may parse a body."""
    return any(place.where is not MessageSection.HEADER for place in places_of(condition))


def places_of(condition: Condition) -> list[ValueLocation]:
    if isinstance(condition, Combination):
        return [place for inner in condition.conditions for place in places_of(inner)]
    return [condition.place] if condition.other is None else [condition.place, condition.other]


def _combination(operator: Combining, tests: list[ConditionTest]) -> ConditionTest:
    match operator:
        case Combining.AND:
            return _until(False, tests)
        case Combining.OR:
            return _until(True, tests)
        case Combining.XOR:
            return lambda subject: sum(test(subject) for test in tests) % 2 == 1
        case Combining.NOT:
            only = tests[0]
            return lambda subject: not only(subject)


def _until(answer: bool, tests: list[ConditionTest]) -> ConditionTest:
    """Return a test that stops at the first test with this result and returns it; a loop is faster than ``all``."""

    def holds(subject: Subject) -> bool:
        for test in tests:
            if test(subject) is answer:
                return answer
        return not answer

    return holds


def _comparison(comparison: ValueComparison) -> ConditionTest:
    judge = operator_test(comparison)
    lookup = lookup_of(comparison.place)
    if comparison.operator is Comparing.MATCHES:
        return lambda subject: subject.may_match(found := subject.find_content(lookup)) and judge(found, NO_CONTENT)
    if comparison.other is None:
        return lambda subject: subject.may_compare(found := subject.find_content(lookup)) and judge(found, NO_CONTENT)
    other = lookup_of(comparison.other)

    def test(subject: Subject) -> bool:
        found = subject.find_content(lookup)
        if not found:
            return False
        against = subject.find_content(other)
        return subject.may_compare(found) and subject.may_compare(against) and judge(found, against)

    return test
