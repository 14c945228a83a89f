"""Explanations: what a condition says, what it saw, whether it held; also when what it saw was too long to keep."""

from __future__ import annotations

import pytest

from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader
from postroad.core.routing.explain.condition_text import condition_text, explain_condition
from tests.samples.conditions import attachment, body, combine, compare, header, holds, json, subject, xml


@pytest.mark.req("R16")
def test_a_condition_is_told_with_all_below_it() -> None:
    looked_at = subject(xml("<Order><Total>1500</Total></Order>"))
    condition = combine(
        "and",
        compare("equalsOneOf", header("to"), "Acme/Supply", "Acme/Else"),
        combine("not", compare("greaterThan", body("/Order/Total"), "2000", kind="number")),
        combine("or", compare("exists", body("/Order/Total")), compare("exists", attachment("$.sig", "s1"))),
    )
    assert holds(condition, looked_at)
    told = explain_condition(condition, looked_at.seen)
    assert (told.text, told.held) == ("all of these are true", True)
    one_of, negated, either = told.children
    assert one_of.text == "to equals one of Acme/Supply, Acme/Else"
    assert one_of.seen == ("Acme/Supply", "Acme/Billing")
    assert (negated.held, negated.children[0].held) == (True, False)
    assert negated.children[0].text == "body /Order/Total (as number) is greater than 2000"
    assert negated.children[0].seen == ("1500",)
    assert [(child.text, child.held) for child in either.children] == [
        ("body /Order/Total exists", True),
        ("attachment $.sig of s1 exists", None),
    ]


@pytest.mark.parametrize(
    ("comparison", "text"),
    [
        (compare("notEquals", header("topic"), ""), "topic exists and does not equal the empty text"),
        (compare("equals", body("/a"), other=header("handle")), "body /a equals handle"),
        (compare("equals", body("/a"), content="<b/>"), "body /a equals <b/>"),
        (compare("matches", header("topic"), "x" * 300), "topic matches " + "x" * 200 + "…"),
        (
            compare("lessThan", header("postedAt"), "2026-01-01", kind="date"),
            "postedAt (as date) is less than 2026-01-01",
        ),
    ],
)
def test_a_comparison_in_words(comparison, text: str) -> None:  # type: ignore[no-untyped-def]
    assert condition_text(comparison) == text


LONG = "x" * 300


@pytest.mark.req("R16")
@pytest.mark.parametrize(
    ("comparison", "held"),
    [
        (compare("equals", body("/a/long"), "x"), False),
        (compare("equals", body("/a/long"), LONG), None),
        (compare("equals", body("/a/*"), "short"), True),
        (compare("notEquals", body("/a/long"), "x"), True),
        (compare("notEquals", body("/a/long"), LONG), None),
        (compare("notEquals", body("/a/*"), "short"), False),
        (compare("matches", body("/a/long"), "x$"), None),
        (compare("matches", body("/a/*"), "^s"), True),
        (compare("lessThan", body("/a/long"), "y"), None),
        (compare("exists", body("/a/long")), True),
        (compare("equals", body("/a/long"), other=body("/a/short")), None),
        (compare("equals", body("/a/deep"), content="<b/>"), False),
        (compare("equals", body("/a/deep"), content="<b>" + LONG + "</b>"), None),
    ],
)
def test_nothing_is_claimed_of_what_was_cut(comparison, held: bool | None) -> None:  # type: ignore[no-untyped-def]
    looked_at = subject(xml(f"<a><long>{LONG}</long><short>short</short><deep><b>{LONG}</b></deep></a>"))
    actual = holds(comparison, looked_at)
    assert explain_condition(comparison, looked_at.seen).held is held
    assert held is None or held is actual


@pytest.mark.req("R16")
def test_long_texts_and_long_lists_are_kept_cut() -> None:
    looked_at = subject(json('{"a": [' + ",".join(f'"{LONG}{n}"' for n in range(50)) + "]}"))
    holds(compare("exists", body("$.a[*]")), looked_at)
    [(key, texts)] = looked_at.seen.items()
    assert key == "body $.a[*]"
    assert len(texts) == 21
    assert max(map(len, texts)) == 201
    assert explain_condition(compare("equals", body("$.a[*]"), "y"), looked_at.seen).held is None


@pytest.mark.req("R16")
def test_services_are_told_by_all_their_names() -> None:
    many = RuleHeader(
        sender=NamedService(address="A/b", gcid="00000000000000a1"),
        to=tuple(Addressed(party=NamedService(address=f"A/{n}", gcid=f"{n:016x}")) for n in range(3)),
    )
    looked_at = subject(header=many)
    by_gcid = compare("equals", header("to"), "0000000000000002")
    assert holds(by_gcid, looked_at)
    told = explain_condition(by_gcid, looked_at.seen)
    assert (told.held, told.seen) == (True, ("A/0", "A/1", "A/2"))


def test_what_was_not_looked_at_is_not_claimed() -> None:
    condition = combine("xor", compare("exists", header("to")), compare("equals", header("to"), other=header("topic")))
    assert explain_condition(condition, {}).held is None
    assert explain_condition(combine("not", condition), {}).held is None
    assert (
        explain_condition(combine("and", condition, compare("exists", header("topic"))), {"header topic": ()}).held
        is False
    )
    assert (
        explain_condition(combine("or", condition, compare("exists", header("topic"))), {"header topic": ("t",)}).held
        is True
    )
