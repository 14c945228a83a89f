"""Trust between an enterprise and a provider: provisionings, and the cookies of their services.

A provisioning records that a service of an enterprise represents that enterprise's account with one provider's
service. A person of the enterprise begins it, the provider confirms it with the token that only its website received,
and either may revoke it. A cookie is content that a service receives with every message from a given sender; no one
else ever sees it. Both are configuration objects, so trust exists as of any moment; of the token only a hash is
stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

CONFIRM_WITHIN_S = 24 * 3_600
MAX_COOKIE_CHARS = 16_384


class ProvisioningState(StrEnum):
    PENDING = "pending"  # the provider may confirm it
    EXPIRED = "expired"  # not confirmed in time; no notification is sent
    ACTIVE = "active"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioning:
    """The link of an enterprise's service to a provider's service, and its state."""

    service: str  # GCID
    provider: str  # GCID
    started_by: str  # e-mail
    started_at_us: int
    expires_at_us: int  # end of the time in which the provider may confirm
    token_hash: str = ""  # empty once it has been used
    return_path: str = ""  # page of this network to which the person returns
    confirmed_at_us: int = 0
    revoked_at_us: int = 0
    settled_in: str = ""  # session of the message that confirmed or revoked it, to recognise a repetition

    @property
    def is_active(self) -> bool:
        return bool(self.confirmed_at_us) and not self.revoked_at_us

    def state(self, now_us: int) -> ProvisioningState:
        if self.revoked_at_us:
            return ProvisioningState.REVOKED
        if self.confirmed_at_us:
            return ProvisioningState.ACTIVE
        return ProvisioningState.PENDING if now_us <= self.expires_at_us else ProvisioningState.EXPIRED

    def may_be_confirmed(self, now_us: int) -> bool:
        return bool(self.token_hash) and now_us <= self.expires_at_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredCookie:
    """A block of text or XML that ``service`` receives with every message from ``sender``."""

    service: str  # GCID of the service that registered it
    sender: str  # GCID
    content: str
    content_type: str = "text/plain"


def cookie_key(service: str, sender: str) -> str:
    """Return the key under which a cookie is saved."""
    return f"{service}/{sender}"


def token_hash(token: str) -> str:
    """Return the hash that is stored instead of a provisioning token."""
    return sha256(token.encode()).hexdigest()
