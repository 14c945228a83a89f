"""Conditions: every operator, every type, on what is there once, several times, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.model.message import Argument
from postroad.core.model.rule import RuleRole, ValueLocation
from postroad.core.routing.conditions.compiled_rule import compile_rule
from postroad.core.routing.conditions.header import ITEMS
from postroad.core.routing.conditions.subject import NamedService, RuleHeader, Subject
from postroad.core.routing.explain.condition_text import explain_condition
from tests.samples.conditions import (
    BUYER,
    HEADER,
    XSLT,
    attachment,
    body,
    combine,
    compare,
    header,
    holds,
    json,
    rule,
    subject,
    xml,
)

ORDER = xml(
    """<po:Order xmlns:po="urn:po" id="7" due="2026-11-15">
      <po:Total>1500.50</po:Total>
      <po:Line sku="a"><Price>5</Price><Day>2026-01-02</Day></po:Line>
      <po:Line sku="b"><Price> 25 </Price><Day>2026-03-04T10:00:00+02:00</Day></po:Line>
      <po:Line sku="c"><Price>none</Price></po:Line>
      <Ship><Street>1 Main St</Street><City>Ghent</City></Ship>
      <Bill>
        <Street>1 Main St</Street>
        <City>Ghent</City>
      </Bill>
      <Home><Street>2 Main St</Street></Home>
      <Empty/>
    </po:Order>"""
)
LISTED = json(
    '{"total": 1500.50, "lines": [{"sku": "a", "price": 5}, {"sku": "b", "price": 25}], "none": null, "ok": true}', "2"
)
LOOKED_AT = subject(ORDER, LISTED)


def po(path: str) -> ValueLocation:
    return body(path, po="urn:po")


TOTAL, PRICES, ABSENT = po("/po:Order/po:Total"), po("/po:Order/po:Line/Price"), po("/po:Order/po:Discount")
DAYS, SKUS = po("//Day"), po("//po:Line/@sku")
SHIP, BILL, HOME = po("/po:Order/Ship"), po("/po:Order/Bill"), po("/po:Order/Home")


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # equals: one node, several of which one or none is equal, nothing at all
        (compare("equals", TOTAL, "1500.50"), True),
        (compare("equals", TOTAL, "1500.5"), False),
        (compare("equals", TOTAL, "1500.5", kind="number"), True),
        (compare("equals", TOTAL, "15005e-1", kind="number"), True),
        (compare("equals", SKUS, "b"), True),
        (compare("equals", SKUS, "d"), False),
        (compare("equals", PRICES, " 25 "), True),
        (compare("equals", PRICES, "25"), False),
        (compare("equals", PRICES, "25.0", kind="number"), True),
        (compare("equals", DAYS, "2026-03-04T08:00:00Z", kind="date"), True),
        (compare("equals", DAYS, "2026-01-02T00:00:00", kind="date"), True),
        (compare("equals", ABSENT, "x"), False),
        (compare("equals", po("/po:Order/Empty"), ""), True),
        # notEquals: something is there and nothing is equal
        (compare("notEquals", TOTAL, "1"), True),
        (compare("notEquals", TOTAL, "1500.50"), False),
        (compare("notEquals", SKUS, "b"), False),
        (compare("notEquals", SKUS, "d"), True),
        (compare("notEquals", PRICES, "25", kind="number"), False),
        (compare("notEquals", PRICES, "26", kind="number"), True),
        (compare("notEquals", DAYS, "2026-01-02", kind="date"), False),
        (compare("notEquals", ABSENT, "x"), False),
        # equalsOneOf
        (compare("equalsOneOf", SKUS, "x", "c"), True),
        (compare("equalsOneOf", SKUS, "x", "y"), False),
        (compare("equalsOneOf", PRICES, "4", "5.00", kind="number"), True),
        (compare("equalsOneOf", DAYS, "2026-01-03", "2026-01-02", kind="date"), True),
        (compare("equalsOneOf", ABSENT, "x", "y"), False),
        # lessThan and greaterThan: strings by code point, numbers and dates by what they amount to
        (compare("lessThan", PRICES, "5.01", kind="number"), True),
        (compare("lessThan", PRICES, "5", kind="number"), False),
        (compare("greaterThan", PRICES, "24.99", kind="number"), True),
        (compare("greaterThan", PRICES, "25", kind="number"), False),
        (compare("greaterThan", TOTAL, "2"), False),
        (compare("greaterThan", TOTAL, "2", kind="number"), True),
        (compare("lessThan", SKUS, "b"), True),
        (compare("lessThan", SKUS, "a"), False),
        (compare("greaterThan", SKUS, "Z"), True),
        (compare("lessThan", DAYS, "2026-01-03", kind="date"), True),
        (compare("greaterThan", DAYS, "2026-03-04T08:00:00Z", kind="date"), False),
        (compare("greaterThan", DAYS, "2026-03-04T07:59:59.999999999Z", kind="date"), True),
        (compare("lessThan", ABSENT, "z"), False),
        (compare("greaterThan", ABSENT, "0", kind="number"), False),
        # exists
        (compare("exists", TOTAL), True),
        (compare("exists", SHIP), True),
        (compare("exists", po("/po:Order/Empty")), True),
        (compare("exists", po("/po:Order/@id")), True),
        (compare("exists", po("/po:Order/@ID")), False),
        (compare("exists", ABSENT), False),
        # matches: anywhere in the text, unless the pattern says otherwise
        (compare("matches", TOTAL, "50"), True),
        (compare("matches", TOTAL, "^50"), False),
        (compare("matches", SKUS, "[bx]"), True),
        (compare("matches", SKUS, "^[xyz]$"), False),
        (compare("matches", SHIP, "Ghent"), False),
        (compare("matches", ABSENT, ".*"), False),
        # element content, as a whole and with nothing else
        (compare("equals", SHIP, content="<Street>1 Main St</Street> <City>Ghent</City>"), True),
        (compare("equals", SHIP, content="<City>Ghent</City><Street>1 Main St</Street>"), False),
        (compare("notEquals", SHIP, content="<City>Ghent</City>"), True),
        (compare("notEquals", ABSENT, content="<City>Ghent</City>"), False),
        (compare("equals", TOTAL, content="<a/>"), False),
        (compare("equals", SHIP, "1 Main StGhent"), False),
        (compare("notEquals", SHIP, "Ghent"), True),
        # two places
        (compare("equals", SHIP, other=BILL), True),
        (compare("equals", SHIP, other=HOME), False),
        (compare("notEquals", SHIP, other=HOME), True),
        (compare("notEquals", SHIP, other=BILL), False),
        (compare("notEquals", SHIP, other=ABSENT), False),
        (compare("notEquals", ABSENT, other=SHIP), False),
        (compare("equals", ABSENT, other=ABSENT), False),
        (compare("equals", TOTAL, other=body("$.total")), True),
        (compare("equals", TOTAL, other=SHIP), False),
        (compare("equals", SKUS, other=body("$.lines[*].sku")), True),
        (compare("lessThan", PRICES, kind="number", other=TOTAL), True),
        (compare("greaterThan", PRICES, kind="number", other=TOTAL), False),
        (compare("greaterThan", TOTAL, kind="number", other=PRICES), True),
        (compare("equals", DAYS, kind="date", other=po("/po:Order/@due")), False),
        (compare("lessThan", DAYS, kind="date", other=po("/po:Order/@due")), True),
        # JSON
        (compare("equals", body("$.total"), "1500.50"), True),
        (compare("equals", body("$.total"), "1500.5", kind="number"), True),
        (compare("equals", body("$.ok"), "true"), True),
        (compare("exists", body("$.none")), True),
        (compare("equals", body("$.none"), "null"), True),
        (compare("exists", body("$.nothing")), False),
        (compare("equals", body("$.lines[1]"), content='{"price": 25.0, "sku": "b"}'), True),
        (compare("equals", body("$.lines[1]"), content='{"price": 26, "sku": "b"}'), False),
        (compare("notEquals", body("$.lines"), content="[]"), True),
        (compare("greaterThan", body("$..price"), "20", kind="number"), True),
    ],
)  # fmt: skip
def test_a_comparison(condition, expected) -> None:  # type: ignore[no-untyped-def]
    assert holds(condition, LOOKED_AT) is expected
    assert explain_condition(condition, LOOKED_AT.seen).held is expected


TRUE, FALSE = compare("exists", TOTAL), compare("exists", ABSENT)


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (combine("and", TRUE, TRUE), True),
        (combine("and", TRUE, FALSE), False),
        (combine("or", FALSE, TRUE), True),
        (combine("or", FALSE, FALSE), False),
        (combine("xor", TRUE, FALSE), True),
        (combine("xor", TRUE, TRUE), False),
        (combine("xor", TRUE, TRUE, TRUE), True),
        (combine("not", FALSE), True),
        (combine("not", TRUE), False),
        (combine("not", compare("notEquals", ABSENT, "x")), True),
        (combine("and", combine("or", FALSE, combine("not", FALSE)), combine("xor", FALSE, TRUE)), True),
    ],
)
def test_conditions_are_combined(condition, expected) -> None:  # type: ignore[no-untyped-def]
    assert holds(condition, LOOKED_AT) is expected


DATED = {"expires_at_us": 1_794_700_800_000_000, "headers": (("Content-Language", "de"),)}
IN_TRANSIT = subject(replace(xml("<a/>"), **DATED), replace(xml("<a/>", "sig", attachment=True), **DATED)).seen_by(
    "00000000000000c4",
    role=RuleRole.IN_TRANSIT,
    topic="forMe",
    arguments=(Argument("stylesheet", "split"),),
    invoker=BUYER,
)
SEEN_IN_HEADER = {
    "from": "mybiz/PURCHASING",
    "from.gcid": "00000000000000A1",
    "from.organization": "MYBIZ",
    "to": "acme/billing",
    "to.gcid": "00000000000000b3",
    "to.organization": "acme",
    "to.arguments.urgency": "high",
    "type": "request",
    "topic": "forMe",
    "handle": "po-17",
    "possibleDuplicate": "false",
    "reference": "5e55",
    "expiration": "2026-11-16T00:00:00Z",
    "postedAt": "2026-11-15T00:00:00Z",
    "route": "00000000000000c4",
    "route.arguments.pin": "1234",
    "routing": "dynamic",
    "properties.region": "EU",
    "properties.empty": "",
    "status.code": "ok",
    "status.text": "all well",
    "size": "8",
    "form": "json",
    "role": "inTransit",
    "invoker": "00000000000000A1",
    "arguments.stylesheet": "split",
    "documents.id": "1",
    "documents.contentType": "application/xml",
    "documents.size": "4",
    "documents.expiration": "2026-11-15T00:00:00Z",
    "documents.headers.content-language": "de",
    "attachments.id": "sig",
    "attachments.contentType": "application/xml",
    "attachments.size": "4",
    "attachments.expiration": "2026-11-15T00:00:00Z",
    "attachments.headers.Content-Language": "de",
}


@pytest.mark.req("R2")
@pytest.mark.parametrize(("path", "value"), SEEN_IN_HEADER.items())
def test_every_item_of_the_header_can_be_compared(path: str, value: str) -> None:
    assert holds(compare("equals", header(path), value), IN_TRANSIT)
    assert not holds(compare("equals", header(path), value + "x"), IN_TRANSIT)
    assert not holds(compare("notEquals", header(path), value), IN_TRANSIT)


def test_no_item_of_the_header_was_forgotten() -> None:
    assert set(ITEMS) <= set(SEEN_IN_HEADER)


BARE = Subject(header=RuleHeader(sender=NamedService(address="A/b")))
ALWAYS_THERE = {"from", "type", "possibleDuplicate", "size"}


@pytest.mark.req("R2")
@pytest.mark.parametrize("path", sorted(set(SEEN_IN_HEADER) - ALWAYS_THERE))
def test_an_item_that_is_absent_makes_every_comparison_false(path: str) -> None:
    for operator in ("equals", "notEquals", "lessThan", "greaterThan", "matches"):
        assert not holds(compare(operator, header(path), "x"), BARE)
    assert not holds(compare("exists", header(path)), BARE)
    assert holds(combine("not", compare("notEquals", header(path), "x")), BARE)


def test_services_are_known_by_address_or_gcid_in_any_case() -> None:
    assert holds(compare("equals", header("route"), "OTHER/byaddress"), IN_TRANSIT)
    assert holds(compare("equals", header("route"), XSLT.address.upper()), IN_TRANSIT)
    assert holds(compare("equalsOneOf", header("to"), "x", "ACME/SUPPLY"), IN_TRANSIT)
    assert not holds(compare("notEquals", header("from"), "00000000000000a1"), IN_TRANSIT)


def test_a_service_named_in_a_document_is_compared_with_one_of_the_header() -> None:
    looked_at = subject(xml("<Order><Seller>ACME/supply</Seller></Order>"))
    assert holds(compare("equals", header("to"), other=body("/Order/Seller")), looked_at)
    assert holds(compare("equals", body("/Order/Seller"), other=header("to")), looked_at)
    assert not holds(compare("equals", body("/Order/Seller"), other=header("from")), looked_at)


def test_dates_of_the_header_are_compared_as_dates() -> None:
    assert holds(compare("lessThan", header("postedAt"), "2026-11-15T00:00:01Z", kind="date"), IN_TRANSIT)
    assert holds(compare("greaterThan", header("expiration"), kind="date", other=header("postedAt")), IN_TRANSIT)


@pytest.mark.req("R2")
def test_documents_and_attachments_are_told_apart_and_named() -> None:
    looked_at = subject(xml("<a>1</a>", "x"), xml("<a>2</a>", "y"), json('{"a": 3}', "sig1", attachment=True))
    assert holds(compare("equals", body("/a"), "2"), looked_at)
    assert not holds(compare("equals", body("/a", document="x"), "2"), looked_at)
    assert holds(compare("equals", body("/a", document="y"), "2"), looked_at)
    assert holds(compare("equals", attachment("$.a", "sig1"), "3"), looked_at)
    assert not holds(compare("exists", attachment("$.a", "x")), looked_at)
    assert not holds(compare("exists", attachment("/a")), looked_at)
    assert not holds(compare("exists", body("$.a")), looked_at)


@pytest.mark.parametrize(
    ("content_type", "path", "data", "found"),
    [
        ("text/xml; charset=utf-8", "/a", b"<a/>", True),
        ("application/soap+xml", "/a", b"<a/>", True),
        ("application/octet-stream", "/a", b"  <a/>", True),
        ("text/plain", "/a", b"\xef\xbb\xbf<a/>", True),
        ("", "/a", "<a/>".encode("utf-16"), True),
        ("text/csv", "/a", b"<a/>", False),
        ("application/json", "/a", b"<a/>", False),
        ("application/vnd.order+json", "$.a", b'{"a":1}', True),
        ("text/plain", "$.a", b' {"a":1}', True),
        ("", "$[0]", b"[1]", True),
        ("application/xml", "$.a", b'{"a":1}', False),
    ],
)
def test_what_a_document_is_is_said_by_its_type_or_seen(content_type: str, path: str, data: bytes, found: bool) -> None:
    part = xml(data, content_type=content_type)
    assert holds(compare("exists", body(path)), subject(part)) is found


@pytest.mark.req("R2")
def test_rules_on_the_header_never_parse_a_body() -> None:
    looked_at = subject(xml("<not well formed"))
    compiled = compile_rule(rule(combine("and", *(compare("exists", header(path)) for path in SEEN_IN_HEADER))))
    assert not compiled.reads_documents
    compiled.holds(looked_at)
    assert looked_at.faults == ()
    assert compile_rule(rule(compare("exists", body("/a")))).reads_documents


def test_a_condition_looks_no_further_than_it_must() -> None:
    looked_at = subject(xml("<not well formed"))
    either = combine("or", compare("exists", header("from")), compare("exists", body("/a")))
    assert holds(either, looked_at)
    assert looked_at.faults == ()
    assert [child.held for child in explain_condition(either, looked_at.seen).children] == [True, None]


def test_a_document_is_parsed_once_for_all_who_look(monkeypatch: pytest.MonkeyPatch) -> None:
    from postroad.core.routing.conditions import documents

    parsed: list[bytes] = []
    looks_like_xml, read = documents._KINDS["/"]

    def recorded(data: bytes) -> Any:
        parsed.append(data)
        return read(data)

    monkeypatch.setitem(documents._KINDS, "/", (looks_like_xml, recorded))
    first = subject(ORDER)
    for service in ("a", "b", "c"):
        view = first.seen_by(service, role=RuleRole.RECIPIENT, topic=HEADER.topic)
        assert holds(combine("and", compare("exists", TOTAL), compare("exists", SHIP)), view)
    assert len(parsed) == 1


def test_every_service_sees_its_own_topic_and_arguments() -> None:
    first = subject()
    urgent = first.seen_by("a", role=RuleRole.RECIPIENT, topic="urgent", arguments=(Argument("n", "1"),))
    usual = urgent.seen_by("b", role=RuleRole.IN_TRANSIT, topic=HEADER.topic)
    assert [value.text for value in urgent.values(header("topic"))] == ["urgent"]
    assert [value.text for value in usual.values(header("topic"))] == ["purchaseOrder"]
    assert [value.text for value in urgent.values(header("arguments.n"))] == ["1"]
    assert usual.values(header("arguments.n")) == ()
    assert usual.values(header("invoker")) == ()
