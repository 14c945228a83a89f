"""Entries about secrets for the index story: one that was set and replaced, and one that was removed."""

from __future__ import annotations

from postroad.core.model.secret_entries import REMOVED, SECRET, SET, SecretChanged
from postroad.core.projection.project import pack_value

SECRETS: list[SecretChanged] = [
    SecretChanged(60_000, "ada", SET, "Straße", "", "Hook", 1, "ab" * 32),
    SecretChanged(61_000, "bob", SET, "Straße", "", "hook", 2, "cd" * 32),
    SecretChanged(62_000, "ada", SET, "Straße", "0123456789abcdef", "Hook", 1, "ef" * 32),
    SecretChanged(63_000, "ada", REMOVED, "Straße", "0123456789abcdef", "hook", 2),
]
KEY, REMOVED_KEY = "strasse//hook", "strasse/0123456789abcdef/hook"
VALUE = pack_value(
    {"organization": "Straße", "service": "", "name": "hook", "version": 2, "digest": "cd" * 32, "set_by": "bob",
     "set_at_us": 61_000}
)  # fmt: skip
LISTED = [(SECRET, KEY, 2, 59), (SECRET, REMOVED_KEY, 2, 61)]
