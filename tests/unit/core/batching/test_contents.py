"""What a send port makes of messages: the member, the envelope, the numbers."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from postroad.core.batching.interchange_contents import document_of, document_type, envelope_of, member_of
from postroad.core.batching.moves import close_batch, open_batch
from postroad.core.model.batch import Criterion
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.message import Part

ISA = b"ISA*00*          *00*          *ZZ*A              *ZZ*B              *260101*1200*U*00401*000000001*0*T*:~"
BATCHING = Batching(
    sends_to="Acme/edi",
    standard="x12",
    sender="MYBIZ",
    receiver="ACME",
    envelope=(("usage", "T"),),
    policy=BatchPolicy(count=2),
)


def part(data: bytes, attachment: bool = False) -> Part:
    return Part(id="1", content_type="text/plain", data=data, attachment=attachment)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"ST*850*0001~BEG*00*SA*1~SE*3*0001~", "850"),
        (b"\r\nST|856|0001\nSE|2|0001\n", "856"),
        (ISA + b"GS*PO*A*B*20260101*1200*1*X*004010~ST*850*0001~SE*2*0001~GE*1*1~IEA*1*000000001~", "850"),
        (b"UNH+1+ORDERS:D:96A:UN'BGM+220'UNT+3+1'", "ORDERS"),
        (b"UNA:+.? 'UNB+UNOA:1+A+B+260101:1200+1'UNH+7+INVOIC:D:96A:UN'UNT+2+7'UNZ+1+1'", "INVOIC"),
        (b"MSH|^~\\&|A|B|C|D|20260101||ADT^A01|1|P|2.3\rPID|1\r", "ADT^A01"),
        (b"{1:F01BANKBEBBAXXX0000000000}{2:I103BANKDEFFXXXXN}{4:\r\n:20:X\r\n-}", "103"),
        (b'{"order": 1}', "json"),
        (b"<order/>", "xml"),
        (b"whatever", ""),
        (b"", ""),
        (b"MSH", ""),
    ],
)
def test_a_document_has_the_type_that_its_standard_gives_it(data: bytes, kind: str) -> None:
    assert document_type(data) == kind


def test_a_member_is_the_first_document() -> None:
    parts = (part(b"drawing", attachment=True), part(b"ST*850*0001~SE*2*0001~"), part(b"more"))
    assert document_of(parts).data == b"ST*850*0001~SE*2*0001~"
    found = member_of(7, parts)
    assert (found.number, found.bytes, found.kind, found.sort) == (7, 22, "850", ())
    assert document_of(parts[:1]).data == b"drawing"
    assert member_of(8, ()).bytes == 0


def test_an_interchange_is_dated_by_when_its_batch_was_closed() -> None:
    closing_us = int(datetime(2026, 1, 5, 18, tzinfo=UTC).timestamp() * 1_000_000)
    batch = close_batch(open_batch("b", ("group",), closing_us - 5), Criterion.SCHEDULE, "the schedule", closing_us)
    envelope = envelope_of(BATCHING, batch)
    assert (envelope.sender, envelope.receiver, envelope.at_us) == ("MYBIZ", "ACME", closing_us)
    assert envelope.options == {"usage": "T"}
