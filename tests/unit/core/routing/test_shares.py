"""What the rules of one service may cost, and that nobody pays for another."""

from __future__ import annotations

import time

import pytest

from postroad.core.model.rule import RuleRole
from postroad.core.routing.shares import LOOKED_MOST, MATCHED_CHARS
from postroad.core.routing.subject import Subject
from tests.unit.core.routing.looking import body, compare, holds, json, subject, xml

MANY_OBJECTS = json("[" + '{"a":{"b":1}},' * 20_000 + '{"last":"here"}]')
MANY_ELEMENTS = xml("<r>" + "<a><b>1</b></a>" * 20_000 + "<last>here</last></r>")
NO_MORE = f"paths pass no more than {LOOKED_MOST} nodes of one message"


def view(of: Subject, service: str) -> Subject:
    return of.seen_by(service, role=RuleRole.RECIPIENT, topic="")


@pytest.mark.req("Z3")
@pytest.mark.parametrize(
    ("part", "path"),
    [
        (MANY_OBJECTS, "$..name{}"),
        (MANY_ELEMENTS, "//last//name{}"),
        (MANY_ELEMENTS, "/r/a[1{:04d}]/name"),
        (MANY_ELEMENTS, "/r/a[b='{}']/name"),
        (MANY_ELEMENTS, "//@name{}"),
    ],
)
def test_rules_that_look_through_a_large_document_again_and_again_come_to_an_end(part: object, path: str) -> None:
    looked_at = view(subject(part), "greedy")  # type: ignore[arg-type]
    started = time.process_time()
    for number in range(1, 1_001):
        assert not holds(compare("exists", body(path.format(number))), looked_at)
    assert time.process_time() - started < 5
    assert NO_MORE in looked_at.faults


@pytest.mark.req("Z3")
@pytest.mark.parametrize(("part", "path", "last"), [(MANY_OBJECTS, "$..{}", "last"), (MANY_ELEMENTS, "//{}", "last")])
def test_what_one_service_looks_at_takes_nothing_from_another(part: object, path: str, last: str) -> None:
    """Else a sender could make the conditions of a recipient's filter false."""
    message = subject(part)  # type: ignore[arg-type]
    greedy, fair = view(message, "greedy"), view(message, "fair")
    for number in range(200):
        holds(compare("exists", body(path.format(f"name{number}"))), greedy)
    assert not holds(compare("exists", body(path.format(last))), greedy)
    assert holds(compare("exists", body(path.format(last))), fair)
    assert fair.faults == ()


@pytest.mark.req("Z3")
def test_patterns_of_one_service_take_nothing_from_another() -> None:
    text = xml("<a>" + "x" * (MATCHED_CHARS // 2 + 1) + "</a>")
    message = subject(text)
    greedy, fair = view(message, "greedy"), view(message, "fair")
    assert [holds(compare("matches", body("/a"), "^x"), greedy) for _ in range(2)] == [True, False]
    assert holds(compare("matches", body("/a"), "^x"), fair)
    assert fair.faults == ()


@pytest.mark.req("Z5")
def test_where_one_service_has_looked_is_not_told_to_another() -> None:
    message = subject(MANY_ELEMENTS)
    first, second = view(message, "first"), view(message, "second")
    assert not holds(compare("exists", body("/r/a")), first)
    assert first.faults == ("/r/a leads to too many nodes of 1 to look at",)
    assert not second.faults
    assert not holds(compare("exists", body("/r/a")), second)
    assert second.faults == first.faults
