"""What scripts say about messages: yes, no, new content, or what went wrong; each for itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
import pytest_asyncio

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES
from postroad.adapters.confined.source_evaluator import AT_ONCE
from postroad.adapters.confined.worker import SOURCE_FOLDER
from postroad.adapters.scripts.scripts import (
    LARGEST_CONTENT_BYTES,
    MAX_ELEMENTS,
    MAX_VALUES,
    ScriptWorkers,
    StarlarkScripts,
)
from postroad.errors import Refused
from postroad.ports import ItemValue, QueryEngine, QueryVerdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

ORDER = b"""<?xml version="1.0"?><!-- by hand --><Order xmlns="urn:orders" xmlns:k="urn:k" k:id="7" no="5">
<Buyer>Acme</Buyer><Lines><Line sku="A-1"><Price>2.5</Price><Quantity>4</Quantity></Line>
<Line sku="B-2"><Price>10</Price><Quantity>3</Quantity></Line></Lines></Order>"""
INVOICE = '{"number": 12, "lines": [{"sku": "A-1", "price": 2.5}, {"sku": "B-2", "price": -10}], "paid": null, "a": "é"}'.encode()
NO = QueryVerdict(goes=False)
AS_IT_CAME = QueryVerdict(goes=True)
TEXT, JSON = "text/plain; charset=utf-8", "application/json"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[QueryEngine]:
    workers = ScriptWorkers()
    yield StarlarkScripts(workers)
    await workers.close()


def returning(expression: str) -> str:
    return f"def route(message):\n    return {expression}\n"


async def verdict(
    engine: QueryEngine, script: str, content: bytes = ORDER, media_type: str = "text/xml", /, **items: ItemValue
) -> QueryVerdict:
    [one] = await engine.evaluate([script], content, media_type, items)
    return one


async def shown(
    engine: QueryEngine, expression: str, content: bytes = ORDER, media_type: str = "text/xml", /, **items: ItemValue
) -> str:
    """The expression's value, as JSON in a list."""
    given = await verdict(engine, returning(f"[{expression}]"), content, media_type, **items)
    assert not given.error
    return (given.content or b"").decode()


def made(text: str, media_type: str) -> QueryVerdict:
    return QueryVerdict(goes=True, content=text.encode(), media_type=media_type)


# ---- yes, no, new content


@pytest.mark.req("X4")
@pytest.mark.parametrize("expression", ["True", "message", "message.xml.name == 'Order'", "not message.json"])
async def test_true_and_the_message_itself_send_it_on_as_it_came(engine: QueryEngine, expression: str) -> None:
    assert await verdict(engine, returning(expression)) == AS_IT_CAME


@pytest.mark.req("X4")
@pytest.mark.parametrize("expression", ["False", "None", "''", "[]", "{}", "()", "message.json"])
async def test_false_nothing_and_whatever_is_empty_mean_no(engine: QueryEngine, expression: str) -> None:
    assert await verdict(engine, returning(expression)) == NO


@pytest.mark.req("X4")
async def test_a_script_that_returns_nothing_says_no(engine: QueryEngine) -> None:
    assert await verdict(engine, "def route(message):\n    pass") == NO


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("expression", "content"),
    [
        ("'as ' + message.xml.value('Buyer')", made("as Acme", TEXT)),
        ("'é\\u4e2d'", made("é中", TEXT)),
        ("{'a': [1, 2.5, None, True, 'é']}", made('{"a":[1,2.5,null,true,"é"]}', JSON)),
        ("[1, (2, 3)]", made("[1,[2,3]]", JSON)),
        ("struct(content = '<a/>', media_type = 'application/xml')", made("<a/>", "application/xml")),
        ("struct(content = {'a': 1}, media_type = 'application/a+json; v=1')", made('{"a":1}', "application/a+json; v=1")),
        ("struct(content = '', media_type = 'text/csv')", made("", "text/csv")),
    ],
)  # fmt: skip
async def test_text_dicts_and_lists_are_the_new_content(
    engine: QueryEngine, expression: str, content: QueryVerdict
) -> None:
    assert await verdict(engine, returning(expression)) == content


@pytest.mark.req("X1", "X4")
@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("0", "a value of type int; return True or False"),
        ("7", "a value of type int"),
        ("1.5", "a value of type float"),
        ("len", "a value of type function"),
        ("struct(a = 1)", "a struct without just content and media_type"),
        ("message.xml", "a struct without just content and media_type"),
        ("struct(content = 5, media_type = 'text/plain')", "a value of type int"),
        ("struct(content = 'a', media_type = 'anything')", "an invalid media_type"),
        ("struct(content = 'a', media_type = 'a/b\\nX: y')", "an invalid media_type"),
        ("struct(content = 'a', media_type = 5)", "a struct without just content"),
        ("[len]", "not supported on type `function`"),
        ("1 // 0", "line 2: Floor division by zero"),
        ("fail('no such buyer')", "line 2: no such buyer"),
        ("message.nothing", "line 2: Object of type `struct` has no attribute `nothing`"),
        ("message.xml.find('Lines').find(5)", "line 2: Object of type `int` has no attribute `split`"),
        ("json.decode('1e400')", "the engine failed"),
    ],
)
async def test_anything_else_is_an_error_and_means_no(engine: QueryEngine, expression: str, fault: str) -> None:
    given = await verdict(engine, returning(expression))
    assert not given.goes
    assert fault in given.error


async def test_an_error_in_a_function_is_found_where_it_is(engine: QueryEngine) -> None:
    script = "def total(lines):\n    return lines + 1\n\ndef route(message):\n    return total([])\n"
    assert (await verdict(engine, script)).error.startswith("line 2: Operation `+` not supported")


# ---- what a script sees


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("message.xml.name, message.xml.namespace", '["Order","urn:orders"]'),
        ("message.xml.attributes", '[{"no":"5","{urn:k}id":"7"}]'),
        ("message.xml.value('Buyer')", '["Acme"]'),
        ("message.xml.value('Lines/Line/Price')", '["2.5"]'),
        ("message.xml.value('Nothing'), message.xml.value('Lines/Nothing/Price')", "[null,null]"),
        ("message.xml.find('Nothing')", "[null]"),
        ("message.xml.find_all('Nothing/*')", "[[]]"),
        ("[line.attributes['sku'] for line in message.xml.find_all('Lines/Line')]", '[["A-1","B-2"]]'),
        ("[one.text for one in message.xml.find_all('Lines/*/Price')]", '[["2.5","10"]]'),
        ("[one.name for one in message.xml.children]", '[["Buyer","Lines"]]'),
        ("[line.value('Quantity') for line in message.xml.find('Lines').find_all('*')]", '[["4","3"]]'),
        ("message.xml.text.strip()", '[""]'),
        ("message.text[:5], message.media_type, message.json", '["<?xml","text/xml",null]'),
    ],
)
async def test_xml_is_a_tree(engine: QueryEngine, expression: str, value: str) -> None:
    assert await shown(engine, expression) == value


async def test_an_elements_text_is_its_own_whatever_stands_in_between(engine: QueryEngine) -> None:
    mixed = b"<a>one<!-- x --> two<b>inner</b> three<?pi?> <![CDATA[<four>]]> &amp; &#233;</a>"
    assert await shown(engine, "message.xml.text", mixed) == '["one two three <four> & é"]'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
async def test_xml_comes_in_its_encoding(engine: QueryEngine, encoding: str) -> None:
    document = f'<?xml version="1.0" encoding="{encoding}"?><a>é</a>'.encode(encoding)
    assert await shown(engine, "message.xml.text", document) == '["é"]'


async def test_xml_may_be_deep_and_is_known_by_its_beginning(engine: QueryEngine) -> None:
    deep = b"<a>" * 200 + b"x" + b"</a>" * 200
    assert await shown(engine, f"message.xml.value('{'/'.join('a' * 199)}')", deep, "") == '["x"]'


@pytest.mark.req("X4", "X10")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("message.json['number'] + 1", "[13]"),
        ("[line['price'] for line in message.json['lines']]", "[[2.5,-10]]"),
        ("message.json['a'], message.json['paid'], message.json.get('none')", '["é",null,null]'),
        ("type(message.json['lines'][0]['price']), type(message.json['number'])", '["float","int"]'),
        ("message.xml, message.text[:9]", '[null,"{\\"number\\""]'),
    ],
)
async def test_json_is_values(engine: QueryEngine, expression: str, value: str) -> None:
    assert await shown(engine, expression, INVOICE, "application/vnd.acme+json; charset=utf-8") == value


@pytest.mark.parametrize(
    ("content", "media_type", "value"),
    [
        (b"plain", "", '["plain"]'),
        ("é".encode("latin-1"), "text/csv; charset=ISO-8859-1", '["é"]'),
        ("\ufeffé".encode(), "text/plain", '["é"]'),
        (b"", "text/plain", '[""]'),
        ("<é".encode("latin-1"), "text/plain; charset=iso-8859-1", '["<é"]'),
        ("<a>é</a>".encode("latin-1"), "text/xml; charset=iso-8859-1", '["<a>é</a>"]'),
        (b"\xff\x00", "application/octet-stream", "[null]"),
        (b"a", "text/plain; charset=x-unknown", "[null]"),
    ],
)
async def test_other_content_is_text_if_it_can_be_read(
    engine: QueryEngine, content: bytes, media_type: str, value: str
) -> None:
    assert await shown(engine, "message.text", content, media_type) == value


@pytest.mark.req("X3", "X4")
@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("é", '["string","é"]'),
        (True, '["bool",true]'),
        (5, '["int",5]'),
        (-(2**63), f'["int",{-(2**63)}]'),
        (2.5, '["float",2.5]'),
        (Decimal("10.25"), '["float",10.25]'),
        (2**70, '["float",1.1805916207174113e21]'),
        (10**400, '["NoneType",null]'),
        (float("nan"), '["NoneType",null]'),
        (datetime(2026, 11, 16, 12, 30, tzinfo=timezone(timedelta(hours=2))), '["string","2026-11-16T10:30:00Z"]'),
        (datetime(2026, 11, 16, 12, 30, 1, 500, tzinfo=UTC), '["string","2026-11-16T12:30:01.000500Z"]'),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9))), '["string","0001-01-01T00:00:00+09:00"]'),
        (date(2026, 11, 16), '["string","2026-11-16"]'),
        (["a", 1, [True]], '["list",["a",1,[true]]]'),
        ("lone \ud800", '["string","lone ?"]'),
    ],
)
async def test_header_items_keep_their_type(engine: QueryEngine, value: ItemValue, seen: str) -> None:
    expression = "type(message.headers['it-is']), message.headers['it-is']"
    assert await shown(engine, expression, **{"it-is": value}) == seen


@pytest.mark.req("X3", "X4")
async def test_the_routing_key_is_an_attribute_and_may_be_missing(engine: QueryEngine) -> None:
    assert await shown(engine, "message.routing_key", routing_key="orders.eu") == '["orders.eu"]'
    assert await shown(engine, "message.routing_key, message.headers.get('region', 'EU')") == '[null,"EU"]'


# ---- content that cannot be read


@pytest.mark.parametrize(
    ("content", "media_type", "reason"),
    [
        (b"<a><b></a>", "text/xml", "not well-formed"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "text/xml", "DOCTYPE"),
        (b'<?xml version="1.0" encoding="ebcdic"?><a/>', "text/xml", "ebcdic"),
        (b"<a/>" + b" " * LARGEST_CONTENT_BYTES, "text/xml", f"at most {LARGEST_CONTENT_BYTES}"),
        (b"<a>" + b"<b/>" * MAX_ELEMENTS + b"</a>", "text/xml", f"more than the {MAX_ELEMENTS} elements"),
        (b'{"a":', "application/json", "EOF while parsing"),
        (b"[1e400]", "application/json", "Unrepresentable number"),
        (b"[" * 200 + b"]" * 200, "application/json", "recursion limit"),
        (b"[" + b"1," * MAX_VALUES + b"1]", "application/json", f"more than the {MAX_VALUES} values"),
        (b"\xff", "application/json", "byte 0 is not a character"),
    ],
    ids=["malformed", "entity", "encoding", "bytes", "elements", "cut off", "number", "deep", "values", "no text"],
)
async def test_the_header_can_be_asked_for_and_the_rest_is_an_error_that_says_why(
    engine: QueryEngine, content: bytes, media_type: str, reason: str
) -> None:
    header = returning("message.headers['region'] == 'EU' and message.json == None and message.xml == None")
    body = returning("message.json['a'] or message.xml.name")
    asked = await engine.evaluate([header, body], content, media_type, {"region": "EU"})
    assert asked[0] == AS_IT_CAME
    assert not asked[1].goes
    assert "(the content cannot be read: " in asked[1].error
    assert reason.lower() in asked[1].error.lower()


# ---- each for itself


@pytest.mark.req("X4")
async def test_many_scripts_are_answered_in_their_order(engine: QueryEngine) -> None:
    scripts = [returning(f"'{n}'") if n % 3 else returning("nothing") for n in range(AT_ONCE + 10)]
    answers = await engine.evaluate([*scripts, scripts[1]], ORDER, "text/xml", {})
    assert [answer.content for answer in answers[:4]] == [None, b"1", b"2", None]
    assert "Variable `nothing` not found" in answers[0].error
    assert [answer.content for answer in answers[-2:]] == [
        str(AT_ONCE + 9).encode() if (AT_ONCE + 9) % 3 else None,
        b"1",
    ]


@pytest.mark.req("X4")
async def test_nothing_is_kept_from_one_call_to_the_next(engine: QueryEngine) -> None:
    counting = "seen = []\ndef route(message):\n    seen.append(1)\n    return str(len(seen))\n"
    for _ in range(3):
        assert (await verdict(engine, counting)).content == b"1"


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    "change",
    [
        "message.headers['region'] = 'US'",
        "message.headers.clear()",
        "message.xml.children.clear()",
        "message.xml.attributes.update({'no': '6'})",
        "message.xml.find_all('Lines')[0].children.append(1)",
    ],
)
async def test_no_script_changes_what_another_one_sees(engine: QueryEngine, change: str) -> None:
    changing = f"def route(message):\n    {change}\n    return True\n"
    looking = returning("str([message.headers, len(message.xml.children), message.xml.attributes['no']])")
    before, changed, after = await engine.evaluate(
        [looking, changing, looking + "#"], ORDER, "text/xml", {"region": "EU"}
    )
    assert "Immutable" in changed.error
    assert before == after


@pytest.mark.req("X4")
async def test_scripts_do_not_see_each_others_names(engine: QueryEngine) -> None:
    one = "secret = 'mine'\ndef hidden(): return secret\ndef route(message): return hidden()\n"
    other = "def route(message): return secret"
    first, second, third = await engine.evaluate([one, other, one.replace("mine", "yours")], ORDER, "text/xml", {})
    assert (first.content, third.content) == (b"mine", b"yours")
    assert "Variable `secret` not found" in second.error


async def test_a_script_may_use_any_name_for_its_own_functions(engine: QueryEngine) -> None:
    script = (
        "def verdict(message): return 'mine ' + content(message)\ndef content(message): return found(element)\n"
        "element = 'a'\ndef found(it): return it\ndef tree(): return 1\ndef route(message): return verdict(message)\n"
    )
    assert (await verdict(engine, script)).content == b"mine a"


# ---- checking


@pytest.mark.parametrize(
    "script",
    [
        returning("True"),
        returning("message.json['lines'][0]"),  # fails for an empty message, which is no fault
        returning("1 // 0"),
        "def route(message, also = None): return True",
        "def route(*messages): return True",
        "route = lambda message: True",
        "def route(m: struct) -> bool:\n    return f'{m}' != ''",
    ],
)
async def test_what_can_be_asked_passes(engine: QueryEngine, script: str) -> None:
    await engine.check(script)


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("script", "pointer", "fault"),
    [
        ("def route(message)\n    return True", "line 1, column 19", "unexpected new line"),
        ("def route(message):\n    return nothing", "line 2, column 12", "Variable `nothing` not found"),
        ("x = 1 // 0\n" + returning("True"), "line 1, column 5", "division by zero"),
        ("load('other', 'x')\n" + returning("x"), "line 1, column 1", "`load` is not allowed"),
        ("import os\n" + returning("True"), "line 1, column 1", "`import`"),
        ("", "", "a function route with the message"),
        ("def root(message): return True", "", "Variable `route` not found"),
        ("def route(): return True", "", "1 extra positional argument"),
        ("def route(message, more): return True", "", "Missing parameter `more`"),
        ("route = 5", "", "not supported on type `int`"),
        (returning("True") + "#" * LARGEST_SOURCE_BYTES, "", "bytes; at most"),
        ("# \ud800", "", "not Unicode"),
    ],
)
async def test_what_cannot_is_refused_with_its_place(
    engine: QueryEngine, script: str, pointer: str, fault: str
) -> None:
    with pytest.raises(Refused, match=r"script|Unicode") as refused:
        await engine.check(script)
    assert refused.value.code == "script.invalid"
    assert refused.value.pointer == pointer
    assert fault in refused.value.detail


# ---- the server


async def test_the_server_never_loads_the_engine() -> None:
    probe = "import sys, postroad.adapters.scripts.scripts; sys.exit('starlark' in sys.modules)"
    boot = f"import sys; sys.path.insert(0, {SOURCE_FOLDER!r}); {probe}"
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", boot)
    assert await process.wait() == 0
