"""Refusals of the CMS codec; each names the byte offset or the part of the signature that is wrong.

Rule: every error that depends on a private key is refused by ``decryption_failed`` alone, always with the same text,
so that no one learns from the answers how far a forged message got.
"""

from __future__ import annotations

from postroad.errors import Refused

CONTENT, SIGNATURE, SIGNERS = "/content", "/signature", "/signers"  # pointers: what of a signed message is at fault


def malformed(detail: str, offset: int) -> Refused:
    return Refused("cms.malformed", f"{detail} (byte {offset}); ask the sender to create the message again")


def too_complex(detail: str) -> Refused:
    return Refused("cms.too-complex", f"{detail}; ask the sender for a simpler message")


def unsupported(detail: str) -> Refused:
    return Refused("cms.unsupported", detail)


def signature_invalid(detail: str, pointer: str) -> Refused:
    return Refused("cms.signature-invalid", detail, pointer=pointer)


def decryption_failed() -> Refused:
    return Refused(
        "cms.decryption-failed",
        "The message cannot be decrypted; check that it was encrypted for the currently registered certificate",
    )


def not_for_us() -> Refused:
    """Refusal of content encrypted for others. It reveals nothing, since recipients are not encrypted."""
    return Refused(
        "cms.decryption-failed",
        "The message is encrypted for other certificates than the network's; send the sender the current certificate",
    )
