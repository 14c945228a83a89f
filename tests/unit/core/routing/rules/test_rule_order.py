"""A service keeps one order of its rules per role."""

from __future__ import annotations

from dataclasses import replace

import pytest

from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import RuleEntry, rule_entry, rule_of
from postroad.core.model.rule import Rule, RuleRole, rules_in_order
from postroad.core.routing.rules.evaluation import rules_for
from postroad.errors import Refused
from tests.samples.conditions import compare, directory, header, rule
from tests.unit.core.routing.conditions.test_attribute_defaults import OWNER

ALWAYS = compare("exists", header("from"))


def ruled(name: str, place: int, role: RuleRole = RuleRole.ANY, **positions: int) -> Rule:
    where = tuple(sorted((RuleRole(one), position) for one, position in positions.items()))
    return replace(rule(ALWAYS, role=role, name=name), service=OWNER.gcid, place=place, positions=where)


RULES = [
    ruled("a", 0), ruled("b", 1, inTransit=1), ruled("c", 2, RuleRole.SENDER), ruled("d", 3, sender=1, recipient=2),
    ruled("e", 4, RuleRole.IN_TRANSIT),
]  # fmt: skip


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("role", "names"), [(RuleRole.SENDER, "dabc"), (RuleRole.RECIPIENT, "adb"), (RuleRole.IN_TRANSIT, "bade")]
)
def test_each_role_has_its_own_order(role: RuleRole, names: str) -> None:
    assert "".join(one.name for one in rules_in_order(RULES, role)) == names
    assert "".join(one.rule.name for one in rules_for(OWNER, role, directory(OWNER, *RULES))) == names


@pytest.mark.req("R1")
def test_positions_are_kept_in_every_form_of_a_rule() -> None:
    for one in RULES:
        assert rule_of(RuleEntry.model_validate(rule_entry(one)), OWNER.gcid, one.place) == one
    assert list(decode_rules(encode_rules(RULES), OWNER.gcid)) == RULES
    broken = encode_rules(RULES).replace(b"inTransit=1", b"any=0")
    with pytest.raises(Refused, match="is not a position"):
        decode_rules(broken, OWNER.gcid)
