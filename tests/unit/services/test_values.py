"""Values in documents: found by a path, replaced where they stand, and nothing else touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.codecs.xml import parse
from postroad.errors import Refused
from postroad.services.json_values import JsonValues
from postroad.services.xml_values import XmlValues

ORDER = """<?xml version="1.0" encoding="UTF-8"?>
<!-- an order --><?page break?>
<po:Order xmlns:po='urn:po' xmlns="urn:other" po:number = 'PO-1'  kind="a&amp;b">
  <Zip >62701</Zip><!-- between -->
  <po:Zip>62<![CDATA[701]]><!-- inside --></po:Zip>
  <po:Empty/><po:Zip  >10001</po:Zip  >
</po:Order>
<!-- the end -->"""
NAMESPACES = {"po": "urn:po", "o": "urn:other"}


def replaced(path: str, **replacements: str | None) -> str:
    return XmlValues(ORDER.encode(), path, NAMESPACES).replace_values(
        {name.removeprefix("v"): value for name, value in replacements.items()}
    ).decode()  # fmt: skip


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/po:Order/po:Zip", ("62701", "10001")),
        ("//o:Zip", ("62701",)),
        ("//o:Zip/text()", ("62701",)),
        ("/po:Order/@po:number", ("PO-1",)),
        ("//@kind", ("a&b",)),
        ("/po:Order/@*", ("PO-1", "a&b")),
        ("/po:Order/po:Empty", ("",)),
        ("/po:Order/Zip", ()),
    ],
)
def test_a_path_finds_values(path: str, values: tuple[str, ...]) -> None:
    assert XmlValues(ORDER.encode(), path, NAMESPACES).values == values


def test_only_the_value_changes() -> None:
    assert replaced("/po:Order/po:Zip", v10001="<1>&") == ORDER.replace(">10001<", ">&lt;1&gt;&amp;<")
    assert replaced("/po:Order/po:Zip", v62701="x") == ORDER.replace("62<![CDATA[701]]><!-- inside -->", "x")
    assert replaced("//o:Zip", v62701="x", v10001="not asked for") == ORDER.replace("<Zip >62701", "<Zip >x")


def test_attributes_are_replaced_and_removed_where_they_stand() -> None:
    values = XmlValues(ORDER.encode(), "/po:Order/@*", NAMESPACES)
    assert values.replace_values({"PO-1": 'say "1"'}).decode() == ORDER.replace("'PO-1'", '"say &quot;1&quot;"')
    assert values.replace_values({"a&b": None}).decode() == ORDER.replace('  kind="a&amp;b"', "")


def test_attributes_of_elements_in_each_other() -> None:
    data = b'<a c="1" d="1"><b c="2"><b c="1"/></b>text<e c="1">x</e></a>'
    values = XmlValues(data, "//@c", {})
    assert values.values == ("1", "2", "1", "1")
    assert values.replace_values({"1": "9"}) == b'<a c="9" d="1"><b c="2"><b c="9"/></b>text<e c="9">x</e></a>'
    assert XmlValues(data, "/a/@*", {}).replace_values({"1": None}) == data.replace(b' c="1" d="1"', b"", 1)


def test_elements_are_filled_and_removed() -> None:
    values = XmlValues(ORDER.encode(), "//po:Empty", NAMESPACES)
    assert values.replace_values({"": "full"}).decode() == ORDER.replace("<po:Empty/>", "<po:Empty>full</po:Empty>")
    assert values.replace_values({"": None}).decode() == ORDER.replace("<po:Empty/>", "")
    assert replaced("//po:Zip", v10001=None) == ORDER.replace("<po:Zip  >10001</po:Zip  >", "")


def test_another_encoding_becomes_utf_8() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><a>ü<b>é</b></a>'.encode("latin-1")
    assert XmlValues(data, "/a/b", {}).replace_values({"é": "à"}).decode() == "<a>ü<b>à</b></a>"


@pytest.mark.parametrize(
    ("path", "code"),
    [("/po:Order", "value.invalid"), ("//none:Zip", "rule.invalid"), ("/po:Order[", "rule.invalid")],
)
def test_text_that_cannot_be_a_value_is_refused(path: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        XmlValues(ORDER.encode(), path, NAMESPACES)
    assert refusal.value.code == code


def test_the_root_stays_and_values_are_characters_that_xml_has() -> None:
    with pytest.raises(Refused, match="root"):
        XmlValues(b"<a>1</a>", "/a", {}).replace_values({"1": None})
    with pytest.raises(Refused, match="XML does not allow"):
        XmlValues(b"<a>1</a>", "/a", {}).replace_values({"1": "\x01"})


def test_hostile_documents_are_refused() -> None:
    for data in (b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", b"<a>", b"<a>" * 300 + b"</a>" * 300):
        with pytest.raises(Refused):
            XmlValues(data, "/a", {})


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"))


@given(values=st.lists(texts, min_size=1, max_size=5), new=texts, attribute=texts)
def test_a_replaced_document_says_what_was_asked_for(values: list[str], new: str, attribute: str) -> None:
    data = "<a>" + "".join(f"<b><![CDATA[{value.replace(']]>', '')}]]></b>" for value in values) + "<b/></a>"
    found = XmlValues(data.encode(), "/a/b", {})
    tree = parse(found.replace_values({found.values[0]: new}))
    expected = [new if value == found.values[0] else value for value in found.values]
    assert [child.text or "" for child in tree] == expected
    named = XmlValues(b"<a c='1'/>", "/a/@c", {}).replace_values({"1": attribute})
    assert parse(named).get("c") == attribute


JSON = '{"zip": "62701", "n": 1.50, "big": 1234567890123456789.1, "lines": [{"zip": "10001"}, {"zip": 5, "ok": true}], "é": null}'


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.zip", ("62701",)),
        ("$..zip", ("62701", "10001", "5")),
        ("$.lines[*].zip", ("10001", "5")),
        ("$.lines[1].ok", ("true",)),
        ("$.none", ()),
    ],
)
def test_a_json_path_finds_values(path: str, values: tuple[str, ...]) -> None:
    assert JsonValues(JSON.encode(), path).values == values


def test_json_keeps_names_numbers_and_order() -> None:
    assert JsonValues(JSON.encode(), "$.zip").replace_values({}).decode() == JSON
    assert JsonValues(JSON.encode(), "$..zip").replace_values({"10001": "x", "5": "7"}).decode() == JSON.replace(
        '"10001"', '"x"'
    ).replace("5,", "7,")  # a number stays one where it can
    assert JsonValues(b'{"n": 5}', "$.n").replace_values({"5": "A5"}) == b'{"n": "A5"}'


def test_json_members_are_removed() -> None:
    assert JsonValues(b'{"a": 1, "b": [1, 2]}', "$.b[*]").replace_values({"1": None}) == b'{"a": 1, "b": [2]}'
    assert JsonValues(b'{"a": 1, "b": 1}', "$.a").replace_values({"1": None}) == b'{"b": 1}'
    with pytest.raises(Refused, match="whole"):
        JsonValues(b"1", "$").replace_values({"1": None})


@pytest.mark.parametrize("data", [b'{"a": 1, "a": 2}', b"[" * 100 + b"]" * 100, b"{", b"NaN", b'"\xff"'])
def test_json_that_cannot_be_read_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        JsonValues(data, "$")


def test_an_object_is_no_value() -> None:
    with pytest.raises(Refused, match="object or array"):
        JsonValues(JSON.encode(), "$.lines")
