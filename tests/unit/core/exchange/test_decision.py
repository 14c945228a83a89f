"""What is decided about queries: shared, prefiltered by what, or always evaluated."""

from __future__ import annotations

import pytest

from postroad.core.exchange.compile.analysis import EvaluationMode, decide

SHARED = [
    ("/a/b = 5", "/a/b = 5"),
    ("/a/b = 'x'", "/a/b = 'x'"),
    ("5 < /a/b", "/a/b > 5"),
    ("/a/b eq 'x'", "one text of /a/b = 'x'"),
    ("/a/b = ('x', 'y')", "(/a/b = 'x' or /a/b = 'y')"),
    ("not(/a/b = 'x' and $k = 1)", "(not(/a/b = 'x') or not($k = 1))"),
    ("not(/a)", "not(exists(/a))"),
    ("empty(/a)", "not(exists(/a))"),
    ("contains(/a/b, 'x')", "one text or none of /a/b contains 'x'"),
    ("matches(/a/b, '^X[0-9]+$')", "one text or none of /a/b matches '^X[0-9]+$'"),
    ("count(//i) > 3", "count of //i > 3"),
    ("xs:decimal(/a/b) >= 2.50", "one decimal of /a/b >= 2.50"),
    ("if (/a = 'x') then $msg else ()", "/a = 'x'"),
    ("if (/a = 'x') then () else $msg", "not(/a = 'x')"),
    ("if (/a = 'x') then true() else false()", "/a = 'x'"),
    ("for $m in $msg where $m/a = 'x' return $m", "/a = 'x'"),
    ("$msg[a/b = 'c']", "/a/b = 'c'"),
    ("$msg[$region = 'EU']", "$region = 'EU'"),
    ("let $o := /o return $o/a = 1 and not($o/b)", "(/o/a = 1 and not(exists(/o/b)))"),
    ("let $limit := 5 return $limit < /a", "/a > 5"),
    ("/o[@k = 'x' and not(z)]/t > 5", "(/o/@k = 'x' and not(exists(/o/z)) and /o/t > 5)"),
    ("exists(//i[@p = '1' or @q = '2'])", "(//i/@p = '1' or //i/@q = '2')"),
    ("exists(//i[contains(., 'x')])", "//i contains 'x'"),
    ("exists(//i[$k = 'x'])", "($k = 'x' and exists(//i))"),
    ("some $x in //i satisfies $x/@q > 5", "//i/@q > 5"),
    ("some $x in //i satisfies $x/@q = 'a' or $k = 'b'", "((//i/@q = 'a' or $k = 'b') and exists(//i))"),
    ("every $x in //q satisfies $x > 5", "not(//q not > 5)"),
    ("every $x in /o satisfies $x/a = 'x'", "(not(exists(/o)) or (exists(/o) and /o/a = 'x'))"),
    ("declare variable $ok as xs:boolean external; $ok", "item's truth of $ok = true()"),
    ("true()", "true"),
    ("()", "false"),
]

PREFILTERED = [
    ("some $x in //i satisfies $x/@q > 5 and $x/@z", "(//i/@q > 5 and exists(//i/@z))"),
    ("every $x in //i satisfies $x/@q > 5", "(not(exists(//i)) or //i/@q > 5)"),
    ("/a/b[1] = 'x'", "/a/b = 'x'"),
    ("/a/b[last()] = 'x'", "/a/b = 'x'"),
    ("//i[@p = '1']/q > 5", "(//i/@p = '1' and //i/q > 5)"),
    ("//i[not(@p)]/q > 5", "//i/q > 5"),
    ("//i[contains(n, 'x')] = 'y'", "(//i/n contains 'x' and //i = 'y')"),
    ("/a = /b", "(exists(/b) and exists(/a))"),
    ("(/a/b = 1 or f(3)) and /c = 5", "/c = 5"),
    ("/a/b", "exists(/a/b)"),
    ("if (/a/b = 'x') then <y>{ $msg/a, 1 }</y> else ()", "/a/b = 'x'"),
    ("for $i in //i where $i/q > 5 order by $i/q return <r>{ $i }</r>", "//i/q > 5"),
    ("if (/a = 1) then $msg else if (/b = 1) then <x/> else <y/>", "(/a = 1 or not(/a = 1))"),
    ("for $i in /o/i return $i/q", "exists(/o/i)"),
    ("for $i in /o/i where $i/@a = 'x' return $msg", "/o/i/@a = 'x'"),
]

ALWAYS = [
    "<x/>",
    "doc('x')",
    "/a + 1 > 5",
    "/a = 1 or f(/b)",
    "not(/a/b[1] = 'x')",
    "not(some $x in //i satisfies not($x/@a))",
    "count(//i[@p = '1']) = 0",
    "contains(//i[@p]/n, '')",
    "/a eq 5",
    "matches(/a, '\\p{Lu}')",
    "if (/a) then <b/> else <c/>",
    "/a = 'x', <y/>",
    "for $i in /a return <b/>, <c/>",
    "$anything",
    "declare variable $d as xs:date external; $d = 'x'",
    "declare variable $x external := 5; /a = 'x'",
    "/a = 'x' ! true()",
]


@pytest.mark.req("X5")
@pytest.mark.parametrize(("query", "condition"), SHARED)
def test_shared(query: str, condition: str) -> None:
    decision = decide(query)
    assert (decision.standing, decision.necessary, decision.reason) == (EvaluationMode.SHARED, condition, "")


@pytest.mark.req("X5")
@pytest.mark.parametrize(("query", "condition"), PREFILTERED)
def test_prefiltered(query: str, condition: str) -> None:
    decision = decide(query)
    assert (decision.standing, decision.necessary) == (EvaluationMode.PREFILTERED, condition)
    assert decision.reason


@pytest.mark.parametrize("query", ALWAYS)
def test_always_evaluated(query: str) -> None:
    decision = decide(query)
    assert decision.standing is EvaluationMode.ALWAYS
    assert decision.reason


def test_a_list_of_many_values_stays_shared() -> None:
    values = ", ".join(f"'v{number}'" for number in range(300))
    decision = decide(f"/a/b = ({values})")
    assert decision.standing is EvaluationMode.SHARED
    assert len(decision.normal.conjunctions) == 300


def test_a_condition_too_wide_to_write_out_keeps_what_fits() -> None:
    choices = " and ".join(f"(/a/x{number} = '1' or /a/y{number} = '2')" for number in range(12))
    decision = decide(f"/a/z = 'z' and {choices}")
    assert decision.standing is EvaluationMode.PREFILTERED
    assert 1 < len(decision.normal.conjunctions) <= 64
    assert all(any(str(literal) == "/a/z = 'z'" for literal in one) for one in decision.normal.conjunctions)
    assert "too large to expand" in decision.reason


def test_what_contradicts_itself_never_holds() -> None:
    decision = decide("/a = 'x' and not(/a = 'x')")
    assert (decision.standing, decision.normal.conjunctions) == (EvaluationMode.SHARED, ())
