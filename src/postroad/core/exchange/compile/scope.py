"""Scope: what the context item and the variables of a query refer to, and the nodes of a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from postroad.core.exchange.compile.nodes import UNSURE, JudgedCondition, Nodes
from postroad.core.exchange.query.syntax import (
    CallExpression,
    ConstantValue,
    Expression,
    HeaderVariable,
    PathStart,
    QueryPath,
    Unknown,
)
from postroad.core.exchange.slots import is_known_type

Meaning = Nodes | HeaderVariable | ConstantValue | None  # None: the engine's
Judge = Callable[[Expression, "QueryScope"], JudgedCondition]

_NUMBERS = frozenset({"count", "number", "string-length", "last", "position", "sum", "avg", "min", "max"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScope:
    context: Nodes = field(default_factory=Nodes)
    variables: dict[str, Meaning] = field(default_factory=dict)
    linked: bool = False  # whether something here is one of several nodes tried in turn

    def bind(self, name: str, meaning: Meaning) -> QueryScope:
        linked = self.linked or (isinstance(meaning, Nodes) and meaning.linked)
        return replace(self, variables={**self.variables, name: meaning}, linked=linked)

    def inside(self, nodes: Nodes) -> QueryScope:
        """The scope of a predicate that is tried on these nodes."""
        context = nodes.each() if nodes.tried_in_turn else nodes
        return replace(self, context=context, linked=self.linked or context.linked)


def meaning_of(expression: Expression, scope: QueryScope, judge: Judge) -> Meaning:
    if isinstance(expression, QueryPath):
        return follow_path(expression, scope, judge)
    if isinstance(expression, HeaderVariable):
        return expression if is_known_type(expression.declared) else None
    return expression if isinstance(expression, ConstantValue) else None


def follow_path(path: QueryPath, scope: QueryScope, judge: Judge) -> Meaning:
    """The nodes, header item or value that a path leads to."""
    here = _start(path.start, scope)
    for step in path.steps:
        here = here.below(step) if isinstance(here, Nodes) else None
        for predicate in step.predicates:
            if here is None:
                return None
            unsure = may_be_number(predicate, scope)
            here = here.where(UNSURE if unsure else judge(predicate, scope.inside(here)))
    return here


def _start(start: PathStart | str, scope: QueryScope) -> Meaning:
    if isinstance(start, str):
        return scope.variables.get(start)
    return scope.context if start is PathStart.CONTEXT else Nodes()


def _path_may_be_number(path: QueryPath, scope: QueryScope) -> bool:
    """Return True if a path may yield a number: JSON lookups and variables may, nodes never do."""
    if any(step.kind.is_lookup for step in path.steps):
        return True
    start = _start(path.start, scope)
    return start.is_looked_up if isinstance(start, Nodes) else not path.steps


def may_be_number(expression: Expression, scope: QueryScope) -> bool:
    """Whether it may be a number, which as a predicate is a position."""
    if isinstance(expression, QueryPath):
        return _path_may_be_number(expression, scope)
    if isinstance(expression, ConstantValue):
        return not isinstance(expression.value, str | bool)
    if isinstance(expression, CallExpression):
        return expression.function in _NUMBERS or expression.function.startswith(("xs:", "{"))
    return (
        isinstance(expression, HeaderVariable | Unknown) or hasattr(expression, "result") or hasattr(expression, "then")
    )
