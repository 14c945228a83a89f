"""A message sent by AS2 from one station to another and its receipt back, all in memory, told step by step.

Kept rule: nothing here is made up for show. Each step is the code that the network runs, and says what it found.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.x509 import Certificate

from postroad.core.codecs.as2 import (
    PROCESSED,
    Agreement,
    BuiltMdn,
    Opened,
    Station,
    build,
    build_mdn,
    judge_mdn,
    open_message,
    read_mdn,
)
from postroad.core.codecs.mime import write_head

MESSAGE_ID, RECEIPT_ID = "<trial@postroad>", "<receipt@postroad>"


class Step(NamedTuple):
    what: str
    detail: str
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Who sends what to whom, and what they agreed on; both stations have keys and know each other's certificates."""

    sender: Station
    receiver: Station
    agreement: Agreement
    document: bytes
    content_type: str

    def steps(self) -> Iterator[Step]:
        head = write_head([("Content-Type", self.content_type)])
        yield Step("document", f"{len(self.document):,} bytes of {self.content_type}")
        built = build(
            head, [self.document], self.sender, self.receiver, self.agreement,
            message_id=MESSAGE_ID, at=datetime.now(UTC), boundary_seed=b"trial", randomness=secrets.token_bytes,
        )  # fmt: skip
        yield Step(
            "sent", f"{self._security()}: {len(built.body):,} bytes from {self.sender.name} to {self.receiver.name}"
        )
        opened = open_message(built.headers, built.body, self.receiver, self.sender, self.agreement)
        yield Step("opened", f"layers from the outside in: {', '.join(opened.layers) or 'none'}")
        yield _signer("signature", opened.signer, bool(self.agreement.sign))
        same = bytes(opened.entity.data()) == self.document
        yield Step("same document", "to the byte" if same else "the document has changed on its way", same)
        receipt = self._receipt(opened)
        mdn = read_mdn(receipt.headers, receipt.body, self.receiver)
        yield Step("receipt", f"{len(receipt.body):,} bytes, says {mdn.disposition}", mdn.disposition.accepted)
        yield _signer("its signature", mdn.signer, self.agreement.mdn_signed)
        verdict = judge_mdn(mdn, built.sent)
        yield Step("same MIC", str(mdn.mic) if verdict.acknowledged else verdict.reason, verdict.acknowledged)

    def _security(self) -> str:
        agreed = self.agreement
        compressed = f"compressed {agreed.compress} signing" if agreed.compress else ""
        signed = f"signed with {agreed.sign}" if agreed.sign else ""
        encrypted = f"encrypted with {agreed.encrypt}" if agreed.encrypt else ""
        return ", ".join(filter(None, (compressed, signed, encrypted))) or "as it is"

    def _receipt(self, opened: Opened) -> BuiltMdn:
        return build_mdn(
            opened.heading, self.receiver,
            disposition=PROCESSED, mic=opened.mic, at=datetime.now(UTC), message_id=RECEIPT_ID, boundary_seed=b"trial",
        )  # fmt: skip


def _signer(what: str, signer: Certificate | None, wanted: bool) -> Step:
    if signer is None:
        return Step(what, "none", not wanted)
    return Step(what, f"holds, by the certificate {signer.fingerprint(hashes.SHA256()).hex()[:16]}…")
