"""A naive reading of queries: the tree of a query evaluated on a document, node by node, with no sharing and no shortcuts.

It says which outcomes XQuery permits: T, F and E (an error). An existential comparison over some values that pass and some that
cannot be read may be true or an error; ``and`` and ``or`` may look at either side first. Where the permitted outcomes of a
predicate leave open which nodes there are, everything is permitted.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from lxml import etree

from postroad.core.exchange.query import syntax

ANYTHING = frozenset("TFE")
YES, NO, FAILS = frozenset("T"), frozenset("F"), frozenset("E")
_OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Open(Exception):
    """The outcomes permitted leave open what this is."""


class Fails(Exception):
    """This is an error."""


@dataclass(frozen=True)
class Node:
    element: Any  # None for the document
    kind: str = "element"
    name: str = ""
    text: str = ""

    def string(self) -> str:
        return self.text if self.kind != "element" else str(self.element.xpath("string()"))


@dataclass(frozen=True)
class World:
    root: Any
    headers: Mapping[str, Any]
    context: Any = None
    variables: Mapping[str, list[Any]] = field(default_factory=dict)

    def at(self, node: Any) -> World:
        return World(self.root, self.headers, node, self.variables)

    def bound(self, name: str, items: list[Any]) -> World:
        return World(self.root, self.headers, self.context, {**self.variables, name: items})


def permitted(text: bytes, query: syntax.Expression, headers: Mapping[str, Any]) -> frozenset[str]:
    root = etree.fromstring(text)
    document = Node(root.getroottree(), "document", text=str(root.xpath("string()")))
    try:
        return truth(query, World(document, headers, document))
    except Open:
        return ANYTHING


def truth(expression: syntax.Expression, world: World) -> frozenset[str]:
    match expression:
        case syntax.And():
            return _join([truth(part, world) for part in expression.parts], "F", "T")
        case syntax.Or():
            return _join([truth(part, world) for part in expression.parts], "T", "F")
        case syntax.ComparisonExpression():
            return _comparison(expression, world)
        case syntax.CallExpression() if expression.function == "not":
            swapped = {"T": "F", "F": "T", "E": "E"}
            return frozenset(swapped[outcome] for outcome in truth(expression.arguments[0], world))
        case syntax.Quantified():
            return _quantified(expression, world)
        case syntax.If():
            return _conditional(expression, world)
    try:
        return YES if _truth_of(items(expression, world)) else NO
    except Fails:
        return FAILS


def _join(parts: list[frozenset[str]], decisive: str, neutral: str) -> frozenset[str]:
    outcomes = set()
    if any(decisive in part for part in parts):
        outcomes.add(decisive)
    if any("E" in part for part in parts):
        outcomes.add("E")
    if all(neutral in part for part in parts):
        outcomes.add(neutral)
    return frozenset(outcomes)


def _conditional(expression: syntax.If, world: World) -> frozenset[str]:
    outcomes: set[str] = set()
    for outcome in truth(expression.condition, world):
        if outcome == "E":
            outcomes.add("E")
        else:
            outcomes |= truth(expression.then if outcome == "T" else expression.otherwise, world)
    return frozenset(outcomes)


def _quantified(expression: syntax.Quantified, world: World) -> frozenset[str]:
    try:
        among = items(expression.among, world)
    except Fails:
        return FAILS
    each = [truth(expression.condition, world.bound(expression.variable, [item])) for item in among]
    return _join(each, "F", "T") if expression.every else _join(each, "T", "F")


def _truth_of(found: list[Any]) -> bool:
    if not found:
        return False
    if isinstance(found[0], Node):
        return True
    if len(found) > 1:
        raise Fails
    value = found[0]
    return value == value and bool(value)


def _certain(outcomes: frozenset[str]) -> bool:
    if outcomes == FAILS:
        raise Fails
    if len(outcomes) > 1:
        raise Open
    return outcomes == YES


def items(expression: syntax.Expression, world: World) -> list[Any]:
    match expression:
        case syntax.ConstantValue():
            return [expression.value]
        case syntax.SequenceExpression():
            return [item for part in expression.items for item in items(part, world)]
        case syntax.HeaderVariable():
            return _header(expression, world)
        case syntax.QueryPath():
            return _path(expression, world)
        case syntax.CallExpression():
            return _call(expression, world)
        case syntax.LetClause():
            return items(expression.result, world.bound(expression.variable, items(expression.value, world)))
        case syntax.ForClause():
            bound = [world.bound(expression.variable, [item]) for item in items(expression.among, world)]
            return [item for inner in bound for item in items(expression.result, inner)]
        case syntax.WhereClause():
            return items(expression.result, world) if _certain(truth(expression.condition, world)) else []
        case _:
            return [_certain(truth(expression, world))]


def _header(header: syntax.HeaderVariable, world: World) -> list[Any]:
    item = world.headers.get(header.name)
    types = {"xs:string": str, "xs:integer": int, "xs:boolean": bool}
    if header.declared and (item is None or type(item) is not types[header.declared]):
        raise Fails
    return [] if item is None else [item]


def _path(path: syntax.QueryPath, world: World) -> list[Any]:
    if isinstance(path.start, str):
        found = world.variables[path.start]
    else:
        found = [world.root if path.start is syntax.PathStart.DOCUMENT else world.context]
    for step in path.steps:
        holders = [holder for node in found for holder in _holders(node, step)]
        found = list(dict.fromkeys(below for one in holders for below in _picked(_step(one, step), step, world)))
    return found


def _picked(nodes: list[Node], step: syntax.QueryStep, world: World) -> list[Node]:
    for predicate in step.predicates:
        if isinstance(predicate, syntax.ConstantValue) and isinstance(predicate.value, int):
            nodes = nodes[predicate.value - 1 : predicate.value]
        else:
            nodes = [node for node in nodes if _certain(truth(predicate, world.at(node)))]
    return nodes


def _holders(node: Any, step: syntax.QueryStep) -> list[Node]:
    """The nodes from which the step is taken; a position counts from each of them again."""
    if not isinstance(node, Node):
        raise Fails
    return _descendants_or_self(node) if step.descends else [node]


def _children(node: Node) -> list[Node]:
    if node.kind == "document":
        return [Node(node.element.getroot())]
    if node.kind != "element":
        return []
    return [Node(child) for child in node.element if isinstance(child.tag, str)]


def _descendants_or_self(node: Node) -> list[Node]:
    return [node, *(deeper for child in _children(node) for deeper in _descendants_or_self(child))]


def _step(holder: Node, step: syntax.QueryStep) -> list[Node]:
    if step.kind is syntax.StepKind.SELF:
        return [holder]
    if step.kind is syntax.StepKind.ELEMENT:
        return [child for child in _children(holder) if _fits(step.name, child.element.tag)]
    if holder.kind != "element":
        return []
    if step.kind is syntax.StepKind.ATTRIBUTE:
        pairs = holder.element.attrib.items()
        return [Node(holder.element, "attribute", name, value) for name, value in pairs if _fits(step.name, name)]
    texts = [holder.element.text, *(child.tail for child in holder.element)]
    return [Node(holder.element, "text", str(at), text) for at, text in enumerate(texts) if text]


def _fits(name: syntax.QualifiedName, written: str) -> bool:
    qualified = etree.QName(written)
    return name.local in (None, qualified.localname) and name.namespace in (None, qualified.namespace or "")


def _atoms(found: list[Any]) -> list[Any]:
    return [Untyped(item.string()) if isinstance(item, Node) else item for item in found]


class Untyped(str):
    __slots__ = ()


def _comparison(comparison: syntax.ComparisonExpression, world: World) -> frozenset[str]:
    try:
        left, right = (_atoms(items(side, world)) for side in (comparison.left, comparison.right))
    except Fails:
        return FAILS
    if comparison.singles:
        return _single_comparison(comparison.operator, left, right)
    passing = failing = False
    for one in left:
        for other in right:
            try:
                passing |= _compared(comparison.operator, one, other)
            except Fails:
                failing = True
    outcomes = frozenset("T" * passing + "E" * failing)
    return outcomes or NO


def _single_comparison(sign: str, left: list[Any], right: list[Any]) -> frozenset[str]:
    if not left or not right:
        return NO if len(left) < 2 and len(right) < 2 else frozenset("FE")
    if len(left) > 1 or len(right) > 1:
        return FAILS
    one, other = (str(side[0]) if isinstance(side[0], Untyped) else side[0] for side in (left, right))
    try:
        return YES if _compared(sign, one, other) else NO
    except Fails:
        return FAILS


def _compared(sign: str, one: Any, other: Any) -> bool:
    one, other = _converted(one, other), _converted(other, one)
    kinds = {str if isinstance(side, str) else bool if isinstance(side, bool) else float for side in (one, other)}
    if len(kinds) > 1:
        raise Fails
    if isinstance(one, float) or isinstance(other, float):
        one, other = float(one), float(other)
    return bool(_OPERATORS[sign](one, other))


def _converted(value: Any, beside: Any) -> Any:
    if not isinstance(value, Untyped) or isinstance(beside, str):
        return str(value) if isinstance(value, Untyped) else value
    if isinstance(beside, bool):
        return _cast("xs:boolean", value)
    return _cast("xs:double", value)


def _cast(kind: str, text: str) -> Any:
    text = re.sub(r"^[ \t\r\n]+|[ \t\r\n]+$", "", text)
    if kind == "xs:boolean" and text in ("true", "1", "false", "0"):
        return text in ("true", "1")
    if kind == "xs:integer" and re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if kind == "xs:decimal" and re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)", text):
        return Decimal(text)
    if kind == "xs:double" and text in ("INF", "+INF", "-INF", "NaN"):
        return {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}[text]
    if kind == "xs:double" and re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float(text)
    raise Fails


def _call(call: syntax.CallExpression, world: World) -> list[Any]:
    if call.function in ("exists", "empty", "count"):
        found = items(call.arguments[0], world)
        return [len(found) if call.function == "count" else bool(found) is (call.function == "exists")]
    if call.function in ("true", "false"):
        return [call.function == "true"]
    if call.function in ("not", "boolean"):
        argument = call.arguments[0] if call.function == "boolean" else call
        return [_certain(truth(argument, world))]
    given = [_atoms(items(argument, world)) for argument in call.arguments]
    if any(len(argument) > 1 for argument in given):
        raise Fails
    return _of_singles(call.function, [argument[0] if argument else None for argument in given])


def _of_singles(function: str, given: list[Any]) -> list[Any]:
    if function.startswith("xs:"):
        return [] if given[0] is None else [given[0] if function == "xs:string" else _cast(function, given[0])]
    if function == "number":
        try:
            return [math.nan if given[0] is None else _cast("xs:double", given[0])]
        except Fails:
            return [math.nan]
    if any(not isinstance(value, str) and value is not None for value in given):
        raise Fails
    texts = [str(value or "") for value in given]
    if function in ("string", "string-length"):
        return [texts[0] if function == "string" else len(texts[0])]
    tests: dict[str, Callable[[str, str], bool]] = {
        "contains": lambda text, part: part in text, "starts-with": str.startswith, "ends-with": str.endswith,
        "matches": lambda text, pattern: re.search(pattern, text) is not None,
    }  # fmt: skip
    return [tests[function](*texts)]
