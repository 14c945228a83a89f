"""A rule in the form and back: whatever the fields can show or not, nothing of it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.console import binding_form, rule_form, send_port_form
from postroad.console.form_values import MAX_TEXT, InvalidForm, parse_yaml_text, readable_errors, validate_values
from postroad.console.pages import services
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.bindings import BindingEntry
from postroad.core.configuration.entries.rules import RuleEntry, rule_entry, rule_of
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from tests.unit.console.inhabited import enter_all, inhabited

TEXTS = st.text(st.sampled_from("ab: \n'#-"), max_size=6)
PLACES = st.builds(
    ValueLocation,
    where=st.sampled_from(MessageSection),
    path=st.sampled_from(["topic", "$.a", "/a/b"]),
    document=st.sampled_from(["", "d"]),
)
PLAIN = st.builds(
    ValueComparison, operator=st.sampled_from([Comparing.EQUALS, Comparing.MATCHES, Comparing.LESS_THAN]),
    place=PLACES, type=st.sampled_from(ValueType), values=st.tuples(TEXTS),
)  # fmt: skip
SEVERAL = st.builds(
    ValueComparison,
    operator=st.just(Comparing.EQUALS_ONE_OF),
    place=PLACES,
    values=st.lists(TEXTS, min_size=1, max_size=3).map(tuple),
)
EXISTS = st.builds(ValueComparison, operator=st.just(Comparing.EXISTS), place=PLACES)
COMBINED: st.SearchStrategy[Condition] = st.recursive(
    PLAIN | SEVERAL | EXISTS,
    lambda inner: st.builds(
        Combination,
        operator=st.sampled_from([Combining.AND, Combining.OR]),
        conditions=st.lists(inner, min_size=1, max_size=2).map(tuple),
    ),
    max_leaves=3,
)
BRINGING = st.builds(
    RuleAction, kind=st.sampled_from([ActionKind.ADD_SERVICE, ActionKind.REDIRECT]), service=st.just("A/b"),
    topic=st.sampled_from(["", "t"]), pays=st.booleans(), isolates=st.booleans(), absorbs=st.booleans(),
)  # fmt: skip
STOPPING = st.just(RuleAction(kind=ActionKind.STOP_RULE_EVALUATION))
CHANGING = st.just(RuleAction(kind=ActionKind.CHANGE_TOPIC, topic="other"))
RULES = st.builds(
    Rule, service=st.just("s"), name=st.just("n"), place=st.just(0), role=st.sampled_from(RuleRole), when=COMBINED,
    then=st.lists(BRINGING | STOPPING | CHANGING, min_size=1, max_size=2).map(tuple), enabled=st.booleans(),
    description=st.sampled_from(["", "what for"]),
)  # fmt: skip


@given(RULES)
def test_a_rule_that_is_opened_and_saved_is_the_same(rule: Rule) -> None:
    form = rule_form.rule_fields(rule_entry(rule))
    assert rule_of(validate_values(RuleEntry, rule_form.rule_entry(form)), "s", 0) == rule


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"more": "when: always"}, "/when"),
        ({"operator": "written"}, "/when"),
        ({"action": "written", "more": ""}, "/then"),
        ({"more": "role: sender"}, ""),
        ({"more": "{"}, ""),
        ({"arguments": "no colon"}, "/then/0/arguments"),
    ],
)
def test_what_is_said_twice_or_not_at_all_is_a_fault(fields: dict[str, str], place: str) -> None:
    with pytest.raises(InvalidForm) as refused:
        rule_form.rule_entry(rule_form.EMPTY | {"service": "A/b"} | fields)
    assert refused.value.faults[0].pointer == place


@pytest.mark.parametrize(
    "entry",
    [
        {"queue": "A/b"},
        {"queue": "A/b", "query": "$msg/a", "routingKey": "t", "enabled": False},
        {"queue": "A/b", "script": "def route(m):\n  return True", "description": "d"},
        {"queue": "A/b", "routing": "named"},
    ],
)
def test_a_binding_that_is_opened_and_saved_is_the_same(entry: dict[str, Any]) -> None:
    form = binding_form.binding_fields(entry)
    assert validate_values(BindingEntry, binding_form.binding_entry(form)) == validate_values(BindingEntry, entry)


def test_faults_are_told_without_the_names_that_shapes_have_inside() -> None:
    told = readable_errors(
        [
            DocumentError("/a/0/price/chain[function-before[f(), str]]", "write it in quotes"),
            DocumentError("/a/0/price/tuple[..., ...]", "Input should be a valid tuple"),
            DocumentError("/a", "Tuple should have at least 1 item after validation, not 0"),
            DocumentError("/b", "is not known"),
        ]
    )
    assert told == [DocumentError("/a/0/price", "write it in quotes"), DocumentError("/b", "is not known")]


def test_a_send_port_that_is_opened_and_saved_is_the_same() -> None:
    entry = {
        "sendsTo": "A/b", "standard": "x12", "count": 3, "ageSeconds": 60, "cron": ["0 1 * * *"], "takesTypes": ["850"]
    }  # fmt: skip
    assert send_port_form.send_port_entry(send_port_form.send_port_fields(entry)) == entry
    for wrong in ({"count": "three"}, {"more": "count: 4"}):
        with pytest.raises(InvalidForm):
            send_port_form.send_port_entry(send_port_form.send_port_fields(entry) | wrong)


LAUGHS = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else '1'}]\n" for i in range(12))


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        "a: " + "[" * 20_000,
        "a: b\n" + " " * MAX_TEXT,
        "a: 2026-13-45",
        "a: " + "1" * 5_000,
        "a: " + "1:" * 500 + "1.5",
        "- a",
        "a: 1\na: 2",
        "{",
        "a:\n " + "- " * 20_000 + "x",
        "when: always\n1: a",
        "null: a",
    ],
)
def test_a_text_that_could_mean_more_than_it_says_is_a_fault(text: str) -> None:
    with pytest.raises(InvalidForm):
        parse_yaml_text(text)


def test_a_text_may_hold_what_forms_need() -> None:
    assert parse_yaml_text("script: |\n  a[0] = {}\nwhen: {and: [{exists: {body: /a}}]}\n")["script"] == "a[0] = {}\n"


@pytest.mark.parametrize("more", ["push: 5", "push: [url]"])
def test_a_push_that_is_none_is_a_fault_of_the_form(more: str) -> None:
    with pytest.raises(InvalidForm) as refused:
        validate_values(ServiceProfile, services._profile_in({"url": "https://a.example/in", "more": more}))
    assert refused.value.faults[0].pointer.startswith("/push")


async def test_registration_reports_all_errors_at_once_at_their_fields(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        wish = {"organization": "A/B", "email": "nobody", "name": "", "password": "short"}
        answer = await found.visitor().send("/register", wish)
        assert answer.status_code == 422
        for name in ("organization", "email", "password"):
            assert f'id="{name}-wrong"' in answer.text
        assert 'id="name-wrong"' not in answer.text


async def test_the_form_of_a_service_checks_its_name_while_it_is_filled_in(tmp_path: Path) -> None:
    async with inhabited(tmp_path) as found:
        owner = (await enter_all(found))["owner"]
        checked = await owner.send("/services/check", {"name": "Ein/kauf", "organization": "Aster"})
        assert 'class="fault"' in checked.text
