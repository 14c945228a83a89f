"""What is decided about a query when it is bound: whether the shared tree can decide for it, and by which conjunctions.

    shared       the tree decides; the message goes on as it came
    prefiltered  the tree finds the candidates and the engine evaluates them, for it constructs or says more
    always       nothing is known that must hold: the engine evaluates every message

Kept rule: only a query whose condition is exact, and whose result is a boolean or the message itself, is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from postroad.core.exchange.conditions import TRUE, All, Condition, Literal, Test
from postroad.core.exchange.doubts import uses_whole
from postroad.core.exchange.judging import ALWAYS, NEVER, both, choice, judge, weakened
from postroad.core.exchange.nodes import UNSURE, Judged, Nodes
from postroad.core.exchange.normal import Normal, normal_form
from postroad.core.exchange.query.parser import read_query
from postroad.core.exchange.query.syntax import (
    And,
    Call,
    Comparison,
    Expression,
    For,
    Header,
    If,
    Let,
    Or,
    Path,
    Quantified,
    Sequence,
    Unknown,
    Unreadable,
    Where,
)
from postroad.core.exchange.readings import Reading
from postroad.core.exchange.scope import Scope, meaning_of
from postroad.core.exchange.slots import ROUTING_KEY, HeaderSlot

_BOOLEAN_CALLS = frozenset(
    {"true", "false", "not", "boolean", "exists", "empty", "contains", "starts-with", "ends-with", "matches"}
)


class Standing(Enum):
    SHARED = "shared"
    PREFILTERED = "prefiltered"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    standing: Standing
    normal: Normal
    condition: Condition  # as it was judged
    reason: str = ""  # why it is not shared
    position: int | None = None  # the character of the query where that shows, from 0
    uses_whole: bool = False  # it does something with the message itself, beside looking inside of it

    @property
    def necessary(self) -> str:
        """What must hold, in words."""
        return str(self.condition) if self.normal.exact else _written(self.normal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    judged: Judged
    passes_on: bool  # whether a yes means that the message goes on as it came
    reason: str = ""


def decide(text: str) -> Decision:
    """The decision about a query that the engine has compiled; never fails."""
    try:
        query = read_query(text)
    except Unreadable as fault:
        return _decision(_Outcome(judged=UNSURE, passes_on=False, reason=fault.reason), fault.position)
    return replace(_decision(_outcome(query.body, Scope()), None), uses_whole=uses_whole(text))


def unread(reason: str) -> Decision:
    """About something that is no query, so that nothing is known of what it wants."""
    return _decision(_Outcome(judged=UNSURE, passes_on=False, reason=reason), None)


def behind(decision: Decision, routing_key: str) -> Decision:
    """The decision about what is only asked of messages with this routing key."""
    wanted = Literal(slot=HeaderSlot(name=ROUTING_KEY), reading=Reading.ITEM_TEXT, test=Test.EQ, constant=routing_key)
    normal = Normal(
        conjunctions=tuple(one | {wanted} for one in decision.normal.conjunctions), exact=decision.normal.exact
    )
    condition = wanted if decision.condition == TRUE else All(parts=(wanted, decision.condition))
    standing = Standing.PREFILTERED if decision.standing is Standing.ALWAYS else decision.standing
    return replace(decision, standing=standing, normal=normal, condition=condition)


def _decision(outcome: _Outcome, position: int | None) -> Decision:
    normal = normal_form(outcome.judged.condition)
    condition = outcome.judged.condition
    if outcome.judged.exact and outcome.passes_on and normal.exact:
        return Decision(standing=Standing.SHARED, normal=normal, condition=condition)
    reason = outcome.reason or ("the condition is too wide to be written out" if not normal.exact else _NOT_EXACT)
    standing = Standing.ALWAYS if frozenset() in normal.conjunctions else Standing.PREFILTERED
    return Decision(standing=standing, normal=normal, condition=condition, reason=reason, position=position)


EVERYTHING = Decision(standing=Standing.SHARED, normal=normal_form(ALWAYS.condition), condition=ALWAYS.condition)
_NOT_EXACT = "part of the condition is the engine's"


def _written(normal: Normal) -> str:
    return " or ".join("(" + " and ".join(map(str, one)) + ")" for one in normal.conjunctions)


def _outcome(expression: Expression, scope: Scope) -> _Outcome:
    match expression:
        case Comparison() | And() | Or() | Quantified():
            return _Outcome(judged=judge(expression, scope), passes_on=True)
        case Call():
            if expression.function in _BOOLEAN_CALLS:
                return _Outcome(judged=judge(expression, scope), passes_on=True)
        case If():
            return _of_choice(expression, scope)
        case Let():
            inner = scope.bound(expression.variable, meaning_of(expression.value, scope, judge))
            return _outcome(expression.result, inner)
        case For():
            return _of_loop(expression, scope)
        case Where():
            inner_outcome = _outcome(expression.result, scope)
            judged = both([judge(expression.condition, scope), inner_outcome.judged], scope)
            return _Outcome(judged=judged, passes_on=inner_outcome.passes_on, reason=inner_outcome.reason)
        case Path() | Header() | Sequence():
            return _of_result(expression, scope)
        case Unknown():
            return _Outcome(judged=UNSURE, passes_on=False, reason=expression.reason)
        case _:
            pass
    return _Outcome(judged=UNSURE, passes_on=False, reason="the result is the engine's")


def _of_result(expression: Path | Header | Sequence, scope: Scope) -> _Outcome:
    if expression == Sequence():
        return _Outcome(judged=NEVER, passes_on=True)
    meaning = meaning_of(expression, scope, judge)
    if isinstance(meaning, Nodes):
        whole = not meaning.steps and not meaning.linked
        reason = "" if whole else "the result is a part of the message"
        return _Outcome(judged=meaning.any(), passes_on=whole, reason=reason)
    if isinstance(meaning, Header) and meaning.declared == "xs:boolean":
        return _Outcome(judged=judge(expression, scope), passes_on=True)
    return _Outcome(judged=UNSURE, passes_on=False, reason="the result is the engine's")


def _of_choice(expression: If, scope: Scope) -> _Outcome:
    then, otherwise = _outcome(expression.then, scope), _outcome(expression.otherwise, scope)
    judged = choice(judge(expression.condition, scope), then.judged, otherwise.judged, scope)
    passes_on = then.passes_on and otherwise.passes_on
    return _Outcome(judged=judged, passes_on=passes_on, reason=then.reason or otherwise.reason)


def _of_loop(expression: For, scope: Scope) -> _Outcome:
    """Over one node or none a loop is a condition; over several, a result for each of them, which the engine makes."""
    meaning = meaning_of(expression.among, scope, judge)
    if not isinstance(meaning, Nodes):
        return _Outcome(judged=UNSURE, passes_on=False, reason="the loop is the engine's")
    several = meaning.tried_in_turn
    inner = scope.bound(expression.variable, meaning.each() if several else meaning)
    outcome = _outcome(expression.result, inner)
    if not several:
        judged = both([meaning.any(), outcome.judged], scope)
        return _Outcome(judged=judged, passes_on=outcome.passes_on, reason=outcome.reason)
    where = expression.result
    judged = judge(where.condition, inner) if isinstance(where, Where) else ALWAYS
    found = weakened(meaning.where(judged).any())
    return _Outcome(judged=found, passes_on=False, reason=outcome.reason or "the result is made of several nodes")
