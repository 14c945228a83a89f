"""What AS2 costs: CPU time per message, beside pyas2lib in the same run, and beside what RSA alone takes.

    python -m benchmarks.as2

A document of 2 KB and one of 1 MB is signed and encrypted (RSA-2048, SHA-256, AES-256-CBC), and received with a signed receipt.
The floor is the same work of the keys with nothing around it: to build, one signature and one wrapped key; to receive, one
unwrapped key, one verified signature and the receipt's signature; at 1 MB, also hashing and encrypting the document once, which
no implementation can leave out. Each figure is the least CPU time of one message in several rounds in which all take turns, so
that a busy machine does not show up as a slow codec. The exit code is 1 when a target is missed.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from benchmarks import as2_peer
from benchmarks.codecs import cpu_us
from postroad.cli.commands.config.as2_keys import make_as2_key
from postroad.core.codecs.as2 import (
    PROCESSED,
    As2Identity,
    BuiltMdn,
    BuiltMessage,
    PartnershipTerms,
    build,
    build_mdn,
    judge_mdn,
    open_message,
    read_mdn,
)
from postroad.core.codecs.cms import Identity
from postroad.core.codecs.mime import write_head

ROUNDS = 9
SECONDS_PER_ROUND = 0.1
SIZES = {"2 KB": 2_048, "1 MB": 1 << 20}
TIMES_FASTER, SHARE_OF_FLOOR = 10.0, 0.6  # at 2 KB, where keys are all the work
BUYER, SELLER = "mybiz", "acme"
HEAD = b"Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n"
NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
AGREEMENT = PartnershipTerms()
KEY_BYTES = 32

Call = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parties:
    buyer: Identity
    seller: Identity


class Work(NamedTuple):
    """The same work on all sides."""

    name: str
    size: str
    postroad: Call
    pyas2lib: Call
    floor: Call


# ---- postroad --------------------------------------------------------------------------------------------------------


class Ours:
    """Buyer and seller as postroad has them."""

    def __init__(self, parties: Parties) -> None:
        self.buyer = As2Identity(name=BUYER, identities=(parties.buyer,))
        self.seller = As2Identity(name=SELLER, identities=(parties.seller,))
        self.known_buyer = As2Identity(name=BUYER, certificates=(parties.buyer.certificate,))
        self.known_seller = As2Identity(name=SELLER, certificates=(parties.seller.certificate,))

    def build(self, document: bytes) -> BuiltMessage:
        return build(
            HEAD, [document], self.buyer, self.known_seller, AGREEMENT,
            message_id="<1@mybiz.example>", at=NOW, boundary_seed=b"seed", randomness=os.urandom,
        )  # fmt: skip

    def receive(self, built: BuiltMessage, document: bytes) -> BuiltMdn:
        opened = open_message(built.headers, built.body, self.seller, self.known_buyer, AGREEMENT)
        if len(opened.entity.body) != len(document):
            raise AssertionError("another document arrived than was sent")
        return build_mdn(
            opened.heading, self.seller, disposition=PROCESSED, mic=opened.mic, at=NOW, message_id="<2@acme.example>",
            boundary_seed=b"seed",
        )  # fmt: skip

    def check(self, built: BuiltMessage, headers: Any, body: bytes) -> None:
        verdict = judge_mdn(read_mdn(headers, body, self.known_seller), built.sent)
        if not verdict.acknowledged:
            raise AssertionError(f"the receipt is no success: {verdict}")


# ---- pyas2lib --------------------------------------------------------------------------------------------------------


class Theirs:
    """Buyer and seller as pyas2lib has them; keys are loaded once, and certificates taken as they are."""

    def __init__(self, parties: Parties) -> None:
        logging.getLogger("pyas2lib").setLevel(logging.CRITICAL)
        self.message = as2_peer.pyas2lib().Message
        keeping = {
            "sign": True,
            "encrypt": True,
            "enc_alg": "aes_256_cbc",
            "mdn_mode": "SYNC",
            "mdn_digest_alg": "sha256",
        }
        self.buyer = as2_peer.organization(BUYER, parties.buyer, domain="mybiz.example")
        self.seller = as2_peer.organization(SELLER, parties.seller, domain="acme.example")
        self.known_buyer = as2_peer.partner(BUYER, parties.buyer, **keeping)
        self.known_seller = as2_peer.partner(SELLER, parties.seller, **keeping)

    def build(self, document: bytes) -> bytes:
        message = self.message(sender=self.buyer, receiver=self.known_seller)
        message.build(document, content_type="application/octet-stream", message_id="1")
        wire: bytes = message.headers_str + b"\r\n" + message.content
        return wire

    def receive(self, wire: bytes, document: bytes) -> tuple[dict[str, str], bytes]:
        message = self.message()
        status, _, mdn = message.parse(
            wire, find_org_cb=lambda _: self.seller, find_partner_cb=lambda _: self.known_buyer
        )
        if status != "processed" or message.content != document:
            raise AssertionError(f"pyas2lib did not take the message: {status}")
        return mdn.headers, mdn.content


# ---- the floor -------------------------------------------------------------------------------------------------------


class Floor:
    """What the keys alone cost, as ``cryptography`` does it."""

    def __init__(self, parties: Parties) -> None:
        self.digest = sha256(b"").digest()
        keys = (parties.buyer.key, parties.seller.key)
        self.buyer, self.seller = (key for key in keys if isinstance(key, rsa.RSAPrivateKey))
        self.known_buyer, self.known_seller = self.buyer.public_key(), self.seller.public_key()
        self.signature = self.buyer.sign(self.digest, padding.PKCS1v15(), hashes.SHA256())
        self.wrapped = self.known_seller.encrypt(bytes(KEY_BYTES), padding.PKCS1v15())

    def build(self, document: bytes) -> None:
        self.buyer.sign(self.digest, padding.PKCS1v15(), hashes.SHA256())
        self.known_seller.encrypt(bytes(KEY_BYTES), padding.PKCS1v15())
        if len(document) > SIZES["2 KB"]:
            sha256(document).digest()
            self._cipher().encryptor().update(document)

    def receive(self, document: bytes) -> None:
        self.seller.decrypt(self.wrapped, padding.PKCS1v15())
        self.known_buyer.verify(self.signature, self.digest, padding.PKCS1v15(), hashes.SHA256())
        self.seller.sign(self.digest, padding.PKCS1v15(), hashes.SHA256())
        if len(document) > SIZES["2 KB"]:
            sha256(document).digest()
            self._cipher().decryptor().update(document)

    @staticmethod
    def _cipher() -> Cipher[modes.CBC]:
        return Cipher(algorithms.AES(bytes(KEY_BYTES)), modes.CBC(bytes(16)))


# ---- measuring -------------------------------------------------------------------------------------------------------


def works(parties: Parties) -> Iterator[Work]:
    ours, theirs, floor = Ours(parties), Theirs(parties), Floor(parties)
    for size, length in SIZES.items():
        document = os.urandom(length // 4).hex(" ", 32).encode()[:length].ljust(length, b"~")
        built, wire = ours.build(document), theirs.build(document)
        mdn = ours.receive(built, document)
        ours.check(built, mdn.headers, mdn.body)
        crossed = theirs.receive(write_head(built.headers) + b"\r\n" + built.body, document)
        ours.check(built, list(crossed[0].items()), crossed[1])
        yield Work(
            "sign and encrypt", size, partial(ours.build, document), partial(theirs.build, document),
            partial(floor.build, document),
        )  # fmt: skip
        yield Work(
            "receive, with a signed receipt", size, partial(ours.receive, built, document),
            partial(theirs.receive, wire, document), partial(floor.receive, document),
        )  # fmt: skip


def least_us(calls: dict[str, Call]) -> dict[str, float]:
    """CPU time of each call, the least of many in several rounds in which all take turns for the same time."""
    repeats = {name: max(2, int(SECONDS_PER_ROUND / cpu_us(call, 3) * 1e6)) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = min(best[name], *(cpu_us(call, 1) for _ in range(repeats[name])))
    return best


def mark(value: float, target: float, *, counts: bool) -> str:
    return ("✓" if value >= target else "✗") if counts else " "


def main() -> int:
    print(f"{'':32} {'':5}  postroad  pyas2lib     floor    times faster  share of the floor")
    missed = 0
    gc.collect()
    gc.freeze()  # as the server does once it has started
    for work in works(Parties(buyer=make_as2_key(BUYER, 10).identity, seller=make_as2_key(SELLER, 10).identity)):
        best = least_us({"postroad": work.postroad, "pyas2lib": work.pyas2lib, "floor": work.floor})
        faster, share = best["pyas2lib"] / best["postroad"], best["floor"] / best["postroad"]
        counts = work.size == "2 KB"
        marks = mark(faster, TIMES_FASTER, counts=counts), mark(share, SHARE_OF_FLOOR, counts=counts)
        missed += marks.count("✗")
        shown = "".join(f"{best[side]:10.0f}" for side in ("postroad", "pyas2lib", "floor"))
        print(f"{work.name:32} {work.size:5}{shown} µs {faster:10.1f}× {marks[0]} {share:14.0%} {marks[1]}")
    print(f"targets at 2 KB: {TIMES_FASTER:.0f} times faster than pyas2lib, {SHARE_OF_FLOOR:.0%} of what RSA allows")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
