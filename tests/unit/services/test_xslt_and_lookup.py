"""Transformation and enrichment, each alone: which documents, which parameters, and what happens to values nobody knows."""

from __future__ import annotations

import pytest

from postroad.core.model.asset import AssetKind, Hosting
from postroad.errors import Refused
from postroad.services.lookup import LookupService
from postroad.services.lookup_table import MAPPINGS_KEPT, LookupTable
from postroad.services.service import ServiceResult, Tools
from postroad.services.xslt import XsltService
from tests.samples.service_tools import UpperCase, asset, delivered, document, tools

SHEET = asset(AssetKind.STYLESHEET, "Split", "<split/>")
ZIPS = asset(AssetKind.TABLE, "zips", 'zip,plus4,city\n62701,62701-1234,"Spring, Field"\n10001,10001-0001,New York\n')
ORDER = document("<Order><Zip> 62701 </Zip><Zip>99999</Zip></Order>")
TEXT = document("62701", "2", "text/plain")
SIGNATURE = document("<Zip>62701</Zip>", "signature", attachment=True)


def transformer(tools: Tools) -> UpperCase:
    assert isinstance(tools.transformer, UpperCase)
    return tools.transformer


async def test_every_xml_document_is_transformed_and_the_rest_is_the_very_same() -> None:
    using = tools(SHEET)
    returned = await XsltService().work(
        delivered(ORDER, TEXT, SIGNATURE, arguments={"stylesheet": "split", "tone": "dark"}), using
    )
    assert returned.parts is not None
    assert returned.parts[0] == document(ORDER.data.upper())
    assert (returned.parts[1], returned.parts[2]) == (TEXT, SIGNATURE)
    assert transformer(using).given == [("<split/>", ORDER.data, {"tone": "dark"})]


async def test_one_part_can_be_chosen_and_get_another_type() -> None:
    using = tools(SHEET)
    message = delivered(ORDER, SIGNATURE, arguments={"document": "signature", "contentType": "text/html"})
    returned = await XsltService().work(message, using)
    assert returned.parts is not None
    assert returned.parts[0] is ORDER
    assert returned.parts[1] == document(SIGNATURE.data.upper(), "signature", "text/html", attachment=True)


@pytest.mark.req("S1", "S2")
@pytest.mark.parametrize(("said", "says"), [
    ("text/xml; charset=ISO-8859-1", "text/xml; charset=utf-8"),
    ('text/xml;Charset="latin1"; x=1', "text/xml;Charset=utf-8; x=1"),
    ("text/xml; charset=UTF-8", "text/xml; charset=UTF-8"),
    ('text/xml; charset="utf-8"', 'text/xml; charset="utf-8"'),
    ("text/xml; charset=utf-8859", "text/xml; charset=utf-8"),
    ("application/xml", "application/xml"),
])  # fmt: skip
async def test_rewritten_documents_are_utf_8_and_declare_it(said: str, says: str) -> None:
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?><Order><Zip>62701</Zip><City>Köln</City></Order>'
    came = document(latin.encode("latin-1"), content_type=said)
    transformed = await XsltService().work(delivered(came, arguments={"stylesheet": "split"}), tools(SHEET))
    changed = await LookupService().work(
        delivered(came, arguments={"element": "/Order/Zip"}), tools(ZIPS, hosted=Hosting.LOOKUP)
    )
    for returned in (transformed, changed):
        assert returned.parts is not None
        assert returned.parts[0].content_type == says
    assert changed.parts is not None
    assert "Köln" in changed.parts[0].data.decode()


def test_however_many_pairs_of_columns_are_asked_for_few_indexes_of_a_table_are_kept() -> None:
    names = [f"c{number}" for number in range(MAPPINGS_KEPT + 1)]
    table = LookupTable(",".join(names) + "\n" + ",".join(name.upper() for name in names) + "\n")
    for name in names:
        assert table.mapping("c0", name) == {"C0": name.upper()}
    assert table.cached_mapping("c0", names[-1]) == {"C0": names[-1].upper()}
    assert table.cached_mapping("c0", "c0") is None
    assert table.mapping("c0", "c0") == {"C0": "C0"}


async def test_a_message_without_xml_passes_unchanged() -> None:
    assert await XsltService().work(delivered(TEXT, arguments={"stylesheet": "split"}), tools(SHEET)) == ServiceResult()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"stylesheet": "other"}, "not-found"), ({"document": "9"}, "value.invalid")],
)
async def test_an_unknown_stylesheet_or_document_is_refused(arguments: dict[str, str], code: str) -> None:
    with pytest.raises(Refused) as refusal:
        await XsltService().work(delivered(ORDER, arguments=arguments), tools(SHEET))
    assert refusal.value.code == code


async def test_a_name_is_needed_only_where_there_are_several() -> None:
    with pytest.raises(Refused, match="2 assets of kind stylesheet"):
        await XsltService().work(delivered(ORDER), tools(SHEET, asset(AssetKind.STYLESHEET, "b", "<b/>")))


async def looked_up(part: bytes | None = None, /, **arguments: str) -> str:
    parts = (ORDER,) if part is None else (document(part, content_type="application/json"),)
    returned = await LookupService().work(delivered(*parts, arguments=arguments), tools(ZIPS, hosted=Hosting.LOOKUP))
    return (returned.parts or parts)[0].data.decode()


async def test_a_value_is_replaced_by_what_the_table_says() -> None:
    assert await looked_up(element="/Order/Zip") == "<Order><Zip>62701-1234</Zip><Zip>99999</Zip></Order>"
    assert "Spring, Field" in await looked_up(element="//Zip", table="ZIPS", column="zip", value="city")
    assert await looked_up(b'{"zip": 10001}', element="$.zip") == '{"zip": "10001-0001"}'
    assert await looked_up(b'{"zip": "New York"}', element="$.zip", column="city", value="zip") == '{"zip": "10001"}'


async def test_a_key_that_the_table_does_not_have() -> None:
    assert await looked_up(element="//Zip", missing="remove") == "<Order><Zip>62701-1234</Zip></Order>"
    with pytest.raises(Refused, match="//Zip") as refusal:
        await looked_up(element="//Zip", missing="error")
    assert refusal.value.code == "lookup.missing"
    assert "99999" not in refusal.value.detail  # what a message says does not belong in the journal's facts


async def test_a_message_that_needs_no_change_has_none() -> None:
    returned = await LookupService().work(delivered(ORDER, arguments={"element": "//City"}), tools(ZIPS))
    assert returned == ServiceResult()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"element": "Zip"},
        {"element": "/Order/Zip["},
        {"element": "/Order"},
        {"element": "/po:Order"},
        {"element": "//Zip", "column": "none"},
        {"element": "//Zip", "value": "none"},
        {"element": "//Zip", "missing": "panic"},
    ],
)
async def test_wrong_arguments_are_named(arguments: dict[str, str]) -> None:
    with pytest.raises(Refused) as refusal:
        await looked_up(**arguments)
    assert refusal.value.code == "value.invalid"
    assert refusal.value.pointer.startswith("/arguments/")


async def test_prefixes_are_declared_by_arguments() -> None:
    order = document('<p:Order xmlns:p="urn:po"><p:Zip>62701</p:Zip></p:Order>')
    message = delivered(order, arguments={"element": "/po:Order/po:Zip", "xmlns:po": "urn:po"})
    returned = await LookupService().work(message, tools(ZIPS))
    assert returned.parts is not None
    assert b"<p:Zip>62701-1234</p:Zip>" in returned.parts[0].data


async def test_an_unreadable_document_is_told_by_its_id() -> None:
    with pytest.raises(Refused, match="'1' cannot be read") as refusal:
        await LookupService().work(delivered(document("<Order>"), arguments={"element": "//Zip"}), tools(ZIPS))
    assert refusal.value.code == "wire.malformed"


async def test_a_large_document_is_worked_on_too() -> None:
    large = "<Order>" + "<Line><Zip>10001</Zip></Line>" * 3_000 + "</Order>"
    returned = await LookupService().work(delivered(document(large), arguments={"element": "//Zip"}), tools(ZIPS))
    assert returned.parts is not None
    assert returned.parts[0].data.decode() == large.replace("10001", "10001-0001")
