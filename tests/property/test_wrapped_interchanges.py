"""SWIFT, XML wrappers, flat files and JSON lines, whatever the members: what is put together is found again, and nothing but a
refusal ever comes of bytes that are wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.interchange.model import Envelope, OnEnvelopeError
from postroad.core.interchange.standard import BUILT_IN, Standard
from postroad.errors import Refused
from tests.samples.x12 import NOON, Counting

X_TEXT = st.text(st.sampled_from("Aa0 /-?:().,'+\r\n"), max_size=30).map(
    lambda text: text.replace("\r", "").replace("\n", "\r\n")
)
XML_TEXT = st.text(st.sampled_from("aé€ &<>'\"]\n/"), max_size=12)
NAMES = st.sampled_from(("a", "b", "p:c", "q:d"))
CELLS = st.text(st.sampled_from("aé 0,;|\"'"), max_size=8)
AGREED = {
    "gs1": {"form": "sbd", "multiple_type": "yes"},
    "flat": {"header": "HDR,{number}", "trailer": "TRL,{records},{total}", "total": "1"},
}
MINE = ("swift", "iso20022", "gs1", "xml", "flat", "json_lines")


@st.composite
def fin(draw: st.DrawFn) -> bytes:
    text = draw(X_TEXT).replace("\r\n-", "\r\n.")  # a hyphen at the beginning of a line ends the text
    user = draw(st.sampled_from(("", "{3:{108:MUR}}", "{3:{113:URGT}{121:x}}")))
    end = draw(st.sampled_from(("", "{5:}", "{5:{CHK:123}}{S:{A:}{B:1}}")))
    return f"{{1:F01BANKDEFFAXXX0000000000}}{{2:I103BANKUS33XXXXN}}{user}{{4:\r\n:20:R\r\n{text}\r\n-}}{end}".encode()


def _escaped(text: str) -> str:
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("\n", " ")
    )


@st.composite
def xml(draw: st.DrawFn) -> bytes:
    name, inner = draw(NAMES), draw(NAMES)
    spaces = 'xmlns:p="urn:p" xmlns:q="urn:q"' + draw(st.sampled_from(("", ' xmlns="urn:d"', ' xmlns=""')))
    text, value = _escaped(draw(XML_TEXT)), _escaped(draw(XML_TEXT))
    content = draw(
        st.sampled_from((f'<{inner} x="{value}"/>', f"<{inner}>{text}</{inner}>", f"<![CDATA[<{name}>]]>", text))
    )
    whole = draw(st.sampled_from((f'<{name} {spaces} x="{value}">{content}</{name}>', f"<{name} {spaces} x='/>'/>")))
    return whole.encode()


@st.composite
def row(draw: st.DrawFn) -> bytes:
    cells = ["".join(('"', cell.replace('"', '""'), '"')) for cell in draw(st.lists(CELLS, max_size=3))]
    return ",".join([str(draw(st.integers(-999, 999))), *cells]).encode()


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)
MEMBERS: Mapping[str, st.SearchStrategy[bytes]] = {
    "swift": fin(),
    "iso20022": xml(),
    "gs1": xml(),
    "xml": xml(),
    "flat": row(),
    "json_lines": JSON.map(lambda value: json.dumps(value).encode()),
}


def put_together(standard: Standard, members: list[bytes], **facts: str) -> bytes:
    assert standard.assemble is not None
    agreed = AGREED.get(standard.name, {}) | facts
    envelope = Envelope(sender="MYBIZ", receiver="ACME", at_us=NOON, options=agreed)
    return b"".join(standard.assemble(members, envelope, Counting()))


def parts(standard: Standard, data: bytes, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE) -> list[bytes]:
    assert standard.split is not None
    [found] = standard.split(data, on_error, AGREED.get(standard.name, {}))
    return [bytes(one.data) for one in found.members]


@pytest.mark.req("B6")
@pytest.mark.parametrize("name", MINE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_put_together_is_found_again(name: str, data: st.DataObject) -> None:
    members = data.draw(st.lists(MEMBERS[name], min_size=1, max_size=5))
    assert parts(BUILT_IN.standard(name), put_together(BUILT_IN.standard(name), members)) == members


@settings(max_examples=40, deadline=None)
@given(members=st.lists(fin(), min_size=1, max_size=4))
def test_messages_are_found_again_in_sectors(members: list[bytes]) -> None:
    swift = BUILT_IN.standard("swift")
    whole = put_together(swift, members, form="dos_pcc")
    assert len(whole) % 512 == 0
    assert parts(swift, whole) == members


@pytest.mark.parametrize("name", MINE)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_nothing_but_a_refusal_comes_of_bytes_that_are_wrong(name: str, data: st.DataObject) -> None:
    standard = BUILT_IN.standard(name)
    whole = bytearray(put_together(standard, data.draw(st.lists(MEMBERS[name], min_size=1, max_size=3))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(0, len(whole) - 1)))
        whole[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    raw = data.draw(st.sampled_from((bytes(whole), bytes(whole[: len(whole) // 2])))) or b"x"
    for on_error in OnEnvelopeError:
        try:
            found = parts(standard, raw, on_error)
        except Refused:
            continue
        assert all(found)


@pytest.mark.parametrize("name", MINE)
@settings(max_examples=60, deadline=None)
@given(raw=st.binary(max_size=60))
def test_nothing_but_a_refusal_comes_of_any_bytes(name: str, raw: bytes) -> None:
    standard = BUILT_IN.standard(name)
    for wrong in (raw, b"{1:" + raw, b"\x01{1:" + raw, b"<a>" + raw, b"HDR," + raw):
        for attempt in (
            lambda given=wrong: parts(standard, given),
            lambda given=wrong: put_together(standard, [given]),
        ):
            try:
                attempt()
            except Refused:
                continue
