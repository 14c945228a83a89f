"""Maps each refusal code to the disposition that an AS2 partner understands.

Rule: a partner learns the kind of error and nothing more; above all, every failure to decrypt has one answer. A code
that is not listed is an internal error and becomes ``unexpected-processing-error``.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.codecs.as2.dispositions import Disposition, error, failure
from postroad.errors import Refused

UNEXPECTED = error("unexpected-processing-error")
REFUSAL_DISPOSITIONS: Mapping[str, Disposition] = {
    "as2.decryption-failed": error("decryption-failed"),
    "as2.authentication-failed": error("authentication-failed"),
    "as2.integrity-check-failed": error("integrity-check-failed"),
    "as2.decompression-failed": error("decompression-failed"),
    "as2.insufficient-security": error("insufficient-message-security"),
    "as2.partner-unknown": error("unknown-trading-partner"),
    "as2.message-id-reused": error("duplicate-document"),
    "as2.unsupported-format": failure("unsupported format"),
    "as2.unsupported-mic-algorithms": failure("unsupported MIC-algorithms"),
    "as2.malformed": UNEXPECTED,
    "as2.receipt-address": UNEXPECTED,
    "as2.unexpected-processing-error": UNEXPECTED,
    "wire.unsupported": failure("unsupported format"),
}


def disposition_of(refused: Refused) -> Disposition:
    return REFUSAL_DISPOSITIONS.get(refused.code, UNEXPECTED)
