"""Paths into documents: what they lead to, and where a bad one is refused."""

from __future__ import annotations

import pytest

from postroad.core.routing.paths.json_path import read_json_path
from postroad.core.routing.paths.xml_path import read_xml_path
from postroad.errors import Refused
from tests.samples.conditions import body, json, subject, xml

DOCUMENT = xml(
    """<o:Order xmlns:o="urn:o" xmlns:p="urn:p" id="1" p:id="2" xml:lang="en">
    <o:Line n="1"><Sku>a</Sku><o:Sku>A</o:Sku></o:Line>
    <o:Line n="2"><Sku>b</Sku><Kind>spare</Kind></o:Line>
    <Line n="3"><Sku>c</Sku></Line>
    <p:Note>one<b>two</b>three</p:Note>
    <o:Group><o:Line n="4"><Sku>d</Sku></o:Line><o:Line n="5"/></o:Group>
    </o:Order>"""
)


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("/o:Order/@id", ["1"]),
        ("/o:Order/@p:id", ["2"]),
        ("/o:Order/@xml:lang", ["en"]),
        ("/o:Order/@*", ["1", "2", "en"]),
        ("/o:Order/@p:*", ["2"]),
        ("/Order/@id", []),
        ("/o:Order/Line/@n", ["3"]),
        ("/o:Order/o:Line/@n", ["1", "2"]),
        ("/o:Order/*/@n", ["1", "2", "3"]),
        ("//o:Line/@n", ["1", "2", "4", "5"]),
        ("//o:*/@n", ["1", "2", "4", "5"]),
        ("//@n", ["1", "2", "3", "4", "5"]),
        ("/o:Order/o:Group//@n", ["4", "5"]),
        ("/o:Order//o:Line/Sku", ["a", "b", "d"]),
        ("/o:Order/o:Line[2]/@n", ["2"]),
        ("/o:Order/o:Line[last()]/@n", ["2"]),
        ("/o:Order/o:Line[3]/@n", []),
        ("//o:Line[1]/@n", ["1", "4"]),
        ("//o:Line[last()]/@n", ["2", "5"]),
        ("/o:Order/o:Line[@n='2']/Sku", ["b"]),
        ('/o:Order/o:Line[ @n = "2" ]/Sku', ["b"]),
        ("//o:Line[Kind='spare']/Sku", ["b"]),
        ("//o:Line[o:Sku='A']/@n", ["1"]),
        ("//o:Line[Sku='A']/@n", []),
        ("//o:Line[Sku='b'][1]/@n", ["2"]),
        ("//o:Line[1][Sku='b']/@n", []),
        ("/o:Order/p:Note/text()", ["one", "three"]),
        ("/o:Order/p:Note//text()", ["one", "three", "two"]),
        ("/o:Order/p:Note/b", ["two"]),
        ("//b/text()", ["two"]),
        ("/@id", []),
        ("/text()", []),
        ("/*/o:Line//Sku", ["a", "b"]),
        ("/o:Order[@id='1']/o:Line[1]/@n", ["1"]),
        ("/o:Order[2]/o:Line/@n", []),
    ],
)
def test_what_an_xml_path_leads_to(path: str, texts: list[str]) -> None:
    values = subject(DOCUMENT).values(body(path, o="urn:o", p="urn:p"))
    assert sorted(value.text for value in values if not value.elements) == texts


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/", "character 1"),
        ("/a/", "character 3"),
        ("/a[0]", "character 3"),
        ("/a[b]", "use [2], [last()]"),
        ("/a[b='x]", "predicate"),
        ("/a[*='x']", "predicate"),
        ("/a/..", "character 3"),
        ("/a | /b", "character 3"),
        ("/a[count(b)=1]", "predicate"),
        ("/a/b()", "character 5"),
        ("/x:a", "prefix 'x' is not declared"),
        ("/@b/c", "end of a path"),
        ("/a/text()/b", "end of a path"),
        ("//a//b//c//d", "more than 3"),
        ("/a" * 51, "at most 50"),
        ("/" + "a" * 1000, "at most 1000"),
        ("/a[@b='1'][x:c='2']", "prefix 'x'"),
    ],
)
def test_an_xml_path_that_cannot_be_followed_is_refused_where(path: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        read_xml_path(path, {})
    assert refused.value.code == "rule.invalid"
    assert said in refused.value.detail


@pytest.mark.parametrize(
    "namespaces",
    [
        {"": "urn:o"},
        {"xml": "urn:o"},
        {"a:b": "urn:o"},
        {'a="" b': "urn:o"},
        {"o": ""},
        {"o": "\x00"},
        {"o": "x" * 1001},
    ],
)
def test_a_namespace_that_cannot_be_is_refused(namespaces: dict[str, str]) -> None:
    with pytest.raises(Refused, match=r"prefix|namespace"):
        read_xml_path("/a", namespaces)


LISTED = json(
    '{"a": {"b": [1, 2.50, {"b": "x"}]}, "odd name": "q", "it\'s": 1, "d": [[1, 2], [3]], "b": true, "n": null}'
)


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("$.a.b[0]", ["1"]),
        ("$.a.b[1]", ["2.50"]),
        ("$.a.b[3]", []),
        ("$.a.b[2].b", ["x"]),
        ("$.a.b[*]", ["1", "2.50"]),
        ("$.a['b'][0]", ["1"]),
        ("$['odd name']", ["q"]),
        ('$["it\'s"]', ["1"]),
        ("$.d[*][0]", ["1", "3"]),
        ("$.d[*][*]", ["1", "2", "3"]),
        ("$..b", ["true", "x"]),
        ("$..b[0]", ["1"]),
        ("$.a..b", ["x"]),
        ("$..['odd name']", ["q"]),
        ("$..b..b", ["x"]),
        ("$.*", ["1", "null", "q", "true"]),
        ("$.n", ["null"]),
        ("$.a.b.c", []),
        ("$.a[0]", []),
    ],
)
def test_what_a_json_path_leads_to(path: str, texts: list[str]) -> None:
    values = subject(LISTED).values(body(path))
    assert sorted(value.text for value in values if not value.elements) == texts


@pytest.mark.parametrize(
    "path",
    [
        "$.",
        "$a",
        "$..",
        "$..*",
        "$..[0]",
        "$[-1]",
        "$[01]",
        "$['a]",
        "$.a b",
        "$[?(@.a)]",
        "$..a..b..c..d",
        "$" + ".a" * 51,
        "$." + "a" * 1000,
    ],
)
def test_a_json_path_that_cannot_be_followed_is_refused(path: str) -> None:
    with pytest.raises(Refused) as refused:
        read_json_path(path)
    assert refused.value.code == "rule.invalid"
