"""Queries taken apart into what they ask and the constants they ask it with."""

from __future__ import annotations

from decimal import Decimal
from time import process_time

import pytest

from postroad.core.codecs.xml import Tree
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.core.exchange.match.query_plans import QUERY_CHARS, split_constants


def test_constants_are_taken_out_with_their_kinds() -> None:
    apart = split_constants("/a = 'x' and $b > 5 or contains(/c1/@d2, \"y'\") and /e < 2.50", "topic")
    assert apart is not None
    skeleton, constants = apart
    assert constants == ["x", 5, "y'", Decimal("2.50"), "topic"]
    assert skeleton.kinds == "sisd"
    assert skeleton.pieces == ("/a = ", " and $b > ", " or contains(/c1/@d2, ", ") and /e < ", "")


def test_what_is_declared_stays_in_the_skeleton() -> None:
    apart = split_constants(
        "declare namespace p = 'urn:p'; declare variable $h as xs:string external; /p:a = 'x'", None
    )
    assert apart is not None
    assert apart[1] == ["x"]


@pytest.mark.parametrize("query", ["/a = 'x&amp;y'", "/a = 816", "/a816 = 1", "/a = 5e0", "/a" * QUERY_CHARS])
def test_what_may_be_read_otherwise_has_no_skeleton(query: str) -> None:
    apart = split_constants(query, None)
    assert apart is None or apart[1] == [816]


def no_root() -> Tree:
    raise AssertionError("nobody looks inside")


@pytest.mark.parametrize(
    ("query", "met"),
    [
        ("$h = 'it''s'", "it's"), ("$h = ''", ""), ("$h = 'a' (: $h = 'b' :)", "a"), ("$h = \"a\" or $h = 'a'", "a"),
        ("starts-with($h, '')", "anything"), ("$h = -5", -5), ("$h = 05", 5), ("$h = 5.", 5), ("$h = .5", Decimal("0.5")),
        ("$h = 123456789012345678901", 123456789012345678901), ("matches($h, '^a')", "ab"), ("$h = 'a' and not($h = 'a')", None),
        ("$h = '\ue0000\ue000'", "\ue0000\ue000"), ("$h = ('a', 'b')", "b"),
    ],
)  # fmt: skip
def test_constants_of_all_kinds_find_their_own(query: str, met: object) -> None:
    matcher = Matcher()
    for key, one in enumerate(("$h = 'q'", query, "$h = 7", query, "matches($h, '^q')")):
        matcher.bind(key, one)
    message = MatchableMessage(headers={"h": "?" if met is None else met}, content=b"", root=no_root)  # type: ignore[dict-item]
    assert matcher.match(message).decided == ({1, 3} if met is not None else frozenset())
    for key in range(5):
        matcher.unbind(key)
    assert matcher.is_empty


@pytest.mark.parametrize("bit", ["'", '"', "declare ", "declare x ", "'a", "1", "''", "declare 'a", ";", "&"])
def test_taking_apart_takes_no_longer_than_reading(bit: str) -> None:
    began = process_time()
    split_constants(bit * (QUERY_CHARS // len(bit)), None)
    assert process_time() - began < 0.2
