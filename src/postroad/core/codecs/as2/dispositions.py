"""Dispositions: what a receipt says became of the message (RFC 4130, 7.4; RFC 8098, 3.2.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass

AUTOMATIC = "automatic-action/MDN-sent-automatically"
_NOT_WRITTEN = re.compile(r"[^\x20-\x7e]+")
_TEXT_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    type: str = "processed"  # or failed; in small letters, as the modifier
    modifier: str = ""  # error, warning or failure
    text: str = ""  # which one: decryption-failed, unsupported format …

    @property
    def accepted(self) -> bool:
        """Whether the partner has taken the message over."""
        return self.type == "processed" and self.modifier in ("", "warning")

    def __str__(self) -> str:
        """As in the Disposition field. Text becomes one printable line."""
        modifier = "Failure" if self.modifier == "failure" else self.modifier
        text = _NOT_WRITTEN.sub(" ", self.text)[:_TEXT_CHARS].strip()
        said = f"{self.type[:40]}/{modifier[:40]}" if modifier else self.type[:40]
        return f"{AUTOMATIC}; {said}: {text}" if text else f"{AUTOMATIC}; {said}"


PROCESSED = Disposition()


def error(text: str) -> Disposition:
    return Disposition(modifier="error", text=text)


def failure(text: str) -> Disposition:
    return Disposition(type="failed", modifier="failure", text=text)


def warning(text: str) -> Disposition:
    return Disposition(modifier="warning", text=text)


def read_disposition(value: str) -> Disposition:
    """``mode; type/modifier: text``, in whatever capitals and blanks. A type that nobody knows is not an acceptance."""
    mode, _, said = value.partition(";")
    kind, _, text = (said or mode).partition(":")
    type_, _, modifier = kind.partition("/")
    return Disposition(type=type_.strip().lower(), modifier=modifier.strip().lower(), text=text.strip())
