"""Analyses a query when it is bound: whether the shared tree can decide it, and by which conjunctions.

    shared       the tree decides; the message is forwarded unchanged
    prefiltered  the tree finds the candidates, and the engine evaluates them, because the query constructs or tests more
    always       there is no necessary condition: the engine evaluates every message

Rule: only a query whose condition is exact, and whose result is a boolean or the message itself, is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from postroad.core.exchange.compile.condition_analysis import (
    ALWAYS,
    NEVER,
    judge_all,
    judge_choice,
    judge_condition,
    weaken,
)
from postroad.core.exchange.compile.disjunctive_form import DisjunctiveForm, disjunctive_form_of
from postroad.core.exchange.compile.fallback_conditions import uses_whole
from postroad.core.exchange.compile.nodes import UNSURE, JudgedCondition, Nodes
from postroad.core.exchange.compile.scope import QueryScope, meaning_of
from postroad.core.exchange.conditions import TRUE, All, Condition, Literal, Test
from postroad.core.exchange.query.parser import read_query
from postroad.core.exchange.query.syntax import (
    And,
    CallExpression,
    ComparisonExpression,
    Expression,
    ForClause,
    HeaderVariable,
    If,
    LetClause,
    Or,
    Quantified,
    QueryPath,
    SequenceExpression,
    Unknown,
    UnreadableQuery,
    WhereClause,
)
from postroad.core.exchange.slots import ROUTING_KEY, HeaderSlot
from postroad.core.exchange.value_conversion import Conversion

_BOOLEAN_CALLS = frozenset(
    {"true", "false", "not", "boolean", "exists", "empty", "contains", "starts-with", "ends-with", "matches"}
)


class EvaluationMode(Enum):
    SHARED = "shared"
    PREFILTERED = "prefiltered"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDecision:
    standing: EvaluationMode
    normal: DisjunctiveForm
    condition: Condition  # as it was judged
    reason: str = ""  # why it is not shared
    position: int | None = None  # the position in the query that causes this, from 0
    uses_whole: bool = False  # it uses the message itself, not only its content

    @property
    def necessary(self) -> str:
        """Return the necessary condition as text."""
        return str(self.condition) if self.normal.exact else _written(self.normal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    judged: JudgedCondition
    passes_on: bool  # whether a match forwards the message unchanged
    reason: str = ""


def decide(text: str) -> QueryDecision:
    """Return the decision about a query that the engine has compiled; never fails."""
    try:
        query = read_query(text)
    except UnreadableQuery as fault:
        return _decision(_Outcome(judged=UNSURE, passes_on=False, reason=fault.reason), fault.position)
    return replace(_decision(_outcome(query.body, QueryScope()), None), uses_whole=uses_whole(text))


def build_undecided(reason: str) -> QueryDecision:
    """Return the decision about a text that is not a query, so that its conditions are unknown."""
    return _decision(_Outcome(judged=UNSURE, passes_on=False, reason=reason), None)


def restrict_to_routing_key(decision: QueryDecision, routing_key: str) -> QueryDecision:
    """Return the decision restricted to messages with this routing key."""
    wanted = Literal(
        slot=HeaderSlot(name=ROUTING_KEY), reading=Conversion.ITEM_TEXT, test=Test.EQ, constant=routing_key
    )
    normal = DisjunctiveForm(
        conjunctions=tuple(one | {wanted} for one in decision.normal.conjunctions), exact=decision.normal.exact
    )
    condition = wanted if decision.condition == TRUE else All(parts=(wanted, decision.condition))
    standing = EvaluationMode.PREFILTERED if decision.standing is EvaluationMode.ALWAYS else decision.standing
    return replace(decision, standing=standing, normal=normal, condition=condition)


def _decision(outcome: _Outcome, position: int | None) -> QueryDecision:
    normal = disjunctive_form_of(outcome.judged.condition)
    condition = outcome.judged.condition
    if outcome.judged.exact and outcome.passes_on and normal.exact:
        return QueryDecision(standing=EvaluationMode.SHARED, normal=normal, condition=condition)
    reason = outcome.reason or ("the condition is too large to expand" if not normal.exact else _NOT_EXACT)
    standing = EvaluationMode.ALWAYS if frozenset() in normal.conjunctions else EvaluationMode.PREFILTERED
    return QueryDecision(standing=standing, normal=normal, condition=condition, reason=reason, position=position)


EVERYTHING = QueryDecision(
    standing=EvaluationMode.SHARED, normal=disjunctive_form_of(ALWAYS.condition), condition=ALWAYS.condition
)
_NOT_EXACT = "part of the condition needs the engine"


def _written(normal: DisjunctiveForm) -> str:
    return " or ".join("(" + " and ".join(map(str, one)) + ")" for one in normal.conjunctions)


def _outcome(expression: Expression, scope: QueryScope) -> _Outcome:
    match expression:
        case ComparisonExpression() | And() | Or() | Quantified():
            return _Outcome(judged=judge_condition(expression, scope), passes_on=True)
        case CallExpression():
            if expression.function in _BOOLEAN_CALLS:
                return _Outcome(judged=judge_condition(expression, scope), passes_on=True)
        case If():
            return _of_choice(expression, scope)
        case LetClause():
            inner = scope.bind(expression.variable, meaning_of(expression.value, scope, judge_condition))
            return _outcome(expression.result, inner)
        case ForClause():
            return _of_loop(expression, scope)
        case WhereClause():
            inner_outcome = _outcome(expression.result, scope)
            judged = judge_all([judge_condition(expression.condition, scope), inner_outcome.judged], scope)
            return _Outcome(judged=judged, passes_on=inner_outcome.passes_on, reason=inner_outcome.reason)
        case QueryPath() | HeaderVariable() | SequenceExpression():
            return _of_result(expression, scope)
        case Unknown():
            return _Outcome(judged=UNSURE, passes_on=False, reason=expression.reason)
        case _:
            pass
    return _Outcome(judged=UNSURE, passes_on=False, reason="the result needs the engine")


def _of_result(expression: QueryPath | HeaderVariable | SequenceExpression, scope: QueryScope) -> _Outcome:
    if expression == SequenceExpression():
        return _Outcome(judged=NEVER, passes_on=True)
    meaning = meaning_of(expression, scope, judge_condition)
    if isinstance(meaning, Nodes):
        whole = not meaning.steps and not meaning.linked
        reason = "" if whole else "the result is a part of the message"
        return _Outcome(judged=meaning.any(), passes_on=whole, reason=reason)
    if isinstance(meaning, HeaderVariable) and meaning.declared == "xs:boolean":
        return _Outcome(judged=judge_condition(expression, scope), passes_on=True)
    return _Outcome(judged=UNSURE, passes_on=False, reason="the result needs the engine")


def _of_choice(expression: If, scope: QueryScope) -> _Outcome:
    then, otherwise = _outcome(expression.then, scope), _outcome(expression.otherwise, scope)
    judged = judge_choice(judge_condition(expression.condition, scope), then.judged, otherwise.judged, scope)
    passes_on = then.passes_on and otherwise.passes_on
    return _Outcome(judged=judged, passes_on=passes_on, reason=then.reason or otherwise.reason)


def _of_loop(expression: ForClause, scope: QueryScope) -> _Outcome:
    """Analyse a loop: over at most one node it is a condition; over several, the engine makes a result for each."""
    meaning = meaning_of(expression.among, scope, judge_condition)
    if not isinstance(meaning, Nodes):
        return _Outcome(judged=UNSURE, passes_on=False, reason="the loop needs the engine")
    several = meaning.tried_in_turn
    inner = scope.bind(expression.variable, meaning.each() if several else meaning)
    outcome = _outcome(expression.result, inner)
    if not several:
        judged = judge_all([meaning.any(), outcome.judged], scope)
        return _Outcome(judged=judged, passes_on=outcome.passes_on, reason=outcome.reason)
    where = expression.result
    judged = judge_condition(where.condition, inner) if isinstance(where, WhereClause) else ALWAYS
    found = weaken(meaning.where(judged).any())
    return _Outcome(judged=found, passes_on=False, reason=outcome.reason or "the result is made of several nodes")
