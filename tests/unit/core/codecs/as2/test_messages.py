"""A message between two partners: whatever was agreed on, the document and the MIC are the same on both sides."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import replace

import pytest

from postroad.core.codecs.as2 import BuiltMessage, Mic, OpenedMessage, PartnershipTerms, build, open_message
from postroad.core.codecs.as2.partners import As2Identity
from postroad.core.codecs.cms import compress, encrypt, sign
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Misconfigured, Refused
from tests.samples.as2_parties import (
    ANYTHING,
    BUYER,
    DOCUMENT,
    HEAD,
    NOW,
    SELLER,
    buyer,
    counted,
    every_agreement,
    message,
    seen,
    seller,
    with_header,
)  # fmt: skip
from tests.samples.cms_people import clerk, notary, partner, stranger

PLAIN = replace(ANYTHING, sign="", encrypt="")
RELATED = (
    b"--b\r\nContent-Type: application/edi-x12\r\n\r\nISA~\r\n"
    b"--b\r\nContent-Type: image/png\r\nContent-ID: <a@b>\r\n\r\n\x89PNG\r\n--b--\r\n"
)


def opened(
    built: BuiltMessage,
    agreement: PartnershipTerms = ANYTHING,
    *,
    own: As2Identity | None = None,
    by: As2Identity | None = None,
) -> OpenedMessage:
    return open_message(built.headers, built.body, own or seller(), by or seen(buyer()), agreement)


def refusal(built: BuiltMessage, agreement: PartnershipTerms = ANYTHING, **sides: As2Identity) -> str:
    with pytest.raises(Refused) as refused:
        opened(built, agreement, **sides)
    return refused.value.code


def described(agreement: PartnershipTerms) -> str:
    return "-".join(filter(None, (agreement.sign, agreement.encrypt, agreement.compress))) or "plain"


def changed(built: BuiltMessage, body: bytes, **headers: str) -> BuiltMessage:
    found = list(built.headers)
    for name, value in headers.items():
        found = with_header(found, name.replace("_", "-"), value)
    return replace(built, headers=tuple(found), body=body)


# ---- every combination -------------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
@pytest.mark.parametrize("agreement", every_agreement(("", "sha1", "sha256", "sha512")), ids=described)
def test_document_and_mic_arrive_as_they_were(agreement: PartnershipTerms) -> None:
    built = message(agreement)
    found = opened(built)
    assert bytes(found.entity.body) == DOCUMENT
    assert found.entity.head == HEAD
    assert bytes(found.entity.raw) == HEAD + b"\r\n" + DOCUMENT
    assert found.mic == built.sent.mic
    assert set(found.layers) == {
        layer
        for layer, chosen in (
            ("signed", agreement.sign), ("encrypted", agreement.encrypt), ("compressed", agreement.compress),
        )
        if chosen
    }  # fmt: skip
    assert found.signer == (clerk().certificate if agreement.sign else None)


def test_compression_stands_on_the_side_of_the_signature_that_was_agreed_on() -> None:
    before, after = (opened(message(replace(ANYTHING, compress=order))).layers for order in ("before", "after"))
    assert before == ("encrypted", "signed", "compressed")
    assert after == ("encrypted", "compressed", "signed")


@pytest.mark.parametrize(
    ("agreement", "covered"),
    [
        (PLAIN, DOCUMENT),
        (replace(PLAIN, compress="before"), HEAD + b"\r\n" + DOCUMENT),
        (replace(PLAIN, encrypt="aes256-cbc"), HEAD + b"\r\n" + DOCUMENT),
        (replace(PLAIN, encrypt="aes256-cbc", compress="after"), HEAD + b"\r\n" + DOCUMENT),
        (replace(PLAIN, sign="sha256", compress="after"), HEAD + b"\r\n" + DOCUMENT),
    ],
    ids=lambda value: described(value) if isinstance(value, PartnershipTerms) else "",
)
def test_the_mic_covers_what_the_standards_say(agreement: PartnershipTerms, covered: bytes) -> None:
    expected = Mic(digest=hashlib.sha256(covered).digest(), algorithm="sha256")
    assert message(agreement).sent.mic == expected


def test_the_mic_of_a_compressed_document_that_is_signed_covers_the_compressed_one() -> None:
    built = message(replace(PLAIN, sign="sha256", compress="before"))
    boundary = b"\r\n--=_"
    signed = built.body[built.body.index(b"\r\n") + 2 : built.body.index(boundary, 60)]
    assert signed.startswith(b"Content-Type: application/pkcs7-mime; smime-type=compressed-data")
    assert built.sent.mic.digest == hashlib.sha256(signed).digest()


def test_without_a_wish_for_another_digest_the_mic_is_sha1() -> None:
    built = message(replace(PLAIN, mdn_signed=False))
    assert built.sent.mic == Mic(digest=hashlib.sha1(DOCUMENT).digest(), algorithm="sha1")
    assert opened(built).mic == built.sent.mic


@pytest.mark.parametrize("cipher", ["aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm"])
def test_every_cipher_and_padding_is_opened(cipher: str) -> None:
    built = message(replace(ANYTHING, encrypt=cipher, oaep=True, pss=True))
    assert bytes(opened(built).entity.body) == DOCUMENT


def test_an_elliptic_curve_signs_too() -> None:
    own = buyer(notary())
    built = build(
        HEAD, [DOCUMENT[:5], DOCUMENT[5:]], own, seen(seller()), ANYTHING,
        message_id="<1@x>", at=NOW, boundary_seed=b"", randomness=counted,
    )  # fmt: skip
    found = opened(built, by=seen(own))
    assert bytes(found.entity.body) == DOCUMENT
    assert found.signer == notary().certificate


@pytest.mark.req("T6")
def test_several_attachments_are_one_multipart_document() -> None:
    head = b'Content-Type: multipart/related; boundary="b"; type="application/edi-x12"\r\n'
    found = opened(message(ANYTHING, RELATED, head))
    assert (found.entity.head, bytes(found.entity.body)) == (head, RELATED)


def test_a_document_without_header_gets_one() -> None:
    assert opened(message(ANYTHING, head=b"")).entity.content_type == "application/octet-stream"


def test_a_signed_message_is_the_same_bytes_each_time() -> None:
    assert message(replace(ANYTHING, encrypt="")) == message(replace(ANYTHING, encrypt=""))


def test_how_the_receipt_is_asked_for() -> None:
    later = dict(message(PartnershipTerms(mdn="async", mdn_url="https://mybiz.example/as2")).headers)
    assert later["Receipt-Delivery-Option"] == "https://mybiz.example/as2"
    assert later["Disposition-Notification-Options"].endswith("signed-receipt-micalg=required, sha-256")
    none = dict(message(PartnershipTerms(mdn="none")).headers)
    assert not [name for name in none if name.startswith(("Disposition", "Receipt"))]
    assert "Disposition-Notification-Options" not in dict(message(PartnershipTerms(mdn_signed=False)).headers)


# ---- what others send ------------------------------------------------------------------------------------------------


def test_content_without_a_header_inside_of_an_encryption_is_the_document() -> None:
    built = message(replace(PLAIN, encrypt="aes256-cbc"))
    bare = b"UNB+UNOA:2+a:14+b:14'\nUNH+1+ORDERS:D:96A'\n\nUNT+2+1'\n"
    body = encrypt(bare, [partner().certificate], randomness=counted)
    found = opened(changed(built, body))
    assert (found.entity.head, bytes(found.entity.body)) == (b"", bare)
    assert found.mic == Mic(digest=hashlib.sha256(bare).digest(), algorithm="sha256")


def test_a_transfer_encoding_around_a_layer_is_undone() -> None:
    built = message(ANYTHING)
    encoded = changed(built, b64encode(built.body), Content_Transfer_Encoding="BASE64")
    assert bytes(opened(encoded).entity.body) == DOCUMENT


@pytest.mark.parametrize("agreement", [ANYTHING, replace(PLAIN, compress="before")], ids=described)
def test_a_layer_is_read_whatever_its_transfer_encoding_says(agreement: PartnershipTerms) -> None:
    built = message(agreement)
    undeclared = changed(built, b64encode(built.body), Content_Transfer_Encoding="binary")
    undone = changed(built, built.body, Content_Transfer_Encoding="base64")
    assert bytes(opened(undeclared).entity.body) == bytes(opened(undone).entity.body) == DOCUMENT


def test_a_transfer_encoding_of_the_document_stays() -> None:
    head = b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n"
    found = opened(message(ANYTHING, b64encode(DOCUMENT), head))
    assert bytes(found.entity.body) == b64encode(DOCUMENT)
    assert found.entity.data() == DOCUMENT


def test_a_layer_is_what_its_bytes_are_whatever_it_is_called() -> None:
    built = message(replace(PLAIN, compress="before"))
    for content_type in ("application/pkcs7-mime; smime-type=enveloped-data", "application/X-PKCS7-MIME"):
        assert opened(changed(built, built.body, Content_Type=content_type)).layers == ("compressed",)


def test_a_signature_around_the_content_is_read_too() -> None:
    body = sign([HEAD, b"\r\n", DOCUMENT], [clerk()], detached=False, signed_at=NOW)
    built = changed(message(PLAIN), body, Content_Type="application/pkcs7-mime; smime-type=signed-data")
    found = opened(built)
    assert (found.layers, bytes(found.entity.body), found.signer) == (("signed",), DOCUMENT, clerk().certificate)
    assert found.mic.digest == hashlib.sha256(HEAD + b"\r\n" + DOCUMENT).digest()


@pytest.mark.parametrize("change", ["header", "everything"])
def test_line_ends_that_a_gateway_changed_are_tried_the_other_way(change: str) -> None:
    text = b"ISA~\r\nIEA~\r\n"
    built = message(replace(ANYTHING, encrypt=""), text)
    body = built.body
    if change == "header":
        body = body.replace(HEAD + b"\r\n", HEAD.replace(b"\r\n", b"\n") + b"\n")
    else:
        body = body.replace(b"\r\n", b"\n")
    assert body != built.body
    found = opened(changed(built, body))
    assert bytes(found.entity.raw) == HEAD + b"\r\n" + text
    assert found.mic == built.sent.mic


def test_a_signature_in_base64_that_does_not_say_so_is_read() -> None:
    built = message(replace(ANYTHING, encrypt=""))
    head, _, tail = built.body.rpartition(b"Content-Transfer-Encoding: base64\r\n")
    assert bytes(opened(changed(built, head + tail)).entity.body) == DOCUMENT


def test_a_pgp_signature_is_the_partners_own_affair() -> None:
    head = b'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary=b\r\n'
    assert opened(message(PLAIN, RELATED, head)).layers == ()


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.req("T7")
def test_a_message_that_is_less_safe_than_agreed_on_is_refused() -> None:
    unsigned, clear = message(replace(ANYTHING, sign="")), message(replace(ANYTHING, encrypt=""))
    assert refusal(unsigned, replace(ANYTHING, must_be_signed=True)) == "as2.insufficient-security"
    assert refusal(clear, replace(ANYTHING, must_be_encrypted=True)) == "as2.insufficient-security"
    old = message(replace(ANYTHING, sign="sha1"))
    assert refusal(old, replace(ANYTHING, accepted_digests=("sha256",))) == "as2.insufficient-security"


def test_a_changed_document_is_told_from_a_foreign_signature() -> None:
    built = message(replace(ANYTHING, encrypt=""))
    assert refusal(changed(built, built.body.replace(b"MYBIZ", b"MYBIT"))) == "as2.integrity-check-failed"
    assert refusal(built, by=seen(buyer(), stranger())) == "as2.authentication-failed"
    assert refusal(built, by=As2Identity(name=BUYER)) == "as2.authentication-failed"


def test_a_signature_without_signers_proves_nothing() -> None:
    built = message(replace(ANYTHING, encrypt=""))
    nobody = bytes.fromhex("3023 06092a864886f70d010702 a016 3014 020101 3100 300b 06092a864886f70d010701 3100")
    start, stop = built.body.rindex(b"\r\n\r\n") + 4, built.body.rindex(b"\r\n--")
    forged = built.body[:start] + b64encode(nobody) + built.body[stop:]
    assert refusal(changed(built, forged)) == "as2.authentication-failed"


def test_whoever_has_another_key_cannot_decrypt() -> None:
    assert refusal(message(ANYTHING), own=As2Identity(name=SELLER, identities=(stranger(),))) == "as2.decryption-failed"
    assert refusal(message(ANYTHING), own=As2Identity(name=SELLER)) == "as2.decryption-failed"


@pytest.mark.req("T7")
def test_keys_and_certificates_roll_over() -> None:
    """The partner still uses our old certificate, and we know both of its own."""
    assert bytes(opened(message(ANYTHING), own=seller(stranger(), partner())).entity.body) == DOCUMENT
    assert bytes(opened(message(ANYTHING), by=seen(buyer(), stranger(), clerk())).entity.body) == DOCUMENT


def test_every_failure_inside_of_an_encryption_is_told_in_the_same_words() -> None:
    """Otherwise answers to changed copies of a message tell what is in it."""
    built, told = message(ANYTHING), set()
    good = message(replace(ANYTHING, encrypt=""))
    head = dict(good.headers)["Content-Type"].encode()
    signed = b"Content-Type: " + head + b"\r\n\r\n" + good.body
    for content in (signed[:-30], signed + b"\0" * 16 + b"epilogue of an attacker", b"\x00" * 40, b"Content-Type", b""):
        body = encrypt(content, [partner().certificate], randomness=counted)
        with pytest.raises(Refused) as refused:
            opened(changed(built, body), replace(ANYTHING, must_be_signed=True))
        told.add((refused.value.code, refused.value.detail))
    with pytest.raises(Refused) as refused:
        opened(changed(built, built.body[:-1] + bytes([built.body[-1] ^ 1])))  # the padding is wrong now
    assert told == {("as2.decryption-failed", refused.value.detail)}


def test_a_damaged_or_swollen_compression_is_refused() -> None:
    built = message(replace(PLAIN, compress="before"))
    assert refusal(changed(built, built.body[:-1])) == "as2.malformed"
    damaged = bytearray(built.body)
    damaged[-1] ^= 1
    assert refusal(changed(built, bytes(damaged))) == "as2.decompression-failed"
    bomb = compress(bytes(30 << 20))
    assert refusal(changed(built, bomb)) == "as2.decompression-failed"


def test_layers_are_counted() -> None:
    built = message(replace(PLAIN, compress="before"))
    head = b"Content-Type: application/pkcs7-mime; smime-type=compressed-data\r\n\r\n"
    body = built.body
    for _ in range(3):
        body = compress([head, body])
    assert opened(changed(built, body)).layers == ("compressed",) * 4
    assert refusal(changed(built, compress([head, body]))) == "as2.malformed"


def test_what_is_no_cms_is_refused() -> None:
    built = message(ANYTHING)
    assert refusal(changed(built, b"no CMS at all")) == "as2.malformed"
    data = bytes.fromhex("3012 06092a864886f70d010701 a005 0403 616263")
    assert refusal(changed(built, data)) == "as2.unsupported-format"


def test_a_signed_message_has_two_parts() -> None:
    built = message(replace(ANYTHING, encrypt=""))
    boundary = built.body[: built.body.index(b"\r\n") + 2]
    assert refusal(changed(built, boundary + b"\r\nthird\r\n" + built.body)) == "as2.malformed"
    renamed = built.body.replace(b"pkcs7-signature", b"octet-stream")
    assert refusal(changed(built, renamed)) == "as2.malformed"


def test_a_message_between_others_is_refused() -> None:
    built = message(PLAIN)
    assert refusal(changed(built, built.body, AS2_To="acme")) == "as2.partner-unknown"
    assert refusal(changed(built, built.body, AS2_From="Eve")) == "as2.partner-unknown"


@pytest.mark.parametrize("name", ["AS2-From", "AS2-To", "Message-ID"])
def test_a_heading_is_complete_and_says_one_thing(name: str) -> None:
    built = message(PLAIN)
    without = replace(built, headers=tuple(with_header(built.headers, name, None)))
    assert refusal(without) == "as2.malformed"
    twice = replace(built, headers=(*built.headers, (name.upper(), "other")))
    assert refusal(twice) == "as2.malformed"


def test_a_message_larger_than_allowed_is_refused() -> None:
    built = message(PLAIN)
    with pytest.raises(Refused) as refused:
        open_message(built.headers, built.body, seller(), seen(buyer()), ANYTHING, WireLimits(body_bytes=20))
    assert refused.value.code == "wire.too-large"


@pytest.mark.parametrize(
    "agreement",
    [replace(PLAIN, sign="sha256"), replace(PLAIN, encrypt="aes256-cbc"), replace(PLAIN, mdn="async")],
    ids=["no key", "no certificate", "no address for MDNs"],
)
def test_without_what_it_takes_the_operator_is_told(agreement: PartnershipTerms) -> None:
    with pytest.raises(Misconfigured):
        build(
            HEAD, [DOCUMENT], As2Identity(name=BUYER), As2Identity(name=SELLER), agreement,
            message_id="<1@x>", at=NOW, boundary_seed=b"", randomness=counted,
        )  # fmt: skip
