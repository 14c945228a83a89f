"""A query's text → its tree, by recursive descent; the precedence of operators is the order of the methods.

Rules: the same words mean here what they mean in XQuery 3.1, or the query is unreadable. A clause whose end is certain
only because the query ends with it may be ``Unknown``: what stands before it can still be used as a necessary condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from postroad.core.exchange.query.paths import STEP_BEGINS, read_lookup, read_step
from postroad.core.exchange.query.prolog import FN, XS, Prolog, read_prolog
from postroad.core.exchange.query.scanner import NAME, Scanner
from postroad.core.exchange.query.syntax import (
    EMPTY,
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
    PathStart,
    Quantified,
    QueryPath,
    QueryStep,
    SequenceExpression,
    StepKind,
    Unknown,
    UnreadableQuery,
    WhereClause,
)

QUERY_CHARS = 20_000
DEEPEST = 40
_CALL = re.compile(r"[^\W\d][\w.:·-]*\s*\((?!:)")
_BRACED = re.compile(r"[^\W\d][\w.:·-]*(?:\s+[^\W\d][\w.:·-]*)?\s*\{")
_IF = re.compile(r"if\s*\((?!:)")
_NOT_CALLS = frozenset({"switch", "typeswitch", "function", "element", "attribute", "node", "comment", "item"})
_VALUE_OPERATORS = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_GENERAL_OPERATORS = ("<=", ">=", "!=", "=", "<", ">")
_ELSE_NOTHING = re.compile(r"(?<![\w.·-])else\s*\(\s*\)\s*\Z")
_ELSE = re.compile(r"(?<![\w.·-])else(?![\w.·-])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    body: Expression
    headers: frozenset[str]  # the variables from outside that it looks at


def read_query(text: str) -> Query:
    """Return the query's tree; raises ``UnreadableQuery`` if it goes beyond the supported subset."""
    if len(text) > QUERY_CHARS:
        raise UnreadableQuery(f"the query is longer than {QUERY_CHARS} characters", 0)
    scanner = Scanner(text)
    reader = _Reader(scanner, read_prolog(scanner))
    body = reader.expression()
    if not scanner.ended:
        raise scanner.unreadable("something follows that needs the engine")
    return Query(body=body, headers=frozenset(reader.headers))


class _Reader:
    def __init__(self, scanner: Scanner, prolog: Prolog) -> None:
        self._scanner = scanner
        self._prolog = prolog
        self._bound: list[str] = []
        self._depth = 0  # of brackets
        self._nested = 0  # of anything
        self.headers: set[str] = set()

    def expression(self) -> Expression:
        items = [self._single()]
        while self._scanner.take(","):
            items.append(self._single())
        return items[0] if len(items) == 1 else SequenceExpression(items=tuple(items))

    def _inner(self) -> Expression:
        """An expression inside of brackets."""
        self._depth += 1
        found = self.expression()
        self._depth -= 1
        return found

    def _single(self) -> Expression:
        self._go_deeper()
        found = self._clauses_or_operators()
        self._nested -= 1
        return found

    def _go_deeper(self) -> None:
        self._nested += 1
        if self._nested > DEEPEST:
            raise UnreadableQuery("the query is nested too deeply", self._scanner.at)

    def _clauses_or_operators(self) -> Expression:
        scanner = self._scanner
        for word in ("for", "let", "some", "every"):
            start = scanner.at
            if scanner.word(word):
                if scanner.take("$"):
                    return self._quantified(word == "every") if word in ("some", "every") else self._clause(word)
                scanner.at = start
        if scanner.looks_like(_IF):
            return self._conditional()
        return self._or()

    # clauses --------------------------------------------------------------------------------------------------------

    def _clause(self, word: str) -> Expression:
        """A for or let clause after its $, and all that follows it."""
        scanner = self._scanner
        name = self._variable_name()
        if word == "for" and not scanner.word("in"):
            raise scanner.unreadable("this kind of for needs the engine")
        if word == "let":
            scanner.expect(":=")
        among = self._single()
        self._bound.append(name)
        result = self._after_clause(word)
        self._bound.pop()
        if word == "for":
            return ForClause(variable=name, among=among, result=result)
        return LetClause(variable=name, value=among, result=result)

    def _after_clause(self, word: str) -> Expression:
        self._go_deeper()
        found = self._next_clause(word)
        self._nested -= 1
        return found

    def _next_clause(self, word: str) -> Expression:
        scanner = self._scanner
        if scanner.take(","):
            scanner.expect("$")
            return self._clause(word)
        for following in ("for", "let"):
            if scanner.word(following):
                scanner.expect("$")
                return self._clause(following)
        if scanner.word("where"):
            condition = self._single()
            return WhereClause(condition=condition, result=self._after_clause(""))
        return self._to_the_end(self._result)

    def _result(self) -> Expression:
        if not self._scanner.word("return"):
            raise self._scanner.unreadable("this clause needs the engine")
        return self._single()

    def _to_the_end(self, read: Callable[[], Expression]) -> Expression:
        """What ``read`` makes of it, or Unknown if this is certainly the query's last part."""
        scanner, bound, depth, nested = self._scanner, len(self._bound), self._depth, self._nested
        start = scanner.at
        try:
            return read()
        except UnreadableQuery as fault:
            if depth or "," in scanner.text[start:]:
                raise
            del self._bound[bound:]
            self._depth, self._nested = 0, nested
            scanner.at = len(scanner.text)
            return Unknown(reason=fault.reason)

    def _quantified(self, every: bool) -> Expression:
        scanner = self._scanner
        name = self._variable_name()
        if not scanner.word("in"):
            raise scanner.unreadable("in is expected")
        among = self._single()
        self._bound.append(name)
        if scanner.take(","):
            scanner.expect("$")
            self._go_deeper()
            condition = self._quantified(every)
            self._nested -= 1
        elif scanner.word("satisfies"):
            condition = self._single()
        else:
            raise scanner.unreadable("satisfies is expected")
        self._bound.pop()
        return Quantified(every=every, variable=name, among=among, condition=condition)

    def _conditional(self) -> Expression:
        scanner = self._scanner
        scanner.match(_IF, "if")
        condition = self._inner()
        scanner.expect(")")
        if not scanner.word("then"):
            raise scanner.unreadable("then is expected")
        start, depth, bound, nested = scanner.at, self._depth, len(self._bound), self._nested
        try:
            then = self._single()
            if not scanner.word("else"):
                raise scanner.unreadable("else is expected")
        except UnreadableQuery as fault:
            rest = scanner.text[start:]
            if depth or len(_ELSE.findall(rest)) != 1 or not _ELSE_NOTHING.search(rest):
                raise
            del self._bound[bound:]
            self._depth, self._nested = 0, nested
            scanner.at = len(scanner.text)
            return If(condition=condition, then=Unknown(reason=fault.reason), otherwise=EMPTY)
        return If(condition=condition, then=then, otherwise=self._to_the_end(self._single))

    # operators ------------------------------------------------------------------------------------------------------

    def _or(self) -> Expression:
        parts = [self._and()]
        while self._scanner.word("or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Or(parts=tuple(parts))

    def _and(self) -> Expression:
        parts = [self._comparison()]
        while self._scanner.word("and"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else And(parts=tuple(parts))

    def _comparison(self) -> Expression:
        left = self._sum()
        scanner = self._scanner
        if scanner.text.startswith(("<<", ">>"), scanner.at):
            raise scanner.unreadable("comparing positions needs the engine")
        for operator in _GENERAL_OPERATORS:
            if scanner.take(operator):
                return ComparisonExpression(operator=operator, singles=False, left=left, right=self._sum())
        for word, operator in _VALUE_OPERATORS.items():
            if scanner.word(word):
                return ComparisonExpression(operator=operator, singles=True, left=left, right=self._sum())
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self._scanner.take("+") or self._scanner.take("-"):
            self._product()
            left = Unknown(reason="arithmetic needs the engine")
        return left

    def _product(self) -> Expression:
        left = self._signed()
        scanner = self._scanner
        while scanner.take("*") or any(scanner.word(word) for word in ("div", "idiv", "mod")):
            self._signed()
            left = Unknown(reason="arithmetic needs the engine")
        if scanner.text.startswith(("|", "!"), scanner.at) and not scanner.text.startswith("!=", scanner.at):
            raise scanner.unreadable("this operator needs the engine")
        return left

    def _signed(self) -> Expression:
        if not self._scanner.take("-"):
            return self._path()
        inner = self._path()
        if isinstance(inner, ConstantValue) and not isinstance(inner.value, (str, bool)):
            return ConstantValue(value=-inner.value)
        return Unknown(reason="arithmetic needs the engine")

    # paths ----------------------------------------------------------------------------------------------------------

    def _path(self) -> Expression:
        scanner = self._scanner
        if scanner.text.startswith("//", scanner.at):
            return QueryPath(start=PathStart.DOCUMENT, steps=self._steps())
        if scanner.text.startswith("/", scanner.at):
            ahead = Scanner(scanner.text[scanner.at + 1 :])
            if ahead.looks_like(STEP_BEGINS):
                return QueryPath(start=PathStart.DOCUMENT, steps=self._steps())
            scanner.take("/")
            return QueryPath(start=PathStart.DOCUMENT)
        primary = self._primary()
        if primary is None:
            first = self._step(descends=False)
            looked_up = self._postfixes() if first.kind is StepKind.SELF else ()
            return QueryPath(start=PathStart.CONTEXT, steps=(first, *looked_up, *self._steps()))
        steps = (*self._postfixes(), *self._steps())
        if not steps:
            return primary
        if not isinstance(primary, QueryPath):
            return Unknown(reason="a path that does not start at a node of the message needs the engine")
        return QueryPath(start=primary.start, steps=primary.steps + steps)

    def _postfixes(self) -> tuple[QueryStep, ...]:
        """Predicates and lookups behind something, in any order."""
        steps: list[QueryStep] = []
        while True:
            if predicates := self._predicates():
                steps.append(QueryStep(kind=StepKind.SELF, predicates=predicates))
            elif self._scanner.take("?"):
                steps.append(read_lookup(self._scanner))
            else:
                return tuple(steps)

    def _steps(self) -> tuple[QueryStep, ...]:
        steps: list[QueryStep] = []
        scanner = self._scanner
        while scanner.text.startswith("/", scanner.at):
            descends = scanner.take("//") or not scanner.take("/")
            steps.append(self._step(descends=descends))
        return tuple(steps)

    def _step(self, *, descends: bool) -> QueryStep:
        step = read_step(self._scanner, self._prolog, descends=descends)
        return QueryStep(kind=step.kind, descends=step.descends, name=step.name, predicates=self._predicates())

    def _predicates(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while self._scanner.take("["):
            found.append(self._inner())
            self._scanner.expect("]")
        return tuple(found)

    def _primary(self) -> Expression | None:
        """A literal, variable, call, bracket or lookup; None where a step begins."""
        scanner = self._scanner
        text = scanner.string()
        if text is not None:
            return ConstantValue(value=text)
        number = scanner.number()
        if number is not None:
            return ConstantValue(value=number)
        if scanner.take("$"):
            return self._variable()
        if scanner.take("("):
            return self._bracket()
        if scanner.take("?"):
            return QueryPath(start=PathStart.CONTEXT, steps=(read_lookup(scanner),))
        if scanner.looks_like(_BRACED) or not scanner.looks_like(STEP_BEGINS):
            raise scanner.unreadable("what begins here needs the engine")
        return self._call() if scanner.looks_like(_CALL) and not scanner.text.startswith("text", scanner.at) else None

    def _bracket(self) -> Expression:
        if self._scanner.take(")"):
            return EMPTY
        inner = self._inner()
        self._scanner.expect(")")
        return inner

    def _variable_name(self) -> str:
        return self._scanner.match(NAME, "a name").group()

    def _variable(self) -> Expression:
        name = self._variable_name()
        if self._scanner.text.startswith("(", self._scanner.at):
            raise self._scanner.unreadable("calling variables needs the engine")
        if name in self._bound:
            return QueryPath(start=name)
        if name == "msg":
            return QueryPath(start=PathStart.DOCUMENT)
        if ":" in name:
            raise self._scanner.unreadable(f"${name} is not a header field")
        self.headers.add(name)
        return HeaderVariable(name=name, declared=self._prolog.variables.get(name, ""))

    def _call(self) -> Expression:
        scanner = self._scanner
        found = scanner.match(NAME, "a function")
        function = self._function_name(found)
        scanner.expect("(")
        arguments: list[Expression] = []
        self._depth += 1
        while not scanner.take(")"):
            if arguments:
                scanner.expect(",")
            arguments.append(self._single())
        self._depth -= 1
        return CallExpression(function=function, arguments=tuple(arguments))

    def _function_name(self, found: re.Match[str]) -> str:
        prefix, local = found["prefix"], found["local"]
        space = FN if prefix is None else self._prolog.namespaces.get(prefix)
        if space is None or (prefix is None and local in _NOT_CALLS):
            raise self._scanner.unreadable(f"{found.group()}() needs the engine")
        return str(local) if space == FN else f"xs:{local}" if space == XS else f"{{{space}}}{local}"
