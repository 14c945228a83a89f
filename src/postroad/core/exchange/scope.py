"""Scope: what the context item and the variables of a query stand for, and the nodes that a path leads to from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from postroad.core.exchange.nodes import UNSURE, Judged, Nodes
from postroad.core.exchange.query.syntax import Call, Expression, Header, Path, Start, Unknown, Value
from postroad.core.exchange.slots import is_known_type

Meaning = Nodes | Header | Value | None  # None: the engine's
Judge = Callable[[Expression, "Scope"], Judged]

_NUMBERS = frozenset({"count", "number", "string-length", "last", "position", "sum", "avg", "min", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    context: Nodes = field(default_factory=Nodes)
    variables: dict[str, Meaning] = field(default_factory=dict)
    linked: bool = False  # whether something here is one of several nodes tried in turn

    def bound(self, name: str, meaning: Meaning) -> Scope:
        linked = self.linked or (isinstance(meaning, Nodes) and meaning.linked)
        return replace(self, variables={**self.variables, name: meaning}, linked=linked)

    def inside(self, nodes: Nodes) -> Scope:
        """The scope of a predicate that is tried on these nodes."""
        context = nodes.each() if nodes.tried_in_turn else nodes
        return replace(self, context=context, linked=self.linked or context.linked)


def meaning_of(expression: Expression, scope: Scope, judge: Judge) -> Meaning:
    if isinstance(expression, Path):
        return follow(expression, scope, judge)
    if isinstance(expression, Header):
        return expression if is_known_type(expression.declared) else None
    return expression if isinstance(expression, Value) else None


def follow(path: Path, scope: Scope, judge: Judge) -> Meaning:
    """What the path leads to."""
    here = _start(path.start, scope)
    for step in path.steps:
        here = here.below(step) if isinstance(here, Nodes) else None
        for predicate in step.predicates:
            if here is None:
                return None
            unsure = may_be_number(predicate, scope)
            here = here.where(UNSURE if unsure else judge(predicate, scope.inside(here)))
    return here


def _start(start: Start | str, scope: Scope) -> Meaning:
    if isinstance(start, str):
        return scope.variables.get(start)
    return scope.context if start is Start.CONTEXT else Nodes()


def _path_may_be_number(path: Path, scope: Scope) -> bool:
    """Nodes are no numbers; what is looked up in JSON may be one, and so may what a variable stands for."""
    if any(step.kind.is_lookup for step in path.steps):
        return True
    start = _start(path.start, scope)
    return start.is_looked_up if isinstance(start, Nodes) else not path.steps


def may_be_number(expression: Expression, scope: Scope) -> bool:
    """Whether it may be a number, which as a predicate is a position."""
    if isinstance(expression, Path):
        return _path_may_be_number(expression, scope)
    if isinstance(expression, Value):
        return not isinstance(expression.value, str | bool)
    if isinstance(expression, Call):
        return expression.function in _NUMBERS or expression.function.startswith(("xs:", "{"))
    return isinstance(expression, Header | Unknown) or hasattr(expression, "result") or hasattr(expression, "then")
