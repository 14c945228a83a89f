"""Two partners and a message between them, for the tests of AS2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from postroad.core.codecs.as2 import (
    PROCESSED,
    As2Identity,
    BuiltMdn,
    BuiltMessage,
    Disposition,
    Mic,
    PartnershipTerms,
    build,
    build_mdn,
)
from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.as2.heading import Heading
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import Identity
from tests.samples.cms_people import clerk, partner

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
HEAD = b"Content-Type: application/edi-x12\r\nContent-Transfer-Encoding: binary\r\n"
DOCUMENT = b"ISA*00*          *00*          *ZZ*MYBIZ~\n\r\r\nIEA*1*1~\x00\xff\r\n"  # with every kind of line end
MESSAGE_ID, MDN_ID = "<order-1@mybiz.example>", "<receipt-1@acme.example>"
BUYER, SELLER = "My Biz", "ACME"
ANYTHING = PartnershipTerms(must_be_signed=False)


def buyer(*identities: Identity) -> As2Identity:
    """The buyer's own side; it signs as the clerk."""
    return As2Identity(name=BUYER, identities=identities or (clerk(),))


def seller(*identities: Identity) -> As2Identity:
    return As2Identity(name=SELLER, identities=identities or (partner(),))


def seen(identity: As2Identity, *identities: Identity) -> As2Identity:
    """An identity as its partner knows it: certificates, and no keys."""
    known = identities or identity.identities
    return As2Identity(name=identity.name, certificates=tuple(one.certificate for one in known))


def counted(size: int) -> bytes:
    """Bytes that look random and are the same at every run."""
    return bytes((7 * place + size) % 256 for place in range(size))


def message(
    agreement: PartnershipTerms,
    body: Buffer = DOCUMENT,
    head: bytes = HEAD,
    *,
    message_id: str = MESSAGE_ID,
    subject: str = "Order 1",
) -> BuiltMessage:
    return build(
        head,
        [body],
        buyer(),
        seen(seller()),
        agreement,
        message_id=message_id,
        subject=subject,
        at=NOW,
        boundary_seed=b"seed",
        randomness=counted,
    )


def receipt(
    heading: Heading, mic: Mic | None, disposition: Disposition = PROCESSED, own: As2Identity | None = None
) -> BuiltMdn:
    return build_mdn(
        heading, own or seller(), disposition=disposition, mic=mic, at=NOW, message_id=MDN_ID, boundary_seed=b"seed"
    )


def with_header(headers: Headers, name: str, value: str | None) -> list[tuple[str, str]]:
    """The headers with another value for one of them, or without it."""
    kept = [(key, text) for key, text in headers if key.lower() != name.lower()]
    return kept if value is None else [*kept, (name, value)]


def every_agreement(
    signs: Sequence[str] = ("", "sha256"), ciphers: Sequence[str] = ("", "aes256-cbc")
) -> list[PartnershipTerms]:
    orders: tuple[Literal["", "before", "after"], ...] = ("", "before", "after")
    return [
        replace(ANYTHING, sign=sign, encrypt=cipher, compress=order)
        for sign in signs
        for cipher in ciphers
        for order in orders
    ]
