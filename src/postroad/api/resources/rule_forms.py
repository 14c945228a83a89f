"""Rules in the two formats of the API: JSON as in configuration documents, and XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import rule_entry
from postroad.core.model.rule import Rule
from postroad.errors import Refused


def read_rule_xml(body: bytes) -> dict[str, Any]:
    """Return the single rule of an XML body in its JSON form."""
    rules = decode_rules(body, "")
    if len(rules) != 1:
        raise Refused("value.invalid", f"Send one Rule at a time; here are {len(rules)}")
    return rule_entry(rules[0])


def write_rules_xml(rules: Sequence[Rule]) -> bytes:
    return encode_rules(rules)
