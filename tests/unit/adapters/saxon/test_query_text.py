"""A query's text is taken apart and put together without losing a letter of it, or moving it to another line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.saxon.query_text import read_query

PIECES = [
    "declare variable $an external;", "declare variable $b as xs:string? external;", "declare variable $c := 1;", "\n", " ",
    "declare namespace p = 'urn:p;';", "declare function local:f($x) { if ($x) then '};' else {;} };", "(: ; (: :) :)", "(:",
    "declare option output:method 'json';", "xquery version '3.1';", "import module namespace m = 'urn:m';", "$msg/a = $b",
    "declare default element namespace \"urn:'x;\";", "declare context item external;", "'", '"', "<a>don't; {$d}</a>", ";",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=60))
def test_every_letter_stays_in_its_place(query: str) -> None:
    text = read_query(query)
    kept = text.settings + text.functions + text.body
    assert len(kept) == len(query)
    assert all(ours in (theirs, " ") for ours, theirs in zip(kept, query, strict=True))
    for form in (text.as_function(), text.as_whole()):
        assert form.before + form.after[: len(query) - len(form.before)] == kept
        assert "\n" not in form.ours or "\n" in query  # a declared type may be written on several lines


@pytest.mark.parametrize(
    ("query", "types", "body", "whole"),
    [
        ("/a", {}, "/a", False),
        ("declare variable $a as xs:string? external; $a", {"a": "xs:string?"}, "$a", False),
        ("declare variable $a as\n map(xs:string, item()*) external;1", {"a": "map(xs:string, item()*)"}, "1", False),
        ("declare function local:f() { 1 }; (: x :) local:f()", {}, "local:f()", False),
        ("declare %private function local:f() { 1 }; local:f()", {}, "local:f()", False),
        ("declare variable $an external := 1; $a", {}, "declare variable $an external := 1; $a", True),
        ("declare function local:f() { 1 }; declare variable $a := 1; 2", {}, None, True),
        ("declare(:c:)namespace(:c:)p(:c:)=(:c:)'urn:p'(:c:); $a", {}, "$a", False),
        ("declare(: : (c :)variable $a(:c:)as xs:string?(:c:)external; $a", {"a": "xs:string?"}, "$a", False),
        ("declare(:c:)function local:f() { 1 }; $a", {}, "$a", False),
        ("declare(:c:)variable $a := 1; $a", {}, "declare(:c:)variable $a := 1; $a", True),
        ("declare option Q{urn:o}name 'x'; $a", {}, "$a", False),
        ("declare(: never closed", {}, "declare(: never closed", False),
        ("declare context item := <a/>; .", {}, "declare context item := <a/>; .", True),
    ],
)
def test_declarations_are_told_from_the_body(query: str, types: dict[str, str], body: str | None, whole: bool) -> None:
    text = read_query(query)
    assert (text.types, text.body, text.whole) == (types, query if body is None else body, whole)


def test_output_options_are_those_of_serialization() -> None:
    query = (
        "declare namespace o = 'http://www.w3.org/2010/xslt-xquery-serialization'; declare namespace x = 'urn:x';"
        "declare option o:method 'json'; declare option x:indent 'yes'; declare option output:indent \"no\"; "
        "declare option Q{http://www.w3.org/2010/xslt-xquery-serialization}media-type 'a/b'; 1"
    )
    assert read_query(query).output == {"method": "'json'", "indent": '"no"', "media-type": "'a/b'"}


def test_a_place_is_counted_as_the_author_counts() -> None:
    form = read_query("declare variable $an external;\n  /a bad").as_function()
    start = len(form.before) - form.before.rfind("\n")
    assert form.place(1, 5) == (1, 5)
    assert form.place(2, 2) == (2, 2)
    assert form.place(2, start + len(form.ours) + 3) == (2, start + 3)
    assert form.place(3, 4) == (3, 4)
