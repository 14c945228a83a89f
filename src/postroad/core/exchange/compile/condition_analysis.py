"""Analyses an expression as a condition: its effective boolean value, before any message arrives.

Rules: an inexact condition is still necessary. Negating an inexact condition leaves nothing certain; neither does
negating, or joining by and, a condition about one node out of several.
"""

from __future__ import annotations

from postroad.core.exchange.compile.comparison_analysis import (
    CASTS,
    compare_cast,
    compare_header,
    compare_nodes,
    judge_header_exists,
    judge_header_truth,
    judge_lookup_truth,
    try_header,
    try_nodes,
)
from postroad.core.exchange.compile.nodes import UNSURE, JudgedCondition, Nodes
from postroad.core.exchange.compile.scope import Meaning, QueryScope, meaning_of
from postroad.core.exchange.conditions import FALSE, TRUE, Condition, Literal, Test, all_of, any_of, literals_of, negate
from postroad.core.exchange.constant_tests import to_re2_pattern
from postroad.core.exchange.query.syntax import (
    And,
    CallExpression,
    ComparisonExpression,
    ConstantValue,
    Expression,
    ForClause,
    HeaderVariable,
    If,
    LetClause,
    Or,
    Quantified,
    QueryPath,
    SequenceExpression,
    WhereClause,
)
from postroad.core.exchange.slots import DocumentSlot

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT_TESTS = {"contains": Test.CONTAINS, "starts-with": Test.STARTS, "ends-with": Test.ENDS, "matches": Test.MATCHES}
ALWAYS = JudgedCondition(condition=TRUE, exact=True)
NEVER = JudgedCondition(condition=FALSE, exact=True)


def judge_condition(expression: Expression, scope: QueryScope) -> JudgedCondition:
    match expression:
        case And():
            return judge_all([judge_condition(part, scope) for part in expression.parts], scope)
        case Or():
            return judge_any([judge_condition(part, scope) for part in expression.parts])
        case ComparisonExpression():
            return _comparison(expression, scope)
        case CallExpression():
            return _call(expression, scope)
        case Quantified():
            return _quantified(expression, scope)
        case If():
            condition = judge_condition(expression.condition, scope)
            then, otherwise = judge_condition(expression.then, scope), judge_condition(expression.otherwise, scope)
            return judge_choice(condition, then, otherwise, scope)
        case LetClause():
            inner = scope.bind(expression.variable, meaning_of(expression.value, scope, judge_condition))
            return judge_condition(expression.result, inner)
        case ForClause():
            return weaken(_among(expression.among, scope)[0])
        case WhereClause():
            return weaken(judge_condition(expression.condition, scope))
        case _:
            return judge_truth(expression, scope)


def judge_truth(expression: Expression, scope: QueryScope) -> JudgedCondition:
    """Return the effective boolean value of an expression that is not a condition itself."""
    if expression == SequenceExpression():
        return NEVER
    meaning = meaning_of(expression, scope, judge_condition)
    if isinstance(meaning, Nodes):
        return _truth_of_nodes(meaning)
    if isinstance(meaning, HeaderVariable):
        return judge_header_truth(meaning)
    if isinstance(meaning, ConstantValue):
        return ALWAYS if meaning.value else NEVER
    return UNSURE


def _truth_of_nodes(nodes: Nodes) -> JudgedCondition:
    if nodes.is_looked_up:
        return judge_lookup_truth(nodes)
    return nodes.any() if nodes.steps else weaken(nodes.any())  # a document as such is true, but a map has no truth


def judge_all(parts: list[JudgedCondition], scope: QueryScope) -> JudgedCondition:
    linked = scope.linked and sum(_looks_inside(part.condition) for part in parts) > 1
    exact = all(part.exact for part in parts) and not linked
    return JudgedCondition(condition=all_of(part.condition for part in parts), exact=exact)


def judge_any(parts: list[JudgedCondition]) -> JudgedCondition:
    return JudgedCondition(condition=any_of(part.condition for part in parts), exact=all(part.exact for part in parts))


def judge_negation(judged: JudgedCondition, scope: QueryScope) -> JudgedCondition:
    if not judged.exact or (scope.linked and _looks_inside(judged.condition)):
        return UNSURE
    return JudgedCondition(condition=negate(judged.condition), exact=True)


def judge_choice(
    condition: JudgedCondition, then: JudgedCondition, otherwise: JudgedCondition, scope: QueryScope
) -> JudgedCondition:
    taken = judge_all([condition, then], scope)
    if otherwise == NEVER:
        return taken
    return judge_any([taken, judge_all([judge_negation(condition, scope), otherwise], scope)])


def weaken(judged: JudgedCondition) -> JudgedCondition:
    return JudgedCondition(condition=judged.condition, exact=False)


def _looks_inside(condition: Condition) -> bool:
    return any(isinstance(literal.slot, DocumentSlot) for literal in literals_of(condition))


def _comparison(comparison: ComparisonExpression, scope: QueryScope) -> JudgedCondition:
    left, right, operator = comparison.left, comparison.right, comparison.operator
    constants = _constants(right, scope)
    if constants is None:
        left, right, operator = right, left, _MIRRORED[operator]
        constants = _constants(right, scope)
    if constants is None:
        return _of_two(left, right, scope)
    if len(constants) != 1 and comparison.singles:
        return UNSURE
    test = Test(operator)
    return judge_any([_with_constant(left, test, constant, comparison.singles, scope) for constant in constants])


def _constants(expression: Expression, scope: QueryScope) -> list[ConstantValue] | None:
    items = expression.items if isinstance(expression, SequenceExpression) else (expression,)
    found: list[ConstantValue] = []
    for item in items:
        meaning = _truth_value(item) or meaning_of(item, scope, judge_condition)
        if not isinstance(meaning, ConstantValue):
            return None
        found.append(meaning)
    return found


def _truth_value(expression: Expression) -> ConstantValue | None:
    if isinstance(expression, CallExpression) and expression.function in ("true", "false") and not expression.arguments:
        return ConstantValue(value=expression.function == "true")
    return None


def _of_two(left: Expression, right: Expression, scope: QueryScope) -> JudgedCondition:
    """Both sides must have something to compare."""
    sides = [meaning_of(side, scope, judge_condition) for side in (left, right)]
    return weaken(judge_all([side.any() for side in sides if isinstance(side, Nodes)], scope))


def _with_constant(
    left: Expression, test: Test, constant: ConstantValue, singles: bool, scope: QueryScope
) -> JudgedCondition:
    if isinstance(left, CallExpression) and left.function in CASTS and len(left.arguments) == 1:
        inner = meaning_of(left.arguments[0], scope, judge_condition)
        if not isinstance(inner, Nodes):
            return UNSURE
        return compare_cast(left.function, inner, test, constant.value, singles=singles)
    meaning = meaning_of(left, scope, judge_condition)
    if isinstance(meaning, Nodes):
        return compare_nodes(meaning, test, constant.value, singles=singles)
    if isinstance(meaning, HeaderVariable):
        return compare_header(meaning, test, constant.value, singles=singles)
    return UNSURE


def _call(call: CallExpression, scope: QueryScope) -> JudgedCondition:
    function, arguments = call.function, call.arguments
    if function in ("true", "false") and not arguments:
        return ALWAYS if function == "true" else NEVER
    if function in _TEXT_TESTS and len(arguments) == 2:
        return _text_test(call, scope)
    if len(arguments) != 1:
        return UNSURE
    if function == "not":
        return judge_negation(judge_condition(arguments[0], scope), scope)
    if function == "boolean":
        return judge_condition(arguments[0], scope)
    if function in ("exists", "empty"):
        found = _exists(meaning_of(arguments[0], scope, judge_condition))
        return found if function == "exists" else judge_negation(found, scope)
    return UNSURE


def _exists(meaning: Meaning) -> JudgedCondition:
    if isinstance(meaning, Nodes):
        return meaning.any()
    return judge_header_exists(meaning) if isinstance(meaning, HeaderVariable) else UNSURE


def _text_test(call: CallExpression, scope: QueryScope) -> JudgedCondition:
    subject = call.arguments[0]
    if (
        isinstance(subject, CallExpression)
        and subject.function in ("string", "xs:string")
        and len(subject.arguments) == 1
    ):
        subject = subject.arguments[0]
    constant = meaning_of(call.arguments[1], scope, judge_condition)
    if not isinstance(constant, ConstantValue) or not isinstance(constant.value, str):
        return UNSURE
    test = _TEXT_TESTS[call.function]
    wanted = to_re2_pattern(constant.value) if test is Test.MATCHES else constant.value
    meaning = meaning_of(subject, scope, judge_condition)
    if wanted is None:
        return UNSURE
    if isinstance(meaning, Nodes):
        return try_nodes(meaning, test, wanted)
    return (
        try_header(meaning, test, wanted)
        if isinstance(meaning, HeaderVariable) and subject is call.arguments[0]
        else UNSURE
    )


def _among(expression: Expression, scope: QueryScope) -> tuple[JudgedCondition, Nodes | None]:
    """Whether there is anything to choose from, and one of it."""
    meaning = meaning_of(expression, scope, judge_condition)
    if isinstance(meaning, Nodes):
        return meaning.any(), meaning.each() if meaning.tried_in_turn else meaning
    if isinstance(expression, ForClause):
        return _among(expression.among, scope)[0], None
    return NEVER if expression == SequenceExpression() else UNSURE, None


def _quantified(quantified: Quantified, scope: QueryScope) -> JudgedCondition:
    there, one = _among(quantified.among, scope)
    condition = judge_condition(quantified.condition, scope.bind(quantified.variable, one))
    if quantified.every:
        return _every(quantified, there, condition, one, scope)
    meaning = meaning_of(quantified.among, scope, judge_condition)
    if isinstance(meaning, Nodes):
        return meaning.where(condition).any()
    return weaken(judge_all([there, condition], scope))


def _every(
    quantified: Quantified, there: JudgedCondition, condition: JudgedCondition, one: Nodes | None, scope: QueryScope
) -> JudgedCondition:
    if one is not None and not one.linked:
        return judge_any([judge_negation(there, scope), judge_all([there, condition], scope)])
    told = condition.condition
    if _is_about_the_node_itself(quantified, one) and condition.exact and isinstance(told, Literal):
        complement = Test(f"not {told.test.value}")
        literal = Literal(
            slot=told.slot, reading=told.reading, test=complement, constant=told.constant, negated=not told.negated
        )
        exact = (
            meaning_of(quantified.among, scope, judge_condition) == Nodes(steps=one.steps, single=False)
            if one
            else False
        )
        return JudgedCondition(condition=literal, exact=True) if exact else UNSURE
    return weaken(judge_any([judge_negation(there, scope), condition]))


def _is_about_the_node_itself(quantified: Quantified, one: Nodes | None) -> bool:
    """``every $x in … satisfies $x > 5``, which is that no node is not."""
    said = quantified.condition
    if (
        one is None
        or one.is_looked_up
        or not isinstance(said, ComparisonExpression)
        or said.singles
        or not isinstance(said.right, ConstantValue)
    ):
        return False
    return said.left == QueryPath(start=quantified.variable)
