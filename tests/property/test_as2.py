"""AS2 on anything: documents come out as they went in, both sides count one MIC, and nothing that was changed gets through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.codecs.as2 import (  # fmt: skip
    BuiltMessage,
    Disposition,
    MdnOutcome,
    MdnRequest,
    PartnershipTerms,
    build,
    is_mdn,
    judge_mdn,
    open_message,
    quote_name,
    read_disposition,
    read_heading,
    read_mdn,
    read_names,
    unquote_name,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.cms import compress, encrypt
from postroad.core.codecs.mime import write_head
from postroad.errors import Refused
from tests.samples.as2_parties import (
    ANYTHING,
    BUYER,
    NOW,
    SELLER,
    buyer,
    counted,
    every_agreement,
    message,
    receipt,
    seen,
    seller,
    with_header,
)  # fmt: skip
from tests.samples.cms_people import clerk, notary, partner, stranger

LINES = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b"--", b"=_", b" ", b"\x00", b"ISA*~", b"Content-Type: text/plain", b"\r\n\r\n"]
)
BODIES = st.binary(max_size=200) | st.lists(LINES, max_size=12).map(b"".join)
TOKENS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-+.", min_size=1, max_size=12)
CONTENT_TYPES = st.builds("{}/{}".format, st.sampled_from(["application", "text", "image"]), TOKENS).filter(
    lambda text: "pkcs7" not in text
)
NAMES = st.text([chr(code) for code in range(32, 127)], min_size=1, max_size=128)
AGREEMENTS = st.sampled_from(every_agreement(("", "sha1", "sha256", "sha512"), ("", "aes256-cbc", "aes128-gcm")))


def opened_body(built: BuiltMessage) -> bytes:
    opened = open_message(built.headers, built.body, seller(), seen(buyer()), ANYTHING)
    assert opened.mic == built.sent.mic
    return bytes(opened.entity.body)


# ---- nothing is lost -------------------------------------------------------------------------------------------------


@pytest.mark.req("T7", "T9")
@settings(max_examples=150)
@given(AGREEMENTS, BODIES, CONTENT_TYPES)
def test_any_document_of_any_type_arrives_and_both_sides_count_one_mic(
    agreement: PartnershipTerms, body: bytes, content_type: str
) -> None:
    head = write_head([("Content-Type", content_type)])
    built = message(agreement, body, head)
    opened = open_message(built.headers, built.body, seller(), seen(buyer()), ANYTHING)
    assert (bytes(opened.entity.body), opened.entity.head) == (body, head)
    assert opened.mic == built.sent.mic


@given(st.lists(BODIES, max_size=4))
def test_a_document_in_pieces_is_one_document(pieces: list[bytes]) -> None:
    built = build(
        b"", pieces, buyer(), seen(seller()), replace(ANYTHING, sign=""),
        message_id="<1@x>", at=NOW, boundary_seed=b"", randomness=counted,
    )  # fmt: skip
    assert opened_body(built) == b"".join(pieces)


@given(NAMES)
def test_any_name_comes_back_from_the_header(name: str) -> None:
    assert unquote_name(quote_name(name)) == name
    assert read_names([("AS2-From", quote_name(name)), ("AS2-To", quote_name(name))]) == (name, name)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=80))
def test_a_disposition_of_any_text_is_one_line(kind: str, modifier: str, text: str) -> None:
    written = str(Disposition(type=kind, modifier=modifier, text=text))
    assert written.isascii()
    assert written.isprintable()
    assert str(read_disposition(written)).isprintable()


@settings(max_examples=50)
@given(BODIES, st.booleans(), st.booleans())
def test_a_receipt_for_any_document_is_a_success(body: bytes, signed: bool, encrypted: bool) -> None:
    built = message(PartnershipTerms(sign="sha256" if signed else "", encrypt="aes256-cbc" if encrypted else ""), body)
    opened = open_message(built.headers, built.body, seller(), seen(buyer()), ANYTHING)
    mdn = receipt(opened.heading, opened.mic)
    assert judge_mdn(read_mdn(mdn.headers, mdn.body, seen(seller())), built.sent).acknowledged


# ---- nothing that was changed gets through -----------------------------------------------------------------------------

SIGNED = message(replace(ANYTHING, encrypt=""))
ENCRYPTED = message(ANYTHING)
SEALED = message(replace(ANYTHING, sign="", encrypt="aes256-gcm"))
RECEIPT = receipt(read_heading(ENCRYPTED.headers), ENCRYPTED.sent.mic)
STRICT = PartnershipTerms(must_be_encrypted=True)


def flipped(body: bytes, at: int, by: int) -> bytes:
    return body[:at] + bytes([body[at] ^ by]) + body[at + 1 :]


def signed_span(body: bytes) -> tuple[int, int]:
    """Where the signed bytes begin and end in a multipart/signed."""
    start = body.index(b"\r\n") + 2
    return start, body.index(b"\r\n" + body[: start - 2], start)


@pytest.mark.req("T7")
@settings(max_examples=300)
@given(st.data())
def test_no_signed_byte_can_be_changed(data: st.DataObject) -> None:
    start, stop = signed_span(SIGNED.body)
    at = data.draw(st.integers(start, stop - 1))
    body = flipped(SIGNED.body, at, data.draw(st.integers(1, 255)))
    with pytest.raises(Refused):
        open_message(SIGNED.headers, body, seller(), seen(buyer()), PartnershipTerms())


@settings(max_examples=200)
@given(st.data(), st.sampled_from([ENCRYPTED, SEALED]))
def test_no_encrypted_byte_can_be_changed_unseen(data: st.DataObject, built: BuiltMessage) -> None:
    """A change is refused, or has changed nothing of the document: an algorithm's name may be spelled in two ways."""
    body = flipped(built.body, data.draw(st.integers(0, len(built.body) - 1)), data.draw(st.integers(1, 255)))
    agreement = replace(STRICT, must_be_signed=built is ENCRYPTED)
    try:
        opened = open_message(built.headers, body, seller(), seen(buyer()), agreement)
    except Refused:
        return
    assert opened.mic == built.sent.mic


@settings(max_examples=200)
@given(st.data())
def test_no_byte_of_a_receipt_can_be_changed(data: st.DataObject) -> None:
    start, stop = signed_span(RECEIPT.body)
    body = flipped(RECEIPT.body, data.draw(st.integers(start, stop - 1)), data.draw(st.integers(1, 255)))
    try:
        mdn = read_mdn(RECEIPT.headers, body, seen(seller()))
    except Refused:
        return
    assert judge_mdn(mdn, ENCRYPTED.sent).outcome is MdnOutcome.UNPROVEN


@pytest.mark.req("T7")
@given(st.sampled_from([stranger, notary, partner]), AGREEMENTS.filter(lambda agreement: bool(agreement.sign)))
def test_no_other_certificate_proves_the_sender(other: object, agreement: PartnershipTerms) -> None:
    assert callable(other)
    built = message(agreement)
    with pytest.raises(Refused) as refused:
        open_message(built.headers, built.body, seller(), seen(buyer(), other()), ANYTHING)
    assert refused.value.code == "as2.authentication-failed"


@pytest.mark.req("T7")
@given(st.sampled_from([stranger, clerk]), AGREEMENTS.filter(lambda agreement: bool(agreement.encrypt)))
def test_no_other_recipient_reads_it(other: object, agreement: PartnershipTerms) -> None:
    assert callable(other)
    built = message(agreement)
    with pytest.raises(Refused) as refused:
        open_message(built.headers, built.body, seller(other()), seen(buyer()), ANYTHING)
    assert refused.value.code == "as2.decryption-failed"


# ---- nothing but a refusal comes of anything else ------------------------------------------------------------------------

HEADER_NAMES = [
    "AS2-From", "as2-to", "Message-ID", "Content-Type", "Content-Transfer-Encoding", "Disposition-Notification-To",
    "Disposition-Notification-Options", "Receipt-Delivery-Option", "Subject", "Content-Disposition", "X-Other",
]  # fmt: skip
VALUES = st.text(max_size=30) | st.sampled_from(
    [
        "multipart/signed; boundary=b",
        "multipart/signed",
        "application/pkcs7-mime",
        "base64",
        "quoted-printable",
        BUYER,
        SELLER,
        "multipart/report; report-type=disposition-notification; boundary=b",
        "signed-receipt-protocol=required,;=;,",
        "<1@x>",
        'multipart/signed; protocol=pkcs7-signature; boundary="b"' + ";a" * 90,
        "message/disposition-notification",
    ]
)
HEADERS = st.lists(st.tuples(st.sampled_from(HEADER_NAMES), VALUES), max_size=12)
PIECES = st.sampled_from(
    [
        b"--b\r\n",
        b"--b--",
        b"--b--\r\n",
        b"\r\n",
        b"\n",
        b"\r\n\r\n",
        b"Content-Type: application/pkcs7-signature",
        b"Content-Type: multipart/report; boundary=c",
        b"--c\r\n",
        b"--c--\r\n",
        b"Content-Transfer-Encoding: base64",
        b"Content-Type: message/disposition-notification\r\n\r\n",
        b"Disposition: ;/:",
        b"Received-Content-MIC: ,",
        b"0\x80",
        b"Original-Message-ID: <1@x>\r\n",
        b"MIIB",
        SIGNED.body,
        ENCRYPTED.body,
        RECEIPT.body,
        compress(SIGNED.body),
    ]
)
WIRES = st.binary(max_size=100) | st.lists(PIECES | st.binary(max_size=8), max_size=10).map(b"".join)


def survives(headers: Headers, body: bytes) -> None:
    """Every reader returns or refuses; whatever else it raised would end the test."""
    is_mdn(headers, body)
    for read in (
        lambda: read_heading(headers),
        lambda: read_mdn(headers, body, seen(seller())),
        lambda: open_message(headers, body, seller(), seen(buyer()), ANYTHING),
    ):
        code = "as2."
        try:
            read()
        except Refused as refused:
            code = refused.code
        assert code.startswith(("as2.", "wire."))


@settings(max_examples=300)
@given(HEADERS, WIRES)
def test_random_headers_and_bodies_are_read_or_refused(headers: list[tuple[str, str]], body: bytes) -> None:
    survives(headers, body)


@settings(max_examples=300)
@given(st.sampled_from([SIGNED.headers, ENCRYPTED.headers, RECEIPT.headers]), HEADERS, WIRES)
def test_random_bodies_under_good_headers_are_read_or_refused(
    good: Headers, others: list[tuple[str, str]], body: bytes
) -> None:
    survives(good, body)
    for name, value in others[:1]:
        survives(with_header(good, name, value), body)


@settings(max_examples=100)
@given(WIRES)
def test_random_content_inside_of_an_encryption_is_read_or_refused(content: bytes) -> None:
    survives(ENCRYPTED.headers, encrypt(content, [partner().certificate], randomness=counted))


@given(st.dictionaries(st.sampled_from([name.lower() for name in HEADER_NAMES]), VALUES))
def test_an_unsigned_wish_is_never_more_than_was_asked(fields: dict[str, str]) -> None:
    try:
        wish = read_heading([*fields.items()]).wish
    except Refused:
        return
    assert wish == MdnRequest() or wish.wanted
