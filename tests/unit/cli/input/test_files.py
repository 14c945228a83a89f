"""Files on a command line: which is a message, which a document, a rule, a stylesheet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postroad.cli.input.configuration import read_assets
from postroad.cli.input.messages import is_session, message_from
from postroad.cli.input.rules_and_models import read_rules
from postroad.cli.input.trials import parse_subject, parse_tool
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Message, Part, Recipient
from postroad.errors import Misconfigured, Refused

MESSAGE = Message(to=(Recipient("A/B"),), parts=(Part(id="1", content_type="application/xml", data=b"<a/>"),))
XSLT = '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="3.0"/>'
RULE = "name: r\nwhen: always\nthen: [{stopRuleEvaluation: true}]\n"
RULE_XML = b"""<Rules xmlns="urn:postroad:rules:1"><Rule name="r"><Condition><exists><Header item="from"/></exists></Condition>
<Actions><StopRuleEvaluation/></Actions></Rule></Rules>"""


def test_envelopes_and_posts_are_messages_and_nothing_else_is() -> None:
    assert message_from(SOAP11.encode_post(MESSAGE)) == MESSAGE
    assert message_from(SOAP12.encode_post(MESSAGE)) == MESSAGE
    assert message_from(b'{"to": ["A/B"]}') == Message(to=(Recipient("A/B"),))
    for document in (b"<Order/>", b'{"to": ["A/B"], "total": 1}', b"{}", b"{", b"[]", b"text", b"", b"\xff"):
        assert message_from(document) is None
    with pytest.raises(Refused):
        message_from(b'{"to": 5}')


def test_a_session_looks_like_one() -> None:
    assert is_session("01a1e22a332f2d1ae3a975453f33e6fb")
    assert not is_session("01a1e22a332f2d1ae3a975453f33e6fb.xml")


@pytest.mark.parametrize(
    "content", [RULE.encode(), b"rules:\n- " + RULE.replace("\n", "\n  ").encode(), RULE_XML, b'[{"name": "r"}]']
)
def test_rules_are_found_in_every_form(content: bytes) -> None:
    [rule] = read_rules(content, "f")
    assert rule["name"] == "r"


@pytest.mark.parametrize("content", [b"", b"[]", b"text", b"[1]", b"{unclosed", b"rules: []"])
def test_a_file_without_a_rule_says_so(content: bytes) -> None:
    with pytest.raises(Misconfigured, match="f: "):
        read_rules(content, "f")


def test_what_is_tried_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "f"
    for content, kind in (
        (XSLT, "stylesheet"),
        (RULE, "rule"),
        ("exists: {header: to}", "condition"),
        ("when: {exists: {header: to}}", "condition"),
    ):
        file.write_text(content)
        assert list(parse_tool(str(file))) == [kind]
    assert parse_tool(str(file)) == {"condition": {"exists": {"header": "to"}}}
    file.write_text(f"[{{{'}, {'.join(['name: a', 'name: b'])}}}]")
    with pytest.raises(Misconfigured, match="one rule at a time"):
        parse_tool(str(file))


def test_what_it_is_tried_on_is_recognised(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(SOAP11.encode_post(MESSAGE))
    assert parse_subject(str(file))["message"]["to"] == ["A/B"]
    file.write_text("<Order/>")
    assert parse_subject(str(file)) == {"document": "<Order/>"}
    assert parse_subject("0" * 32) == {"session": "0" * 32}


def test_only_assets_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n")
    tables = {"t": {"file": "t.csv", "description": "d"}, "given": {"content": "x"}, "gone": {"file": "no.csv"}}
    service = {"tables": tables, "description": "file", "rules": [{"then": [{"arguments": {"file": "t.csv"}}]}]}
    document = {"organizations": {"O": {"services": {"S": service, "odd": None}}, "P": None}}
    faults: list[str] = []
    found = read_assets(document, tmp_path, "network.yaml", faults)
    changed = found["organizations"]["O"]["services"]["S"]
    assert changed["tables"]["t"] == {"description": "d", "content": "a,b\r\n"}
    assert changed["tables"]["given"] == {"content": "x"}
    assert changed["rules"] == service["rules"]
    assert len(faults) == 1
    assert faults[0].startswith("network.yaml: file: no.csv")
    assert json.dumps(document), "what was read is left as it was"
    assert tables["t"] == {"file": "t.csv", "description": "d"}
