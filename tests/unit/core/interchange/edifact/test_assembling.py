"""EDIFACT put together: envelopes, references, delimiters and charsets."""

from __future__ import annotations

import pytest

from postroad.core.interchange.edifact import assemble, split, split_stream
from postroad.core.interchange.model import Placed
from postroad.errors import Refused
from tests.samples.edifact import INVOICE, ORDER, SECOND, UNB, Counting, envelope, interchange


def written(*members: bytes, **facts: str) -> bytes:
    return b"".join(assemble(members, envelope(facts), Counting()))


@pytest.mark.req("B6")
def test_an_interchange_has_its_envelope_counts_and_references() -> None:
    found = written(ORDER, SECOND, sender_qualifier="14", receiver_qualifier="14", test="1", acknowledgment="1")
    assert found == b"UNB+UNOC:3+MYBIZ:14+ACME:14+261116:1200+1++++1++1'" + ORDER + SECOND + b"UNZ+2+1'"


def test_version_4_writes_the_century() -> None:
    assert written(ORDER, version="4").startswith(b"UNB+UNOC:4+MYBIZ+ACME+20261116:1200+1'")


def test_an_empty_batch_is_an_interchange_of_none() -> None:
    assert written() == b"UNB+UNOC:3+MYBIZ+ACME+261116:1200+1'UNZ+0+1'"


@pytest.mark.req("B6")
def test_groups_are_by_kind_and_version() -> None:
    found = split(written(ORDER, SECOND, INVOICE, groups="1"))
    assert [(one.kind, one.reference) for one in found.groups] == [("ORDERS", "1"), ("INVOIC", "2")]
    assert [one.group for one in found.members] == [0, 0, 1]


def test_small_interchanges_become_one() -> None:
    found = split(written(interchange(), interchange([INVOICE])))
    assert [bytes(one.data) for one in found.members] == [ORDER, SECOND, INVOICE]


def test_a_reference_that_comes_twice_begins_another_interchange_unless_numbered_anew() -> None:
    assert [one.reference for one in split_stream(written(ORDER, ORDER))] == ["1", "2"]
    assert [one.reference for one in split(written(ORDER, ORDER, message_numbers="interchange")).members] == ["1", "2"]
    assert [one.reference for one in split(written(ORDER, ORDER, message_numbers="drawn")).members] == ["1", "2"]


def test_other_delimiters_are_told_by_una_and_what_they_mean_is_released() -> None:
    message = b"UNH+1+ORDERS:D:96A:UN'BGM+a*b?+c??d'UNT+3+1'"
    found = written(message, element="*", terminator="~", release="!")
    assert found.startswith(b"UNA:*.! ~UNB*UNOC:3")
    assert b"BGM*a!*b+c?d~" in found
    assert b"BGM+a*b?+c??d'" in written(found)


def test_what_cannot_be_said_in_our_delimiters_has_an_interchange_of_its_own() -> None:
    repeating = b"UNA:+.?*'" + interchange([SECOND.replace(b"4712", b"1*2")])
    comma = b"UNA:+,? '" + interchange([INVOICE.replace(b"+88+", b"+8,8+")])
    point = ORDER.replace(b"4711", b"4.7")
    parts = list(split_stream(written(repeating, comma, point)))
    assert [(one.facts["repetition"], one.facts["decimal"]) for one in parts] == [("*", "."), ("", ","), ("", ".")]


@pytest.mark.req("B6")
def test_text_is_moved_into_the_charset_of_the_interchange() -> None:
    latin = interchange([SECOND.replace(b"4712", "Müller".encode("latin-1"))])
    assert "Müller".encode() in written(latin, syntax="UNOY")
    assert "Müller".encode("latin-1") in written(latin)
    with pytest.raises(Refused, match="letter 'ü', which iso8859-5 does not have"):
        written(latin, syntax="UNOE")
    with pytest.raises(Refused, match="not in the charset of UNOA"):
        written(SECOND.replace(b"4712", b"\xfc"), syntax="UNOA")


def test_placed_tells_where_each_went() -> None:
    places: list[Placed] = []
    b"".join(assemble([interchange(), INVOICE], envelope({"groups": "1"}), Counting(), places.append))
    assert [(one.position, one.interchange, one.group, one.kind, one.reference) for one in places] == [
        (0, "1", "1", "ORDERS", "1"),
        (0, "1", "1", "ORDERS", "2"),
        (1, "1", "2", "INVOIC", "3"),
    ]


@pytest.mark.parametrize(
    "member",
    [
        b"", b"hello", b"UNH+1", ORDER[:-1], ORDER + SECOND, ORDER + b"x'", ORDER.replace(b"UNT+4", b"UNT+5"),
        ORDER.replace(b"BGM", b"UNZ"), ORDER.replace(b"UNT+4+1", b"UNT+4+2"), interchange(unz=b"UNZ+9+7'"),
    ],
)  # fmt: skip
def test_a_member_that_is_no_message_is_refused_by_its_place(member: bytes) -> None:
    with pytest.raises(Refused) as refused:
        written(SECOND, member)
    assert (refused.value.code, refused.value.pointer) == ("interchange.unfit", "/members/1")
    assert refused.value.detail.startswith("member 2: ")


def test_a_wrong_count_is_put_right_where_asked() -> None:
    assert written(ORDER.replace(b"UNT+4", b"UNT+5"), counts="repair") == written(ORDER)


@pytest.mark.parametrize(
    ("name", "text"),
    [("application", "x" * 15), ("sender_qualifier", "Ω"), ("priority", "\n"), ("syntax", "?"), ("version", "9"),
     ("element", "++"), ("element", "'"), ("utc_offset_minutes", "x"), ("utc_offset_minutes", "1440")],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(name: str, text: str) -> None:
    with pytest.raises(Refused) as refused:
        written(ORDER, **{name: text})
    assert refused.value.pointer.startswith("/envelope/")


def test_a_delimiter_in_a_name_is_released() -> None:
    data = b"".join(assemble([ORDER], envelope(sender="A+B:C?'"), Counting()))
    assert data.startswith(b"UNB+UNOC:3+A?+B?:C???'+")
    assert split(data).sender == "A+B:C?'"
    assert UNB.startswith(data[:10])


@pytest.mark.parametrize("head", [b"UNH+1\r\n7+", b"UNH+17\n+"])
def test_repair_keeps_a_right_trailer_where_a_line_break_stands_in_the_header(head: bytes) -> None:
    order = ORDER.replace(b"UNH+1+", b"UNH+17+").replace(b"UNT+4+1'", b"UNT+4+17'")
    wrapped = order.replace(b"UNH+17+", head)
    assert order in written(wrapped, counts="repair")
    with pytest.raises(Refused, match="UNT specifies"):
        written(wrapped)


@pytest.mark.parametrize(
    ("good", "wrong"),
    [
        (b"UNT+4+1'", b"UNT+4:+1'"),
        (b"UNT+4+1'", b"UNT+4+1:2'"),
        (b"UNT+4+1'", b"UNT:+4+1'"),
        (b"UNH+1+", b"UNH+1:2+"),
        (b"UNH+1+", b"UNH++"),
        (b"UNH+1+", b"UNH+\r\n+"),
    ],
)
def test_a_message_that_readers_refuse_is_not_written(good: bytes, wrong: bytes) -> None:
    order = ORDER.replace(good, wrong)
    with pytest.raises(Refused, match="UNT specifies"):
        written(order)
    if wrong.startswith(b"UNT"):
        assert ORDER in written(order, counts="repair")
        return
    with pytest.raises(Refused, match="has no reference; set messageNumbers") as refused:
        written(order, counts="repair")
    assert refused.value.pointer == "/members/0"
    [part] = split_stream(written(order, counts="repair", message_numbers="drawn"))
    assert [one.reference for one in part.members] == ["1"]
