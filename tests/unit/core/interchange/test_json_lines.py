"""JSON lines: a document on each line, and what is wrong with the others."""

from __future__ import annotations

import pytest

from postroad.core.interchange.json_lines import assemble, examine, split
from postroad.core.interchange.model import OnEnvelopeError
from postroad.errors import Refused
from tests.samples.x12 import Counting, envelope


def put_together(*members: bytes) -> bytes:
    return b"".join(assemble(members, envelope(), Counting()))


@pytest.mark.req("B6")
def test_each_document_becomes_one_line_and_keeps_its_bytes() -> None:
    pretty = b'{\r\n  "total": 1.10,\n  "text": "a\\nb"\n}\n'
    whole = put_together(b'{"id": 1}', pretty, b'\xef\xbb\xbf ["\xc3\xa4"] ')
    assert whole == b'{"id": 1}\n{  "total": 1.10,  "text": "a\\nb"}\n["\xc3\xa4"]\n'
    assert [bytes(one.data) for one in split(whole).members] == whole.splitlines()


@pytest.mark.parametrize("member", [b"", b"{", b"nan", b'"\xff"', b"1 2", b"[1]\n[2]", b"[" * 100_000])
def test_what_is_no_json_does_not_fit(member: bytes) -> None:
    with pytest.raises(Refused, match="member 2") as refused:
        put_together(b"1", member)
    assert refused.value.code == "interchange.unfit"


def test_members_are_views_with_the_number_of_their_line() -> None:
    found = split(b'1\r\n"b"\n[3]')
    assert [(bytes(one.data), one.reference) for one in found.members] == [(b"1", "1"), (b'"b"', "2"), (b"[3]", "3")]
    assert all(isinstance(one.data, memoryview) for one in found.members)
    assert split(b"").members == ()


@pytest.mark.parametrize(
    ("data", "code", "repairable"),
    [
        (b"1\n\n2\n", "json_lines.blank", True),
        (b"\xef\xbb\xbf1\n2\n", "json_lines.bom", True),
        (b"1\n{\n2\n", "json_lines.json", False),
    ],
)
def test_dirt_is_refused_repaired_or_passed(data: bytes, code: str, repairable: bool) -> None:
    assert [one.code for one in examine(data).faults] == [code]
    with pytest.raises(Refused, match=code):
        split(data)
    assert len(split(data, OnEnvelopeError.PASS).members) == (2 if repairable else 3)
    if repairable:
        assert all(one.repaired for one in split(data, OnEnvelopeError.REPAIR).faults)
    else:
        with pytest.raises(Refused, match="line 2"):
            split(data, OnEnvelopeError.REPAIR)


def test_there_is_a_limit_to_members() -> None:
    with pytest.raises(Refused, match="more than 2 members"):
        examine(b"1\n2\n3\n", most_members=2)
