"""Nothing that we write into a header can begin another one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime

import pytest

from postroad.core.codecs.as2 import As2Identity, BuiltMessage, PartnershipTerms, build
from postroad.core.codecs.as2.headers import date_value, subject_value
from postroad.errors import Refused
from tests.samples.as2_parties import ANYTHING, DOCUMENT, HEAD, NOW, counted, message

LONG = "Bestellung für Müller & Söhne, Größe ∞, 🚚 " * 9


@pytest.mark.parametrize("text", ["Order 1", "", "Größe", LONG, "=?utf-8?B?eA==?=", "\ud800 alone"])
def test_a_subject_of_any_characters_is_understood_by_others(text: str) -> None:
    written = subject_value(text)
    assert written.isascii()
    assert max(map(len, written.split(" ")), default=0) <= 75
    assert str(make_header(decode_header(written))) == text.replace("\ud800", "?")


@pytest.mark.parametrize("at", [NOW, datetime(2024, 2, 29, 23, 59, 59, tzinfo=timezone(timedelta(hours=-7)))])
def test_a_date_is_read_back_by_others(at: datetime) -> None:
    assert parsedate_to_datetime(date_value(at)) == at.astimezone(UTC)


BREAK = "x\r\nAS2-To: Eve"


@pytest.mark.parametrize(
    "built",
    [lambda value: message(ANYTHING, message_id=value), lambda value: message(ANYTHING, subject=value)],
    ids=["message_id", "subject"],
)
@pytest.mark.parametrize("value", [BREAK, "a\nb", "a\x00b", "a\x85b"])
def test_control_characters_are_refused(built: Callable[[str], BuiltMessage], value: str) -> None:
    with pytest.raises(Refused) as refused:
        built(value)
    assert refused.value.code == "as2.malformed"


@pytest.mark.parametrize("own", [True, False])
def test_a_name_cannot_begin_a_header(own: bool) -> None:
    names = (BREAK, "ACME") if own else ("ACME", BREAK)
    agreement = PartnershipTerms(sign="", encrypt="")
    with pytest.raises(Refused, match="not an AS2 name"):
        build(
            HEAD, [DOCUMENT], As2Identity(name=names[0]), As2Identity(name=names[1]), agreement,
            message_id="<1@x>", at=NOW, boundary_seed=b"", randomness=counted,
        )  # fmt: skip


def test_the_address_for_receipts_cannot_begin_a_header() -> None:
    with pytest.raises(Refused, match="address for MDNs"):
        message(PartnershipTerms(mdn="async", mdn_url=f"https://mybiz.example/{BREAK}"))


@pytest.mark.parametrize("message_id", ["", "<" + "x" * 998 + ">", "<Größe@x>"])
def test_a_message_id_is_one_printable_line(message_id: str) -> None:
    with pytest.raises(Refused, match="Message-ID"):
        message(ANYTHING, message_id=message_id)


@pytest.mark.parametrize("head", [b"no header at all", b"A: b\r\n\r\nC: d\r\n", b"A: b", b"\r\n", b"A b\r\n"])
def test_the_document_header_is_whole_lines(head: bytes) -> None:
    with pytest.raises(Refused):
        message(ANYTHING, head=head)


def test_headers_of_the_document_do_not_become_ours() -> None:
    """Without any layer the document's header joins the request's; what means something there stays behind."""
    head = b"Content-Type: text/plain\r\nAS2-From: Eve\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\nHost: eve\r\n"
    names = [name.lower() for name, _ in message(PartnershipTerms(sign="", encrypt=""), head=head).headers]
    assert names.count("as2-from") == 1
    assert not {"content-length", "content-encoding", "host"} & set(names)
