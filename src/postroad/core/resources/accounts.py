"""People's accounts, personal keys, members of organizations, and credentials of services."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from postroad.core.model.directory import CredentialKind, Role
from postroad.core.resources.base import Page, Resource, one_of

ROLES = one_of(*Role)


class Account(Resource, kw_only=True):
    email: str
    name: str
    organization: str
    role: Annotated[str, ROLES]
    operator: bool
    version: int


class KeyView(Resource, kw_only=True):
    id: str
    label: str
    created_at: str | None
    expires_at: str | None
    days_left: Annotated[int | None, Meta(description="Whole days until it expires; null: never")]
    warning: Annotated[str, Meta(description="What needs attention soon; empty when nothing does")]


class NewKey(KeyView, kw_only=True):
    key: Annotated[str, Meta(description="Shown only once; the network stores only a hash")]


class KeyPage(Page[KeyView]):
    """Personal keys and logins, without the keys themselves."""


class LoginLink(Resource, kw_only=True):
    url: Annotated[str, Meta(description="Opens the console and logs in, once; shown only once")]


# ---- members


class MemberView(Resource, kw_only=True):
    email: str
    name: str
    role: Annotated[str, ROLES]
    unconfirmed: Annotated[
        str,
        Meta(description="The operator who added them, until an owner confirms it; they cannot log in until then"),
    ]
    version: int


class Invited(MemberView, kw_only=True):
    key: str


class InvitationKey(Resource, kw_only=True):
    key: str


class MemberPage(Page[MemberView]):
    """The people of an organization."""


# ---- credentials of services


class CredentialView(KeyView, kw_only=True):
    kind: Annotated[str, one_of(*CredentialKind)]
    fingerprint: Annotated[str, Meta(description="SHA-256 of a certificate's DER encoding")]
    unconfirmed: Annotated[
        str, Meta(description="The operator who created it, until an owner confirms it; it is refused until then")
    ]
    starts_at: Annotated[str | None, Meta(description="Start of a certificate's validity")]


class NewCredential(CredentialView, kw_only=True):
    key: Annotated[str | UnsetType, Meta(description="For keys: shown only once")] = UNSET


class CredentialPage(Page[CredentialView]):
    """Credentials of a service, without secrets."""


class Challenge(Resource, kw_only=True):
    challenge: Annotated[str, Meta(description="Sign this with the certificate's private key within 15 minutes")]


class PendingView(Resource, kw_only=True):
    """A credential or member that an operator made, until an owner confirms it."""

    id: Annotated[str, Meta(description="ID of the credential, or the member's e-mail address")]
    kind: Annotated[str, Meta(description="key, password, certificate or member")]
    name: str
    made_by: Annotated[str, Meta(description="The operator")]


class PendingList(Resource, kw_only=True):
    items: list[PendingView]
