"""The page on rules names everything that a rule may hold, and its examples are rules that mean the same in every form."""

from __future__ import annotations

import re

import pytest
import yaml
from lxml import etree

from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import ActionEntry, ComparisonEntry, RuleEntry, rule_of
from postroad.core.model.rule import INCLUDING, ActionKind, Combining, Comparing, Rule
from postroad.core.routing.conditions.header import FAMILIES, ITEMS
from postroad.core.routing.paths.json_path import read_json_path
from postroad.core.routing.paths.xml_path import read_xml_path
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

PAGE = (ROOT / "docs" / "reference" / "rules.md").read_text()
SCHEMA = etree.XMLSchema(etree.parse(ROOT / "docs" / "reference" / "rules.xsd"))
SERVICE = "00000000000000a1"


def rows(heading: str) -> dict[str, str]:
    """The rows of the tables below a heading: what stands in code in the first column, and the second column."""
    section = re.split(r"\n#+ ", PAGE.partition(f"# {heading}\n")[2])[0]
    return dict(re.findall(r"^\| `([^|]+)` \| (.*) \|$", section, re.M))


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.S)
    assert found is not None
    return found[1]


@pytest.mark.req("R2")
def test_every_operator_is_explained() -> None:
    assert [row for row in rows("Operators that compare") if row in set(Comparing)] == [
        operator.value for operator in Comparing
    ]
    assert list(rows("Operators that combine")) == [operator.value for operator in Combining]


@pytest.mark.req("R3")
def test_every_action_is_explained() -> None:
    fields = {info.alias for info in ActionEntry.model_fields.values()}
    assert set(rows("Actions")) == fields
    assert [row for row in rows("Actions") if row in set(ActionKind)] == [kind.value for kind in ActionKind]


@pytest.mark.req("R2")
def test_every_item_of_the_header_is_explained_as_the_code_has_it() -> None:
    known = {name: item.meaning for name, item in ITEMS.items()}
    families = {f"{start}NAME": meaning for start, (_, meaning) in FAMILIES.items()}
    assert rows("Places in the header") == {"header:": "What it is"} | known | families


def test_every_field_of_a_rule_and_of_a_comparison_is_explained() -> None:
    assert set(rows("How a rule is written")) == {info.alias for info in RuleEntry.model_fields.values()}
    named = [info.alias or name for name, info in ComparisonEntry.model_fields.items()]
    assert [name for name in named if f"`{name}" not in PAGE] == []


def test_the_paths_of_the_page_can_be_followed() -> None:
    paths = [path for path in rows("Places in documents and attachments") if path[0] in "/$"]
    assert len(paths) == 12
    for path in paths:
        if path.startswith("/"):
            read_xml_path(path, {"p": "urn:p"})
        else:
            read_json_path(path)


@pytest.mark.req("R1")
def test_the_examples_are_the_same_rule() -> None:
    in_yaml = rule_of(RuleEntry.model_validate(yaml.safe_load(example("yaml"))), SERVICE, 0)
    assert decode_rules(example("xml").encode(), SERVICE) == (in_yaml,)
    SCHEMA.assertValid(etree.fromstring(example("xml")))


def everything() -> Rule:
    """A rule with every operator, every kind of place and operand, and every action."""
    place = {"body": "/p:a/@b", "namespaces": {"p": "urn:p"}, "document": "1", "schema": "s"}
    compared = [{operator.value: {**place, "as": "date", "value": "2026-01-01"}} for operator in Comparing]
    others = [
        {"equals": {"header": "to", "other": {"attachment": "$.a"}}},
        {"equals": {"body": "/a", "content": "<b/>"}},
        {"equalsOneOf": {"header": "size", "values": ["1", "2"], "as": "number"}},
        {"exists": place},
    ]
    combined = [{operator: [*compared, *others]} for operator in ("and", "or", "xor")]
    context = {"arguments": {"n": " v "}, "topic": "t", "pays": True, "isolate": True, "errors": "absorb"}
    included = [{kind.value: "A/b", **context} for kind in ActionKind if kind in INCLUDING]
    entry = {
        "name": "a",
        "role": "inTransit",
        "enabled": False,
        "description": "d",
        "when": {"not": {"and": combined}},
        "then": [*included, {"changeTopic": "t"}, {"stopRuleEvaluation": True}],
    }
    return rule_of(RuleEntry.model_validate(entry), SERVICE, 0)


def test_the_schema_takes_whatever_is_written() -> None:
    SCHEMA.assertValid(etree.fromstring(encode_rules([everything(), everything()])))
    SCHEMA.assertValid(etree.fromstring(encode_rules([])))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("<NOT>", "<NAND>"),
        ("<equals>", "<same>"),
        ('as="number"', 'as="money"'),
        ('item="to"', 'path="to"'),
        ("<StopRuleEvaluation/>", "<Stop/>"),
        ('role="sender"', 'role="boss"'),
        ('pays="true"', 'pays="maybe"'),
        ('name="split-address"', ""),
        ('prefix="po"', 'prefix="p:o"'),
        ("<Value>TheAcmeCompany/Supply</Value>", "<Value><b/></Value>"),
    ],
)
def test_the_schema_refuses_what_is_refused(good: str, bad: str) -> None:
    assert good in example("xml")
    broken = example("xml").replace(good, bad).replace(good.replace("<", "</"), bad.replace("<", "</"))
    assert not SCHEMA.validate(etree.fromstring(broken))
