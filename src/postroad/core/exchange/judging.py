"""What an expression says as a condition: its effective boolean value, judged before any message is there.

Kept rules: a judgement that is not exact is still necessary. Negating one that is not exact leaves nothing certain; neither
does negating, or joining by and, what is said of one node out of several.
"""

from __future__ import annotations

from postroad.core.exchange.comparing import (
    CASTS,
    compare_cast,
    compare_header,
    compare_nodes,
    header_exists,
    header_is_true,
    looked_up_is_true,
    try_header,
    try_nodes,
)
from postroad.core.exchange.conditions import (
    FALSE,
    TRUE,
    Condition,
    Literal,
    Test,
    all_of,
    any_of,
    literals_of,
    negated,
)
from postroad.core.exchange.nodes import UNSURE, Judged, Nodes
from postroad.core.exchange.patterns import same_pattern
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
    Value,
    Where,
)
from postroad.core.exchange.scope import Meaning, Scope, meaning_of
from postroad.core.exchange.slots import DocumentSlot

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT_TESTS = {"contains": Test.CONTAINS, "starts-with": Test.STARTS, "ends-with": Test.ENDS, "matches": Test.MATCHES}
ALWAYS = Judged(condition=TRUE, exact=True)
NEVER = Judged(condition=FALSE, exact=True)


def judge(expression: Expression, scope: Scope) -> Judged:
    match expression:
        case And():
            return both([judge(part, scope) for part in expression.parts], scope)
        case Or():
            return either([judge(part, scope) for part in expression.parts])
        case Comparison():
            return _comparison(expression, scope)
        case Call():
            return _call(expression, scope)
        case Quantified():
            return _quantified(expression, scope)
        case If():
            condition = judge(expression.condition, scope)
            then, otherwise = judge(expression.then, scope), judge(expression.otherwise, scope)
            return choice(condition, then, otherwise, scope)
        case Let():
            inner = scope.bound(expression.variable, meaning_of(expression.value, scope, judge))
            return judge(expression.result, inner)
        case For():
            return weakened(_among(expression.among, scope)[0])
        case Where():
            return weakened(judge(expression.condition, scope))
        case _:
            return truth(expression, scope)


def truth(expression: Expression, scope: Scope) -> Judged:
    """The effective boolean value of what is no condition itself."""
    if expression == Sequence():
        return NEVER
    meaning = meaning_of(expression, scope, judge)
    if isinstance(meaning, Nodes):
        return _truth_of_nodes(meaning)
    if isinstance(meaning, Header):
        return header_is_true(meaning)
    if isinstance(meaning, Value):
        return ALWAYS if meaning.value else NEVER
    return UNSURE


def _truth_of_nodes(nodes: Nodes) -> Judged:
    if nodes.is_looked_up:
        return looked_up_is_true(nodes)
    return nodes.any() if nodes.steps else weakened(nodes.any())  # a document as such is true, but a map has no truth


def both(parts: list[Judged], scope: Scope) -> Judged:
    linked = scope.linked and sum(_looks_inside(part.condition) for part in parts) > 1
    exact = all(part.exact for part in parts) and not linked
    return Judged(condition=all_of(part.condition for part in parts), exact=exact)


def either(parts: list[Judged]) -> Judged:
    return Judged(condition=any_of(part.condition for part in parts), exact=all(part.exact for part in parts))


def opposite(judged: Judged, scope: Scope) -> Judged:
    if not judged.exact or (scope.linked and _looks_inside(judged.condition)):
        return UNSURE
    return Judged(condition=negated(judged.condition), exact=True)


def choice(condition: Judged, then: Judged, otherwise: Judged, scope: Scope) -> Judged:
    taken = both([condition, then], scope)
    if otherwise == NEVER:
        return taken
    return either([taken, both([opposite(condition, scope), otherwise], scope)])


def weakened(judged: Judged) -> Judged:
    return Judged(condition=judged.condition, exact=False)


def _looks_inside(condition: Condition) -> bool:
    return any(isinstance(literal.slot, DocumentSlot) for literal in literals_of(condition))


def _comparison(comparison: Comparison, scope: Scope) -> Judged:
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
    return either([_with_constant(left, test, constant, comparison.singles, scope) for constant in constants])


def _constants(expression: Expression, scope: Scope) -> list[Value] | None:
    items = expression.items if isinstance(expression, Sequence) else (expression,)
    found: list[Value] = []
    for item in items:
        meaning = _truth_value(item) or meaning_of(item, scope, judge)
        if not isinstance(meaning, Value):
            return None
        found.append(meaning)
    return found


def _truth_value(expression: Expression) -> Value | None:
    if isinstance(expression, Call) and expression.function in ("true", "false") and not expression.arguments:
        return Value(value=expression.function == "true")
    return None


def _of_two(left: Expression, right: Expression, scope: Scope) -> Judged:
    """Both sides must have something to compare."""
    sides = [meaning_of(side, scope, judge) for side in (left, right)]
    return weakened(both([side.any() for side in sides if isinstance(side, Nodes)], scope))


def _with_constant(left: Expression, test: Test, constant: Value, singles: bool, scope: Scope) -> Judged:
    if isinstance(left, Call) and left.function in CASTS and len(left.arguments) == 1:
        inner = meaning_of(left.arguments[0], scope, judge)
        if not isinstance(inner, Nodes):
            return UNSURE
        return compare_cast(left.function, inner, test, constant.value, singles=singles)
    meaning = meaning_of(left, scope, judge)
    if isinstance(meaning, Nodes):
        return compare_nodes(meaning, test, constant.value, singles=singles)
    if isinstance(meaning, Header):
        return compare_header(meaning, test, constant.value, singles=singles)
    return UNSURE


def _call(call: Call, scope: Scope) -> Judged:
    function, arguments = call.function, call.arguments
    if function in ("true", "false") and not arguments:
        return ALWAYS if function == "true" else NEVER
    if function in _TEXT_TESTS and len(arguments) == 2:
        return _text_test(call, scope)
    if len(arguments) != 1:
        return UNSURE
    if function == "not":
        return opposite(judge(arguments[0], scope), scope)
    if function == "boolean":
        return judge(arguments[0], scope)
    if function in ("exists", "empty"):
        found = _exists(meaning_of(arguments[0], scope, judge))
        return found if function == "exists" else opposite(found, scope)
    return UNSURE


def _exists(meaning: Meaning) -> Judged:
    if isinstance(meaning, Nodes):
        return meaning.any()
    return header_exists(meaning) if isinstance(meaning, Header) else UNSURE


def _text_test(call: Call, scope: Scope) -> Judged:
    subject = call.arguments[0]
    if isinstance(subject, Call) and subject.function in ("string", "xs:string") and len(subject.arguments) == 1:
        subject = subject.arguments[0]
    constant = meaning_of(call.arguments[1], scope, judge)
    if not isinstance(constant, Value) or not isinstance(constant.value, str):
        return UNSURE
    test = _TEXT_TESTS[call.function]
    wanted = same_pattern(constant.value) if test is Test.MATCHES else constant.value
    meaning = meaning_of(subject, scope, judge)
    if wanted is None:
        return UNSURE
    if isinstance(meaning, Nodes):
        return try_nodes(meaning, test, wanted)
    return try_header(meaning, test, wanted) if isinstance(meaning, Header) and subject is call.arguments[0] else UNSURE


def _among(expression: Expression, scope: Scope) -> tuple[Judged, Nodes | None]:
    """Whether there is anything to choose from, and one of it."""
    meaning = meaning_of(expression, scope, judge)
    if isinstance(meaning, Nodes):
        return meaning.any(), meaning.each() if meaning.tried_in_turn else meaning
    if isinstance(expression, For):
        return _among(expression.among, scope)[0], None
    return NEVER if expression == Sequence() else UNSURE, None


def _quantified(quantified: Quantified, scope: Scope) -> Judged:
    there, one = _among(quantified.among, scope)
    condition = judge(quantified.condition, scope.bound(quantified.variable, one))
    if quantified.every:
        return _every(quantified, there, condition, one, scope)
    meaning = meaning_of(quantified.among, scope, judge)
    if isinstance(meaning, Nodes):
        return meaning.where(condition).any()
    return weakened(both([there, condition], scope))


def _every(quantified: Quantified, there: Judged, condition: Judged, one: Nodes | None, scope: Scope) -> Judged:
    if one is not None and not one.linked:
        return either([opposite(there, scope), both([there, condition], scope)])
    told = condition.condition
    if _is_about_the_node_itself(quantified, one) and condition.exact and isinstance(told, Literal):
        complement = Test(f"not {told.test.value}")
        literal = Literal(
            slot=told.slot, reading=told.reading, test=complement, constant=told.constant, negated=not told.negated
        )
        exact = meaning_of(quantified.among, scope, judge) == Nodes(steps=one.steps, single=False) if one else False
        return Judged(condition=literal, exact=True) if exact else UNSURE
    return weakened(either([opposite(there, scope), condition]))


def _is_about_the_node_itself(quantified: Quantified, one: Nodes | None) -> bool:
    """``every $x in … satisfies $x > 5``, which is that no node is not."""
    said = quantified.condition
    if (
        one is None
        or one.is_looked_up
        or not isinstance(said, Comparison)
        or said.singles
        or not isinstance(said.right, Value)
    ):
        return False
    return said.left == Path(start=quantified.variable)
