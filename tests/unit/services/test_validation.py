"""The validating service: which documents it looks at, by which schema, and what becomes of those that are not valid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.message import Part, Property, PropertyType
from postroad.errors import Refused
from postroad.services.service import ServiceResult, Tools
from postroad.services.validation import FAULTS_CHARS, ValidationService, require_valid
from tests.samples.service_tools import NO_ARGUMENTS, Strict, asset, delivered, document, tools

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
ORDER = f'<xs:schema {XS} targetNamespace="urn:order"><xs:element name="order"/></xs:schema>'
INVOICE = f'<xs:schema {XS} targetNamespace="urn:invoice"><xs:element name="invoice"/></xs:schema>'
XSDS = (asset(AssetKind.SCHEMA, "order", ORDER), asset(AssetKind.SCHEMA, "invoice", INVOICE))
ALL = (*XSDS, asset(AssetKind.JSONSCHEMA, "report", "{}"))


def with_assets(*assets: Asset) -> tuple[Tools, Strict]:
    validator = Strict()
    return replace(tools(*assets, hosted=Hosting.VALIDATE), validator=validator), validator


def json_document(text: str, id: str = "1") -> Part:
    return document(text, id, "application/json")


async def worked(
    *parts: Part, assets: tuple[Asset, ...] = ALL, in_transit: bool = True, arguments: Mapping[str, str] = NO_ARGUMENTS
) -> ServiceResult:
    return await ValidationService().work(
        delivered(*parts, in_transit=in_transit, arguments=arguments), with_assets(*assets)[0]
    )


def valid(count: int) -> tuple[Property, ...]:
    return (
        Property("validation.valid", "true", PropertyType.BOOLEAN),
        Property("validation.checked", str(count), PropertyType.NUMBER),
    )


@pytest.mark.req("S6")
async def test_a_valid_document_is_passed_on_unchanged_and_marked_valid() -> None:
    returned = await worked(
        document('<order xmlns="urn:order"/>'), document('<i xmlns="urn:invoice"/>', "2"), json_document("{}", "3")
    )
    assert returned == ServiceResult(properties=valid(3))


@pytest.mark.req("S6")
async def test_each_document_is_validated_by_its_own_schema() -> None:
    used, validator = with_assets(*ALL)
    parts = (
        document('<invoice xmlns="urn:invoice"/>'),
        document('<order xmlns="urn:order"/>', "2"),
        json_document("{}", "3"),
    )
    await ValidationService().work(delivered(*parts), used)
    assert validator.judged_by == ["invoice", "order", "report"]


@pytest.mark.req("S6")
async def test_an_invalid_document_is_stopped_with_its_faults() -> None:
    returned = await worked(document('<order xmlns="urn:order">fail</order>'), json_document("{}", "2"))
    assert returned.status is not None
    assert returned.status.code == "document.invalid"
    assert returned.status.text == "document '1' is not valid by order: line 1: it says fail"


@pytest.mark.req("S6")
async def test_an_invalid_document_is_passed_on_marked_if_so_configured() -> None:
    returned = await worked(
        document('<order xmlns="urn:order">fail</order>'), json_document("{}", "2"), arguments={"onInvalid": "mark"}
    )
    assert returned.status is None
    assert returned.parts is None
    assert returned.properties == (
        Property("validation.valid", "false", PropertyType.BOOLEAN),
        Property("validation.checked", "2", PropertyType.NUMBER),
        Property("validation.faults", "document '1' is not valid by order: line 1: it says fail"),
    )


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (document('<order xmlns="urn:misspelt"/>'), "Hosts/Service has no schema for it"),
        (document("<order"), "Hosts/Service has no schema for it"),
        (document('<!DOCTYPE order [<!ENTITY e "x">]><order>&e;</order>'), "declare nothing itself"),
    ],
)
async def test_a_document_that_no_schema_is_for_is_not_valid(part: Part, told: str) -> None:
    returned = await worked(part)
    assert returned.status is not None
    assert told in returned.status.text


@pytest.mark.parametrize(
    ("parts", "assets"),
    [
        ((json_document("{}"),), XSDS),
        ((document('<order xmlns="urn:order"/>'),), ALL[2:]),
        ((document("ISA*00", content_type="application/edi-x12"),), ALL),
        ((document('<order xmlns="urn:order">fail</order>', attachment=True),), ALL),
        ((), ALL),
        ((document("<a/>"),), ()),
    ],
)
async def test_a_document_without_a_schema_is_passed_on_unmarked(
    parts: tuple[Part, ...], assets: tuple[Asset, ...]
) -> None:
    assert await worked(*parts, assets=assets) == ServiceResult()


async def test_a_named_schema_judges_whatever_it_can() -> None:
    used, validator = with_assets(*ALL)
    parts = (document("<anything/>"), json_document("{}", "2"))
    assert (await ValidationService().work(delivered(*parts, arguments={"schema": "ORDER"}), used)).properties == valid(
        1
    )
    assert validator.judged_by == ["order"]


async def test_a_named_document_is_looked_at_whatever_it_is() -> None:
    attached = document('<order xmlns="urn:order">fail</order>', "2", attachment=True)
    returned = await worked(document('<order xmlns="urn:order"/>'), attached, arguments={"document": "2"})
    assert returned.status is not None
    assert "document '2'" in returned.status.text
    edi = document("ISA*00", content_type="application/edi-x12")
    assert (await worked(edi, arguments={"document": "1"})).status is not None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"schema": "unknown"}, "not-found"),
        ({"document": "9"}, "value.invalid"),
        ({"onInvalid": "ignore"}, "value.invalid"),
    ],
)
async def test_wrong_arguments_are_refused(arguments: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as refused:
        await worked(document("<a/>"), arguments=arguments)
    assert refused.value.code == code


async def test_a_request_to_the_validator_itself_returns_a_report() -> None:
    returned = await worked(
        document('<order xmlns="urn:order">fail</order>'), in_transit=False, arguments={"onInvalid": "mark"}
    )
    assert returned.parts is not None
    assert json.loads(returned.parts[0].data) == {
        "valid": False,
        "documents": [
            {"document": "1", "schema": "order", "faults": [{"text": "it says fail", "line": 1, "path": "/a"}]}
        ],
    }


async def test_no_more_is_told_than_a_property_holds() -> None:
    parts = [document('<order xmlns="urn:order">fail</order>', f"order-{number}") for number in range(99)]
    told = {one.name: one.value for one in (await worked(*parts, arguments={"onInvalid": "mark"})).properties}
    assert len(told["validation.faults"]) == FAULTS_CHARS
    assert told["validation.checked"] == "99"


async def test_a_fault_can_be_told_in_every_wire_form() -> None:
    told = (await worked(json_document('{"a": "fail\\u0000"}'), arguments={"onInvalid": "mark"})).properties[-1]
    assert told.value.endswith("it says fail\N{REPLACEMENT CHARACTER}")


@pytest.mark.req("X8")
async def test_others_may_ask_for_a_document_that_meets_a_schema() -> None:
    used, _ = with_assets(*ALL)
    await require_valid(document("<order/>"), "order", used)
    with pytest.raises(Refused) as refused:
        await require_valid(document("<order>fail</order>"), "order", used)
    assert refused.value.code == "document.invalid"
    assert "by order: line 1" in refused.value.detail
