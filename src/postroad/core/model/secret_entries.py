"""The record of a stored secret: who set which version when. The secret itself is in the secret store, never in the journal.

Rule: a version is used once, also after the secret was removed, so sealed bytes are never taken for those of another version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

SECRET = "secret"  # noqa: S105 - the kind of the configuration object
SET, REMOVED = "set", "removed"


class SecretChanged(Struct, gc=False, frozen=True, array_like=True, tag_field="kind", tag="secret.changed"):
    """A secret of an organization or a service was set or removed; the entry does not contain it."""

    at_us: int
    by: str
    what: str  # set or removed
    organization: str
    service: str  # GCID, if only this service may use it; empty: all services of the organization
    name: str
    version: int
    digest: str = ""  # SHA-256 of the sealed bytes, in hex; empty: removed


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRecord:
    """A secret as the directory lists it."""

    organization: str
    service: str = ""  # GCID; empty: for all services of the organization
    name: str
    version: int
    digest: str
    set_by: str
    set_at_us: int


def secret_key(organization: str, service: str, name: str) -> str:
    """Return the key of a secret; names are compared without case, and contain no slash."""
    return f"{organization.casefold()}/{service}/{name.casefold()}"


def secret_object(entry: SecretChanged) -> tuple[str, dict[str, Any] | None]:
    """Return the key and the value of the configuration object after the entry; None: it was removed."""
    key = secret_key(entry.organization, entry.service, entry.name)
    if entry.what == REMOVED:
        return key, None
    return key, {
        "organization": entry.organization,
        "service": entry.service,
        "name": entry.name,
        "version": entry.version,
        "digest": entry.digest,
        "set_by": entry.by,
        "set_at_us": entry.at_us,
    }
