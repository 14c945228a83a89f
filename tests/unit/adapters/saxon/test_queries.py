"""What queries say about messages: yes, no, new content, or what went wrong; each for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import pytest_asyncio

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES
from postroad.adapters.confined.source_evaluator import AT_ONCE
from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryEngine, QueryVerdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDER = """<?xml version="1.0"?><!-- by hand --><r xml:lang="de"><a>1</a><b k="v"/>é</r>""".encode()
NO = QueryVerdict(goes=False)
AS_IT_CAME = QueryVerdict(goes=True)
SERIALIZATION = "declare namespace output = 'http://www.w3.org/2010/xslt-xquery-serialization'; "


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[QueryEngine]:
    workers = SaxonWorkers()
    yield SaxonQueries(workers)
    await workers.close()


async def verdict(
    engine: QueryEngine, query: str, content: bytes = ORDER, media_type: str = "text/xml", **items: ItemValue
) -> QueryVerdict:
    [one] = await engine.evaluate([query], content, media_type, items)
    return one


def made(text: str, media_type: str) -> QueryVerdict:
    return QueryVerdict(goes=True, content=text.encode(), media_type=media_type)


TEXT, JSON, XML = "text/plain; charset=utf-8", "application/json", "application/xml"
ENTITY, HTML = "application/xml-external-parsed-entity", "text/html; charset=utf-8"

# ---- yes and no


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "query", ["true()", "$msg", ".", "/", "/r/a = 1", "exists($msg//b)", "for $m in $msg return $m"]
)
async def test_true_and_the_message_itself_send_it_on_as_it_came(engine: QueryEngine, query: str) -> None:
    assert await verdict(engine, query) == AS_IT_CAME


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "query", ["false()", "()", "/nowhere", "''", "0", "xs:double('NaN')", "xs:anyURI('')", "/r/a = 2"]
)
async def test_false_nothing_and_what_counts_as_false_mean_no(engine: QueryEngine, query: str) -> None:
    assert await verdict(engine, query) == NO


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("error()", "FOER0000"),
        ("error(QName('urn:mine', 'm:no-zip'), 'there is no zip code')", "no-zip: there is no zip code"),
        ("\n\nxs:integer(/r)", 'line 3: FORG0001: Cannot convert string "1é" to an integer'),
        ("/r/a eq 1 and count(/r/*) eq 'x'", "XPTY0004"),
        ("count#1", "SERE0021"),
        ("1 +", "XPST0003"),
        ("true()\0", "NUL"),
    ],
)
async def test_an_error_means_no_and_is_told(engine: QueryEngine, query: str, fault: str) -> None:
    failed = await verdict(engine, query)
    assert fault in failed.error
    assert (failed.goes, failed.content) == (False, None)


@pytest.mark.req("X1", "X2")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(1, 2)", made("1 2", TEXT)),
        ("(true(), false())", made("true false", TEXT)),
        ("xs:date('2026-11-16')", made("2026-11-16", TEXT)),
        ("map{'a': [1, 'é']}", made('{"a":[1,"é"]}', JSON)),
        ("[]", made("[]", JSON)),
        ("(map{'a': 1}, 2)", made('[{"a":1},2]', JSON)),
    ],
)
async def test_where_the_effective_boolean_value_is_undefined_something_means_yes(
    engine: QueryEngine, query: str, expected: QueryVerdict
) -> None:
    assert await verdict(engine, query) == expected


# ---- new content


@pytest.mark.req("X2")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("<o>{/r/a/text()}é</o>", made("<o>1é</o>", XML)),
        ("document { <o/> }", made("<o/>", XML)),
        ("/r/a", made('<a>1</a>', XML)),
        ("(<!--x-->, <o/>)", made("<!--x--><o/>", XML)),
        ("(<o/>, <p/>)", made("<o/><p/>", ENTITY)),
        ("('x', <o/>)", made("x<o/>", ENTITY)),
        ("/r/a/text()", made("1", TEXT)),
        ("/r/b/@k", made("v", TEXT)),
        ("'é' || /r/a", made("é1", TEXT)),
        ("5", made("5", TEXT)),
        (SERIALIZATION + "declare option output:method 'json'; map{'a': /r/a/data() ! xs:int(.)}", made('{"a":1}', JSON)),
        (SERIALIZATION + "declare option output:method 'html'; declare option output:indent 'no'; <br/>", made("<br>", HTML)),
        (SERIALIZATION + "declare option output:method 'text'; <o>a &lt; b</o>", made("a < b", TEXT)),
        (
            SERIALIZATION + "declare option output:omit-xml-declaration 'no'; declare option output:encoding 'UTF-16'; <o>é</o>",
            made('<?xml version="1.0" encoding="UTF-8"?><o>é</o>', XML),
        ),
        (SERIALIZATION + "declare option output:method 'text'; declare variable $x := 1; <o>{$x}</o>", made("1", TEXT)),
        ("declare default element namespace 'urn:x'; <o/>", made('<o xmlns="urn:x"/>', XML)),
    ],
)  # fmt: skip
async def test_anything_else_is_the_new_content(engine: QueryEngine, query: str, expected: QueryVerdict) -> None:
    assert await verdict(engine, query) == expected


@pytest.mark.req("X2")
async def test_a_part_that_equals_the_message_is_still_a_part(engine: QueryEngine) -> None:
    assert (await verdict(engine, "/r", b"<r/>")) == made("<r/>", XML)
    assert (await verdict(engine, "document { /r }", b"<r/>")) == made("<r/>", XML)


# ---- variables


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("$item instance of xs:string and $item = 'é€'", "é€"),
        ("$item instance of xs:boolean and $item", True),
        ("$item instance of xs:integer and $item eq 123456789012345678901234567890", 123456789012345678901234567890),
        ("$item instance of xs:decimal and $item eq 0.10", Decimal("1E-1")),
        ("$item instance of xs:double and $item lt 0.5", 0.25),
        ("$item instance of xs:double and $item eq xs:double('-INF')", float("-inf")),
        ("$item lt xs:dateTime('2026-11-16T13:00:00+01:00')", datetime(2026, 11, 16, 11, tzinfo=UTC)),
        ("$item eq xs:date('2026-11-16')", date(2026, 11, 16)),
        ("$item/self::array/item = '2' and count($item/item) = 2", [1, 2]),
        ("$item/item/array/item = 'a<b'", [["a<b"], []]),
        ("$item = 'x' || codepoints-to-string(65533)", "x\0"),
    ],
)
async def test_every_item_is_a_variable_of_its_name_and_type(engine: QueryEngine, query: str, value: ItemValue) -> None:
    assert await verdict(engine, query, item=value) == AS_IT_CAME


@pytest.mark.req("X3")
@pytest.mark.parametrize("more", ["", "declare variable $own := 1; "], ids=["as a function", "as a whole"])
@pytest.mark.parametrize("declared", ["xs:double", "xs:float?", "xs:double*"])
@pytest.mark.parametrize("value", [Decimal("0.5"), 0])
async def test_numbers_are_promoted_to_the_declared_type(
    engine: QueryEngine, more: str, declared: str, value: Decimal | int
) -> None:
    query = f"declare variable $d as {declared} external; {more}$d < 1 and $d instance of {declared}"
    [verdict] = await engine.evaluate([query], ORDER, "application/xml", {"d": value})
    assert (verdict.goes, verdict.error) == (True, "")


@pytest.mark.req("X3")
async def test_declared_variables_have_their_declared_type(engine: QueryEngine) -> None:
    query = "declare variable $region as xs:string external;\n$region eq 'R1' and $msg/r/a = 1"
    assert await verdict(engine, query, region="R1") == AS_IT_CAME
    assert await verdict(engine, query, region="R2") == NO
    assert "line 2: XPTY0004" in (await verdict(engine, query, region=1)).error
    assert "$region" in (await verdict(engine, query)).error


@pytest.mark.req("X3")
async def test_what_the_header_does_not_have_is_empty(engine: QueryEngine) -> None:
    optional = "declare variable $region as xs:string? external; empty($region)"
    for query in ("empty($region)", "declare variable $region external; empty($region)", optional):
        assert await verdict(engine, query) == AS_IT_CAME
    assert await verdict(engine, "$region = 'x' or $region != 'x'") == NO


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    "query",
    [
        "let $region := 'own' return $region = 'own'",
        "declare function local:is($region) { $region = 'own' }; local:is('own')",
        "some $region in ('own') satisfies $region = 'own'",
        "declare variable $region := 'own'; $region = 'own'",
    ],
)
async def test_a_query_may_use_the_name_of_an_item_for_its_own(engine: QueryEngine, query: str) -> None:
    assert await verdict(engine, query, region="the header's") == AS_IT_CAME


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    "query",
    [
        "declare function local:f() { $region }; local:f() = 'R1' and /r/a = 1",
        "declare function local:f() { $msg/r/a = 1 and $region = 'R1' }; local:f()",
        "declare variable $region as xs:string external; declare variable $a := /r/a; $a = 1 and $region = 'R1'",
        "declare variable $region external := 'R2'; $region = 'R1'",
        "declare context item external; declare variable $low := lower-case($region); $low = 'r1' and . is $msg",
    ],
)
async def test_queries_that_run_as_a_whole_see_the_same_variables(engine: QueryEngine, query: str) -> None:
    await engine.check(query)
    assert await verdict(engine, query, region="R1") == AS_IT_CAME
    assert (await verdict(engine, query.replace("$region", "$other"), region="R1")).goes is False


async def test_names_that_no_variable_can_have_are_left_out(engine: QueryEngine) -> None:
    [one] = await engine.evaluate(
        ["$ok = 1"], ORDER, "text/xml", {"no name": "x", "": "x", "1": "x", "msg": "x", "ok": 1}
    )
    assert one == AS_IT_CAME


# ---- many at once


@pytest.mark.req("X5")
async def test_many_are_answered_in_their_order_each_for_itself(engine: QueryEngine) -> None:
    queries = [f"/r/a = {n}" if n % 3 else f"error((), 'number {n}')" for n in range(2 * AT_ONCE + 7)]
    answers = await engine.evaluate([*queries, *queries[:2]], ORDER, "text/xml", {})
    assert len(answers) == len(queries) + 2
    assert [n for n, one in enumerate(answers) if one.goes] == [1, len(queries) + 1]
    assert [n for n, one in enumerate(answers[:-2]) if one.error.endswith(f"number {n}")] == list(
        range(0, len(queries), 3)
    )


async def test_no_queries_no_answers(engine: QueryEngine) -> None:
    assert await engine.evaluate([], ORDER, "text/xml", {}) == []


async def test_nothing_is_remembered_from_one_message_to_the_next(engine: QueryEngine) -> None:
    query = "declare variable $x as xs:string? external; <o>{/r, $x}</o>"
    first = await verdict(engine, query, b"<r>1</r>", x="1")
    second = await verdict(engine, query, b"<r>2</r>")
    assert (first.content, second.content) == (b"<o><r>1</r>1</o>", b"<o><r>2</r></o>")


# ---- messages


@pytest.mark.req("X10")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?a?1 = 1 and $msg?b = 't'", AS_IT_CAME),
        ("$msg", AS_IT_CAME),
        ("?a?* = 3", NO),
        ("?a", made("[1,2]", JSON)),
        ("map:put(., 'b', 'é')", made('{"a":[1,2],"b":"é"}', JSON)),
        ("<o>{?b}</o>", made("<o>t</o>", XML)),
        ("?b", made("t", TEXT)),
    ],
)
async def test_json_is_maps_and_arrays(engine: QueryEngine, query: str, expected: QueryVerdict) -> None:
    for media_type in ("application/json", "application/vnd.order+JSON; charset=utf-8"):
        assert await verdict(engine, query, b'{"a": [1, 2], "b": "t"}', media_type) == expected


@pytest.mark.req("X10")
@pytest.mark.parametrize(
    ("content", "query", "expected"),
    [
        (b"null", "true()", AS_IT_CAME),
        (b"null", "$msg", NO),
        (b"null", "exists($msg)", NO),
        (b"null", "empty($msg)", AS_IT_CAME),
        (b"null", "empty($msg?a)", AS_IT_CAME),
        (b"null", "declare variable $n := count($msg); $n = 0", AS_IT_CAME),
        (b"null", "declare variable $n := .; empty($n)", NO),
        (b"[1]", "$msg", AS_IT_CAME),
        (b"false", "$msg", NO),
        (b'"x"', "$msg", AS_IT_CAME),
        (b"\xef\xbb\xbf[1]", ". = 1", AS_IT_CAME),
    ],
)
async def test_any_json_value_is_a_message(
    engine: QueryEngine, content: bytes, query: str, expected: QueryVerdict
) -> None:
    assert await verdict(engine, query, content, "application/json") == expected


@pytest.mark.parametrize("query", [". = 1", "?a"])
async def test_null_leaves_a_query_without_a_context_item(engine: QueryEngine, query: str) -> None:
    found = await verdict(engine, query, b"null", "application/json")
    assert not found.goes
    assert "XPDY0002" in found.error


@pytest.mark.parametrize(
    ("content", "media_type", "fault"),
    [
        (b"<r>", "text/xml", "cannot be read"),
        (b'<!DOCTYPE r [<!ENTITY e "x">]><r>&e;</r>', "text/xml", "DOCTYPE is disallowed"),
        (b"<r/>\0", "text/xml", "NUL"),
        (b"<r>\xff</r>", "text/xml", "cannot be read"),
        (b'<?xml version="1.0" encoding="EBCDIC"?><r/>', "text/xml", "ebcdic"),
        (b"{", "application/json", "Invalid JSON"),
        (b"[" * 201 + b"]" * 201, "application/json", "nested more than 200 deep"),
        (b'{"a": "\xff"}', "application/json", "cannot be read"),
    ],
)
async def test_a_message_that_cannot_be_read_is_an_error_of_every_query(
    engine: QueryEngine, content: bytes, media_type: str, fault: str
) -> None:
    for queries in (["true()"], ["true()", "$msg"]):
        answers = await engine.evaluate(queries, content, media_type, {})
        assert [fault.lower() in answer.error.lower() for answer in answers] == [True] * len(queries)
        assert not any(answer.goes for answer in answers)


@pytest.mark.parametrize("encoding", ["UTF-16", "ISO-8859-1", "UTF-8"])
async def test_messages_come_in_the_encodings_that_the_network_takes(engine: QueryEngine, encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?><r>é</r>'.encode(encoding)
    assert await verdict(engine, "/r = 'é'", content) == AS_IT_CAME


# ---- binding


@pytest.mark.parametrize(
    "query",
    [
        "true()",
        "$region = 'x'",
        "xquery version '3.1'; (: why (: not :) :) declare variable $an external; $a",
        "declare function local:f($x) { '};', <a>don't;</a> }; local:f(1)",
        "declare variable $t := /r/a + 1; $t",
        "declare namespace p = 'urn:p'; /p:a[@b = 1]/text()",
    ],
)
async def test_a_good_query_passes_the_check(engine: QueryEngine, query: str) -> None:
    await engine.check(query)


@pytest.mark.parametrize(
    ("query", "place", "words"),
    [
        ("/r/a =\n  )", "line 2", "XPST0003"),
        ("/r/a\n  b", "line 2", "expected"),
        ("declare variable $an external;\n/r/a b", "line 2", "expected"),
        ("declare variable $a := 1;\n/r/a b", "line 2, column 8", "expected"),
        ("bogus(1)", "", "bogus"),
        ("$p:a", "line 1", "XPST0081"),
        ("1) , (2", "line 1", "XPST0003"),
        ("1 }, function() { 2", "line 1", "XPST0003"),
        ("'open", "line 1", "XPST0003"),
        ("1 (: open", "line 1", "XPST0003"),
        ("", "", "it is empty"),
        ("(: only this :) declare variable $an external;", "", "it is empty"),
        ("declare function local:f() { bogus($region) }; local:f()", "", "bogus"),
        ("import module namespace m = 'urn:m' at 'x.xq'; 1", "line 1", "Access to URI file:/x.xq has been prohibited"),
        ("module namespace m = 'urn:m';", "line 1", "XPST0003"),
        ("true()\0", "", "NUL"),
        ("\ud800", "", "UTF-8"),
        (f"'{'x' * LARGEST_SOURCE_BYTES}'", "", "at most 262144"),
    ],
)  # fmt: skip
async def test_a_bad_query_is_refused_with_place_and_fault(
    engine: QueryEngine, query: str, place: str, words: str
) -> None:
    with pytest.raises(Refused, match=words) as refused:
        await engine.check(query)
    assert (refused.value.code, refused.value.pointer[: len(place)]) == ("query.invalid", place)
    assert "urn:postroad" not in refused.value.detail, "our own words are not the author's"
