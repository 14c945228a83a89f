"""Flat files: records found and checked by a layout, and written by the same."""

from __future__ import annotations

import itertools
import time

import pytest

from postroad.core.interchange.flat import assemble, examine, split
from postroad.core.interchange.flat.charsets import decode_text, encode_text
from postroad.core.interchange.model import OnEnvelopeError
from postroad.errors import Refused
from tests.samples.x12 import Counting, envelope

AROUND = {
    "header": "HDR,{sender},{receiver},{date},{time},{number:6}",
    "trailer": "TRL,{records:5},{members},{all},{total},{number}",
    "total": "2",
}
ORDERS = {**AROUND, "member_start": "H", "total_records": "L"}
FIXED = {"form": "positional", "record_length": "12", "trailer": "T{records:5}{total:6}", "total": "2-7"}


def put_together(facts: dict[str, str], *members: bytes) -> bytes:
    return b"".join(assemble(members, envelope(facts), Counting()))


def codes(data: bytes, facts: dict[str, str]) -> list[str]:
    return [one.code for one in examine(data, facts).faults]


# ---- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.req("B6")
def test_header_and_trailer_say_who_when_how_many_and_how_much() -> None:
    whole = put_together(AROUND, b"a,1.50", b'"b,c",2', b"d,-0.25\n")
    assert whole == (b'HDR,MYBIZ,ACME,20261116,120000,000001\na,1.50\n"b,c",2\nd,-0.25\nTRL,00003,3,5,3.25,1\n')
    found = split(whole, options=AROUND)
    assert [bytes(one.data) for one in found.members] == [b"a,1.50", b'"b,c",2', b"d,-0.25"]
    assert (found.sender, found.receiver, found.reference) == ("MYBIZ", "ACME", "000001")
    assert found.facts["said_total"] == "3.25"


@pytest.mark.req("B6")
@pytest.mark.parametrize(
    ("charset", "record_end"),
    [
        *itertools.product(["cp037", "cp500", "cp1047", "cp1140", "cp273", "latin-1"], ["lf", "crlf", "cr", "nel"]),
        *itertools.product(["utf-8"], ["lf", "crlf", "cr"]),
    ],
)
def test_members_of_several_records_come_back_from_any_charset(charset: str, record_end: str) -> None:
    facts = {**ORDERS, "charset": charset, "record_end": record_end, "member_charset": "utf-8", "member_end": "lf"}
    members = ['H,"[1]\n^ä|"\nL,3.20'.encode(), b'H,2\nL,-1\nL,"7"\nL,9']
    whole = put_together(facts, *members)
    found = split(whole, options=facts)
    assert [bytes(one.data) for one in found.members] == members
    assert found.facts["said_total"] == "18.20"


def test_records_that_only_their_length_ends() -> None:
    facts = {**FIXED, "record_end": "none", "charset": "cp037", "member_charset": "ascii"}
    members = [b"D%06dAAAAA" % number for number in (999_999, 2)]
    whole = put_together(facts, *members)
    assert whole.decode("cp037") == "D999999AAAAAD000002AAAAAT00002000001"
    assert [bytes(one.data) for one in split(whole, options=facts).members] == members


def test_without_header_and_trailer_nothing_is_drawn_and_nothing_added() -> None:
    numbers = Counting()
    assert b"".join(assemble([b"a,1", b"b"], envelope(), numbers)) == b"a,1\nb\n"
    b"".join(assemble([b"a,1"], envelope({"header": "HDR,{date}"}), numbers))
    assert not numbers.drawn
    assert [one.data for one in split(b"a,1\nb\n").members] == [b"a,1", b"b"]


def test_the_charset_of_unix_on_mainframes() -> None:
    """As IBM's table of code page 1047 has them."""
    assert encode_text("[]^¬Ý¨\n", "cp1047") == bytes((0xAD, 0xBD, 0x5F, 0xB0, 0xBA, 0xBB, 0x15))
    assert decode_text(bytes(range(256)), "cp1047") != decode_text(bytes(range(256)), "cp037")
    assert encode_text(decode_text(bytes(range(256)), "cp1047"), "cp1047") == bytes(range(256))


# ---- what is wrong ---------------------------------------------------------------------------------------------------


WHOLE = put_together(AROUND, b"a,1", b"b,2")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (WHOLE.replace(b"b,2\n", b""), "flat.count"),
        (WHOLE.replace(b"b,2", b"b,3"), "flat.total"),
        (WHOLE.replace(b"b,2", b"b,x"), "flat.number"),
        (WHOLE.replace(b"b,2", b"b"), "flat.number"),
        (WHOLE.replace(b",3,1\n", b",3,9\n"), "flat.control"),
        (WHOLE[: WHOLE.index(b"TRL")], "flat.trailer"),
        (WHOLE[WHOLE.index(b"a,1") :], "flat.header"),
        (WHOLE.replace(b"TRL,", b"TRL;"), "flat.trailer"),
        (WHOLE + b"c,3\n", "flat.stray"),
        (WHOLE.replace(b"a,1", b"a,1\r"), "flat.line_end"),
    ],
)
def test_what_is_wrong_is_never_repaired_since_nothing_proves_it(data: bytes, code: str) -> None:
    assert code in codes(data, AROUND)
    for on_error in (OnEnvelopeError.REFUSE, OnEnvelopeError.REPAIR):
        with pytest.raises(Refused, match=r"interchange\.malformed"):
            split(data, on_error, AROUND)
    assert split(data, OnEnvelopeError.PASS, AROUND).members


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (WHOLE[:-1], "flat.unterminated"),
        (WHOLE.replace(b"a,1\n", b"a,1\n\n"), "flat.blank"),
        (b"\xef\xbb\xbf" + WHOLE, "flat.bom"),
    ],
)
def test_what_touches_no_member_is_harmless(data: bytes, code: str) -> None:
    assert codes(data, AROUND) == [code]
    with pytest.raises(Refused, match=code):
        split(data, options=AROUND)
    assert len(split(data, OnEnvelopeError.REPAIR, AROUND).members) == 2


@pytest.mark.parametrize("data", [b'a,"1\nb,2\n', b'a,1\nb,2"', b'a,"x\ny"\nb,"2'])
@pytest.mark.parametrize("facts", [{}, {"member_start": "b"}, {"charset": "cp037", "record_end": "nel"}])
def test_a_quote_that_is_not_closed_is_never_let_pass(data: bytes, facts: dict[str, str]) -> None:
    """All records behind it would be one."""
    raw = encode_text(data.decode(), facts["charset"]) if "charset" in facts else data
    assert "flat.quote" in codes(raw, facts)
    with pytest.raises(Refused, match=r"flat\.quote"):
        split(raw, OnEnvelopeError.PASS, facts)


def test_records_of_a_wrong_length_are_told_with_their_member() -> None:
    [fault] = examine(b"D000001AAAAA\nD000002AAAA\n", {"form": "positional", "record_length": "12"}).faults
    assert (fault.code, fault.member, fault.at) == ("flat.length", 1, 13)


def test_records_before_the_first_member_belong_to_none() -> None:
    assert codes(b"L,1\nH,1\nL,2\n", {"member_start": "H"}) == ["flat.stray"]


def test_a_trailer_full_of_separators_is_read_at_once() -> None:
    begun = time.process_time()
    found = examine(b"HDR,A,B,1,2,000001\nTRL,00000" + b"," * 1_000_000 + b"\n", AROUND)
    assert all(len(one.text) < 500 for one in found.faults)
    assert time.process_time() - begun < 1


def test_an_empty_file_is_refused_and_members_are_limited() -> None:
    with pytest.raises(Refused, match="empty"):
        examine(b"")
    with pytest.raises(Refused, match="more than 1 members"):
        examine(b"a\nb\n", most_members=1)


@pytest.mark.parametrize(
    ("facts", "member", "why"),
    [
        (AROUND, b"", "empty"),
        (AROUND, b"a,b", "no number"),
        (AROUND, b'a,"1', "quote is not closed"),
        (AROUND, b"TRL,1", "begins like the trailer"),
        (AROUND, b"a,1\r\nb,2", "set member_end"),
        (AROUND, b"a,1\nb,2", "set member_start"),
        (ORDERS, b"L,1", "member_start"),
        (ORDERS, b"H,1\nH,2", "member_start"),
        (FIXED, b"D000001AAAA", "11 bytes, and should have 12"),
        ({"charset": "cp500", "member_charset": "utf-8"}, "€".encode(), "cannot be put into cp500"),
    ],
)
def test_a_member_that_does_not_fit_is_named(facts: dict[str, str], member: bytes, why: str) -> None:
    with pytest.raises(Refused, match=f"member 1: .*{why}") as refused:
        put_together(facts, member)
    assert refused.value.code == "interchange.unfit"


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"form": "tree"}, "form"),
        ({"charset": "klingon"}, "charset"),
        ({"record_end": "none"}, "record_end"),
        ({"record_end": "bell"}, "record_end"),
        ({"record_end": "nel"}, "record_end"),
        ({"member_end": "nel"}, "member_end"),
        ({"record_length": "12"}, "record_length"),
        ({"form": "positional", "record_length": "0"}, "record_length"),
        ({"total": "2-3"}, "total"),
        ({"form": "positional", "total": "3-2"}, "total"),
        ({"separator": '"'}, "separator"),
        ({"separator": "ab"}, "separator"),
        ({"separator": "\n"}, "separator"),
        ({"quote": "q"}, "quote"),
        ({"header": "{sender}"}, "header"),
        ({"header": "H{colour}"}, "header"),
        ({"header": "H{sender}{sender}"}, "header"),
        ({"header": "H{records}"}, "header"),
        ({"header": "H{sender}{receiver}"}, "header"),
        ({"header": "H{sender:2}"}, "sender"),
        ({"header": "H{date}", "utc_offset_minutes": "soon"}, "utc_offset_minutes"),
        ({"header": "Hä", "charset": "ascii"}, "header"),
        ({"member_start": "ä", "charset": "ascii"}, "member_start"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_by_name(facts: dict[str, str], name: str) -> None:
    with pytest.raises(Refused, match=r"interchange\.unfit") as refused:
        put_together(facts, b"a,1")
    assert refused.value.pointer == f"/envelope/{name}"
