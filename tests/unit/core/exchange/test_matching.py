"""A matcher: every test on what is there once, several times, not at all, or cannot be read; headers; parsing; explanations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from lxml import etree

from postroad.core.codecs.xml import Tree, parse
from postroad.core.exchange.compile.analysis import EvaluationMode
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher, MatchResult

ORDER = b"""<order xmlns="" xmlns:p="urn:p" id="PO-7" kind="spare" p:lang="de">
  <total>1500.50</total><note>Hurry</note><empty/><mixed>a<b>b</b>c</mixed><cdata><![CDATA[<5>]]></cdata>
  <line sku="A1" qty="3"><price>10</price></line>
  <line sku="B2" qty=" 12 "><price>25.5</price><price>none</price></line>
  <line sku="C3"/>
  <p:extra p:code="x"><p:deep>7</p:deep></p:extra>
  <when>INF</when><odd>NaN</odd><flag>true</flag><accent>\xc3\xa9t\xc3\xa9</accent>
</order>"""

YES = [
    "/order", "//line", "/order/@id = 'PO-7'", "/order/total = 1500.5", "/order/total > 1500", "/order/total >= 1500.50",
    "/order/total != 3", "/order/total < 1e4", "not(/order/total < 1500)", "/order/line/@qty = 12", "//@qty > 11",
    "/order/line/@qty < 4 and /order/line/@qty > 11", "/order/line/@sku != 'A1'", "not(/order/line/@sku = 'Z')",
    "/order/@id eq 'PO-7'", "not(/order/nothing eq 'x')", "/order/@id lt 'PO-8'", "/order/mixed = 'abc'", "//cdata = '<5>'",
    "/order/empty = ''", "exists(/order/empty)", "empty(/order/nothing)", "contains(/order/note, 'urr')",
    "starts-with(/order/@id, 'PO')", "ends-with(/order/@id, '-7')", "matches(/order/@id, '^PO-[0-9]$')",
    "contains(/order/nothing, '')", "not(contains(/order/nothing, 'x'))", "not(starts-with(/order/note, 'h'))",
    "count(/order/line) = 3", "count(//price) > 2.5", "count(/order/nothing) = 0", "string-length(/order/note) = 5",
    "xs:decimal(/order/total) = 1500.50", "number(/order/note) != 1", "string(/order/nothing) = ''",
    "every $l in /order/line satisfies exists($l/@sku)", "some $l in /order/line satisfies $l/@sku = 'C3'",
    "every $q in //@qty satisfies $q > 2", "every $x in //nothing satisfies $x = 1", "/order[@kind = 'spare']/total > 5",
    "/order[not(cancelled)]", "/order/*/@sku = 'A1'", "/*/*:extra", "declare namespace q = 'urn:p'; /order/q:extra/q:deep = 7",
    "declare namespace q = 'urn:p'; //@q:code = 'x'", "declare namespace q = 'urn:p'; /order/q:* = '7'", "//@*:code = 'x'",
    "/order/when > 1e300", "/order/odd != 5", "/order/flag = true()", "/order/accent = '\u00e9t\u00e9'", "//line/@* = 'C3'",
    "/order/note/text() = 'Hurry'", "//b/text() = 'b'", "/order/mixed/text() = 'c'", "order/total = 1500.5",
    ". = /order or true()",
    "if (/order/note) then $msg else ()", "for $o in /order where $o/note = 'Hurry' return $msg", "$msg[order/note]",
    "/order/line/price > 20", "/order/nothing = 1 or /order/note = 'Hurry'", "(/order/line/price > 5) and (1 < /order/total)",
]  # fmt: skip

NO = [
    "/other", "/line", "/order/@ID", "/order/total = 1500", "/order/total < 1500", "not(/order/total > 5)",
    "/order/line/@sku = 'a1'", "/order/nothing != 3", "/order/nothing < 3", "/order/note = 5", "not(/order/note = 5)",
    "/order/note > 5", "not(/order/line/price > 100)", "/order/line/@sku eq 'A1'", "not(/order/line/@sku eq 'A1')",
    "contains(/order/line, 'x')", "not(contains(/order/line/@sku, 'Z'))", "contains(/order/note, 'hurry')",
    "xs:integer(/order/total) = 1500", "not(xs:integer(/order/total) = 1500)", "xs:decimal(/order/line/price) > 1",
    "number(/order/line/price) != 1", "every $q in //price satisfies $q > 2", "/order/odd > 5", "/order/odd = 5",
    "every $o in /order satisfies $o/total = 1", "/order[cancelled]/total > 5", "/order[@kind = 'x']/total > 5", "()", "false()",
    "declare default element namespace 'urn:p'; /order", "declare namespace q = 'urn:q'; /order/q:extra", "/order/@lang = 'de'",
    "/order/text() = 'x'", "/order/mixed/text() = 'abc'", "/@id", "/text()", "if (/order) then () else $msg",
]  # fmt: skip


def incoming(content: bytes = ORDER, **headers: Any) -> MatchableMessage:
    return MatchableMessage(headers=headers, content=content, root=partial(parse, content))


def unparsed(**headers: Any) -> MatchableMessage:
    def refuse() -> Tree:
        raise AssertionError("nobody looks inside, so nothing is parsed")

    return MatchableMessage(headers=headers, content=ORDER, root=refuse)


def bound(*queries: str) -> Matcher:
    matcher = Matcher()
    for query in queries:
        matcher.bind(query, query)
    return matcher


def is_met(query: str, message: MatchableMessage) -> bool:
    matches = bound(query).match(message)
    assert matches.candidates == frozenset()
    return query in matches.decided


@pytest.mark.req("X1", "X5")
@pytest.mark.parametrize("query", YES)
def test_yes(query: str) -> None:
    matches = bound(query).match(incoming())
    assert query in matches.decided | matches.candidates


@pytest.mark.req("X1", "X5")
@pytest.mark.parametrize("query", NO)
def test_no(query: str) -> None:
    matches = bound(query).match(incoming())
    assert query not in matches.decided | matches.candidates


@pytest.mark.req("X5")
def test_all_at_once_answer_as_each_alone() -> None:
    matches = bound(*YES, *NO).match(incoming())
    assert matches.decided | matches.candidates == set(YES)
    assert len(matches.candidates) < len(YES) / 4


@pytest.mark.parametrize(
    "path",
    ["/order/line/@sku", "//price", "//line/price", "/order/*", "//*", "/*/*/@qty", "//@qty", "/order//price", "//line//price",
     "/order/mixed", "//mixed/b", "//b", "//line/@*", "/order//@*"],
)  # fmt: skip
def test_as_many_nodes_are_found_as_xpath_finds(path: str) -> None:
    nodes = etree.fromstring(ORDER).xpath(path)
    assert isinstance(nodes, list)
    there = len(nodes)
    assert is_met(f"count({path}) = {there}", incoming())


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    ("query", "value", "met"),
    [
        ("$h = 'x'", "x", True), ("$h = 'x'", "y", False), ("not($h = 'x')", "y", True), ("$h != 'x'", "y", True),
        ("$h = 5", "5", False), ("not($h = 5)", "5", False), ("$h = 5", 5, True), ("$h = 5.0", 5, True),
        ("$h = 0.1", 0.1, True), ("$h = 0.1e0", Decimal("0.1"), True), ("$h = 0.1", Decimal("0.10"), True),
        ("$h > 4", Decimal("4.5"), True), ("$h eq 5", 5.0, True), ("$h = true()", True, True), ("$h = 1", True, False),
        ("$h = true()", 1, False), ("contains($h, 'b')", "abc", True), ("contains($h, '5')", 5, False),
        ("starts-with($h, 'a')", "abc", True), ("exists($h)", "", True), ("boolean($h)", "", False), ("boolean($h)", "0", True),
        ("boolean($h)", float("nan"), False), ("$h = 'x'", None, False), ("not($h = 'x')", None, True),
        ("exists($h)", None, False),
        ("declare variable $h as xs:string external; not($h = 'x')", None, False),
        ("declare variable $h as xs:string? external; not($h = 'x')", None, True),
        ("declare variable $h as xs:string external; not($h = 'x')", 5, False),
        ("declare variable $h as xs:decimal external; $h = 5", 5, True),
        ("declare variable $h as xs:integer external; $h = 1", True, False),
        *((f"declare variable $h as xs:double external; {query}", value, met) for query, value, met in (
            ("$h = 5", 5, True), ("$h < 1", Decimal("0.5"), True), ("$h = 0.5", 0.5, True), ("not($h = 5)", "5", False),
            ("$h = 1", True, False), ("$h = 9007199254740992", 9007199254740993, True), ("$h > 0", 10**400, True),
            ("exists($h)", None, False), ("$h = 1", [1], False))),
        ("declare variable $h as xs:boolean external; $h", True, True),
        ("$h = 9007199254740993", 9007199254740993, True), ("$h = 9007199254740993", 9007199254740992, False),
        *((query, moment, False) for moment in (date(2026, 11, 16), datetime(2026, 11, 16, 12, tzinfo=UTC)) for query in (
            "$h = 5", "$h > 5", "not($h > 5)", "$h < 5e0", "$h = '2026-11-16'", "not($h = 'x')", "$h = true()", "boolean($h)",
            "not($h)", "contains($h, '2026')")),
        ("exists($h)", date(2026, 11, 16), True), ("declare variable $h as item() external; exists($h)", date(2026, 1, 1), True),
        ("$h > 5", Decimal("NaN"), False), ("$h = 5", Decimal("sNaN"), False),
        ("$h = 'ab'", ["a", "b"], True), ("$h = 12", [1, 2], True), ("$h > 11.5", (1, [2]), True), ("$h eq 12", [1, 2], False),
        ("$h = 5", ["x"], False), ("not($h = 5)", ["x"], False), ("$h = true()", ["true"], True), ("$h eq true()", [True], False),
        ("contains($h, 'rue2026-01-01')", [True, date(2026, 1, 1)], True), ("boolean($h)", [], True), ("exists($h)", [], True),
        ("declare variable $h as xs:string external; $h = 'a'", ["a"], False),
        ("$h = '1.50-INF'", [Decimal("1.50"), float("-inf")], True),
    ],
)  # fmt: skip
def test_items_of_the_header_are_typed(query: str, value: Any, met: bool) -> None:
    assert is_met(query, unparsed() if value is None else unparsed(h=value)) is met


@pytest.mark.req("X3")
def test_the_routing_key_is_a_variable_like_any_other() -> None:
    assert is_met("$routing_key = 'orders.eu'", unparsed(routing_key="orders.eu"))


@pytest.mark.req("X3")
def test_a_binding_on_the_routing_key_alone_never_looks_inside() -> None:
    matcher = Matcher()
    matcher.bind("eu", routing_key="orders.eu")
    matcher.bind("us", routing_key="orders.us")
    matcher.bind("all")
    assert matcher.match(unparsed(routing_key="orders.eu")).decided == {"eu", "all"}
    assert matcher.match(unparsed()).decided == {"all"}
    assert str(matcher.explain("eu")) == "shared: $routing_key = 'orders.eu'"


@pytest.mark.req("X3")
def test_a_query_behind_a_routing_key_is_asked_only_there() -> None:
    matcher = Matcher()
    matcher.bind("shared", "/order/note = 'Hurry' or /order/total = 1", routing_key="t")
    matcher.bind("built", "<x/>", routing_key="t")
    matcher.bind("texts", "/order/note/text() = 'Hurry'", routing_key="t")
    split = incoming(ORDER.replace(b"Hurry", b"Hu<!-- -->rry"), routing_key="t")
    elsewhere = incoming(split.content, routing_key="u")
    assert matcher.match(incoming(routing_key="t")).decided == {"shared", "texts"}
    assert matcher.match(split).candidates == {"built", "texts"}
    assert matcher.match(elsewhere) == matcher.match(incoming()) == MatchResult()
    assert str(matcher.explain("built")).startswith("prefiltered by $routing_key = 't': ")
    for key in ("shared", "built", "texts"):
        matcher.unbind(key)
    assert matcher.is_empty


@pytest.mark.req("X4")
def test_what_a_script_decides_is_always_a_candidate_behind_its_routing_key() -> None:
    matcher = Matcher()
    matcher.bind("any", always=True)
    matcher.bind("some", always=True, routing_key="t")
    assert matcher.match(unparsed(routing_key="t")) == MatchResult(candidates=frozenset({"any", "some"}))
    assert matcher.match(unparsed()) == MatchResult(candidates=frozenset({"any"}))
    assert matcher.explain("any").standing is EvaluationMode.ALWAYS
    with pytest.raises(ValueError, match="not both"):
        matcher.bind("k", "/a", always=True)


def test_the_same_query_is_decided_once_for_all_keys() -> None:
    matcher = Matcher()
    for key in range(3):
        matcher.bind(key, "/order/note = 'Hurry'")
    matcher.unbind(1)
    assert matcher.match(incoming()).decided == {0, 2}
    assert (len(matcher), 1 in matcher, 2 in matcher) == (2, False, True)
    matcher.unbind(0)
    matcher.unbind(2)
    assert matcher.is_empty


@pytest.mark.req("X5")
def test_a_message_is_parsed_once_and_only_if_someone_looks_inside() -> None:
    parsed: list[int] = []

    def root() -> Tree:
        parsed.append(1)
        return parse(ORDER)

    message = MatchableMessage(headers={"k": "v"}, content=ORDER, root=root)
    matcher = bound("$k = 'v'", "true()", "$msg[$k = 'v']")
    assert len(matcher.match(message).decided) == 3
    assert parsed == []
    for query in YES:
        matcher.bind(query, query)
    matcher.match(message)
    assert parsed == [1]
    for query in YES:
        matcher.unbind(query)
    matcher.match(message)
    assert parsed == [1]


@pytest.mark.req("X1")
def test_what_cannot_be_parsed_meets_only_those_who_do_not_look_inside() -> None:
    matcher = bound("$k = 'v'", "/a", "not(/a)", "/a = 1 or $k = 'v'", "empty(/a)", "<x/>")
    matches = matcher.match(incoming(b"{not xml", k="v"))
    assert matches.decided == {"$k = 'v'"}
    assert matches.failed == {"/a", "not(/a)", "empty(/a)"}
    assert matches.candidates == {"<x/>", "/a = 1 or $k = 'v'"}


@pytest.mark.req("X2", "X5")
def test_what_constructs_or_is_not_understood_is_a_candidate_only_if_it_may_say_yes() -> None:
    made = "if (/order/@kind = '{}') then <invoice>{{ $msg/order/total }}</invoice> else ()"
    matcher = bound(made.format("spare"), made.format("other"), "/order/line[2]/@sku = 'A1'", "<always/>")
    matches = matcher.match(incoming())
    assert matches.decided == frozenset()
    assert matches.candidates == {made.format("spare"), "/order/line[2]/@sku = 'A1'", "<always/>"}


@pytest.mark.parametrize("split", [b"<!-- c -->", b"<?i c?>"])
def test_a_text_that_a_comment_may_part_is_left_to_the_engine(split: bytes) -> None:
    matcher = bound("/a/text() = 'bc'", "/a = 'bc'")
    assert matcher.match(incoming(b"<a>bc</a>")).decided == {"/a/text() = 'bc'", "/a = 'bc'"}
    matches = matcher.match(incoming(b"<a>b" + split + b"c</a>"))
    assert matches.decided == {"/a = 'bc'"}
    assert matches.candidates == {"/a/text() = 'bc'"}


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_other_encodings(encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?><a b="é"/>'.encode(encoding)
    assert is_met("/a/@b = 'é'", incoming(content))


@pytest.mark.req("X6")
def test_unbinding_leaves_the_others_and_in_the_end_nothing() -> None:
    matcher = bound(*YES, *NO)
    for query in YES[::2] + NO:
        matcher.unbind(query)
    matches = matcher.match(incoming())
    assert matches.decided | matches.candidates == set(YES[1::2])
    for query in YES[1::2]:
        matcher.unbind(query)
    assert matcher.is_empty
    assert matcher.match(unparsed()).decided == frozenset()


def test_a_key_is_bound_once() -> None:
    matcher = bound("/a")
    with pytest.raises(ValueError, match="already bound"):
        matcher.bind("/a", "/b")
    matcher.unbind("/a")
    assert matcher.bind("/a", "/b").standing is EvaluationMode.PREFILTERED
    with pytest.raises(KeyError):
        matcher.unbind("never bound")


def test_any_hashable_value_is_a_key_and_many_may_ask_the_same() -> None:
    matcher = Matcher()
    keys = [None, 0, "", (), ("queue", 1), frozenset(), *range(1, 200)]
    for key in keys:
        matcher.bind(key, "/a = 'x'")
        matcher.bind(("with", key), "/a = 'x' and /a/@b > 1")
    found = matcher.match(incoming(b"<a b='2'>x</a>")).decided
    assert found == {*keys, *(("with", key) for key in keys)}
    for key in keys[::2]:
        matcher.unbind(key)
        matcher.unbind(("with", key))
    found = matcher.match(incoming(b"<a b='2'>x</a>")).decided
    assert found == {*keys[1::2], *(("with", key) for key in keys[1::2])}


def test_explanations_say_how_a_binding_is_decided() -> None:
    queries: dict[str, Callable[[str], bool]] = {
        "/a = 'x'": lambda said: said == "shared: /a = 'x'",
        "/a[1] = 'x'": lambda said: said.startswith("prefiltered by /a = 'x': "),
        "/a = 1 and\n<b/>": lambda said: said.startswith("always evaluated: ") and said.endswith("(character 12)"),
    }
    matcher = bound(*queries)
    for query, is_right in queries.items():
        said = str(matcher.explain(query))
        assert is_right(said), said


def test_many_bindings_of_each_kind_find_their_own() -> None:
    matcher = Matcher()
    for number in range(300):
        matcher.bind(("eq", number), f"/m/@a = 'v{number}'")
        matcher.bind(("two", number), f"/m/@a = 'v{number}' and /m/@b = 'w{number % 7}'")
        matcher.bind(("range", number), f"/m/n > {number} and /m/n < {number + 10}")
        matcher.bind(("prefix", number), f"starts-with(/m/@c, 'p{number:03}')")
        matcher.bind(("text", number), f"/m/@c < 'p{number:03}'")
        matcher.bind(("not", number), f"not(/m/n = {number}) and /m/@b = 'w{number % 7}'")
        matcher.bind(("number", number), f"$n = {number}")
    content = b'<m a="v10" b="w3" c="p150x"><n>42.5</n></m>'
    found = matcher.match(incoming(content, n=9)).decided
    assert found == {
        ("eq", 10), ("two", 10), ("prefix", 150), ("number", 9),
        *(("range", number) for number in range(33, 43)),
        *(("text", number) for number in range(151, 300)),
        *(("not", number) for number in range(300) if number % 7 == 3),
    }  # fmt: skip
