"""What a binding gives decides whether a message goes, and what goes: with queries and scripts in their real engines."""

from __future__ import annotations

import pytest

from postroad.core.model.message import Property, PropertyType
from tests.acceptance.exchange_cases.hall import Hall, content

ORDER = "<order><id>7</id><item>pear</item><item>plum</item></order>"
JSON = '{"order": {"id": 7, "items": ["pear", "plum"]}}'
XML, TEXT, AS_JSON = "application/xml", "text/plain; charset=utf-8", "application/json"
ENTITY = "application/xml-external-parsed-entity"

GOES_AS_IT_CAME = [
    "true()",
    "$msg",
    ".",
    "/order/id = 7",
    "if (/order) then $msg else ()",
    "every $item in //item satisfies string-length($item) = 4",
]
DOES_NOT_GO = ["false()", "()", "//nothing", "''", "0", "number('x')", "1 div 0", "error()", "/order/id = 'seven'"]
NEW_CONTENT = [
    ("<slip>{ string(/order/id) }</slip>", XML, "<slip>7</slip>"),
    ("/order/id", XML, "<id>7</id>"),
    ("//item", ENTITY, "<item>pear</item><item>plum</item>"),
    ("string(/order/id)", TEXT, "7"),
    ("//item/string()", TEXT, "pear plum"),
    ("1, 2", TEXT, "1 2"),
    ("0, 0", TEXT, "0 0"),
    ("map { 'id': xs:integer(/order/id) }", AS_JSON, '{"id":7}'),
    ("array { //item/string() }", AS_JSON, '["pear","plum"]'),
    ("xs:date('2026-11-16')", TEXT, "2026-11-16"),
]


@pytest.mark.req("X1")
@pytest.mark.parametrize("query", GOES_AS_IT_CAME)
async def test_a_yes_or_the_message_itself_lets_it_go_as_it_came(hall: Hall, query: str) -> None:
    await hall.bind("Queue", query)
    assert await hall.send(ORDER) == 1
    one = await hall.next("Queue")
    assert (content(one), one.parts[0].content_type) == (ORDER, XML)


@pytest.mark.req("X1")
async def test_a_no_an_empty_result_and_an_error_keep_it_away(hall: Hall) -> None:
    for number, query in enumerate(DOES_NOT_GO):
        await hall.bind("Queue", query, name=f"binding {number}")
    assert await hall.send(ORDER) == 0


@pytest.mark.req("X2")
async def test_anything_else_is_the_new_content(hall: Hall) -> None:
    """Each binding's own, all from one message; where the truth of a result is undefined, it goes."""
    for number, (query, _, _) in enumerate(NEW_CONTENT):
        await hall.bind(f"Queue{number}", query)
    assert await hall.send(ORDER, topic="orders", weight=5) == len(NEW_CONTENT)
    for number, (query, media_type, text) in enumerate(NEW_CONTENT):
        one = await hall.next(f"Queue{number}")
        assert (content(one), one.parts[0].content_type) == (text, media_type), query
        assert (one.topic, one.sender) == ("orders", "Hall/Publisher")
        assert one.properties == (Property("weight", "5", PropertyType.NUMBER),)


@pytest.mark.req("X2")
async def test_one_queue_gets_each_content_that_its_bindings_make(hall: Hall) -> None:
    await hall.bind("Queue", "exists(/order)", name="all of it")
    await hall.bind("Queue", "<id>{ string(/order/id) }</id>", name="its number")
    await hall.bind("Queue", "count(//item)", name="how many")
    assert await hall.send(ORDER) == 3
    assert sorted(await hall.taken("Queue")) == sorted([ORDER, "<id>7</id>", "2"])


@pytest.mark.req("X10")
@pytest.mark.parametrize(
    ("query", "gives"),
    [
        ("$msg?order?id = 7", JSON),
        ("$msg?order?items?* = 'plum'", JSON),
        ("some $item in $msg?order?items?* satisfies starts-with($item, 'pl')", JSON),
        ("<order id='{ $msg?order?id }'/>", '<order id="7"/>'),
        ("map { 'n': array:size($msg?order?items) }", '{"n":2}'),
        ("$msg?order?id = 8", None),
        ("$msg?order?missing", None),
        ("/order/id = 7", None),
    ],
)
async def test_json_is_asked_by_the_same_queries(hall: Hall, query: str, gives: str | None) -> None:
    await hall.bind("Queue", "declare namespace array = 'http://www.w3.org/2005/xpath-functions/array'; " + query)
    assert await hall.send(JSON) == (gives is not None)
    assert await hall.taken("Queue") == ([] if gives is None else [gives])


@pytest.mark.req("X10")
async def test_xml_of_any_media_type_is_asked_and_what_is_neither_is_nobodys_who_looks_inside(hall: Hall) -> None:
    await hall.bind("Queue", "/order/id = 7")
    await hall.bind("Heavy", "$weight > 5")
    assert await hall.send(ORDER.encode("utf-16"), weight=6) == 2
    assert await hall.send("plain words", weight=6) == 1
    assert await hall.send(b"", weight=6) == 1


SCRIPTS = {
    "yes": ("def route(message):\n    return message.routing_key == 'orders'", [ORDER]),
    "no": ("def route(message):\n    return message.routing_key == 'invoices'", []),
    "nothing": ("def route(message):\n    pass", []),
    "text": ("def route(message):\n    return 'weight ' + str(message.headers['weight'])", ["weight 5"]),
    "an error": ("def route(message):\n    return 1 // 0", []),
}


@pytest.mark.req("X4")
@pytest.mark.parametrize(("script", "gives"), SCRIPTS.values(), ids=SCRIPTS.keys())
async def test_scripts_decide_as_queries_do(hall: Hall, script: str, gives: list[str]) -> None:
    binding = await hall.bind("Queue", script=script)
    assert await hall.send(ORDER, topic="orders", weight=5) == len(gives)
    assert await hall.taken("Queue") == gives
    assert bool((await hall.tally(binding)).errors) == ("//" in script)
