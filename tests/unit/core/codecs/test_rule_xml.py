"""Rules in XML: what is read, and what is refused with its line."""

from __future__ import annotations

import pytest

from postroad.core.codecs.rule_xml import NAMESPACE, decode_rules
from postroad.core.codecs.rule_xml_writer import encode_rules
from postroad.core.configuration.entries.rules import RuleEntry, rule_of
from postroad.errors import Refused

SERVICE = "00000000000000a1"
WRITTEN = f"""<?xml version="1.0"?>
<r:Rules xmlns:r="{NAMESPACE}">
  <!-- comments are nobody's business -->
  <r:Rule name="split-address" role="sender" enabled="0">
    <r:Description>Apart &amp; clean</r:Description>
    <r:Condition>
      <r:AND>
        <r:equals><r:Header item="to"/><r:Value>TheAcmeCompany/Supply</r:Value></r:equals>
        <r:greaterThan as="number">
          <r:Body path="/po:Order/po:Total" document="1"><r:Namespace prefix="po" uri="urn:po"/></r:Body>
          <r:Value>1000</r:Value>
        </r:greaterThan>
        <r:NOT><r:exists><r:Attachment path="$.signature"/></r:exists></r:NOT>
        <r:equals><r:Body path="/Order/Ship"/><r:Other><r:Body path="/Order/Bill"/></r:Other></r:equals>
        <r:notEquals><r:Body path="/Order/Ship"/><r:Content><![CDATA[<Street/>]]></r:Content></r:notEquals>
      </r:AND>
    </r:Condition>
    <r:Actions>
      <r:AddServiceAfter service="Transmatics/xslt" topic="split" pays="true" isolate="1" errors="absorb">
        <r:Arguments><r:Argument name="stylesheet"> split </r:Argument></r:Arguments>
      </r:AddServiceAfter>
      <r:ChangeTopic topic="urgent"/>
      <r:StopRuleEvaluation/>
    </r:Actions>
  </r:Rule>
  <r:Rule name="all">
    <r:Condition><r:exists><r:Header item="from"/></r:exists></r:Condition>
    <r:Actions><r:Redirect service="A/b"/></r:Actions>
  </r:Rule>
</r:Rules>"""
AS_JSON = {
    "name": "split-address",
    "role": "sender",
    "enabled": False,
    "description": "Apart & clean",
    "when": {
        "and": [
            {"equals": {"header": "to", "value": "TheAcmeCompany/Supply"}},
            {
                "greaterThan": {
                    "body": "/po:Order/po:Total",
                    "document": "1",
                    "namespaces": {"po": "urn:po"},
                    "as": "number",
                    "value": "1000",
                }
            },
            {"not": {"exists": {"attachment": "$.signature"}}},
            {"equals": {"body": "/Order/Ship", "other": {"body": "/Order/Bill"}}},
            {"notEquals": {"body": "/Order/Ship", "content": "<Street/>"}},
        ]
    },
    "then": [
        {
            "addServiceAfter": "Transmatics/xslt",
            "arguments": {"stylesheet": " split "},
            "topic": "split",
            "pays": True,
            "isolate": True,
            "errors": "absorb",
        },
        {"changeTopic": "urgent"},
        {"stopRuleEvaluation": True},
    ],
}


@pytest.mark.req("R1", "R2", "R3")
def test_rules_in_xml_mean_what_they_mean_in_json() -> None:
    first, second = decode_rules(WRITTEN.encode(), SERVICE)
    assert first == rule_of(RuleEntry.model_validate(AS_JSON), SERVICE, 0)
    always = {"name": "all", "when": "always", "then": [{"redirect": "A/b"}]}
    assert second == rule_of(RuleEntry.model_validate(always), SERVICE, 1)
    assert decode_rules(encode_rules([first, second]), SERVICE) == (first, second)


TO = '<Condition><exists><Header item="to"/></exists></Condition>'


def rule(inside: str, attributes: str = 'name="a"') -> bytes:
    return f'<Rule xmlns="{NAMESPACE}" {attributes}>\n{inside}\n</Rule>'.encode()


def when(inside: str) -> bytes:
    return rule(f"<Condition>{inside}</Condition>")


def then(inside: str) -> bytes:
    return rule(f"{TO}<Actions>{inside}</Actions>")


def test_one_rule_may_stand_alone() -> None:
    [only] = decode_rules(then('<AddService service="A/b"/>'), SERVICE)
    assert (only.name, only.place) == ("a", 0)


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        (b"<Rules/>", "line 1", "namespace urn:postroad:rules:1"),
        (f'<Other xmlns="{NAMESPACE}"/>'.encode(), "line 1", "use Rules or Rule"),
        (f'<Rules xmlns="{NAMESPACE}"><Rule xmlns=""/></Rules>'.encode(), "line 1", "is not known there"),
        (rule("", ""), "line 1", "a name and a Condition"),
        (rule(""), "line 1", "a name and a Condition"),
        (rule("", 'name="a" color="red"'), "line 1", "no attribute color"),
        (rule("text"), "line 1", "no text is allowed in Rule"),
        (rule("<Condition/>"), "line 2", "exactly one element"),
        (rule("<Condition><NOT/></Condition>"), "line 2", "exactly one condition"),
        (rule("<Condition><NOT>" + '<exists><Header item="to"/></exists>' * 2 + "</NOT></Condition>"), "line 2", "exactly one"),
        (rule(TO + '<Actions><AddService service="A/b"><Arguments>' + '<Argument name="n"/>' * 2
              + "</Arguments></AddService></Actions>"), "line 2", "'n' is repeated in Arguments"),
        (rule('<Condition><exists><Body path="/p:a">' + '<Namespace prefix="p" uri="u"/>' * 2
              + "</Body></exists></Condition>"), "line 2", "'p' is repeated in Body"),
        (rule(TO, 'name="a" role="boss"'), "line 1", "role is one of"),
        (rule(TO, 'name="a" enabled="yes"'), "line 1", "neither true nor false"),
        (when("<and/>"), "line 2", "and is not known there"),
        (when("<Header item='to'/>"), "line 2", "not an operator"),
        (when("<AND><Or/></AND>"), "line 2", "Or is not known there"),
        (when("<exists/>"), "line 2", "needs one of Header, Body, Attachment"),
        (when("<exists><Header/></exists>"), "line 2", "has the attribute item"),
        (when("<exists><Header item='to' document='1'/></exists>"), "line 2", "no attribute document"),
        (when("<exists><Header item='to'/><Body path='/a'/></exists>"), "line 2", "must be in a comparison once"),
        (when("<equals><Header item='to'/><Value><b/></Value></equals>"), "line 2", "only text"),
        (when("<equals as='money'><Header item='to'/></equals>"), "line 2", "as is one of"),
        (when("<equals><Header item='to'/><Other/></equals>"), "line 2", "exactly one element"),
        (when("<equals><Header item='to'/><Other><AND/></Other></equals>"), "line 2", "not a place"),
        (when("<exists><Body path='/a'><Namespace prefix='p'/></Body></exists>"), "line 2", "prefix and uri"),
        (then("<Add/>"), "line 2", "Add is not known there in Actions"),
        (then("<AddService service='A/b' errors='hide'/>"), "line 2", "show or absorb"),
        (then("<AddService service='A/b' pays='maybe'/>"), "line 2", "neither true nor false"),
        (then("<AddService service='A/b'><Argument/></AddService>"), "line 2", "use Arguments"),
        (then("<StopRuleEvaluation topic='x'/>"), "line 2", "no attribute topic"),
        (then("<ChangeTopic topic='x'><b/></ChangeTopic>"), "line 2", "b is not known there"),
        (rule("<Description>a</Description><Description>b</Description>"), "line 2", "is repeated"),
        (b"<Rules", "line 1, column 1", "not well-formed"),
    ],
)  # fmt: skip
def test_what_is_not_a_rule_is_refused_with_its_line(body: bytes, line: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        decode_rules(body, SERVICE)
    assert refused.value.code == "wire.malformed"
    assert refused.value.pointer == line
    assert said in refused.value.detail


@pytest.mark.req("Z3")
def test_a_rule_with_a_document_type_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        decode_rules(b'<!DOCTYPE Rule [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + rule("&a;"), SERVICE)
    assert refused.value.code == "wire.forbidden-markup"
