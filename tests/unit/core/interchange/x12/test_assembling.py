"""Transaction sets put together: groups, numbers, counts, delimiters, and what is refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence

import pytest

from postroad.core.interchange.model import DescribedDocument, Envelope, Placed
from postroad.core.interchange.x12 import assemble, split, split_stream
from postroad.core.interchange.x12 import assembler as assembling_room
from postroad.errors import Refused
from tests.samples.x12 import INVOICE, ORDER, SECOND, Counting, envelope, header, interchange


def assembled(members: Sequence[bytes], facts: Mapping[str, str] | None = None) -> bytes:
    return b"".join(assemble(members, envelope(facts), Counting()))


@pytest.mark.req("B6")
def test_a_batch_is_one_interchange_to_the_byte() -> None:
    assert assembled([ORDER, SECOND, INVOICE], {"line_end": "\n", "receiver_qualifier": "01"}) == (
        b"ISA*00*          *00*          *ZZ*MYBIZ          *01*ACME           *261116*1200*U*00401*000000001*0*P*:~\n"
        b"GS*PO*MYBIZ*ACME*20261116*1200*1*X*004010~\n" + ORDER + b"\n" + SECOND + b"\n"
        b"GE*2*1~\n"
        b"GS*IN*MYBIZ*ACME*20261116*1200*2*X*004010~\n" + INVOICE + b"\n"
        b"GE*1*2~\n"
        b"IEA*2*000000001~\n"
    )


@pytest.mark.req("B6")
def test_what_was_put_together_is_found_again() -> None:
    members = [ORDER, SECOND, INVOICE]
    found = split(assembled(members))
    assert [bytes(one.data) for one in found.members] == members
    assert [one.kind for one in found.groups] == ["PO", "IN"]


def test_order_is_kept_and_a_group_comes_again() -> None:
    found = split(assembled([ORDER, INVOICE, SECOND]))
    assert [one.kind for one in found.groups] == ["PO", "IN", "PO"]


def test_an_empty_batch_is_an_interchange_without_groups() -> None:
    assert assembled([]).endswith(b":~IEA*0*000000001~")


def test_facts_of_the_envelope_are_written() -> None:
    facts = {
        "version": "00501",
        "release": "005010",
        "usage": "T",
        "acknowledgment": "1",
        "application_sender": "BUYING",
        "application_receiver": "SALES",
        "utc_offset_minutes": "-300",
        "element": "|",
        "terminator": "'",
    }
    data = assembled([ORDER], facts)
    assert b"|261116|0700|^|00501|000000001|1|T|:'GS|PO|BUYING|SALES|20261116|0700|1|X|005010'" in data
    assert split(data).members[0].data == ORDER.replace(b"*", b"|").replace(b"~", b"'")


def test_dates_of_old_releases_are_short() -> None:
    assert b"*261116*1200*1*X*003040~" in assembled([ORDER], {"version": "00304", "release": "003040"})


@pytest.mark.parametrize(
    ("numbering", "expected"), [("group", ["0001", "0002", "0001"]), ("drawn", ["0001", "0002", "0003"])]
)
def test_sets_are_numbered_anew_where_asked(numbering: str, expected: list[str]) -> None:
    found = split(assembled([ORDER, ORDER, INVOICE], {"set_numbers": numbering}))
    assert [one.reference for one in found.members] == expected
    assert [one.kind for one in found.groups] == ["PO", "IN"]


def test_a_number_that_comes_again_begins_a_group() -> None:
    found = split(assembled([ORDER, SECOND, ORDER]))
    assert [(one.kind, one.reference) for one in found.groups] == [("PO", "1"), ("PO", "2")]
    assert [one.group for one in found.members] == [0, 0, 1]


def test_a_group_and_an_interchange_have_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembling_room, "MAX_SETS", 2)
    monkeypatch.setattr(assembling_room, "MAX_GROUPS", 2)
    data = assembled([ORDER] * 9, {"set_numbers": "drawn"})
    assert [[one.reference for one in part.groups] for part in split_stream(data)] == [["1", "2"], ["3", "4"], ["5"]]


@pytest.mark.req("B6")
def test_whole_interchanges_are_members_too_and_their_groups_hold() -> None:
    data = interchange([ORDER], gs=b"GS*PO*BUYING*SALES*20261116*1200*12*X*003040~")
    found = split(assembled([data, data.replace(b"0001", b"0002"), SECOND]))
    assert [(one.facts["sender"], one.facts["version"]) for one in found.groups] == [
        ("BUYING", "003040"),
        ("MYBIZ", "004010"),
    ]
    assert len(found.members) == 3


def test_a_set_in_other_delimiters_is_put_into_ours_where_that_is_sound() -> None:
    other = interchange().replace(b"*", b"|").replace(b":~", b">'").replace(b"~", b"'\r\n")
    assert [bytes(one.data) for one in split(assembled([other])).members] == [ORDER, SECOND]


def test_where_it_is_not_sound_the_set_gets_an_interchange_of_its_own() -> None:
    """Its text has our terminator in it, and X12 has no way to write that."""
    other = interchange([ORDER.replace(b"4711", b"47_11")]).replace(b"~", b"'").replace(b"_", b"~")
    found = list(split_stream(assembled([ORDER, other, SECOND])))
    assert [one.facts["terminator"] for one in found] == ["~", "'"]
    assert [[bytes(member.data) for member in one.members] for one in found] == [
        [ORDER],
        [ORDER.replace(b"4711", b"47_11").replace(b"~", b"'").replace(b"_", b"~"), SECOND.replace(b"~", b"'")],
    ]


def test_our_repetition_separator_must_not_be_data() -> None:
    old = interchange([ORDER.replace(b"4711", b"47^11")])
    found = list(split_stream(assembled([SECOND, old], {"version": "00501"})))
    assert [one.facts["repetition"] for one in found] == ["^", ""]


def test_repetitions_cannot_be_said_in_old_versions() -> None:
    new = interchange([ORDER.replace(b"4711", b"47^11")], isa=header(b"^", b"00501"))
    with pytest.raises(Refused, match="repeats elements") as refused:
        assembled([SECOND, new])
    assert (refused.value.code, refused.value.pointer) == ("interchange.unfit", "/members/1")
    assert refused.value.detail.startswith("member 2: ")
    assert len(split(assembled([new], {"version": "00501"})).members) == 1


def test_binary_content_is_carried_as_it_is() -> None:
    order = ORDER.replace(b"PO1*1*2*EA*13.5**VP*A1~", b"BIN*7*~IEA*1~~")
    assert [bytes(one.data) for one in split(assembled([order, SECOND])).members] == [order, SECOND]


def test_what_stands_around_a_set_is_left_out() -> None:
    found = split(
        assembled([b"\xef\xbb\xbf  " + ORDER + b"\r\n", SECOND.rstrip(b"~"), ORDER.replace(b"~", b"\n")[:-1]])
    )
    assert [bytes(one.data) for one in found.members] == [ORDER, SECOND, ORDER]


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (b"", "begins with ST"),
        (b"{}", "begins with ST"),
        (ORDER[:-10], "ends with SE"),
        (ORDER + SECOND, "SE is inside"),
        (ORDER + b"IEA*1*000000001~" + header() + ORDER, "inside a transaction set"),
        (ORDER.replace(b"PO1", b"~\n ISA"), "ISA is inside"),
        (ORDER.replace(b"SE*4", b"SE*5"), "4 segments"),
        (ORDER.replace(b"SE*4*0001", b"SE*4*0002"), "SE specifies"),
        (ORDER.replace(b"PO1*1", b"BIN*9999"), "does not end there"),
        (ORDER.replace(b"850", b"001"), "functional_group"),
        (ORDER.replace(b"*", b":"), "ambiguous"),
        (b"ST*850*0001", "no terminator"),
        (interchange([ORDER.replace(b"SE*4", b"SE*5")]), r"x12\.count"),
        (interchange()[:-30], r"x12\.truncated"),
    ],
)
@pytest.mark.req("B6")
def test_what_is_no_ready_set_is_refused_by_its_place(member: bytes, text: str) -> None:
    with pytest.raises(Refused, match=text) as refused:
        assembled([SECOND, member])
    assert (refused.value.code, refused.value.pointer) == ("interchange.unfit", "/members/1")
    assert refused.value.detail.startswith("member 2: ")


def test_counts_are_put_right_where_asked() -> None:
    wrong = [ORDER.replace(b"SE*4", b"SE*5"), interchange([SECOND.replace(b"SE*3", b"SE*2")])]
    assert [bytes(one.data) for one in split(assembled(wrong, {"counts": "repair"})).members] == [ORDER, SECOND]


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (envelope(sender="A NAME TOO LONG FOR IT"), "sender"),
        (envelope(receiver="AC*ME"), "receiver"),
        (envelope({"receiver_qualifier": "Z\n"}), "receiver_qualifier"),
        (envelope({"release": "0040100040100"}), "release"),
        (envelope({"application_sender": "A~GE"}), "application_sender"),
        (envelope({"element": "AB"}), "delimiters"),
        (envelope({"element": "~"}), "delimiters"),
        (envelope({"terminator": "1"}), "delimiters"),
        (envelope({"utc_offset_minutes": "CET"}), "utc_offset_minutes"),
        (envelope({"utc_offset_minutes": "-1440"}), "utc_offset_minutes"),
    ],
)
def test_values_that_would_break_the_envelope_are_refused(values: Envelope, name: str) -> None:
    with pytest.raises(Refused) as refused:
        b"".join(assemble([ORDER], values, Counting()))
    assert (refused.value.code, refused.value.pointer) == ("interchange.unfit", f"/envelope/{name}")


def test_numbers_end() -> None:
    numbers = Counting()
    numbers.drawn["interchange"] = 999_999_998
    b"".join(assemble([ORDER], envelope(), numbers))
    with pytest.raises(Refused, match="1 to 999999999"):
        b"".join(assemble([ORDER], envelope(), numbers))


@pytest.mark.req("B6")
def test_where_each_set_went_is_told() -> None:
    told: list[Placed] = []
    b"".join(assemble([ORDER, interchange([SECOND])], envelope({"set_numbers": "group"}), Counting(), told.append))
    assert [(one.position, one.interchange, one.facts["group_kind"], one.group, one.reference) for one in told] == [
        (0, "1", "PO", "1", "0001"),
        (1, "1", "PO", "1", "0002"),
    ]


@pytest.mark.req("B6")
def test_the_stream_may_be_larger_than_the_memory() -> None:
    """Only what is unique in a group is remembered: 200 MB of members need less than 4 MB."""
    body = b"MSG*" + b"x" * 200_000 + b"~"
    members = (b"ST*850*%04d~%bSE*3*%04d~" % (number, body, number) for number in range(1_000))
    tracemalloc.start()
    try:
        written = sum(map(len, assemble(members, envelope(), Counting())))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written > 200_000_000
    assert peak < 4_000_000


@pytest.mark.parametrize("member", [b"ST*850*0001~BEG*1~SE*3*0001\n~", b"ST*850*0001~BEG*1~SE*3*0001\r\n~\r\n"])
def test_a_line_break_in_se_is_not_written(member: bytes) -> None:
    found = b"".join(assemble([member], envelope(), Counting()))
    assert b"SE*3*0001~" in found
    assert len(split(found).members) == 1


def test_a_wrong_count_is_refused_where_the_last_terminator_is_missing_too() -> None:
    with pytest.raises(Refused, match="SE specifies"):
        b"".join(assemble([b"ST*850*0001~BEG*~1~SE*3*0001"], envelope(), Counting()))


@pytest.mark.parametrize("head", [b"ST*850*00\r\n01~", b"ST*850*0001\n~"])
def test_repair_keeps_a_right_trailer_where_a_line_break_stands_in_the_header(head: bytes) -> None:
    document = DescribedDocument(head + b"BEG*1~SE*3*0001~", {"delimiters": "2a.3a.7e.20"})
    stream = b"".join(assemble([document], envelope({"counts": "repair"}), Counting()))
    assert b"~ST*850*0001~BEG*1~SE*3*0001~GE*" in stream
    with pytest.raises(Refused, match="SE specifies"):
        b"".join(assemble([document], envelope(), Counting()))


def test_a_set_without_a_number_is_not_written() -> None:
    document = DescribedDocument(b"ST*850**0001~BEG*1~SE*3*~", {"delimiters": "2a.3a.7e.20"})
    with pytest.raises(Refused, match="has no number; set setNumbers") as refused:
        b"".join(assemble([ORDER, document], envelope({"counts": "repair"}), Counting()))
    assert refused.value.pointer == "/members/1"
    drawn = envelope({"counts": "repair", "set_numbers": "drawn"})
    assert b"~SE*3*0001~" in b"".join(assemble([document], drawn, Counting()))
