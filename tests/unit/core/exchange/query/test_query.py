"""Reading queries: what is understood, what it becomes, and where reading stops."""

from __future__ import annotations

from decimal import Decimal

import pytest

from postroad.core.exchange.query.parser import DEEPEST, QUERY_CHARS, read_query
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
    QualifiedName,
    Quantified,
    QueryPath,
    QueryStep,
    StepKind,
    Unknown,
    UnreadableQuery,
    WhereClause,
)

MESSAGE = QueryPath(start=PathStart.DOCUMENT)


def child(
    local: str, namespace: str | None = "", *, descends: bool = False, kind: StepKind = StepKind.ELEMENT
) -> QueryStep:
    return QueryStep(kind=kind, descends=descends, name=QualifiedName(namespace=namespace, local=local))


def absolute(*steps: QueryStep) -> QueryPath:
    return QueryPath(start=PathStart.DOCUMENT, steps=steps)


def equal(left: Expression, value: str | int | Decimal | float) -> ComparisonExpression:
    return ComparisonExpression(operator="=", singles=False, left=left, right=ConstantValue(value=value))


def body(text: str) -> Expression:
    return read_query(text).body


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("/a/b", (child("a"), child("b"))),
        ("$msg/a//b", (child("a"), child("b", descends=True))),
        ("//a/@x", (child("a", descends=True), child("x", kind=StepKind.ATTRIBUTE))),
        ("/child::a/attribute::x", (child("a"), child("x", kind=StepKind.ATTRIBUTE))),
        ("/a/descendant::b", (child("a"), child("b", descends=True))),
        ("/a/text()", (child("a"), QueryStep(kind=StepKind.TEXT))),
        ("/*:a", (QueryStep(kind=StepKind.ELEMENT, name=QualifiedName(namespace=None, local="a")),)),
        ("/*", (QueryStep(kind=StepKind.ELEMENT),)),
        ("(: a (: nested :) comment :) / a (: x :) / b", (child("a"), child("b"))),
        ("/for/let/some", (child("for"), child("let"), child("some"))),
        ("/a-b.c", (child("a-b.c"),)),
    ],
)
def test_paths(text: str, steps: tuple[QueryStep, ...]) -> None:
    assert body(text) == absolute(*steps)


def test_a_path_without_a_slash_begins_at_the_context() -> None:
    assert body("a/b") == QueryPath(start=PathStart.CONTEXT, steps=(child("a"), child("b")))
    assert body("./a") == QueryPath(start=PathStart.CONTEXT, steps=(QueryStep(kind=StepKind.SELF), child("a")))


def test_prefixes_mean_what_the_prolog_says() -> None:
    text = "declare namespace p = 'urn:p'; /p:a/p:*/@p:x"
    wild = QueryStep(kind=StepKind.ELEMENT, name=QualifiedName(namespace="urn:p", local=None))
    assert body(text) == absolute(child("a", "urn:p"), wild, child("x", "urn:p", kind=StepKind.ATTRIBUTE))


def test_the_default_namespace_is_that_of_elements_only() -> None:
    text = "declare default element namespace 'urn:d'; /a/@x"
    assert body(text) == absolute(child("a", "urn:d"), child("x", "", kind=StepKind.ATTRIBUTE))


def test_variables_from_outside_are_items_of_the_header() -> None:
    query = read_query("declare variable $region as xs:string external; $region = 'EU' and $routing-key = 'k'")
    left = equal(HeaderVariable(name="region", declared="xs:string"), "EU")
    assert query.body == And(parts=(left, equal(HeaderVariable(name="routing-key"), "k")))
    assert query.headers == {"region", "routing-key"}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("5", 5), ("5.50", Decimal("5.50")), ("1e2", 100.0), ("-5", -5), ("'it''s'", "it's"), ('"a""b"', 'a"b'),
        ("'&lt;&#65;&#x42;&amp;'", "<AB&"),
    ],
)  # fmt: skip
def test_literals(written: str, value: str | int | Decimal | float) -> None:
    assert body(f"/a = {written}") == equal(absolute(child("a")), value)


def test_and_binds_closer_than_or_and_comparisons_closer_than_both() -> None:
    a, b, c = (equal(absolute(child(name)), 1) for name in "abc")
    assert body("/a = 1 or /b = 1 and /c = 1") == Or(parts=(a, And(parts=(b, c))))
    assert body("(/a = 1 or /b = 1) and /c = 1") == And(parts=(Or(parts=(a, b)), c))


@pytest.mark.parametrize(
    ("word", "sign"), [("eq", "="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")]
)
def test_both_kinds_of_comparison(word: str, sign: str) -> None:
    one, some = body(f"/a {word} 1"), body(f"/a {sign} 1")
    assert isinstance(one, ComparisonExpression)
    assert isinstance(some, ComparisonExpression)
    assert (one.operator, one.singles, some.operator, some.singles) == (sign, True, sign, False)


def test_predicates_stand_at_their_step() -> None:
    tried = equal(QueryPath(start=PathStart.CONTEXT, steps=(child("x", kind=StepKind.ATTRIBUTE),)), "1")
    step = QueryStep(kind=StepKind.ELEMENT, name=QualifiedName(namespace="", local="a"), predicates=(tried,))
    assert body("/a[@x = '1']/b") == absolute(step, child("b"))
    assert body("$msg[@x = '1']") == absolute(QueryStep(kind=StepKind.SELF, predicates=(tried,)))


def test_clauses() -> None:
    condition = equal(QueryPath(start="m", steps=(child("a"),)), 1)
    loop = ForClause(variable="m", among=MESSAGE, result=WhereClause(condition=condition, result=QueryPath(start="m")))
    assert body("for $m in $msg where $m/a = 1 return $m") == loop
    assert body("let $m := $msg return $m/a = 1") == LetClause(variable="m", value=MESSAGE, result=condition)
    assert body("some $m in $msg satisfies $m/a = 1") == Quantified(
        every=False, variable="m", among=MESSAGE, condition=condition
    )
    assert body("if (/a) then $msg else ()") == If(condition=absolute(child("a")), then=MESSAGE, otherwise=EMPTY)


def test_functions_are_known_by_their_namespace() -> None:
    assert (
        body("fn:exists(/a)")
        == body("exists(/a)")
        == CallExpression(function="exists", arguments=(absolute(child("a")),))
    )
    assert body("declare namespace s = 'http://www.w3.org/2001/XMLSchema'; s:decimal(/a)") == body("xs:decimal(/a)")
    assert body("local:exists(/a)") != body("exists(/a)")


def test_what_is_constructed_last_is_unknown_and_the_rest_is_kept() -> None:
    made = body("if (/a) then <b>{ $msg/c, 'x' }</b> else ()")
    assert isinstance(made, If)
    assert (made.condition, made.otherwise) == (absolute(child("a")), EMPTY)
    assert isinstance(made.then, Unknown)
    found = body("for $i in //item where $i/q > 5 order by $i/q return <row>{$i/@sku}</row>")
    assert isinstance(found, ForClause)
    assert isinstance(found.result, WhereClause)
    assert isinstance(found.result.result, Unknown)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("/a/..", "/.."), ("/a/parent::b", "parent"), ("/a/string()", "string"), ("<a/>", "<a/>"), ("/a | /b", "| /b"),
        ("declare function local:f() { 1 }; local:f()", "function"), ("/q:a = 1", "= 1"), ("doc('x')/a, <b/>", "<b/>"),
        ("/a = 1 instance of xs:boolean", "instance"), ("$msg?(1 + 1) = 1", "1 + 1"),
        ("$msg?a:b", ":b"), ("/a << /b", "<< /b"), ("/a ! b", "! b"),
        ("declare variable $x := 5; $x = 5", ":= 5"), ("element a { 1 }", "element"), ("for $x at $i in /a return $x", "at"),
        ("for $i in //a return <b/>, <c/>", "<b/>"), ("if (/a) then <b/> else if (/c) then <d/> else <e/>", "<b/>"),
        ("if (/a) then <b>or else</b> else ()", "<b>"),
        ("/a = 'x&y;'", "'x&y;'"), ("(: /a", "(: /a"), ("", ""),
        ("/a = '&#99999999999;'", "'&#9"), (f"/a = {'9' * 5_000}", ""),
    ],
)  # fmt: skip
def test_beyond_what_is_understood_it_says_where(text: str, at: str) -> None:
    with pytest.raises(UnreadableQuery) as stopped:
        read_query(text)
    assert text[stopped.value.position :].lstrip("/").startswith(at.lstrip("/"))
    assert stopped.value.reason


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "/a" + ")" * 5_000,
        "not(" * 4_000 + "/a" + ")" * 4_000,
        "let $a := 1 " * 1_000 + "return $a",
        "/a" + "[b" * 5_000 + "]" * 5_000,
        "if (/a) then $msg else " * 800 + "()",
        "some $a in /a, " + "$a in /a, " * 1_000 + "$b in /b satisfies $b",
        "-" * 10_000 + "5 = /a",
        "x" * (QUERY_CHARS + 1),
    ],
    ids=["brackets", "calls", "clauses", "predicates", "choices", "quantifiers", "signs", "length"],
)
def test_a_query_that_is_nested_without_end_is_left_to_the_engine(text: str) -> None:
    try:
        read_query(text)
    except UnreadableQuery:
        return
    assert text.startswith("if"), "only the last part of a choice may remain unknown"


def test_as_deep_as_people_write_is_understood() -> None:
    deep = DEEPEST - 2
    assert body("(" * deep + "/a = 1" + ")" * deep) == body("/a = 1")
