"""Receipts: written as was asked for, read as they are, and a success only when everything about them holds."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace

import pytest

from postroad.core.codecs.as2 import (  # fmt: skip
    PROCESSED,
    As2Identity,
    BuiltMdn,
    Disposition,
    Heading,
    Mdn,
    MdnOutcome,
    MdnRequest,
    MdnVerdict,
    Mic,
    SentMessage,
    error,
    failure,
    is_mdn,
    judge_mdn,
    read_heading,
    read_mdn,
    read_mic,
    warning,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.errors import Misconfigured, Refused
from tests.samples.as2_parties import (
    ANYTHING,
    BUYER,
    MDN_ID,
    MESSAGE_ID,
    SELLER,
    message,
    receipt,
    seen,
    seller,
    with_header,
)  # fmt: skip
from tests.samples.cms_people import stranger

BUILT = message(ANYTHING)
SENT, HEADING = BUILT.sent, read_heading(BUILT.headers)
UNSIGNED = replace(HEADING, wish=MdnRequest(wanted=True))
UNASKED = replace(SENT, mdn_signed=False)
NOBODY = bytes.fromhex("3023 06092a864886f70d010702 a016 3014 020101 3100 300b 06092a864886f70d010701 3100")


def read(built: BuiltMdn, headers: Headers | None = None) -> Mdn:
    return read_mdn(headers or built.headers, built.body, seen(seller()))


def judged(built: BuiltMdn, sent: SentMessage = SENT, headers: Headers | None = None) -> MdnVerdict:
    return judge_mdn(read(built, headers), sent)


# ---- writing and reading ---------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
@pytest.mark.parametrize("heading", [HEADING, UNSIGNED], ids=["signed", "unsigned"])
@pytest.mark.parametrize(
    "disposition", [PROCESSED, warning("late"), error("decryption-failed"), failure("unsupported format")]
)
def test_a_receipt_says_what_was_put_into_it(heading: Heading, disposition: Disposition) -> None:
    built = receipt(heading, SENT.mic, disposition)
    mdn = read(built)
    assert (mdn.sender, mdn.recipient, mdn.message_id) == (SELLER, BUYER, MDN_ID)
    assert (mdn.original_message_id, mdn.disposition, mdn.mic) == (MESSAGE_ID, disposition, SENT.mic)
    assert mdn.signature == ("valid" if heading is HEADING else "none")
    assert mdn.signer == (seller().signer.certificate if heading is HEADING else None)
    assert is_mdn(built.headers, built.body)


def test_a_receipt_never_promises_that_somebody_got_the_message() -> None:
    assert "delivered" not in read(receipt(HEADING, SENT.mic)).text


def test_names_are_quoted_once_and_the_id_is_sent_back_as_it_came() -> None:
    heading = replace(UNSIGNED, sender='My "Biz"', recipient="The seller", message_id="no brackets, and a blank")
    built = receipt(heading, None)
    assert dict(built.headers)["AS2-To"] == '"My \\"Biz\\""'
    assert b'\r\nFinal-Recipient: rfc822; "The seller"\r\n' in built.body
    assert b"\r\nOriginal-Message-ID: no brackets, and a blank\r\n" in built.body
    assert read(built).recipient == 'My "Biz"'


def test_the_receipt_is_signed_with_the_digest_that_was_asked_for() -> None:
    for digest, micalg in (("sha1", "sha1"), ("sha512", "sha-512")):
        heading = replace(HEADING, wish=replace(HEADING.wish, digests=(digest,)))
        assert f"; micalg={micalg};" in dict(receipt(heading, SENT.mic).headers)["Content-Type"]
    heading = replace(HEADING, wish=replace(HEADING.wish, digests=()))
    assert "; micalg=sha-256;" in dict(receipt(heading, None).headers)["Content-Type"]


def test_a_receipt_that_cannot_be_signed_is_the_operators_fault() -> None:
    with pytest.raises(Misconfigured):
        receipt(HEADING, None, own=As2Identity(name=SELLER))


def test_a_receipt_is_the_same_bytes_each_time() -> None:
    assert receipt(HEADING, SENT.mic) == receipt(HEADING, SENT.mic)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "multipart/report; report-type=delivery-status; boundary=b", ""]
)
def test_what_is_no_receipt_is_refused(content_type: str) -> None:
    headers = with_header(receipt(UNSIGNED, None).headers, "Content-Type", content_type)
    assert not is_mdn(headers, b"--b\r\n\r\n\r\n--b--\r\n")
    with pytest.raises(Refused):
        read_mdn(headers, b"--b\r\n\r\n\r\n--b--\r\n", seen(seller()))


def test_a_message_is_no_receipt() -> None:
    signed = message(replace(ANYTHING, encrypt=""))
    assert not is_mdn(signed.headers, signed.body)
    assert not is_mdn(BUILT.headers, BUILT.body)
    assert not is_mdn(signed.headers, b"cut off")


def test_a_report_without_a_notification_is_refused() -> None:
    built = receipt(UNSIGNED, None)
    with pytest.raises(Refused, match="no part of type"):
        read(replace(built, body=built.body.replace(b"message/disposition-notification", b"text/x-other")))


def test_a_notification_in_base64_is_read() -> None:
    built = receipt(UNSIGNED, SENT.mic)
    start, stop = built.body.index(b"Reporting-UA"), built.body.rindex(b"\r\n--")
    head, _, _ = built.body[:start].rpartition(b"Content-Transfer-Encoding: 7bit")
    head += b"Content-Transfer-Encoding: base64\r\n\r\n"
    encoded = replace(built, body=head + b64encode(built.body[start:stop]) + built.body[stop:])
    assert read(encoded).mic == SENT.mic


@pytest.mark.parametrize(
    ("value", "mic"),
    [
        ("3q2+7w==, sha-256", Mic(digest=b"\xde\xad\xbe\xef", algorithm="sha256")),
        ("3q2+7w==,SHA1", Mic(digest=b"\xde\xad\xbe\xef", algorithm="sha1")),
        ("3q2+ 7w== , sha1", Mic(digest=b"\xde\xad\xbe\xef", algorithm="sha1")),
        ("3q2+7w==", Mic(digest=b"\xde\xad\xbe\xef", algorithm="")),
        ("3q2+7w==, rot13", Mic(digest=b"\xde\xad\xbe\xef", algorithm="rot13")),
        ("", None),
        ("no base64!, sha1", None),
        ("Größe, sha1", None),
    ],
)
def test_a_mic_is_read_in_every_spelling(value: str, mic: Mic | None) -> None:
    assert read_mic(value) == mic


# ---- judging ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
def test_a_receipt_that_holds_in_everything_is_a_success() -> None:
    assert judged(receipt(HEADING, SENT.mic)) == MdnVerdict(outcome=MdnOutcome.ACKNOWLEDGED)
    assert judged(receipt(UNSIGNED, SENT.mic), UNASKED).acknowledged


def test_a_warning_is_a_success_with_a_note() -> None:
    verdict = judged(receipt(HEADING, SENT.mic, warning("duplicate-document")))
    assert verdict == MdnVerdict(outcome=MdnOutcome.ACKNOWLEDGED, reason="duplicate-document")


@pytest.mark.parametrize(
    "disposition", [error("decryption-failed"), failure("unsupported format"), Disposition(type="x")]
)
def test_a_partner_that_did_not_take_the_message_is_believed(disposition: Disposition) -> None:
    verdict = judged(receipt(HEADING, SENT.mic, disposition))
    assert verdict.outcome is MdnOutcome.REJECTED
    assert disposition.text in verdict.reason


@pytest.mark.req("T7")
def test_a_receipt_without_the_mic_of_what_was_sent_is_no_success() -> None:
    other = replace(SENT.mic, digest=bytes(32))
    assert judged(receipt(HEADING, None)).outcome is MdnOutcome.ALTERED
    assert judged(receipt(HEADING, other)).outcome is MdnOutcome.ALTERED
    old = judged(receipt(HEADING, Mic(digest=bytes(20), algorithm="sha1")))
    assert old.outcome is MdnOutcome.ALTERED
    assert "sha1 where sha-256" in old.reason


@pytest.mark.req("T7")
def test_an_unsigned_mdn_is_no_success_where_a_signed_one_was_asked_for() -> None:
    verdict = judged(receipt(UNSIGNED, SENT.mic))
    assert verdict.outcome is MdnOutcome.UNPROVEN
    assert "not signed" in verdict.reason


@pytest.mark.req("T7")
def test_a_receipt_that_nobody_or_somebody_else_signed_is_no_success() -> None:
    strangers = receipt(HEADING, SENT.mic, own=seller(stranger()))
    built = receipt(HEADING, SENT.mic)
    start, stop = built.body.rindex(b"\r\n\r\n") + 4, built.body.rindex(b"\r\n--")
    nobodys = replace(built, body=built.body[:start] + b64encode(NOBODY) + built.body[stop:])
    damaged = replace(built, body=built.body[:start] + b64encode(b"\x30\x82\xff\xff") + built.body[stop:])
    for forged in (strangers, nobodys, damaged):
        for sent in (SENT, UNASKED):
            assert judged(forged, sent).outcome is MdnOutcome.UNPROVEN
        assert read(forged).signature == "invalid"


def test_a_changed_receipt_is_no_success() -> None:
    built = receipt(HEADING, None, error("decryption-failed"))
    changed = replace(built, body=built.body.replace(b"; processed/error: decryption-failed", b"; processed"))
    assert judged(changed).outcome is MdnOutcome.UNPROVEN


def test_a_receipt_for_another_message_or_from_another_partner_is_no_success() -> None:
    built = receipt(HEADING, SENT.mic)
    assert judged(built, replace(SENT, message_id="<other@mybiz.example>")).outcome is MdnOutcome.UNPROVEN
    assert judged(built, headers=with_header(built.headers, "AS2-From", "Eve")).outcome is MdnOutcome.UNPROVEN
    assert judged(built, headers=with_header(built.headers, "AS2-To", "Eve")).outcome is MdnOutcome.UNPROVEN


@pytest.mark.parametrize(("name", "is_meant"), [('"\\"My Biz\\""', True), ('"\\"\\""', False), ('"\\"My\\""', False)])
def test_names_in_quotation_marks_twice_are_compared_without_them(name: str, is_meant: bool) -> None:
    built = receipt(HEADING, SENT.mic)
    assert judged(built, headers=with_header(built.headers, "AS2-To", name)).acknowledged == is_meant


def test_names_and_brackets_that_a_partner_leaves_out_are_not_missed() -> None:
    built = receipt(HEADING, SENT.mic)
    nameless = [(name, value) for name, value in built.headers if not re.match("AS2-(From|To)", name)]
    assert judged(built, headers=nameless).acknowledged
    assert judged(built, replace(SENT, message_id=MESSAGE_ID.strip("<>"))).acknowledged
