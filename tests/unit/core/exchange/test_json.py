"""JSON documents through the same queries: what is looked up, missing, of the wrong sort; and queries of the other sort."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from postroad.core.codecs.xml import Tree
from postroad.core.exchange.compile.analysis import EvaluationMode
from postroad.core.exchange.match.json_documents import DEPTH, read_json
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.errors import Refused

ORDER = b"""{"id": "PO-7", "total": 1500.5, "rush": true, "note": null, "tags": ["new", "big"], "none": [], "odd": ["x", 5],
  "customer": {"name": "Ada", "vip": false}, "big name": "x", "deep": [["a"], ["b"]], "empty": "",
  "items": [{"sku": "A1", "qty": 3}, {"sku": "B2", "qty": 12, "tags": ["p", "q"]}, {"sku": "C3"}]}"""

YES = [
    "$msg?id = 'PO-7'", "?id = 'PO-7'", ".?id = 'PO-7'", "$msg?id eq 'PO-7'", "$msg?total = 1500.5", "$msg?total eq 1500.5",
    "$msg?total > 1500", "$msg?total < 1e4", "not($msg?total < 5)", "$msg?rush = true()", "$msg?rush eq true()",
    "$msg?rush and 1",
    "if ($msg?rush) then $msg else ()", "$msg?customer?name = 'Ada'", "not($msg?customer?vip)", "$msg?customer?vip = false()",
    "exists($msg?id)", "empty($msg?note)", "empty($msg?nothing)", "exists($msg?none)", "not($msg?nothing = 'x')",
    "$msg?tags = 'big'", "$msg?tags != 'big'", "$msg?tags?2 = 'big'", "$msg?tags?* = 'new'", "$msg?deep = 'b'",
    "$msg?items?*?sku = 'B2'", "?items?*?sku = 'C3'", "$msg?items?*?qty > 11", "$msg?items?1?sku = 'A1'",
    "count($msg?items?*) = 3",
    "count($msg?items) = 1", "count($msg?nothing) = 0", "contains($msg?customer?name, 'd')", "contains($msg?nothing, '')",
    "starts-with($msg?id, 'PO')", "matches($msg?id, '^PO-[0-9]$')", "$msg?('big name') = 'x'", "not($msg?empty)",
    "some $i in $msg?items?* satisfies $i?sku = 'B2'", "for $m in $msg where $m?id = 'PO-7' return $m", "$msg[?id = 'PO-7']",
    "let $t := $msg?total return $t > 5", "$msg?customer[?name = 'Ada']?vip = false()", "exists($msg?items?*[?sku = 'A1'])",
    "$msg?id = 'x' or $msg?total > 5", "exists($msg)", "true()", "$msg", "not($msg?note?deeper = 1)", "$msg?1 or $msg?rush",
    "every $i in $msg?items?* satisfies $i?sku > 'A'",
]  # fmt: skip

NO = [
    "$msg?id = 'po-7'", "$msg?ID", "$msg?note", "$msg?nothing = 1", "$msg?id = 5", "not($msg?id = 5)", "$msg?total = '1500.5'",
    "not($msg?total = 'x')", "$msg?tags eq 'big'", "not($msg?tags eq 'big')", "contains($msg?tags, 'b')",
    "contains($msg?total, '1')",
    "$msg?customer = 'Ada'", "not($msg?customer = 'Ada')", "not($msg?tags)", "not($msg?customer)", "$msg?id?deeper = 1",
    "not($msg?id?deeper = 1)", "exists($msg?id?deeper)", "empty($msg?id?deeper)", "$msg?tags?9 = 'x'", "not($msg?tags?9 = 'x')",
    "not($msg?odd = 'y')", "count($msg?items?*?sku?x) = 0", "/order", "not(/order)", "empty(/order)", "count(/order) = 0",
    "$msg/order = 'x'", "not($msg = 'x')", "contains($msg, 'PO')", "//id = 'PO-7' or false()", "$msg[order]", "false()",
]  # fmt: skip


def no_root() -> Tree:
    raise AssertionError("JSON has no root")


def incoming(content: bytes = ORDER, **headers: Any) -> MatchableMessage:
    return MatchableMessage(headers=headers, content=content, root=no_root, json=partial(read_json, content))


def bound(*queries: str) -> Matcher:
    matcher = Matcher()
    for query in queries:
        matcher.bind(query, query)
    return matcher


@pytest.mark.req("X10")
@pytest.mark.parametrize("query", YES)
def test_yes(query: str) -> None:
    matches = bound(query).match(incoming())
    assert query in matches.decided | matches.candidates


@pytest.mark.req("X10")
@pytest.mark.parametrize("query", NO)
def test_no(query: str) -> None:
    matches = bound(query).match(incoming())
    assert query not in matches.decided | matches.candidates


@pytest.mark.req("X10")
def test_all_at_once_answer_as_each_alone_and_nearly_all_without_the_engine() -> None:
    matcher = bound(*YES, *NO)
    matches = matcher.match(incoming())
    assert matches.decided | matches.candidates == set(YES)
    assert len(matches.candidates) < len(YES) / 8
    for query in (*YES, *NO):
        matcher.unbind(query)
    assert matcher.is_empty


@pytest.mark.req("X10")
def test_a_query_for_json_says_no_to_xml() -> None:
    asked = [query for query in YES if "?" in query and " or " not in query]
    matcher = bound(*asked)
    message = MatchableMessage(headers={}, content=b"<order/>", root=no_root)
    matches = matcher.match(message)
    assert matches.decided == frozenset()
    assert all(matcher.explain(query).standing is not EvaluationMode.SHARED for query in matches.candidates)


def test_an_array_as_a_whole_stands_for_its_members_so_the_engine_says() -> None:
    matcher = bound("$msg = 'x'", "contains($msg, 'x')", "$msg?1 = 'x'", "/a = 'x'")
    matches = matcher.match(incoming(b' ["x"]'))
    assert matches.decided == {"$msg?1 = 'x'"}
    assert matches.candidates == {"$msg = 'x'", "contains($msg, 'x')"}


def test_nothing_is_read_if_nobody_looks_inside() -> None:
    def refuse() -> Any:
        raise AssertionError("nobody looks inside")

    message = MatchableMessage(headers={"k": "v"}, content=ORDER, root=no_root, json=refuse)
    assert bound("$k = 'v'", "true()", "/a").match(message).decided == {"$k = 'v'", "true()"}


@pytest.mark.parametrize(
    "content",
    [b"", b"[1,]", b'{"a":NaN}', b"{'a':1}", b'{"a":01}', b'{"a":"x\ny"}', b"\xff",
     b"[" * 300 + b"]" * 300,
     b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1), b"<a/>"],
)  # fmt: skip
def test_what_is_no_document_meets_only_those_who_do_not_look_inside(content: bytes) -> None:
    with pytest.raises(Refused):
        read_json(content)
    matches = bound("$msg?a = 1", "not($msg?a = 1)", "empty($msg?a)", "$k = 'v'").match(incoming(content, k="v"))
    assert matches.decided == {"$k = 'v'"}
    assert matches.candidates == frozenset()


def test_reading_is_the_engines() -> None:
    document = read_json(
        b'\xef\xbb\xbf{"a": 1, "a": 2, "b": 1e999, "c": 12345678901234567890123, "d": true, "e": null}'
    )
    assert document == {"a": 1.0, "b": float("inf"), "c": 12345678901234567890123.0, "d": True, "e": None}
    assert isinstance(document, dict)
    assert {type(document[name]) for name in "abc"} == {float}


@pytest.mark.req("X10")
@pytest.mark.parametrize("content", [b"5", b' "x"', b"true", b"null"])
def test_the_engine_says_what_a_query_makes_of_a_bare_value(content: bytes) -> None:
    matcher = bound("$msg = 'x'", "exists($msg)", "empty($msg?a)", "$msg?a = 'x'", "$k = 'v'", "$msg[empty(?a)]")
    matches = matcher.match(incoming(content, k="v"))
    assert matches.decided == {"$k = 'v'"}
    assert {"$msg = 'x'", "exists($msg)"} <= matches.candidates
    assert ("empty($msg?a)" in matches.candidates) == (content == b"null"), "a lookup in a bare value is an error"
    assert "$msg?a = 'x'" not in matches.candidates


@pytest.mark.req("X5")
def test_one_value_that_passes_beside_an_error_is_left_to_the_engine() -> None:
    matcher = bound("$msg?a?* = 'x'", "$msg?b = 'x' or $msg?c?d = 'x'", "$msg?b = 'x'")
    matches = matcher.match(incoming(b'{"a": [5, "x"], "b": "x", "c": 1}'))
    assert matches.decided == {"$msg?b = 'x'"}
    assert matches.candidates == {"$msg?a?* = 'x'", "$msg?b = 'x' or $msg?c?d = 'x'"}


@pytest.mark.req("X8")
def test_who_looks_inside_of_a_document_that_cannot_be_read_fails() -> None:
    matcher = bound("$msg?a = 'x'", "$k = 'v'", "$k = 'v' and $msg?a = 'x'", "$k = 'other' and $msg?a = 'x'")
    matcher.bind("elsewhere", "$msg?a = 'x'", routing_key="other")
    matches = matcher.match(incoming(b'{"a": ', k="v"))
    assert matches.decided == {"$k = 'v'"}
    assert matches.failed == {"$msg?a = 'x'", "$k = 'v' and $msg?a = 'x'"}
    assert "not JSON" in matches.fault
    for key in ("$msg?a = 'x'", "$k = 'v'", "$k = 'v' and $msg?a = 'x'", "$k = 'other' and $msg?a = 'x'", "elsewhere"):
        matcher.unbind(key)
    assert matcher.is_empty
