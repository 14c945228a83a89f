"""Rules and model trees in files: YAML or JSON as in a configuration document, or XML for rules.

JSON is read much faster for large trees.
"""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from postroad.cli.framework.exit_codes import describe_error
from postroad.cli.input.messages import read_content
from postroad.core.codecs.rule_xml import decode_rules
from postroad.core.configuration.entries.rules import rule_entry
from postroad.core.configuration.yaml_text import from_yaml
from postroad.errors import Misconfigured


def read_rules(content: bytes, file: str) -> list[dict[str, Any]]:
    """Return every rule in the file, in its order, in JSON form."""
    if content.lstrip()[:1] == b"<":
        return [rule_entry(rule) for rule in decode_rules(content, "")]
    try:
        value = from_yaml(content)
    except yaml.YAMLError as error:
        raise Misconfigured([describe_error(error, str(file))]) from error
    listed = value.get("rules", value) if isinstance(value, dict) else value
    rules = listed if isinstance(listed, list) else [listed]
    if not rules or not all(isinstance(rule, dict) for rule in rules):
        raise Misconfigured([f"{file}: contains no rule; expected name, when and then, or a list of rules"])
    return rules


def read_tree(file: str) -> Any:
    """Read a tree from a YAML or JSON file; ``-`` is standard input."""
    from yaml import YAMLError

    content = read_content(file)
    try:
        return msgspec.json.decode(content) if content.lstrip()[:1] == b"{" else from_yaml(content)
    except (YAMLError, msgspec.DecodeError, UnicodeError) as fault:
        raise Misconfigured([f"{file}: {' '.join(str(fault).split())}"]) from None
