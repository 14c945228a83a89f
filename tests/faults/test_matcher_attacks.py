"""Queries and documents made to hurt: binding and matching take little time and memory, and no other binding notices.

The matcher runs where everybody's messages pass, so what counts is how long one call takes. The times are generous, for machines
that are busy; what they keep out takes minutes, or never ends.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest

from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.extraction import MAX_TEXT_CHARS
from postroad.core.exchange.match.json_documents import read_json
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher, MatchResult

GOOD, GOOD_QUERY = "good", "/r/good = 'yes'"
BIND_S, MATCH_S = 4.0, 4.0
MEMORY_BYTES = 64 * 1024 * 1024
LONG = 19_000  # near the most that is read of a query

Made = Callable[[], bytes]


def incoming(document: bytes, *, is_json: bool) -> MatchableMessage:
    json = partial(read_json, document) if is_json else None
    return MatchableMessage(headers={}, content=document, root=partial(parse, document), json=json)


def xor(depth: int) -> str:
    """Twice as long with every level."""
    query = "/r/a0 = 1"
    for level in range(1, depth):
        query = f"((({query}) and not(/r/a{level} = 1)) or (not({query}) and /r/a{level} = 1))"
    return query


def ands_of_ors() -> str:
    """As many literals as fit, then choices that could be multiplied out, again and again."""
    parts = [f"not(/a{number}=1)" for number in range(100)] + [f"(/b{number}=1 or /c{number}=1)" for number in range(6)]
    parts += ["(" + " or ".join(f"/d{number}{letter}=1" for letter in "abcdefg") + ")" for number in range(200)]
    return " and ".join(parts)


QUERIES = {
    "ands of ors": ands_of_ors(),
    "not of ors of ands": "not(" + " or ".join(f"(/r/a{n} = 1 and /r/b{n} = 2)" for n in range(500)) + ")",
    "xor": xor(9),
    "a condition that names itself": "let $v0 := (/r/a = 1 or /r/b = 2) "
    + "".join(f"let $v{n} := ($v{n - 1} and not($v{n - 1}) or $v{n - 1}) " for n in range(1, 300))
    + "return $v299",
    "a path that names itself": "let $v0 := /r "
    + "".join(f"let $v{n} := $v{n - 1}/a[$v{n - 1}/b][$v{n - 1}/c] " for n in range(1, 30))
    + "return exists($v29)",
    "10,000 parentheses": "(" * 10_000 + "/r" + ")" * 10_000,
    "parentheses that are read": "(" * 9_000 + "/r" + ")" * 9_000,
    "parentheses never closed": "(" * LONG,
    "nested negations": "not(" * 3_500 + "/r" + ")" * 3_500,
    "nested predicates": "/r" + "[a" * 6_000 + "]" * 6_000,
    "nested choices": "if (/r) then " * 700 + "true()" + " else false()" * 700,
    "nested loops": "some $v0 in /r/a satisfies "
    + "".join(f"some $v{n} in $v{n - 1}/a satisfies " for n in range(1, 450))
    + "$v449 = 1",
    "many steps": "/r" + "/a" * 9_000,
    "many searches": "/r" + "//a" * 6_000,
    "many values": "/r/a = (" + ",".join(map(str, range(3_500))) + ")",
    "many choices": " or ".join(f"/r/a = {n}" for n in range(1_300)),
    "a long text": f"/r/a = '{'x' * LONG}'",
    "a longer text": f"/r/a = '{'x' * 1_000_000}'",
    "many quotes": "/r = '" + "''" * 9_000 + "'",
    "many references": "/r = '" + "&#x41;" * 3_000 + "'",
    "a long number": "/r/a = " + "9" * LONG,
    "a large exponent": "/r/a = 1e999999999",
    "a long exponent": "/r/a = 1e" + "9" * LONG,
    "a small number": "/r/a = 0." + "0" * LONG + "1",
    "nested comments": "(:" * 9_000 + ":)" * 9_000 + "/r",
    "many namespaces": "".join(f"declare namespace p{n} = 'urn:{n}'; " for n in range(500)) + "/p0:a = 1",
    "a pattern of repetitions": "matches(/r/a, '((a{1,100}){1,100}){1,100}')",
    "a pattern of choices": f"matches(/r/a, '{'|'.join('a' * n for n in range(1, 180))}')",
    "a nested pattern": f"matches(/r/a, '{'(' * 9_000}a{')' * 9_000}')",
    "a pattern of stars": f"matches(/r/a, '{'(a*)*' * 3_000}')",
    "a pattern of many letters": f"matches(/r/a, '[{''.join(chr(0x4E00 + 2 * n) for n in range(9_000))}]{{200}}')",
}


@pytest.mark.req("X5", "Z2")
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_no_query_takes_long_to_bind_or_touches_another_binding(query: str) -> None:
    matcher = Matcher()
    matcher.bind(GOOD, GOOD_QUERY)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        matcher.bind("bad", query)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most - before < MEMORY_BYTES
    began = time.process_time()
    matcher.bind("again", query + " ")
    assert time.process_time() - began < BIND_S
    assert GOOD in matched(matcher, b"<r><good>yes</good><a>aaaa</a></r>").decided
    matcher.unbind("bad")
    matcher.unbind("again")
    assert matched(matcher, b"<r><good>yes</good></r>") == MatchResult(decided=frozenset({GOOD}))
    matcher.unbind(GOOD)
    assert matcher.is_empty


def matched(matcher: Matcher, document: bytes, *, is_json: bool = False) -> MatchResult:
    """What a matcher says, in good time."""
    began = time.process_time()
    matches = matcher.match(incoming(document, is_json=is_json))
    assert time.process_time() - began < MATCH_S
    return matches


def inside(text: bytes) -> bytes:
    return b"<r><good>yes</good>" + text + b"</r>"


def random_elements(count: int, seed: int, depth: int = 200) -> bytes:
    chance = random.Random(seed)
    written: list[str] = []
    opened: list[str] = []
    for _ in range(count):
        if opened and (len(opened) >= depth or chance.random() < 0.45):
            written.append(f"</{opened.pop()}>")
        else:
            opened.append(chance.choice("ab"))
            written.append(f"<{opened[-1]}>")
    return "".join([*written, *(f"</{name}>" for name in reversed(opened))]).encode()


DOCUMENTS: dict[str, tuple[list[str], Made]] = {
    "deep, and searched at all depths": (["//a//a//a//a = 'y'", "//a" * 8], lambda: b"<a>" * 230 + b"</a>" * 230),
    "texts that are parts of each other": (
        ["//a//a//a//a = 'y'", "//a = 'x'", "//* = 'y'"],
        lambda: b"<a>" * 200 + b"<b>x</b>" * 20_000 + b"</a>" * 200,
    ),
    "any element between, again and again": (
        [f"//a{'/*' * number}/b = 'x'" for number in range(1, 40)],
        lambda: random_elements(30_000, seed=1),
    ),
    "names never seen before": (
        ["//x//y = 'y'", "/r/*/b = 1", *(f"//x/*:k{number} = 1" for number in range(500))],
        lambda: b"".join(b"<n%d/>" % number for number in range(30_000)),
    ),
    "many attributes for many wildcards": (
        [f"//x/@*:k{number} = 1" for number in range(1_000)],
        lambda: b"<x a='1' b='2'/>" * 10_000,
    ),
    "many values unlike many": (
        [f"every $x in /r/x satisfies $x != 'v{number}'" for number in range(500)] + ["not(/r/x != 'w')"],
        lambda: b"<x>w</x>" * 20_000,
    ),
    "a million letters and backtracking": (
        [f"matches(/r/x, '(a+)+{number}$')" for number in range(20)],
        lambda: b"<x>" + b"a" * 1_000_000 + b"</x>",
    ),
    "a million letters and many searches": (
        [f"contains(/r/x, 'needle{number}')" for number in range(300)],
        lambda: b"<x>" + b"ab" * 500_000 + b"</x>",
    ),
    "many values and many searches": (
        [f"some $x in /r/x satisfies contains($x, 'n{number}')" for number in range(500)],
        lambda: b"<x>abcabc</x>" * 20_000,
    ),
    "many values and many comparisons": (
        [f"/r/x = 'v{number}'" for number in range(500)] + [f"/r/x > {number}" for number in range(500)],
        lambda: b"".join(b"<x>%d</x>" % number for number in range(50_000)),
    ),
    "many values compared with many": (
        ["/r/x = /r/y"],
        lambda: b"".join(b"<x>%d</x><y>z%d</y>" % (number, number) for number in range(20_000)),
    ),
    "a number without end": (
        ["/r/x > 5", "xs:decimal(/r/x) > 5", "number(/r/x) > 5", "xs:integer(/r/x) > 5"],
        lambda: b"<x>" + b"9" * 1_000_000 + b"</x>",
    ),
    "an exponent without end": (["/r/x > 5", "number(/r/x) > 5"], lambda: b"<x>1e" + b"9" * 1_000_000 + b"</x>"),
    "nothing but spaces": (["/r/x > 5", "xs:integer(/r/x) > 5"], lambda: b"<x>" + b" " * 1_000_000 + b"</x>"),
    "many attributes": (
        ["/r/x/@a1 = 'x'", "//@* = 'x'"],
        lambda: b"<x " + b" ".join(b"a%d='v'" % number for number in range(200)) + b"/>",
    ),
    "many namespaces": (
        ["declare namespace p='urn:1'; //p:x = 'x'", "//*:x = 'x'"],
        lambda: b"".join(b"<p%d:x xmlns:p%d='urn:%d'>v</p%d:x>" % ((number,) * 4) for number in range(5_000)),
    ),
    "many positions": (["/r/x[20000] = 'x'", "//x[last()] = 'x'"], lambda: b"<x>1</x>" * 30_000),
}


@pytest.mark.req("X5", "Z2")
@pytest.mark.parametrize(("queries", "made"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_no_document_takes_long_to_match_or_keeps_another_binding_from_its_message(
    queries: list[str], made: Made
) -> None:
    matcher = Matcher()
    matcher.bind(GOOD, GOOD_QUERY)
    for number, query in enumerate(queries):
        matcher.bind(number, query)
    assert GOOD in matched(matcher, inside(made())).decided


JSON_DOCUMENTS: dict[str, tuple[list[str], str]] = {
    "every member of every member": (
        [f"$msg?x{'?*' * n} = 'q'" for n in range(1, 8)],
        str([[[[7] * 20] * 20] * 20] * 20),
    ),
    "many members and many searches": (
        [f"some $v in $msg?x?* satisfies contains($v, 'n{number}')" for number in range(300)],
        "[" + '"abcabc",' * 20_000 + '"d"]',
    ),
    "a number without end": (["$msg?x > 5"], "9" * 1_000_000),
    "an exponent without end": (["$msg?x > 5"], "1e" + "9" * 100_000),
    "one name again and again": (["$msg?x?a = 1"], "{" + '"a":1,' * 50_000 + '"a":2}'),
    "half a character": (["$msg?x = 'a'", "contains($msg?x, 'a')"], '"\\ud800"'),
    "as deep as is read": (["$msg?x?a?a?a = 1"], '{"a":' * 150 + "1" + "}" * 150),
}


@pytest.mark.req("X5", "X10", "Z2")
@pytest.mark.parametrize(("queries", "text"), JSON_DOCUMENTS.values(), ids=JSON_DOCUMENTS.keys())
def test_no_json_takes_long_to_match_or_keeps_another_binding_from_its_message(queries: list[str], text: str) -> None:
    matcher = Matcher()
    matcher.bind(GOOD, "$msg?good = 'yes'")
    for number, query in enumerate(queries):
        matcher.bind(number, query)
    assert GOOD in matched(matcher, f'{{"good":"yes","x":{text}}}'.encode(), is_json=True).decided


@pytest.mark.req("X5", "X10", "Z2")
@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, "[" * 100_000, "nan", "'x'"])
def test_json_that_is_not_read_reaches_those_that_do_not_look_inside(text: str) -> None:
    matcher = Matcher()
    matcher.bind(GOOD, "$msg?good = 'yes'")
    matcher.bind("not", "not($msg?good = 'no')")
    matcher.bind("all")
    document = f'{{"good":"yes","x":{text}}}'.encode()
    matches = matched(matcher, document, is_json=True)
    assert matches.decided == {"all"}
    assert matches.candidates == frozenset()
    assert matches.failed == {GOOD, "not"}
    assert "JSON" in matches.fault


REFUSED = {
    "too deep": b"<a>" * 300 + b"</a>" * 300,
    "too many attributes": b"<x " + b" ".join(b"a%d='v'" % number for number in range(100_000)) + b"/>",
    "too many namespaces": b"<x "
    + b" ".join(b"xmlns:p%d='u:%d'" % (number, number) for number in range(20_000))
    + b"/>",
    "not closed": b"<x>",
    "an entity": b"&lol;",
}


@pytest.mark.req("X5", "X8", "Z2")
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_read_as_a_document_reaches_those_that_do_not_look_inside(text: bytes) -> None:
    matcher = Matcher()
    matcher.bind(GOOD, GOOD_QUERY)
    matcher.bind("not", "not(/r/good = 'yes')")
    matcher.bind("header", "empty($color)")
    matcher.bind("all")
    matches = matched(matcher, inside(text))
    assert matches.decided == {"header", "all"}
    assert matches.candidates == frozenset()
    assert matches.failed == {GOOD, "not"}
    assert "XML" in matches.fault


@pytest.mark.req("Z2")
def test_texts_that_are_parts_of_each_other_do_not_fill_the_memory() -> None:
    """Two hundred elements, each with the same four million letters in it."""
    matcher = Matcher()
    matcher.bind(GOOD, GOOD_QUERY)
    matcher.bind("searching", "//a = 'y'")
    matcher.bind("all")
    document = inside(b"<a>" * 200 + b"<b>" + b"x" * 4_000_000 + b"</b>" + b"</a>" * 200)
    tracemalloc.start()
    try:
        matches = matched(matcher, document)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2 * MAX_TEXT_CHARS
    assert matches.decided == {"all"}
    assert matches.candidates == frozenset()
    assert matches.failed == {GOOD, "searching"}
    assert "repeat too much text" in matches.fault


@pytest.mark.req("Z2")
def test_names_in_documents_are_not_remembered_for_ever() -> None:
    matcher = Matcher()
    matcher.bind(GOOD, "//x//y = 'y' or /r/*/b = 1")
    tracemalloc.start()
    try:
        matched(matcher, b"<r>" + b"".join(b"<a%d/>" % number for number in range(5_000)) + b"</r>")
        before, _ = tracemalloc.get_traced_memory()
        for letter in (b"b", b"c", b"d", b"e"):
            matched(matcher, b"<r>" + b"".join(b"<%s%d/>" % (letter, number) for number in range(5_000)) + b"</r>")
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 500_000


BOMB = b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><r><good>&b;</good></r>'


@pytest.mark.req("X5", "Z2")
def test_entities_are_never_expanded() -> None:
    matcher = Matcher()
    matcher.bind(GOOD, "exists(/r/good)")
    matcher.bind("all")
    matches = matched(matcher, BOMB)
    assert matches.decided == {"all"}
    assert matches.candidates == frozenset()
    assert matches.failed == {GOOD}
    assert "entities are not allowed" in matches.fault
