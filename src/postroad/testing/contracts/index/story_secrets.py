"""Entries about secrets for the index story: one secret is set and replaced, and one is removed."""

from __future__ import annotations

from postroad.core.model.secret_entries import REMOVED, SECRET, SET, SecretChanged
from postroad.core.projection.project import pack_value

SERVICE = "0123456789abcdef"


def _change(at_us: int, by: str, service: str, name: str, version: int, digest: str) -> SecretChanged:
    what = SET if digest else REMOVED
    return SecretChanged(
        at_us=at_us, by=by, what=what, organization="Straße", service=service, name=name, version=version, digest=digest
    )


SECRETS: list[SecretChanged] = [
    _change(60_000, "ada", "", "Hook", 1, "ab" * 32),
    _change(61_000, "bob", "", "hook", 2, "cd" * 32),
    _change(62_000, "ada", SERVICE, "Hook", 1, "ef" * 32),
    _change(63_000, "ada", SERVICE, "hook", 2, ""),
]
KEY, REMOVED_KEY = "strasse//hook", f"strasse/{SERVICE}/hook"
VALUE = pack_value(
    {"organization": "Straße", "service": "", "name": "hook", "version": 2, "digest": "cd" * 32, "set_by": "bob",
     "set_at_us": 61_000}
)  # fmt: skip
LISTED = [(SECRET, KEY, 2, 60), (SECRET, REMOVED_KEY, 2, 62)]
