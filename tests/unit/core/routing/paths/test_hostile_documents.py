"""Documents and patterns made to hurt: conditions on them are false, the reason is noted, and it costs little."""

from __future__ import annotations

from time import process_time

import pytest

from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import CANONICAL_CHARS, MATCHED_CHARS
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.literals import pattern_of
from postroad.core.routing.paths.xml_walk import MAX_NODES
from postroad.core.routing.rules.rule_check import find_condition_errors
from postroad.errors import Refused
from tests.samples.conditions import body, combine, compare, holds, json, subject, xml

SERVICE = Service(gcid="0000000000000001", organization="Acme", name="Orders")
BOMB = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>'
EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.mark.req("R2", "Z3")
@pytest.mark.parametrize(
    "data",
    [
        b"", b"<a>", b"<a></b>", b"<a>\xff</a>", b"\x00<a/>", BOMB.encode(), EXTERNAL.encode(),
        b"<a>" * 300 + b"</a>" * 300, b"<a " + b" ".join(b'b%d=""' % n for n in range(300)) + b"/>",
        b'<?xml version="1.0" encoding="ebcdic"?><a/>',
    ],
    ids=["empty", "open", "crossed", "not UTF-8", "binary", "entities", "external", "deep", "wide", "encoding"],
)  # fmt: skip
def test_xml_that_cannot_be_read_has_no_nodes(data: bytes) -> None:
    looked_at = subject(xml(data))
    assert not holds(compare("exists", body("//*")), looked_at)
    assert not holds(compare("notEquals", body("/a"), "x"), looked_at)
    assert holds(combine("not", compare("exists", body("/a"))), looked_at)
    assert len(looked_at.faults) == 1
    assert looked_at.faults[0].startswith("1 cannot be read: ")


@pytest.mark.req("R2", "Z3")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a":1,"a":2}',
        b"[" * 100_000 + b"]" * 100_000,
        b'["\xff"]',
        b'["\\ud800"]',
        b"NaN",
    ],
    ids=["empty", "open", "twice", "deep", "not UTF-8", "half a character", "no number"],
)
def test_json_that_cannot_be_read_has_no_nodes(data: bytes) -> None:
    looked_at = subject(json(data))
    assert not holds(compare("exists", body("$")), looked_at)
    assert len(looked_at.faults) == 1


def test_a_json_number_may_be_long_and_is_then_no_number() -> None:
    looked_at = subject(json(b"[" + b"9" * 5000 + b"]"))
    assert holds(compare("equals", body("$[0]"), "9" * 4000, kind="string"), looked_at) is False
    assert holds(compare("matches", body("$[0]"), "^9+$"), looked_at)
    assert not holds(compare("greaterThan", body("$[0]"), "1", kind="number"), looked_at)
    assert looked_at.faults == ()


def test_one_document_that_cannot_be_read_hides_no_other() -> None:
    looked_at = subject(xml("<a>", "bad"), xml("<a>1</a>", "good"))
    assert holds(compare("equals", body("/a"), "1"), looked_at)
    assert [fault.split()[0] for fault in looked_at.faults] == ["bad"]


@pytest.mark.req("Z3")
@pytest.mark.parametrize("path", ["//b", "/a/b", "/a/b/@c", "//@c", "//b[@c='1']/@c", "/a/b[1]/text()", "//text()"])
def test_a_path_that_leads_to_too_many_nodes_is_given_up(path: str) -> None:
    looked_at = subject(xml("<a>" + '<b c="1">x</b>' * (MAX_NODES + 1) + "</a>"))
    few = path.startswith("/a/b[1]")
    assert holds(compare("exists", body(path)), looked_at) is few
    assert [f"{path} selects too many nodes of 1"] * (not few) == list(looked_at.faults)


@pytest.mark.req("Z3")
@pytest.mark.parametrize(("path", "count"), [("$[*]", MAX_NODES + 1), ("$..a", MAX_NODES + 1), ("$..b", 200_001)])
def test_a_json_path_that_leads_to_too_many_nodes_is_given_up(path: str, count: int) -> None:
    looked_at = subject(json("[" + ",".join(['{"a":1}'] * count) + "]"))
    assert not holds(compare("exists", body(path)), looked_at)
    assert looked_at.faults == (f"{path} selects too many nodes of 1",)


def nested(depth: int, leaves: int) -> str:
    return "<a>" * depth + '<b c="1">x</b>' * leaves + "</a>" * depth


@pytest.mark.req("Z3")
@pytest.mark.parametrize(
    "condition",
    [
        compare("equals", body("//a//a//b"), "y"),
        compare("equals", body("//a//a//@c"), "y"),
        compare("equals", body("//*[b='y']"), "y"),
        compare("equals", body("//a[1]//a[1]//a[1]"), "y"),
        compare("equals", body("//a"), other=body("//a//a")),
        compare("equals", body("//a"), content="<b>y</b>"),
        compare("matches", body("//b"), "(x+x+)+y"),
    ],
    ids=lambda condition: condition.place.path,
)
def test_a_large_and_deep_document_takes_little_time(condition) -> None:  # type: ignore[no-untyped-def]
    looked_at = subject(xml(nested(250, 150_000)))
    looked_at.values(body("/none"))  # parses
    started = process_time()
    held = compile_condition(condition)(looked_at)
    seen = looked_at.seen
    assert process_time() - started < 2.0
    assert not held
    assert len(seen) >= 2


@pytest.mark.req("Z3")
def test_what_is_compared_as_a_whole_has_a_bound_for_all_conditions_together() -> None:
    looked_at = subject(json('{"a":["' + "x" * 9_900 + '",0]}'))
    differing = ("[" + '"' + "x" * 9_900 + f'",{number}]' for number in range(1, 100))
    for content in differing:
        assert not holds(compare("equals", body("$.a"), content=content), looked_at)
    assert looked_at.faults == (f"at most {CANONICAL_CHARS} characters of element content are compared per message",)


@pytest.mark.req("Z3")
def test_patterns_look_at_so_much_of_a_message_and_no_more() -> None:
    looked_at = subject(xml("<a>" + "x" * (MATCHED_CHARS // 2 + 1) + "</a>"))
    assert holds(compare("matches", body("/a"), "x"), looked_at)
    assert not holds(compare("matches", body("/a"), "xx"), looked_at)
    assert len(looked_at.faults) == 1


@pytest.mark.req("R2", "Z3")
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){20}b", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_would_run_for_years_elsewhere_ends_at_once(pattern: str) -> None:
    search = pattern_of(pattern)
    started = process_time()
    for text in ("a" * 100_000 + "!", "x" * 100_000):
        search(text)
    assert process_time() - started < 1.0


@pytest.mark.req("R2", "Z3")
@pytest.mark.parametrize(
    "pattern", ["(a", "a{1001}", r"(a)\1", "(?=a)", "x" * 1001, "((a{100}){100}){100}", "(?:.{0,200}a){10}"]
)
def test_a_pattern_that_cannot_be_linear_or_small_is_refused(pattern: str) -> None:
    with pytest.raises(Refused) as refused:
        pattern_of(pattern)
    assert refused.value.code == "rule.invalid"


@pytest.mark.req("Z7")
def test_finding_out_that_a_pattern_is_too_large_costs_little() -> None:
    """RE2 would write a program of megabytes first, which takes it ten times as long."""
    started = process_time()
    for number in range(20):
        with pytest.raises(Refused, match="too large"):
            pattern_of(rf"(?i)[\p{{L}}]{{0,900}}x{number}")
    assert process_time() - started < 0.5


@pytest.mark.req("Z7")
def test_a_pattern_of_many_unicode_properties_is_refused_before_it_is_compiled() -> None:
    """The compiled program is small, but reading each property writes hundreds of ranges out."""
    started = process_time()
    for number in range(100):
        with pytest.raises(Refused, match="240 Unicode properties"):
            pattern_of("(?i)" + r"\PL|" * 240 + str(number))
    assert process_time() - started < 0.5
    assert pattern_of(r"(?i)" + r"\p{L}|" * 16 + "x")("y")
    assert pattern_of(r"\\p" * 20 + "|x")("x")  # the character \, and p


@pytest.mark.req("Z7")
def test_patterns_behind_one_that_is_refused_are_not_compiled() -> None:
    conditions = [compare("matches", body("/a"), rf"(?i)[\p{{L}}]{{0,900}}y{number}") for number in range(190)]
    faults = list(find_condition_errors(combine("or", *conditions), "/when", Directory(), SERVICE))
    assert [fault.pointer for fault in faults] == ["/when/or/0/matches/value"]
