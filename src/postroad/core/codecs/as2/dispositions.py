"""Dispositions: the status of a message in an MDN (RFC 4130, 7.4; RFC 8098, 3.2.6), and the disposition of each refusal.

Rule: a disposition reveals only the kind of error; in particular, all failures to decrypt have the same disposition. A
refusal code without a disposition is an internal error and becomes ``unexpected-processing-error``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from postroad.errors import Refused

AUTOMATIC = "automatic-action/MDN-sent-automatically"
_NOT_WRITTEN = re.compile(r"[^\x20-\x7e]+")
_TEXT_CHARS, _WORD_CHARS = 200, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    type: str = "processed"  # or failed; in small letters, as the modifier
    modifier: str = ""  # error, warning or failure
    text: str = ""  # which one: decryption-failed, unsupported format …

    @property
    def accepted(self) -> bool:
        """Return True if the partner has accepted the message."""
        return self.type == "processed" and self.modifier in ("", "warning")

    def __str__(self) -> str:
        """Return the value of the Disposition field: one printable line."""
        modifier = "Failure" if self.modifier == "failure" else self.modifier
        said = f"{self.type[:_WORD_CHARS]}/{modifier[:_WORD_CHARS]}" if modifier else self.type[:_WORD_CHARS]
        if self.text:
            said = f"{said}: {self.text[:_TEXT_CHARS]}"
        return f"{AUTOMATIC}; {_NOT_WRITTEN.sub(' ', said).strip()}"


PROCESSED = Disposition()


def error(text: str) -> Disposition:
    return Disposition(modifier="error", text=text)


def failure(text: str) -> Disposition:
    return Disposition(type="failed", modifier="failure", text=text)


def warning(text: str) -> Disposition:
    return Disposition(modifier="warning", text=text)


def read_disposition(value: str) -> Disposition:
    """Parse ``mode; type/modifier: text``, ignoring case and blanks. Unknown types do not count as acceptance."""
    mode, _, said = value.partition(";")
    kind, _, text = (said or mode).partition(":")
    type_, _, modifier = kind.partition("/")
    return Disposition(type=type_.strip().lower(), modifier=modifier.strip().lower(), text=text.strip())


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
