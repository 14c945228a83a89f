"""Bad rules: every fault is found when the rule is saved, with its place and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.directory import Organization, Service, Visibility
from postroad.core.model.message import Argument
from postroad.core.model.rule import ActionKind, Condition, RuleAction, RuleRole
from postroad.core.routing.conditions.compiled_rule import compile_rule
from postroad.core.routing.rules.rule_check import find_rule_errors
from tests.samples.conditions import attachment, body, combine, compare, directory, header, rule

OWNER = Service(gcid="00000000000000a1", organization="MyBiz", name="Purchasing")
XSLT = Service(gcid="00000000000000c4", organization="Transmatics", name="xslt", visibility=Visibility.PUBLIC)
HIDDEN = Service(gcid="00000000000000d5", organization="Transmatics", name="secret")
SISTER = Service(gcid="00000000000000e6", organization="mybiz", name="Inner")
SCHEMA = Asset(service=OWNER.gcid, kind=AssetKind.SCHEMA, name="orders", content="<x/>")
DIRECTORY = directory(Organization(name="MyBiz"), OWNER, XSLT, HIDDEN, SISTER, SCHEMA)
ALWAYS = compare("exists", header("from"))


def act(kind: str, service: str = "", **fields: object) -> RuleAction:
    return RuleAction(kind=ActionKind(kind), service=service, **fields)  # type: ignore[arg-type]


ADD = act("addService", "Transmatics/xslt")
STOP = act("stopRuleEvaluation")


def faults(when: Condition = ALWAYS, *then: RuleAction, role: RuleRole = RuleRole.ANY) -> list[tuple[str, str]]:
    return [tuple(fault) for fault in find_rule_errors(rule(when, *(then or (ADD,)), role=role), DIRECTORY, OWNER)]  # type: ignore[misc]


@pytest.mark.req("R1", "R2")
@pytest.mark.parametrize(
    ("condition", "pointer", "said"),
    [
        (compare("equals", header("tpoic"), "x"), "/when/equals/header", "no field 'tpoic'"),
        (compare("equals", header("properties."), "x"), "/when/equals/header", "no field"),
        (compare("exists", body("Order")), "/when/exists/body", "starts with / "),
        (compare("exists", body("/Order[")), "/when/exists/body", "character 7"),
        (compare("exists", body("/po:Order")), "/when/exists/body", "prefix 'po'"),
        (compare("exists", attachment("$.a[b]")), "/when/exists/attachment", "character 4"),
        (compare("exists", body("/" + "a" * 1000)), "/when/exists/body", "at most 1000"),
        (compare("exists", body("$.a", po="urn:po")), "/when/exists/body", "remove them"),
        (compare("exists", body("/a/@b", schema="unknown")), "/when/exists/schema", "no schema 'unknown'"),
        (compare("exists", header("to"), "x"), "/when/exists", "compares with nothing"),
        (compare("equals", header("to")), "/when/equals", "exactly one of value, content and other"),
        (compare("equals", header("to"), "x", other=header("from")), "/when/equals", "exactly one"),
        (compare("equals", header("to"), "x", "y"), "/when/equals/values", "use equalsOneOf"),
        (compare("equals", header("to"), "x" * 4097), "/when/equals/value", "at most 4096"),
        (compare("equals", header("topic"), "\x00"), "/when/equals/value", "control characters"),
        (compare("exists", header("properties.\x00")), "/when/exists/header", "control characters"),
        (compare("exists", body("$['\x00']")), "/when/exists/body", "control characters"),
        (compare("exists", body("/a", document="\x00")), "/when/exists/document", "control characters"),
        (compare("lessThan", header("size"), "big", kind="number"), "/when/lessThan/value", "is not a number"),
        (compare("lessThan", header("postedAt"), "today", kind="date"), "/when/lessThan/value", "is not a date"),
        (compare("lessThan", header("postedAt"), "2026-02-30", kind="date"), "/when/lessThan/value", "is not a date"),
        (compare("equalsOneOf", header("size"), "1", "x", kind="number"), "/when/equalsOneOf/values/1", "not a number"),
        (compare("equalsOneOf", header("topic"), *map(str, range(1001))), "/when/equalsOneOf/values", "at most 1000"),
        (compare("matches", header("topic"), "(a"), "/when/matches/value", "regular expression"),
        (compare("matches", header("topic"), "a" * 1001), "/when/matches/value", "at most 1000"),
        (compare("matches", header("topic"), "1", kind="number"), "/when/matches/value", "leave the type out"),
        (compare("matches", header("topic"), other=header("handle")), "/when/matches/other", "give it as value"),
        (compare("equals", body("/a"), content="<b>"), "/when/equals/content", "cannot be read"),
        (compare("equals", body("/a"), content="b"), "/when/equals/content", "has no elements"),
        (compare("equals", body("/a"), content="<!DOCTYPE b><b/>"), "/when/equals/content", "cannot be read"),
        (compare("equals", body("/a"), content="</content><content>"), "/when/equals/content", "cannot be read"),
        (compare("equals", body("$.a"), content="{"), "/when/equals/content", "cannot be read"),
        (compare("equals", body("$.a"), content="5"), "/when/equals/content", "neither an object nor an array"),
        (compare("equals", header("topic"), content="<b/>"), "/when/equals/content", "no element content"),
        (compare("lessThan", body("/a"), content="<b/>"), "/when/lessThan/content", "by equals or notEquals"),
        (compare("equals", body("/a"), content="<b/>", kind="number"), "/when/equals/content", "without a type"),
        (compare("equals", body("/a"), content="<b/>" * 2501), "/when/equals/content", "at most 10000"),
        (compare("equals", body("/a"), other=body("b")), "/when/equals/other/body", "starts with / "),
        (combine("and"), "/when/and", "at least one"),
        (combine("not"), "/when/not", "exactly one"),
        (combine("not", ALWAYS, ALWAYS), "/when/not", "exactly one"),
        (combine("or", ALWAYS, combine("not", compare("exists", header("x")))), "/when/or/1/not/exists/header", "no field"),
    ],
)  # fmt: skip
def test_a_bad_condition(condition: Condition, pointer: str, said: str) -> None:
    [(place, detail)] = faults(condition)
    assert place == pointer
    assert said in detail


def nested(depth: int) -> Condition:
    condition: Condition = ALWAYS
    for _ in range(depth):
        condition = combine("not", condition)
    return condition


@pytest.mark.req("R1", "Z3")
def test_a_condition_has_a_greatest_depth_and_size() -> None:
    assert faults(nested(19)) == []
    [(pointer, detail)] = faults(nested(5_000))
    assert pointer == "/when" + "/not" * 20
    assert "at most 20 deep" in detail
    assert faults(combine("and", *[ALWAYS] * 199)) == []
    assert faults(combine("and", *[ALWAYS] * 200)) == [
        ("/when", "a rule has at most 200 conditions; make two rules of it")
    ]


@pytest.mark.req("R1", "R3", "R5")
@pytest.mark.parametrize(
    ("actions", "role", "pointer", "said"),
    [
        ([act("addServiceAfter", "Transmatics/xslt")], "recipient", "/then/0/addServiceAfter", "nothing comes after"),
        ([act("addServiceBefore", "Transmatics/xslt")], "sender", "/then/0/addServiceBefore", "nothing comes before"),
        ([act("redirect", "Transmatics/xslt")], "sender", "/then/0/redirect", "who receives"),
        ([act("addService")], "any", "/then/0/addService", "names a service"),
        ([act("addService", "No/One")], "any", "/then/0/addService", "service 'No/One' does not exist"),
        ([act("addService", "Transmatics/secret")], "any", "/then/0/addService", "service 'Transmatics/secret' does not exist"),
        ([act("addService", HIDDEN.gcid)], "any", "/then/0/addService", "does not exist"),
        ([act("redirect", "mybiz/purchasing")], "any", "/then/0/redirect", "include itself"),
        ([ADD, act("changeTopic")], "any", "/then/1/changeTopic", "names the topic"),
        ([act("changeTopic", topic="t")], "any", "/then/0/changeTopic", "same rule includes"),
        ([ADD, act("changeTopic", "Transmatics/xslt", topic="t")], "any", "/then/1/changeTopic", "includes no service"),
        ([act("stopRuleEvaluation", pays=True)], "any", "/then/0/stopRuleEvaluation", "includes no service"),
        ([act("stopRuleEvaluation", topic="t")], "any", "/then/0/topic", "changes no topic"),
        ([act("addService", "Transmatics/xslt", topic="\x01")], "any", "/then/0/topic", "control characters"),
        ([act("addService", "Transmatics/xslt", arguments=(Argument("", "x"),))], "any", "/then/0/arguments", "1 to 128"),
        ([act("addService", "Transmatics/xslt", arguments=(Argument("n", "x"),) * 2)], "any", "/then/0/arguments", "unique"),
        ([act("addService", XSLT.gcid, arguments=(Argument("n", "x" * 4097),))], "any", "/then/0/arguments", "at most 4096"),
        ([act("redirect", "Transmatics/xslt"), act("redirect", "MyBiz/Inner")], "any", "/then", "only once"),
        ([ADD] * 51, "any", "/then", "at most 50"),
    ],
)  # fmt: skip
def test_a_bad_action(actions: list[RuleAction], role: str, pointer: str, said: str) -> None:
    [(place, detail)] = faults(ALWAYS, *actions, role=RuleRole(role))
    assert place == pointer
    assert said in detail


@pytest.mark.req("R1")
def test_a_rule_without_actions_or_a_name_is_refused() -> None:
    bare = replace(rule(ALWAYS, ADD), then=(), name="a/b", description="\x00")
    assert [fault.pointer for fault in find_rule_errors(bare, DIRECTORY, OWNER)] == ["/name", "/description", "/then"]


@pytest.mark.req("R1")
def test_a_hidden_service_and_one_that_does_not_exist_are_told_alike() -> None:
    [(_, hidden)] = faults(ALWAYS, act("addService", "Transmatics/secret"))
    [(_, absent)] = faults(ALWAYS, act("addService", "Transmatics/absent"))
    assert hidden.replace("secret", "absent") == absent


@pytest.mark.req("R1")
def test_all_faults_are_found_at_once() -> None:
    found = faults(
        combine("and", compare("equals", header("x"), "1", "2"), compare("matches", body("/["), "(")),
        act("addServiceBefore", "No/One", topic="\x00"),
        role=RuleRole.SENDER,
    )
    assert len(found) == 7


@pytest.mark.req("R1", "R3")
def test_a_good_rule_has_no_faults_and_compiles() -> None:
    when = combine(
        "and",
        compare("equals", header("to"), "Acme/Supply"),
        compare("greaterThan", body("/po:Order/po:Total", po="urn:po"), "1000", kind="number"),
        combine("not", compare("exists", attachment("$.signature", "sig1"))),
        compare("equals", body("/a/@b", schema="Orders"), other=body("$..b")),
    )
    actions = (
        act("addServiceAfter", "transmatics/XSLT", arguments=(Argument("stylesheet", "s"),), topic="t", pays=True),
        act("addService", SISTER.gcid, isolates=True, absorbs=True),
        act("changeTopic", topic="urgent"),
        STOP,
    )
    assert faults(when, *actions, role=RuleRole.SENDER) == []
    assert compile_rule(rule(when, *actions)).reads_documents
