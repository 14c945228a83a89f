"""Checks e-mail addresses, names and labels that people enter.

Rule: every character is checked, and lengths are limited; forms of the console and bodies of the API use the same
checks.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from postroad.core.configuration.shapes import EMAIL, LINE
from postroad.core.model.party_name import PHONETIC, mixes_alphabets
from postroad.errors import Refused

MAX_EMAIL_CHARS, MAX_LINE_CHARS = 254, 200
_EMAIL, _LINE = (re.compile(pattern.removesuffix("$") + r"\Z") for pattern in (EMAIL, LINE))


def check_email(text: str) -> str:
    """The address itself, when it may name an account."""
    if len(text) > MAX_EMAIL_CHARS or not _EMAIL.match(text):
        raise Refused("value.invalid", "Enter one e-mail address, such as ann@example.com", pointer="/email")
    is_unusual = normalize("NFKC", text) != text or not text.isprintable() or not PHONETIC.isdisjoint(text)
    if is_unusual or mixes_alphabets(text):
        raise Refused(
            "value.invalid",
            "The e-mail address has letters of several alphabets or unusual forms of letters, so that it looks like another; "
            "use one alphabet",
            pointer="/email",
        )
    return text


def check_line(text: str, pointer: str) -> str:
    """The text itself, when it is one line and not too long; it may be empty."""
    if len(text) > MAX_LINE_CHARS or not _LINE.match(text):
        raise Refused("value.invalid", f"Enter one line of at most {MAX_LINE_CHARS} characters", pointer=pointer)
    return text


def check_label(text: str) -> str:
    """Return the label, or refuse one that does not identify a key."""
    if not check_line(text, "/label").strip():
        raise Refused("value.invalid", "Enter a label", pointer="/label")
    return text
