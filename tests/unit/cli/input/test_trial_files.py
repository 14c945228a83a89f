"""What ``postroad try`` takes a file for."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.cli.input.trials import parse_tool
from postroad.errors import Misconfigured

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'


@pytest.mark.parametrize(
    ("name", "content", "tool", "kind"),
    [
        ("a.xsd", f"<xs:schema {XS}/>", "schema", "schema"),
        ("a.xml", f"<?xml version='1.0'?>\n<xs:schema {XS}/>", "schema", "schema"),
        ("a.dtd", "<!ELEMENT a EMPTY>", "schema", "dtd"),
        ("a.json", '{"type": "object"}', "schema", "jsonschema"),
        ("a.json", '{"$ref": "b"}', "schema", "jsonschema"),
        ("a.json", '{"equals": {"header": "topic", "value": "x"}}', "condition", ""),
        ("a.json", '{"name": "r", "when": "always", "then": [{"stopRuleEvaluation": true}]}', "rule", ""),
        ("a.yaml", "exists: {header: topic}", "condition", ""),
        ("a.xsl", '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>', "stylesheet", ""),
    ],
)
def test_a_file_is_taken_for_what_it_is(tmp_path: Path, name: str, content: str, tool: str, kind: str) -> None:
    (tmp_path / name).write_text(content)
    found = parse_tool(str(tmp_path / name))
    assert list(found) == [tool]
    (tmp_path / name).write_bytes(content.encode() + b"\xff")
    with pytest.raises(Misconfigured, match=name):
        parse_tool(str(tmp_path / name))
    if kind:
        assert found["schema"] == {"kind": kind, "name": name, "content": content}
