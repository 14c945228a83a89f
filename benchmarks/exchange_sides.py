"""The sides of the exchange's benchmark: the matcher, a bare parse, and the naive loops over all bindings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lxml import etree
from saxonche import PySaxonProcessor

from postroad.adapters.saxon.query_text import read_query
from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher

Message = tuple[bytes, dict[str, Any]]
Side = Callable[[Message], object]


def bare(message: Message) -> object:
    return etree.fromstring(message[0])


def matching(matcher: Matcher) -> Callable[[Message], frozenset[Any]]:
    def match(message: Message) -> frozenset[Any]:
        content, items = message
        return matcher.match(MatchableMessage(headers=items, content=content, root=partial(parse, content))).decided

    return match


def by_xpath(bound: Sequence[str]) -> Callable[[Message], frozenset[int]]:
    compiled = [etree.XPath(query) for query in bound]

    def match(message: Message) -> frozenset[int]:
        tree = etree.fromstring(message[0])
        return frozenset(key for key, path in enumerate(compiled) if path(tree, **message[1]))

    return match


def parsing_for_each(bound: Sequence[str]) -> Side:
    compiled = [etree.XPath(query) for query in bound]
    return lambda message: [path(etree.fromstring(message[0]), **message[1]) for path in compiled]


def by_saxon(bound: Sequence[str]) -> Side:
    """In this process and without walls: the engine alone, as a loop over bindings would use it."""
    processor = PySaxonProcessor(license=False)

    def compiled(query: str) -> Any:
        xquery = processor.new_xquery_processor()
        xquery.set_query_content(f"({read_query(query).as_function().text})(1)")
        return xquery.run_query_to_value().head

    functions = [compiled(query) for query in bound]

    def match(message: Message) -> object:
        node = processor.parse_xml(xml_text=message[0].decode())
        region, weight = (
            processor.make_string_value(message[1]["region"]),
            processor.make_integer_value(message[1]["weight"]),
        )
        items = processor.make_map2({"region": region, "weight": weight})
        return [function.call([node, items]) for function in functions]

    return match
