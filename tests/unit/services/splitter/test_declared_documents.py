"""Splitter to batcher, and documents posted directly: what they declare of their delimiters and charset is kept or converted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy, Splitting
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Delivered, Property
from postroad.testing import Scenario, make_part
from tests.samples.batch_and_split import ERP, TO_ACME, batch_and_split, got
from tests.waiting import eventually_async

X12 = (
    b"ISA*00*          *00*          *ZZ*BUYER          *ZZ*MYBIZ          *261116*1200*U*00401*000000009*0*P*|~"
    b"GS*PO*BUYER*MYBIZ*20261116*1200*1*X*004010~ST*850*0001~PO1*A1|20*10:30~SE*3*0001~GE*1*1~IEA*1*000000009~"
)
EDIFACT = (
    "UNA:+,\\ 'UNB+UNOD:3+BUYER+MYBIZ+261116:1200+9'UNH+1+ORDERS:D:96A:UN'FTX+14\\:30+1,5+Łódź'UNT+3+1'UNZ+1+9'"
).encode("iso8859-2")


PARTNER, SPLITTER = "Acme/edi", "MyBiz/in"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with batch_and_split() as scenario:
        yield scenario


async def connect(scenario: Scenario, standard: str, **envelope: str) -> None:
    """Add a batcher of one document per interchange, and a splitter before it."""
    await scenario.service(PARTNER)
    batching = Batching(
        sends_to=PARTNER, standard=standard, sender="MYBIZ", receiver="ACME", envelope=tuple(envelope.items()),
        policy=BatchPolicy(count=1),
    )  # fmt: skip
    await scenario.service(TO_ACME, visibility=Visibility.PRIVATE, hosted=Hosting.BATCHER, batching=batching)
    await add_splitter(scenario, TO_ACME)


async def add_splitter(scenario: Scenario, sends_to: str) -> None:
    splitting = Splitting(sends_to=sends_to)
    await scenario.service(SPLITTER, visibility=Visibility.PRIVATE, hosted=Hosting.SPLITTER, splitting=splitting)


async def send(scenario: Scenario, to: str, data: bytes, content_type: str, *properties: Property) -> None:
    part = make_part(data, content_type=content_type)
    await scenario.post(ERP, to, parts=(part,), properties=properties)


async def interchange(scenario: Scenario) -> bytes:
    [delivered] = await got(scenario, PARTNER)
    return delivered.parts[0].data


@pytest.mark.req("B6", "B10")
async def test_x12_from_a_splitter_keeps_its_component_separator(scenario: Scenario) -> None:
    await connect(scenario, "x12")
    await send(scenario, SPLITTER, X12, "application/edi-x12")
    data = await interchange(scenario)
    assert b"PO1*A1|20*10:30~" in data
    assert data[104:106] == b"|~", "ISA16 says what separates components"


@pytest.mark.req("B6", "B10")
async def test_edifact_from_a_splitter_is_converted(scenario: Scenario) -> None:
    await connect(scenario, "edifact", syntax="UNOY", decimal=",")
    await send(scenario, SPLITTER, EDIFACT, "application/edifact")
    data = (await interchange(scenario)).decode()
    assert data.startswith("UNA:+,? 'UNB+UNOY:3")
    assert "FTX+14?:30+1,5+Łódź'" in data


@pytest.mark.req("B6", "B10")
async def test_edifact_with_another_decimal_mark_gets_an_interchange_that_says_so(scenario: Scenario) -> None:
    await connect(scenario, "edifact", syntax="UNOY")
    await send(scenario, SPLITTER, EDIFACT, "application/edifact")
    data = (await interchange(scenario)).decode()
    assert data.startswith("UNA:+,\\ 'UNB+UNOY:3")
    assert "FTX+14\\:30+1,5+Łódź'" in data


async def test_letters_that_the_charset_does_not_have_make_a_dead_letter(scenario: Scenario) -> None:
    await connect(scenario, "edifact", syntax="UNOC", decimal=",")
    await send(scenario, SPLITTER, EDIFACT, "application/edifact")
    letters = await letters_at(scenario, TO_ACME)
    assert "has the letter 'Ł', which iso8859-1 does not have" in letters[0]


async def letters_at(scenario: Scenario, address: str) -> list[str]:
    async def found() -> list[tuple[Any, ...]]:
        await scenario.network.wait_until_indexed()
        return await scenario.network.index.query("dead_letters_at", scenario.gcid(address), 0, 10)

    return [str(row[1]) for row in await eventually_async(found, why="no dead letter")]


async def test_what_a_splitter_declares_is_in_content_type_and_properties(scenario: Scenario) -> None:
    await add_splitter(scenario, ERP)
    await send(scenario, SPLITTER, EDIFACT, "application/edifact")
    [document] = await got(scenario, ERP)
    assert document.parts[0].content_type == "application/edifact; delimiters=3a.2b.2c.5c.20.27; charset=iso-8859-2"
    told = properties_of(document)
    assert told["document.delimiters"] == "3a 2b 2c 5c 20 27"
    assert (told["document.charset"], told["document.syntax"]) == ("iso-8859-2", "UNOD")


def properties_of(delivered: Delivered) -> dict[str, str]:
    return {one.name: one.value for one in delivered.properties}


@pytest.mark.req("B6")
async def test_a_document_posted_directly_declares_by_content_type(scenario: Scenario) -> None:
    await connect(scenario, "x12", version="00501")
    content_type = "application/edi-x12; delimiters=2a.7c.7e.5e"
    await send(scenario, TO_ACME, b"ST*850*0001~PO1*A1|20^7*x~SE*3*0001~", content_type)
    assert b"PO1*A1:20^7*x~" in await interchange(scenario)


async def test_a_document_posted_directly_declares_by_property(scenario: Scenario) -> None:
    await connect(scenario, "edifact")
    told = Property("document.delimiters", "3a 2b 2e 5c 20 27")
    data = b"UNH+1+ORDERS:D:96A:UN'FTX+14\\:30'UNT+3+1'"
    await send(scenario, TO_ACME, data, "application/edifact", told)
    assert b"FTX+14?:30'" in await interchange(scenario)


@pytest.mark.parametrize(
    ("content_type", "why"),
    [
        ("application/edi-x12; delimiters=7c.3a.7e.20", "begins with ST"),
        ("application/edi-x12; delimiters=2a.2a.7e.20", "cannot be the delimiters of X12"),
        ("application/edi-x12; delimiters=2a.3a", "4 in hex are needed"),
        ("application/edi-x12; charset=klingon", "charset 'klingon' is not supported"),
    ],
)
async def test_a_wrong_declaration_makes_a_dead_letter(scenario: Scenario, content_type: str, why: str) -> None:
    await connect(scenario, "x12", charset="utf-8")
    data = "ST*850*0001~PO1*Müller~SE*3*0001~".encode("latin-1")
    await send(scenario, TO_ACME, data, content_type)
    assert why in (await letters_at(scenario, TO_ACME))[0]


async def test_x12_in_a_declared_charset_is_written_in_that_of_the_envelope(scenario: Scenario) -> None:
    await connect(scenario, "x12", charset="utf-8")
    data = "ST*850*0001~PO1*Müller~SE*3*0001~".encode("latin-1")
    await send(scenario, TO_ACME, data, "application/edi-x12; charset=iso-8859-1")
    assert "PO1*Müller~".encode() in await interchange(scenario)


async def test_a_property_about_an_earlier_version_of_the_document_is_ignored(scenario: Scenario) -> None:
    await connect(scenario, "x12")
    told = Property("document.delimiters", "7c 3a 21 20")
    await send(scenario, TO_ACME, b"ST*850*0001~PO1*1~SE*3*0001~", "application/edi-x12", told)
    assert b"PO1*1~" in await interchange(scenario)


async def test_a_property_of_another_standard_is_ignored(scenario: Scenario) -> None:
    await connect(scenario, "x12")
    told = (Property("document.delimiters", "3a 2b 2e 3f 20 27"), Property("interchange.standard", "edifact"))
    await send(scenario, TO_ACME, b"ST*850*0001~PO1*1~SE*3*0001~", "application/edi-x12", *told)
    assert b"PO1*1~" in await interchange(scenario)


async def test_a_service_in_transit_declares_what_it_has_made_of_the_document(scenario: Scenario) -> None:
    await connect(scenario, "x12")
    await scenario.service("Transmatics/Fix")
    part = make_part(b"ST*850*0001~PO1*A|B~SE*3*0001~", content_type="application/edi-x12")
    told = (Property("document.delimiters", "2a 7c 7e 20"),)
    await scenario.post(ERP, TO_ACME, route=["Transmatics/Fix"], parts=(part,), properties=told)
    asked = await scenario.receive("Transmatics/Fix", wait_s=60)
    changed = replace(part, data=part.data.replace(b"A|B", b"A:B"))
    told = (Property("document.delimiters", "2a 3a 7e 20"),)
    await scenario.respond(asked, parts=(changed,), properties=told)
    data = await interchange(scenario)
    assert b"PO1*A:B~" in data
    assert data[104:106] == b":~", "the service has said that a colon separates components"
