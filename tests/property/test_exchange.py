"""Whatever the bindings and the message, the matcher answers as a naive evaluation of each query does, or may."""

from __future__ import annotations

import itertools
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.codecs.xml import parse
from postroad.core.exchange.compile.analysis import EvaluationMode
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.core.exchange.query.parser import read_query
from tests.property.exchange_naive import permitted

VALUES = [
    "",
    "5",
    "5.0",
    "05",
    " 5 ",
    "abc",
    "ab",
    "1e1",
    "10",
    "-3",
    "+5",
    "INF",
    "NaN",
    "b",
    "7.25",
    "é",
    "a b",
    "true",
    "0",
]
PROLOG = "declare namespace p = 'urn:p'; declare variable $h3 as xs:string external; "
names = st.sampled_from(["a", "b", "c"])
values = st.sampled_from(VALUES)
attributes = st.dictionaries(st.sampled_from(["x", "y", "p:x"]), values, max_size=2)
between = st.sampled_from(["", "", "", "5", "ab", "<!--5-->", "<?i 5?>", "<![CDATA[5]]>", "&#53;"])


def element(name: str, prefixed: bool, given_attributes: dict[str, str], inner: list[str]) -> str:
    tag = f"p:{name}" if prefixed else name
    written = "".join(f' {key}="{value}"' for key, value in given_attributes.items())
    return f"<{tag}{written}>{''.join(inner)}</{tag}>"


leaves = st.builds(element, names, st.just(False), attributes, st.lists(values, max_size=1))
elements = st.recursive(
    leaves,
    lambda inner: st.builds(
        element, names, st.sampled_from([False, False, True]), attributes, st.lists(inner | between, max_size=4)
    ),
    max_leaves=12,
)  # fmt: skip
documents = elements.map(lambda text: f'<a xmlns:p="urn:p" x="5">{text}</a>'.encode())

steps = st.sampled_from(["/a", "/b", "/c", "//a", "//b", "/*", "//*", "/p:a", "/p:*", "/*:b", "//p:b"])
ends = st.sampled_from(["", "", "", "/@x", "/@y", "/@p:x", "//@x", "/@*", "/text()", "//text()"])
signs = st.sampled_from(["=", "=", "=", "!=", "<", "<=", ">", ">="])
words = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
strings = st.sampled_from([*(f"'{value}'" for value in VALUES), "''"])
numbers = st.sampled_from(["5", "10", "-3", "7.25", "0", "5.0", "1e1"])
constants = strings | numbers | st.sampled_from(["true()", "('5', 'ab')"])
text_tests = st.sampled_from(["contains", "starts-with", "ends-with"])
casts = st.sampled_from(["xs:decimal", "xs:integer", "xs:double", "number", "count", "string-length"])


def joined(*parts: str) -> str:
    return " ".join(parts)


def predicates(relative: str) -> st.SearchStrategy[str]:
    one = st.builds(joined, st.just(relative), signs, constants) | st.just(relative)
    tested = st.builds(lambda test, value: f"{test}({relative}, {value})", text_tests, strings)
    return one | tested | st.builds("not({})".format, one) | st.builds("{} and {}".format, one, tested)


inner_predicates = st.sampled_from(["@x", "@y", ".", "b", "*/@x", "text()"]).flatmap(predicates) | st.just("1")
plain_paths = st.builds("$msg{}{}{}".format, steps, steps, ends) | st.builds("{}{}".format, steps, ends)
filtered_paths = st.builds("{}{}[{}]{}".format, st.sampled_from(["", "/a", "//b"]), steps, inner_predicates, ends)
paths = plain_paths | plain_paths | filtered_paths
quantified = st.builds(
    "({} $v in {} satisfies {})".format,
    st.sampled_from(["some", "every"]),
    paths.filter(lambda path: "@" not in path and "text" not in path),
    st.sampled_from(["$v", "$v/@x", "$v/b", "$v//@y"]).flatmap(predicates),
)
header_tests = st.sampled_from(
    ["$h1 = 'p'", "$h1 != 'p'", "$h2 > 2", "$h2 = 5", "$h2 le 2.5", "$h2 = 5e0", "$h3 = 'p'", "contains($h1, 'p')",
     "exists($h1)", "boolean($h2)", "$h1 = 5", "$h4 = true()", "starts-with($h2, 'p')"]
)  # fmt: skip
atoms = (
    st.builds(joined, paths, signs, constants)
    | st.builds(joined, constants, signs, paths)
    | st.builds(joined, paths, words, strings)
    | st.builds("{}({}, {})".format, text_tests, paths, strings)
    | st.builds("{}({}) {} {}".format, casts, paths, signs, numbers)
    | st.builds("string({}) {} {}".format, paths, signs, strings)
    | st.builds("{}({})".format, st.sampled_from(["exists", "empty", "boolean", "not"]), paths)
    | st.builds("matches({}, {})".format, paths, st.sampled_from(["'^[0-9]+$'", "'a.'", "'(5|b)$'"]))
    | quantified
    | header_tests
)
conditions = st.recursive(
    atoms,
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("not({})".format, inner)
    ),
    max_leaves=4,
)
queries = (
    conditions
    | st.builds("if ({}) then $msg else ()".format, conditions)
    | st.builds("if ({}) then {} else {}".format, conditions, conditions, conditions)
    | st.builds("for $m in $msg where {} return $m".format, conditions)
    | st.builds("$msg[{}]".format, conditions)
    | st.builds("let $v := {} return $v {} {}".format, paths, signs, constants)
    | st.builds("for $v in {} where {} return $v".format, paths, conditions)
    | paths
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "h1": st.sampled_from(["p", "q", 5]),
        "h2": st.sampled_from([1, 5, 3, 2.5, 5.0, 0]),
        "h3": st.sampled_from(["p", 1]),
        "h4": st.booleans(),
    },
)


def incoming(document: bytes, given_headers: dict[str, Any]) -> MatchableMessage:
    return MatchableMessage(headers=given_headers, content=document, root=partial(parse, document))


@pytest.mark.req("X5")
@settings(max_examples=400, deadline=None)
@given(bound=st.lists(queries, min_size=1, max_size=12), document=documents, given_headers=headers)
def test_a_matcher_answers_as_each_query_alone(
    bound: list[str], document: bytes, given_headers: dict[str, Any]
) -> None:
    matcher = Matcher()
    for key, query in enumerate(bound):
        matcher.bind(key, PROLOG + query)
    matches = matcher.match(incoming(document, given_headers))
    assert not matches.decided & matches.candidates
    for key, query in enumerate(bound):
        outcomes = permitted(document, read_query(PROLOG + query).body, given_headers)
        said = (query, document, given_headers, str(matcher.explain(key)), outcomes)
        if key in matches.decided:
            assert "T" in outcomes, said
        elif key not in matches.candidates:
            assert outcomes != {"T"}, said


WRITTEN = re.compile(r"'[^']*'|(?<![\w.:-])[0-9]+(?:\.[0-9]+)?(?![\w.])")


def with_other_constants(query: str, others: list[str]) -> str:
    """The same query with other texts for its texts, and other numbers for its numbers."""
    texts, figures = itertools.cycle(others), itertools.cycle(["5", "10", "3", "7.25", "0"])
    return WRITTEN.sub(lambda found: f"'{next(texts)}'" if found.group()[0] == "'" else next(figures), query)


@pytest.mark.req("X5")
@settings(max_examples=100, deadline=None)
@given(
    query=queries,
    others=st.lists(st.lists(values, min_size=1, max_size=4), min_size=1, max_size=6),
    document=documents,
    given_headers=headers,
    routing_key=st.sampled_from([None, "t"]),
)
def test_queries_that_differ_only_in_constants_are_not_taken_for_each_other(
    query: str, others: list[list[str]], document: bytes, given_headers: dict[str, Any], routing_key: str | None
) -> None:
    bound = [query, *(with_other_constants(query, constants) for constants in others), query]
    matcher = Matcher()
    for key, one in enumerate(bound):
        matcher.bind(key, PROLOG + one, routing_key=routing_key)
    message = incoming(document, {**given_headers, "routing_key": "t"})
    matches = matcher.match(message)
    for key, one in enumerate(bound):
        alone = Matcher()
        alone.bind(key, f"(: alone :) {PROLOG}{one}", routing_key=routing_key)  # a comment ahead: it is read itself
        expected = alone.match(message)
        assert matcher.standing(key) is alone.standing(key)
        assert (key in matches.decided, key in matches.candidates) == (
            bool(expected.decided),
            bool(expected.candidates),
        )
    for key in range(len(bound)):
        matcher.unbind(key)
    assert matcher.is_empty


@pytest.mark.req("X6")
@settings(max_examples=150, deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, 5), queries), min_size=1, max_size=25),
    document=documents,
    given_headers=headers,
)
def test_after_binding_and_unbinding_it_is_as_if_bound_anew(
    changes: list[tuple[int, str]], document: bytes, given_headers: dict[str, Any]
) -> None:
    matcher = Matcher()
    standing: dict[int, str] = {}
    for key, query in changes:
        if key in standing:
            matcher.unbind(key)
            del standing[key]
        else:
            matcher.bind(key, PROLOG + query)
            standing[key] = query
    again = Matcher()
    for key, query in standing.items():
        again.bind(key, PROLOG + query)
    message = incoming(document, given_headers)
    assert matcher.match(message) == again.match(message)
    for key in standing:
        matcher.unbind(key)
    assert matcher.is_empty


TOKENS = [
    "/", "//", "a", "@x", "=", "!=", "<", "'x'", "5", "5.", "1e999", "and", "or", "not(", "(", ")", "[", "]", "$msg", "$h",
    "some $v in", "every $v in", "satisfies", "for $v in", "let $v :=", "where", "return", "if (", "then", "else", "()", ",",
    "text()", ".", "..", "*", "p:", "::", "{", "}", "<a>", "</a>", "(:", ":)", "&", "contains(", "count(", "xs:decimal(", "-",
    "|", "declare", "namespace", "external", ";", "$v", "true()", "eq", "'", '"', "\x00", "é", "&#x110000;",
]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(text=st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join) | st.text(max_size=40))
def test_deciding_about_any_text_never_fails(text: str) -> None:
    matcher = Matcher()
    binding = matcher.bind("k", text)
    assert (binding.standing is EvaluationMode.SHARED) is not bool(matcher.explain("k").reason)
    matcher.unbind("k")
    assert matcher.is_empty
