"""pyas2lib as the partner, in both directions: it reads what we send and we read what it sends, receipts included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.as2_peer import organization, partner, pyas2lib
from postroad.core.codecs.as2 import (  # fmt: skip
    PROCESSED,
    As2Identity,
    BuiltMessage,
    MdnOutcome,
    PartnershipTerms,
    build,
    build_mdn,
    disposition_of,
    is_mdn,
    judge_mdn,
    open_message,
    read_heading,
    read_mdn,
)
from postroad.core.codecs.mime import read_entity, write_head
from postroad.errors import Refused
from tests.samples.as2_parties import BUYER, NOW, SELLER, buyer, counted, seen, seller
from tests.samples.cms_people import clerk, stranger
from tests.samples.cms_people import partner as acme

try:
    pyas2lib()
except ImportError as fault:  # an OpenSSL that its oscrypto does not find or know
    pytest.skip(f"pyas2lib does not import here: {fault}", allow_module_level=True)

# It canonicalises every content but this one; we never do.
HEAD = b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n"
DOCUMENT = b"ISA*00*~\r\nIEA*1~\r\n" * 50 + bytes(range(256))
ALGORITHMS = [("sha256", "aes_256_cbc"), ("sha1", "tripledes_192_cbc"), ("sha512", "aes_128_cbc")]
KEEPING = [(signed, encrypted, compressed) for signed in (0, 1) for encrypted in (0, 1) for compressed in (0, 1)]


def on_the_wire(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    return write_head(headers) + b"\r\n" + body


def from_the_wire(made: Any) -> tuple[list[tuple[str, str]], bytes]:
    return [(str(name), str(value)) for name, value in made.headers.items()], made.content


def sent(agreement: PartnershipTerms, own: As2Identity | None = None) -> BuiltMessage:
    return build(
        HEAD, [DOCUMENT], own or buyer(), seen(seller()), agreement,
        message_id="<order-1@mybiz.example>", at=NOW, subject="Order", boundary_seed=b"seed", randomness=counted,
    )  # fmt: skip


def parsed(built: BuiltMessage, **options: object) -> tuple[Any, str, Any]:
    """What the library, being the seller, makes of our message: its message, its verdict, its receipt."""
    message = pyas2lib().Message()
    status, _fault, mdn = message.parse(
        on_the_wire(built.headers, built.body),
        find_org_cb=lambda name: organization(SELLER, acme()) if name == SELLER else None,
        find_partner_cb=lambda name: partner(BUYER, clerk(), **options) if name == BUYER else None,
    )
    return message, status, mdn


# ---- we send ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize(("signed", "encrypted", "compressed"), KEEPING)
def test_the_partner_reads_our_message_and_we_believe_its_receipt(signed: int, encrypted: int, compressed: int) -> None:
    agreement = PartnershipTerms(
        sign="sha256" if signed else "",
        encrypt="aes256-cbc" if encrypted else "",
        compress="before" if compressed else "",
    )
    built = sent(agreement)
    message, status, mdn = parsed(built)
    assert (status, message.content) == ("processed", DOCUMENT)
    headers, body = from_the_wire(mdn)
    assert is_mdn(headers, body)
    verdict = judge_mdn(read_mdn(headers, body, seen(seller())), built.sent)
    # Without a signature it counts no MIC, so its receipt does not say what it received.
    assert verdict.outcome is (MdnOutcome.ACKNOWLEDGED if signed else MdnOutcome.ALTERED)


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize("compress", ["", "before", "after"])
def test_the_partner_counts_the_same_mic(digest: str, compress: Any) -> None:
    built = sent(PartnershipTerms(sign=digest, encrypt="aes128-cbc", compress=compress))
    message, _, mdn = parsed(built)
    assert message.mic.decode() == str(built.sent.mic).partition(",")[0]
    assert judge_mdn(read_mdn(*from_the_wire(mdn), seen(seller())), built.sent).acknowledged


def test_the_partner_reads_pss() -> None:
    message, status, _ = parsed(sent(PartnershipTerms(pss=True)))
    assert (status, message.content) == ("processed", DOCUMENT)


@pytest.mark.parametrize(
    ("own", "options", "said"),
    [
        (buyer(stranger()), {"sign": True}, "error: authentication-failed"),
        (None, {"sign": True, "encrypt": True}, "error: insufficient-message-security"),
    ],
)
def test_the_partner_refuses_and_we_learn_why(own: As2Identity | None, options: dict[str, bool], said: str) -> None:
    built = sent(PartnershipTerms(encrypt=""), own)
    _, status, mdn = parsed(built, **options)
    assert status != "processed"
    verdict = judge_mdn(read_mdn(*from_the_wire(mdn), seen(seller())), built.sent)
    assert verdict.outcome is MdnOutcome.REJECTED
    assert said.partition(": ")[2] in verdict.reason


# ---- we receive --------------------------------------------------------------------------------------------------------


def library_message(**options: object) -> Any:
    """The library, being the buyer, sends us a message."""
    message = pyas2lib().Message(
        sender=organization(BUYER, clerk(), mdn_url="https://mybiz.example/as2", domain="mybiz.example"),
        receiver=partner(SELLER, acme(), **options),
    )
    message.build(DOCUMENT, content_type="application/octet-stream", filename="order.x12")
    return message


def library_verdict(message: Any, headers: Iterable[tuple[str, str]], body: bytes) -> tuple[str, str | None]:
    found: tuple[str, str | None] = pyas2lib().Mdn().parse(on_the_wire(headers, body), lambda *_: message)
    return found


@pytest.mark.req("T7", "K3")
@pytest.mark.parametrize(("signed", "encrypted", "compressed"), KEEPING)
@pytest.mark.parametrize(("digest", "cipher"), ALGORITHMS)
@pytest.mark.parametrize("mdn_digest", [None, "sha256"])
def test_we_read_the_partners_message_and_it_believes_our_receipt(
    signed: int, encrypted: int, compressed: int, digest: str, cipher: str, mdn_digest: str | None
) -> None:
    options = {"sign": bool(signed), "digest_alg": digest, "encrypt": bool(encrypted), "enc_alg": cipher}
    message = library_message(**options, compress=bool(compressed), mdn_mode="SYNC", mdn_digest_alg=mdn_digest)
    headers, body = from_the_wire(message)
    opened = open_message(headers, body, seller(), seen(buyer()), PartnershipTerms(must_be_signed=bool(signed)))
    assert bytes(opened.entity.body) == DOCUMENT
    assert opened.entity.header("content-disposition") == 'attachment; filename="order.x12"'
    if signed:
        assert message.mic.decode() == str(opened.mic).partition(",")[0]
    mdn = build_mdn(
        opened.heading,
        seller(),
        disposition=PROCESSED,
        mic=opened.mic,
        at=NOW,
        message_id="<1@acme>",
        boundary_seed=b"",
    )
    assert library_verdict(message, mdn.headers, mdn.body) == ("processed", None)


def test_we_read_oaep_and_pss() -> None:
    message = library_message(
        sign=True, sign_alg="rsassa_pss", encrypt=True, enc_alg="aes_256_cbc", key_enc_alg="rsaes_oaep"
    )
    opened = open_message(*from_the_wire(message), seller(), seen(buyer()), PartnershipTerms())
    assert (opened.layers, bytes(opened.entity.body)) == (("encrypted", "signed"), DOCUMENT)


@pytest.mark.req("T7", "K3")
def test_the_partner_is_told_what_is_wrong() -> None:
    message = library_message(sign=True, mdn_mode="ASYNC", mdn_digest_alg="sha256")
    headers, body = from_the_wire(message)
    heading = read_heading(headers)
    assert heading.wish.url == "https://mybiz.example/as2"
    with pytest.raises(Refused) as refused:
        open_message(headers, body, seller(), seen(buyer(), stranger()), PartnershipTerms())
    mdn = build_mdn(
        heading,
        seller(),
        disposition=disposition_of(refused.value),
        mic=None,
        at=NOW,
        message_id="<1@acme>",
        boundary_seed=b"",
    )
    assert library_verdict(message, mdn.headers, mdn.body) == ("processed/error", "authentication-failed")


def test_names_with_blanks_and_quotes_are_the_same_for_both() -> None:
    name = 'The "ACME" company'
    built = build(
        HEAD, [DOCUMENT], buyer(), replace(seen(seller()), name=name), PartnershipTerms(),
        message_id="<1@x>", at=NOW, boundary_seed=b"", randomness=counted,
    )  # fmt: skip
    asked: list[str] = []
    pyas2lib().Message().parse(
        on_the_wire(built.headers, built.body), find_org_cb=asked.append, find_partner_cb=asked.append
    )
    assert asked == [name, BUYER]
    assert read_entity(on_the_wire(built.headers, b"")).header("as2-to") == '"The \\"ACME\\" company"'
