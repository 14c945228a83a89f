"""How many new patterns a document may bring.

Compiling a pattern takes some milliseconds in which nothing else runs, so a document of members has a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.configuration.document import Fault, pointer
from postroad.core.configuration.steps import PlannedStep
from postroad.core.model.directory import Service
from postroad.core.model.rule import Combination, Comparing, Condition, Rule

PATTERNS_MOST = 1_000


def too_many_patterns(steps: Iterable[PlannedStep]) -> list[Fault]:
    """A fault if the rules and batchers that are added or changed have more different patterns than one document may."""
    patterns = {pattern for step in steps for condition in _conditions(step) for pattern in _patterns(condition)}
    if len(patterns) <= PATTERNS_MOST:
        return []
    detail = f"it adds or changes {len(patterns)} patterns; at most {PATTERNS_MOST} are allowed, so apply it in parts"
    return [Fault(pointer("organizations"), detail)]


def _conditions(step: PlannedStep) -> Iterator[Condition]:
    if isinstance(step.value, Rule):
        yield step.value.when
    elif isinstance(step.value, Service) and step.value.batching is not None:
        policy = step.value.batching.policy
        yield from [condition for condition in (policy.takes, policy.last) if condition is not None]


def _patterns(condition: Condition) -> Iterator[str]:
    """Those of a condition; walks without recursion, since it may still be nested too deep."""
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Combination):
            waiting += one.conditions
        elif one.operator is Comparing.MATCHES:
            yield from one.values
