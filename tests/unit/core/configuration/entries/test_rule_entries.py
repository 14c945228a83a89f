"""Rules as people write them: what is read from JSON and YAML, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from postroad.core.configuration.entries.rules import RuleEntry, rule_entry, rule_of
from postroad.core.model.message import Argument
from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    MessageSection,
    RuleRole,
    ValueComparison,
    ValueType,
)

WRITTEN = """
name: split-address
role: sender
description: Acme wants street, city and zip apart
when:
  AND:
    - equals: {header: to, value: TheAcmeCompany/Supply}
    - greaterThan: {body: "/po:Order/po:Total", namespaces: {po: urn:po}, as: number, value: 1000}
    - not: {exists: {attachment: "$.signature", document: sig1}}
    - equalsOneOf: {header: properties.region, values: [EU, US]}
    - equals: {body: /Order/Ship, other: {body: /Order/Bill}}
    - notEquals: {header: possibleDuplicate, value: true}
then:
  - addServiceAfter: Transmatics/xslt
    arguments: {stylesheet: split-address}
    topic: split
    pays: true
    isolate: true
    errors: absorb
  - changeTopic: urgent
  - stopRuleEvaluation: true
"""
MINIMAL = {"name": "a", "when": "always", "then": [{"addService": "A/b"}]}


@pytest.mark.req("R1", "R2", "R3")
def test_a_rule_is_read_as_it_is_written() -> None:
    rule = rule_of(RuleEntry.model_validate(yaml.safe_load(WRITTEN)), "00000000000000a1", 3)
    assert (rule.service, rule.name, rule.place, rule.role) == ("00000000000000a1", "split-address", 3, RuleRole.SENDER)
    assert isinstance(rule.when, Combination)
    assert rule.when.operator is Combining.AND
    _, total, unsigned, _, same, first = rule.when.conditions
    assert isinstance(total, ValueComparison)
    assert (total.operator, total.type, total.values) == (Comparing.GREATER_THAN, ValueType.NUMBER, ("1000",))
    assert (total.place.where, total.place.path, total.place.namespaces) == (
        MessageSection.BODY,
        "/po:Order/po:Total",
        (("po", "urn:po"),),
    )
    assert isinstance(unsigned, Combination)
    assert isinstance(same, ValueComparison)
    assert same.other is not None
    assert same.other.path == "/Order/Bill"
    assert isinstance(first, ValueComparison)
    assert first.values == ("true",)
    added, changed, stopped = rule.then
    assert (added.kind, added.service, added.arguments) == (
        ActionKind.ADD_SERVICE_AFTER, "Transmatics/xslt", (Argument("stylesheet", "split-address"),),
    )  # fmt: skip
    assert (added.topic, added.pays, added.isolates, added.absorbs) == ("split", True, True, True)
    assert (changed.kind, changed.topic) == (ActionKind.CHANGE_TOPIC, "urgent")
    assert stopped.kind is ActionKind.STOP_RULE_EVALUATION


def test_always_is_short_for_a_condition_that_always_holds() -> None:
    rule = rule_of(RuleEntry.model_validate(MINIMAL), "00000000000000a1", 0)
    assert rule.when == rule_of(
        RuleEntry.model_validate(MINIMAL | {"when": {"exists": {"header": "from"}}}), "00000000000000a1", 0
    ).when  # fmt: skip
    assert rule_entry(rule) == MINIMAL


@pytest.mark.parametrize("operator", ["and", "or", "xor"])
def test_operators_may_be_written_in_capitals(operator: str) -> None:
    inner = [{"NOT": {"exists": {"header": "to"}}}]
    one = RuleEntry.model_validate(MINIMAL | {"when": {operator: inner}})
    other = RuleEntry.model_validate(MINIMAL | {"when": {operator.upper(): inner}})
    assert rule_of(one, "a", 0) == rule_of(other, "a", 0)


def exists(**place: Any) -> dict[str, Any]:
    return {"when": {"exists": place}}


def equals(**operands: Any) -> dict[str, Any]:
    return {"when": {"equals": {"header": "to", **operands}}}


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"name": "a/b"}, ("name",), "match"),
        ({"role": "boss"}, ("role",), "sender"),
        ({"enabled": "yes"}, ("enabled",), "boolean"),
        ({"priority": 1}, ("priority",), "not permitted"),
        ({"when": {}}, ("when",), "exactly one operator"),
        ({"when": {"and": [], "or": []}}, ("when",), "exactly one operator"),
        ({"when": {"nand": []}}, ("when", "nand"), "not permitted"),
        ({"when": {"and": [{"equals": {"body": 5}}]}}, ("when", "and", 0, "equals", "body"), "string"),
        (exists(), ("when", "exists"), "exactly one of header, body and attachment"),
        (exists(header="to", body="/a"), ("when", "exists"), "exactly one of header, body and attachment"),
        (exists(header=""), ("when", "exists", "header"), "at least 1"),
        (exists(body="/a", namespace={}), ("when", "exists", "namespace"), "not permitted"),
        (equals(value=5), ("when", "equals"), "a number in quotes"),
        (equals(values=["a", 5]), ("when", "equals"), "a number in quotes"),
        (equals(value=["a"]), ("when", "equals", "value"), "must be a text"),
        (equals(value="a", values=["b"]), ("when", "equals"), "not both"),
        ({"when": {"equals": {"header": "to", "value": "a", "as": "money"}}}, ("when", "equals", "as"), "number"),
        ({"then": [{}]}, ("then", 0), "exactly one name"),
        ({"then": [{"redirect": "a", "addService": "b"}]}, ("then", 0), "exactly one name"),
        ({"then": [{"changeTopic": "a", "pays": True}]}, ("then", 0), "remove the other fields"),
        ({"then": [{"stopRuleEvaluation": False}]}, ("then", 0, "stopRuleEvaluation"), "True"),
        ({"then": [{"addService": "a", "errors": "hide"}]}, ("then", 0, "errors"), "absorb"),
        ({"then": [{"addService": "a", "arguments": {"n": 1}}]}, ("then", 0, "arguments", "n"), "string"),
    ],
)
def test_a_rule_that_is_written_wrongly_is_refused_where(
    change: dict[str, Any], place: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        RuleEntry.model_validate(MINIMAL | change)
    [fault] = refused.value.errors()
    assert fault["loc"] == place
    assert said in fault["msg"]


def test_editors_are_told_the_same() -> None:
    schema = RuleEntry.model_json_schema(by_alias=True)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    validator.validate(yaml.safe_load(WRITTEN))
    validator.validate(MINIMAL)
    assert list(validator.iter_errors(MINIMAL | {"when": "never"}))
    assert list(validator.iter_errors(MINIMAL | {"then": []}))
    assert list(validator.iter_errors(MINIMAL | {"when": {"and": [], "or": []}}))
