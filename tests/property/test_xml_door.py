"""The door for XML reads usual documents once; it refuses all the same whatever a scan before it would refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.xml import check_well_formed, parse, to_utf8
from postroad.errors import Refused

DOCUMENTS = [
    b"<a/>",
    b'<?xml version="1.0" encoding="UTF-8"?>\n<a b="c"><d>e</d><d/>f</a>',
    b"<?xml version='1.0'?><p:a xmlns:p='urn:p' p:x='1'><!-- c --><?i j?><![CDATA[<]]>&lt;&#65;</p:a>",
    b"<a xmlns='urn:a'><b xmlns=''><c xmlns='relative'/></b></a>",
    b"<!-- first --><a><b><c><d/></c></b></a>",
    "<a>\u00e9</a>".encode("utf-16"),
]
BITS = [
    b"<", b">", b"&", b"&lt;", b"&#0;", b"&b;", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?", b"?>", b"<!DOCTYPE a>",
    b"\x00", b"\x01",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"\xff", b"xmlns:q='u'", b"xmlns=''", b"q:", b" x='1' x='2'", b"=", b"'", b'"',
    b"/", b"</a>",
    b"<a>", b"<a/>" * 9, b"<b>" * 6 + b"</b>" * 6, b" ".join(b"a%d='1'" % number for number in range(9)),
    b"xmlns:xml='u'", b":", b"--",
    b"<?xml version='1.0'?>", b"xmlns:r='{u}'", b"<q:a/>", b"</q:a>",
]  # fmt: skip
LIMITS = [WireLimits(), WireLimits(xml_depth=5), WireLimits(xml_elements=8), WireLimits(xml_attributes=4)]
changes = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3), st.sampled_from([b"", *BITS])), max_size=4)


def changed(document: bytes, places: list[tuple[int, int, bytes]]) -> bytes:
    for at, cut, bit in places:
        where = at % (len(document) + 1)
        document = document[:where] + bit + document[where + cut :]
    return document


def outcome(read: Callable[[], object]) -> tuple[str, str]:
    try:
        read()
    except Refused as refused:
        return refused.code, refused.detail
    return "", ""


@pytest.mark.req("Z2")
@settings(max_examples=600, deadline=None)
@given(document=st.builds(changed, st.sampled_from(DOCUMENTS), changes), limits=st.sampled_from(LIMITS))
@example(document=b"<p:a><o xmlns='u'/></p:a>", limits=LIMITS[0])  # an error, and after it a complaint that is none
@example(document=b"<p:a><o xmlns='u'/></p:a></b>", limits=LIMITS[0])
@example(document=b'<?xml version="1.encodinUTF-8"?>\n<a/>', limits=LIMITS[0])
@example(document=b"<a>" * 257 + b"</a>" * 257, limits=LIMITS[0])
@example(document=b"<a " + b" ".join(b"a%d=''" % number for number in range(257)) + b"/>", limits=LIMITS[0])
@example(document=b"<a " + b" ".join(b"xmlns:a%d='urn:a'" % number for number in range(257)) + b"/>", limits=LIMITS[0])
def test_nothing_is_read_that_a_scan_refuses_and_for_the_same_reason(document: bytes, limits: WireLimits) -> None:
    scanned = outcome(lambda: check_well_formed(to_utf8(document), limits))
    read = outcome(lambda: parse(document, limits))
    assert read == scanned or "xmlns" in read[1] or (not scanned[0] and document.startswith(b"<?xml")), (
        "libxml2 looks at the names of namespaces too, and closer at the XML declaration; nothing else may differ"
    )


@pytest.mark.parametrize("attributes", [240, 241, 256])
def test_wide_elements_within_the_limit_are_read(attributes: int) -> None:
    wide = b"<a><b " + b" ".join(b"a%d='1'" % number for number in range(attributes)) + b"/></a>"
    assert len(parse(wide)[0].attrib) == attributes
