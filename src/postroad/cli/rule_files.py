"""Rules in files: YAML or JSON as in a configuration document, or XML; one, or several in a list."""

from __future__ import annotations

from typing import Any

import yaml

from postroad.cli.exits import describe
from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.configuration.rules import entry_of
from postroad.core.configuration.yaml_text import from_yaml
from postroad.errors import Misconfigured


def rules_in(content: bytes, file: str) -> list[dict[str, Any]]:
    """Every rule in the file, in its order, as it is written in JSON."""
    if content.lstrip()[:1] == b"<":
        return [entry_of(rule) for rule in decode_rules(content, "")]
    try:
        value = from_yaml(content)
    except yaml.YAMLError as error:
        raise Misconfigured([describe(error, str(file))]) from error
    listed = value.get("rules", value) if isinstance(value, dict) else value
    rules = listed if isinstance(listed, list) else [listed]
    if not rules or not all(isinstance(rule, dict) for rule in rules):
        raise Misconfigured([f"{file}: this holds no rule; write name, when and then, or a list of such"])
    return rules
