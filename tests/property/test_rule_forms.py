"""Rules written in any form are read back as the very same rules, and what is checked without faults compiles."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import RuleEntry, rule_entry, rule_of
from postroad.core.model.directory import Service, Visibility
from postroad.core.model.message import Argument
from postroad.core.model.rule import (
    INCLUDING,
    ActionKind,
    Combination,
    Combining,
    Comparing,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from postroad.core.routing.conditions.compiled_rule import compile_rule
from postroad.core.routing.rules.rule_check import find_rule_errors
from tests.samples.conditions import directory
from tests.samples.message_strategies import TEXTS

OWNER = Service(gcid="00000000000000a1", organization="MyBiz", name="Purchasing")
XSLT = Service(gcid="00000000000000c4", organization="Transmatics", name="xslt", visibility=Visibility.PUBLIC)
DIRECTORY = directory(OWNER, XSLT)

filled = TEXTS.filter(bool)
header_places = st.builds(
    ValueLocation, where=st.just(MessageSection.HEADER), path=st.one_of(st.sampled_from(["to", "topic"]), filled)
)
document_places = st.builds(
    ValueLocation,
    where=st.sampled_from([MessageSection.BODY, MessageSection.ATTACHMENT]),
    path=st.one_of(st.sampled_from(["/a/p:b", "$.a", "//@c"]), filled),
    document=TEXTS,
    namespaces=st.dictionaries(filled, TEXTS, max_size=2).map(lambda given: tuple(given.items())),
    schema=TEXTS,
)
places = header_places | document_places
comparisons = st.builds(
    ValueComparison,
    operator=st.sampled_from(Comparing),
    place=places,
    type=st.sampled_from(ValueType),
    values=st.lists(TEXTS, max_size=3).map(tuple),
    content=TEXTS,
    other=st.none() | places,
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(
            Combination,
            operator=st.sampled_from([Combining.AND, Combining.OR, Combining.XOR]),
            conditions=st.lists(inner, max_size=3).map(tuple),
        )
        | st.builds(Combination, operator=st.just(Combining.NOT), conditions=inner.map(lambda one: (one,)))
    ),
    max_leaves=6,
)
arguments = st.dictionaries(TEXTS, TEXTS, max_size=3).map(
    lambda given: tuple(Argument(name, value) for name, value in given.items())
)
actions = st.one_of(
    st.builds(
        RuleAction,
        kind=st.sampled_from(sorted(INCLUDING)),
        service=TEXTS,
        arguments=arguments,
        topic=TEXTS,
        pays=st.booleans(),
        isolates=st.booleans(),
        absorbs=st.booleans(),
    ),
    st.builds(RuleAction, kind=st.just(ActionKind.CHANGE_TOPIC), topic=TEXTS),
    st.just(RuleAction(kind=ActionKind.STOP_RULE_EVALUATION)),
)
rules = st.builds(
    Rule,
    service=st.just(OWNER.gcid),
    name=st.sampled_from(["a", "split-address", "Größe (1)"]),
    place=st.just(0),
    role=st.sampled_from(RuleRole),
    when=conditions,
    then=st.lists(actions, max_size=3).map(tuple),
    enabled=st.booleans(),
    description=TEXTS,
)
SCHEMA = Draft202012Validator(RuleEntry.model_json_schema(by_alias=True))


@pytest.mark.req("R1")
@given(rule=rules)
@settings(max_examples=200, deadline=None)
def test_a_rule_comes_back_as_it_was_written(rule: Rule) -> None:
    entry = rule_entry(rule)
    for read in (
        json.loads(json.dumps(entry)),
        yaml.safe_load(yaml.safe_dump(entry, sort_keys=False)),
    ):
        assert rule_of(RuleEntry.model_validate(read), rule.service, rule.place) == rule
    assert decode_rules(encode_rules([rule]), rule.service) == (rule,)


sound_comparisons = st.one_of(
    st.builds(
        ValueComparison,
        operator=st.sampled_from([Comparing.EQUALS, Comparing.NOT_EQUALS, Comparing.LESS_THAN, Comparing.GREATER_THAN]),
        place=st.sampled_from([
            ValueLocation(where=MessageSection.HEADER, path="size"),
            ValueLocation(where=MessageSection.BODY, path="/p:a/@b", namespaces=(("p", "urn:p"),)),
            ValueLocation(where=MessageSection.ATTACHMENT, path="$..a", document="x"),
        ]),
        type=st.sampled_from(ValueType),
        values=st.sampled_from([("1",), ("2026-01-01",), ("x",), ()]),
        other=st.none() | places,
    ),
    st.builds(ValueComparison, operator=st.just(Comparing.MATCHES), place=places, values=st.tuples(TEXTS)),
    st.builds(ValueComparison, operator=st.just(Comparing.EXISTS), place=places),
    st.builds(
        ValueComparison,
        operator=st.just(Comparing.EQUALS),
        place=st.sampled_from([ValueLocation(where=MessageSection.BODY, path="/a"),
        ValueLocation(where=MessageSection.BODY, path="$.a")]),
        content=st.sampled_from(["<b/>", "<b>x</b>y", '{"a": [1]}', "[]", "<", "{"]),
    ),
    comparisons,
)  # fmt: skip


@pytest.mark.req("R1")
@given(comparison=sound_comparisons)
@settings(max_examples=400, deadline=None)
def test_a_rule_without_faults_compiles_and_fits_its_schema(comparison: ValueComparison) -> None:
    then = (RuleAction(kind=ActionKind.ADD_SERVICE, service="Transmatics/xslt"),)
    rule = Rule(service=OWNER.gcid, name="a", place=0, role=RuleRole.ANY, when=comparison, then=then)
    if find_rule_errors(rule, DIRECTORY, OWNER) == []:
        compile_rule(rule)
        SCHEMA.validate(rule_entry(rule))
