"""Rules in documents: planned field by field, kept in order, checked against the directory as it will be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.configuration.change_plan import ConfigurationPlan, StepAction
from postroad.core.configuration.sections.organization import export_document
from postroad.core.configuration.sections.rules import assign_places
from postroad.core.model.journal import ObjectChange
from postroad.core.model.rule import Rule
from postroad.core.model.snapshot import Directory
from tests.samples.plans import applied, planned

pytestmark = pytest.mark.req("N13", "R1")

HERE = "/organizations/House/services/In"


def rule(name: str, service: str = "House/Out", **more: Any) -> dict[str, Any]:
    return {"name": name, "when": "always", "then": [{"addServiceAfter": service}], **more}


def house(*rules: dict[str, Any], **services: Any) -> dict[str, Any]:
    listed = {"In": {"rules": list(rules)}, "Out": {}, **services}
    return {"postroad": 1, "organizations": {"House": {"services": listed}}}


def configured(*rules: dict[str, Any], **services: Any) -> Directory:
    return applied(planned(house(*rules, **services), Directory()), Directory())


def told(found: ConfigurationPlan) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (step.action.value, step.name, {change.field: (change.before, change.after) for change in step.fields})
        for step in found.steps
    ]


def names(directory: Directory) -> list[str]:
    service = directory.service("House/In")
    assert service is not None
    return [item.name for item in directory.rules_of(service.gcid)]


def test_an_export_of_rules_changes_nothing_also_elsewhere() -> None:
    when = {"and": [{"equals": {"header": "topic", "value": "x"}}, {"not": {"exists": {"body": "/a/@b"}}}]}
    directory = configured(rule("b", role="sender", enabled=False), rule("a", when=when, description="why"))
    exported = export_document(directory, ["House"])
    assert [item["name"] for item in exported["organizations"]["House"]["services"]["In"]["rules"]] == ["b", "a"]
    assert planned(exported, directory, prune=True).steps == ()
    elsewhere = planned(exported, Directory(), may_choose_ids=True)
    assert export_document(applied(elsewhere, Directory()), ["House"]) == exported


def test_a_changed_rule_is_told_field_by_field() -> None:
    directory = configured(rule("a", enabled=False), rule("b"))
    assert told(planned(house(rule("a"), rule("b", role="sender")), directory)) == [
        ("change", "House/In: a", {"enabled": (False, True)}),
        ("change", "House/In: b", {"role": ("any", "sender")}),
    ]
    [(action, name, fields)] = told(planned(house(rule("a", enabled=False), rule("b"), rule("new")), directory))
    assert (action, name, set(fields)) == ("add", "House/In: new", {"name", "when", "then"})


def test_moving_a_rule_moves_no_other() -> None:
    directory = configured(*(rule(name) for name in "abcd"))
    found = planned(house(*(rule(name) for name in "bcda")), directory)
    assert [name for _, name, _ in told(found)] == ["House/In: a"]
    assert names(applied(found, directory)) == list("bcda")
    inserted = planned(house(*(rule(name) for name in "abxcd")), directory)
    assert names(applied(inserted, directory)) == list("abxcd")


@given(st.lists(st.integers(0, 12), max_size=8))
def test_places_follow_each_other_and_stay_where_they_can(given_places: list[int]) -> None:
    directory = configured(rule("a"))
    [model] = directory.rules.values()
    rules = [Rule(**_fields(model, name=str(number), place=place)) for number, place in enumerate(given_places)]
    found = assign_places(rules)
    assert [item.name for item in sorted(found, key=lambda item: item.place)] == [item.name for item in rules]
    assert len({item.place for item in found}) == len(found)
    assert assign_places(found) == found


def _fields(model: Rule, **changes: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in Rule.__dataclass_fields__} | changes


def test_rules_are_pruned_where_there_is_a_list_and_go_with_their_service() -> None:
    directory = configured(rule("a"), rule("b"))
    unspoken = {"postroad": 1, "organizations": {"House": {"services": {"In": {}, "Out": {}}}}}
    assert planned(unspoken, directory, prune=True).steps == ()
    assert planned(house(rule("b")), directory).steps == ()
    [removal] = planned(house(rule("b")), directory, prune=True).steps
    assert (removal.action, removal.kind, removal.name) == (StepAction.REMOVE, "rule", "House/In: a")
    gone = planned({"postroad": 1, "organizations": {"House": {"services": {"Out": {}}}}}, directory, prune=True)
    assert sorted(step.kind for step in gone.steps) == ["rule", "rule", "service"]


def test_every_fault_of_every_rule_is_found_with_its_place() -> None:
    bad = rule("bad", service="Nobody/Here", when={"matches": {"header": "topic", "value": "("}})
    both = planned(house(rule("good"), bad, rule("worse", role="recipient"), rule("GOOD")), Directory())
    assert {fault.pointer for fault in both.faults} == {
        f"{HERE}/rules/1/when/matches/value",
        f"{HERE}/rules/1/then/0/addServiceAfter",
        f"{HERE}/rules/2/then/0/addServiceAfter",
        f"{HERE}/rules/3/name",
    }


def test_a_rule_may_name_what_the_same_document_brings_and_not_what_it_takes_away() -> None:
    assert planned(house(rule("a", service="House/New"), New={}), Directory()).faults == ()
    directory = configured(rule("a", service="House/New"), New={})
    assert planned(house(rule("a", service="House/New")), directory).faults == ()
    taken = planned(house(rule("a", service="House/New")), directory, prune=True)
    assert [fault.pointer for fault in taken.faults] == [f"{HERE}/rules/0/then/0/addServiceAfter"]


def test_a_rule_that_was_wrong_already_does_not_hold_up_the_rest() -> None:
    directory = configured(rule("a", service="House/New"), New={})
    new = directory.service("House/New")
    assert new is not None
    without = directory.apply_changes([_removal(new.gcid)], 9)
    assert planned(house(rule("a", service="House/New")), without).steps == ()
    assert planned(house(rule("a", service="House/New"), Other={}), without).faults == ()
    changed = planned(house(rule("a", service="House/New", description="touched")), without)
    assert [fault.pointer for fault in changed.faults] == [f"{HERE}/rules/0/then/0/addServiceAfter"]


def _removal(gcid: str) -> ObjectChange:
    return ObjectChange("service", gcid, 2, None)


def matching(*patterns: str) -> dict[str, Any]:
    return {"or": [{"matches": {"body": "/a", "value": pattern}} for pattern in patterns]}


@pytest.mark.req("Z7")
def test_a_document_of_an_owner_brings_so_many_patterns_and_no_more() -> None:
    """They would be compiled one after the other, and most of that holds the interpreter's lock."""
    rules = [
        rule(f"r{number}", when=matching(*[f"r{number}p{one}" for one in range(101)], "common")) for number in range(10)
    ]
    most = configured(*rules[:9])
    assert planned(house(*rules[:9]), Directory()).faults == ()
    [fault] = planned(house(*rules), Directory()).faults
    assert fault.detail.startswith("it adds or changes 1011 patterns; at most 1000")
    assert planned(house(*rules), most).faults == ()  # those that are saved are not counted
    assert planned(house(*rules), Directory(), may_choose_ids=True).faults == ()  # an operator's document
    batchers = {
        f"B{number}": {
            "hosted": "batcher",
            "batching": {"sendsTo": "House/Out", "standard": "x12", "count": 2,
                         "takes": matching(*[f"b{number}p{one}" for one in range(150)])},
        }
        for number in range(8)
    }  # fmt: skip
    assert [fault.pointer for fault in planned(house(**batchers), Directory()).faults] == ["/organizations"]
