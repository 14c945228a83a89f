"""The directory objects: organizations, people, services with profiles, and credentials.

These are configuration objects: each is saved completely as a journal fact, with a version that grows by one, so the
directory exists as of any moment. Secrets are stored only as hashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, Splitting
from postroad.core.model.rule import ValueLocation
from postroad.core.model.window import DeliveryWindow as DeliveryWindow


class Role(StrEnum):
    """The permissions of a person in their organization, from most to least."""

    OWNER = "owner"  # everything, including members and credentials
    DEVELOPER = "developer"  # services, rules and their credentials
    VIEWER = "viewer"  # read only


class Visibility(StrEnum):
    PUBLIC = "public"  # listed in the directory
    PRIVATE = "private"  # to others, the service does not exist


class Accepts(StrEnum):
    """Whose messages a service accepts."""

    ANYONE = "anyone"
    LISTED = "listed"
    PROVISIONED = "provisioned"


class CredentialKind(StrEnum):
    PASSWORD = "password"  # noqa: S105 - the name of a kind, not a secret
    KEY = "key"
    CERTIFICATE = "certificate"


class DeliveryMode(StrEnum):
    POLL = "poll"
    PUSH = "push"


class PushAuthentication(StrEnum):
    NONE = "none"
    BASIC = "basic"
    BEARER = "bearer"
    CERTIFICATE = "certificate"
    SIGNATURE = "signature"


class Routing(StrEnum):
    """When a service's rules are tried."""

    STATIC = "static"  # before anything is delivered, on the message as posted
    DYNAMIC = "dynamic"  # when the message reaches the service, on the message as it is then


class Transport(StrEnum):
    """The minimum transport of a service's policy."""

    ANY = "any"
    TLS = "tls"


class AuthenticationLevel(StrEnum):
    """The minimum authentication of a service's policy, from weak to strong."""

    PASSWORD = "password"  # noqa: S105 - the name of a level, not a secret
    KEY = "key"
    CERTIFICATE = "certificate"


def is_same_organization(one: str, other: str) -> bool:
    """Whether two names mean the same organization; case is ignored."""
    return one.casefold() == other.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationLimits:
    """The quota of an organization's posts; 0 means the network's default."""

    message_bytes: int = 0  # the largest message
    stored_bytes: int = 0  # of messages that have an undelivered copy
    queued_messages: int = 0  # waiting deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Organization:
    name: str
    description: str = ""
    suspended: str = ""  # the reason; empty: active
    posts_per_s: int = 0  # 0 = the network's default
    limits: OrganizationLimits = field(default_factory=OrganizationLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    email: str
    name: str = ""
    organization: str = ""  # empty for an operator who belongs to the network itself
    role: Role = Role.VIEWER
    operator: bool = False
    unconfirmed: str = ""  # the operator who added them, while no owner has confirmed it; they cannot log in until then


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A proof of identity of one service or one person; ``secret`` is a hash or a fingerprint, never the secret."""

    id: str
    kind: CredentialKind
    secret: str
    service: str = ""  # GCID
    person: str = ""  # e-mail
    label: str = ""
    created_at_us: int = 0
    expires_at_us: int = 0  # 0 = never
    certificate: str = ""  # PEM, for kind certificate: the TLS front accepts only these
    starts_at_us: int = 0  # not accepted before; a certificate may be registered ahead of its time
    unconfirmed: str = ""  # the operator who added it, while no owner has confirmed it; it is refused until then


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    url: str
    authentication: PushAuthentication = PushAuthentication.SIGNATURE
    username: str = ""
    secret_from: str = (
        ""  # where the network finds the secret: secret:NAME, env:NAME or file:PATH, never the secret itself
    )
    tries: int = 9
    retry_interval_s: int = 0  # 0 = the network's growing schedule
    backup: Push | None = None  # where failed pushes are tried next, with its own tries and interval

    @property
    def places(self) -> tuple[Push, ...]:
        return (self,) if self.backup is None else (self, self.backup)

    @property
    def total_tries(self) -> int:
        return sum(place.tries for place in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """When waiting deliveries are released, and how long they may wait; 0 means off."""

    every_s: int = 0  # when the oldest has waited this many seconds
    when_waiting: int = 0  # when this many deliveries wait
    on_request: bool = False  # only on request, unless another setting releases them first
    keep_s: int = 0  # deliveries that have waited longer expire

    @property
    def holds(self) -> bool:
        """True if deliveries wait for release; False if only a time limit is set."""
        return bool(self.every_s or self.when_waiting or self.on_request)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPolicy:
    """The minimum transport and authentication for everything that handles this service's messages."""

    transport: Transport = Transport.ANY
    authentication: AuthenticationLevel = AuthenticationLevel.PASSWORD
    except_for: tuple[str, ...] = ()  # organizations, addresses or GCIDs that are exempt


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredArgument:
    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAccess:
    """The documents that a sender lets one in-transit service read and change; ``*`` means all."""

    service: str
    read: tuple[str, ...] = ("*",)
    change: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """The quota of a service's own posts, below that of its organization, and of its mailbox; 0 means no own limit."""

    message_bytes: int = 0
    queued_messages: int = 0
    waiting_messages: int = 0  # deliveries that wait for the service, from any sender


@dataclass(frozen=True, slots=True, kw_only=True)
class As2:
    """The AS2 partnership of a service that represents a partner."""

    name: str  # the partner's AS2 name
    own_name: str  # our AS2 name
    certificates: tuple[str, ...] = ()  # the partner's, PEM, newest first; during a rollover both are valid
    secret_from: str = (
        ""  # our key and certificate: secret:NAME, env:NAME or file:PATH, PEM; several pairs, newest first
    )
    deliver_to: str = ""  # address of the service that receives the partner's messages
    sign: str = "sha256"  # digest; empty: not signed
    encrypt: str = "aes256-cbc"  # cipher; empty: not encrypted
    compress: str = ""  # before or after signing; empty: not compressed
    mdn: str = "sync"  # requested MDN: none, sync or async
    mdn_signed: bool = True
    mdn_timeout_s: int = 3_600  # seconds to wait for an asynchronous MDN before the message is resent
    must_be_signed: bool = True  # required of the partner's messages
    must_be_encrypted: bool = False
    receipt_urls: tuple[str, ...] = ()  # prefixes of the URLs to which its MDNs may be posted
    soap_body: str = "strip"  # or keep: whether the filled Body of a SOAP message with attachments is sent as a part
    message_per_part: bool = False  # each part of a message is sent as an AS2 message of its own

    @property
    def identity_names(self) -> tuple[str, str]:
        """Return both AS2 names; the pair is unique within an organization."""
        return self.name, self.own_name


@dataclass(frozen=True, slots=True, kw_only=True)
class As2IdentityClaim:
    """Which service receives messages with a pair of AS2 names at the shared address."""

    service: str  # GCID


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKey:
    """A search key of a service: its name and its location in messages."""

    name: str
    place: ValueLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """An application connected to the network, with everything the network must know to serve it."""

    gcid: str
    organization: str
    name: str
    description: str = ""
    category: str = ""
    operations: tuple[str, ...] = ()
    visibility: Visibility = Visibility.PRIVATE
    authentication: tuple[CredentialKind, ...] = (
        CredentialKind.KEY,
        CredentialKind.PASSWORD,
        CredentialKind.CERTIFICATE,
    )
    delivery: DeliveryMode = DeliveryMode.POLL
    push: Push | None = None
    windows: tuple[DeliveryWindow, ...] = ()
    time_zone: str = "UTC"
    format: str = "json"  # one of ``formats.Format``; earlier versions accepted any word
    documentation_url: str = ""
    arguments: tuple[DeclaredArgument, ...] = ()
    provisioning_url: str = ""
    policy: ConnectionPolicy = field(default_factory=ConnectionPolicy)
    logical_only: bool = False
    default_expiration_s: int = 172_800  # 48 hours
    accepts: Accepts = Accepts.ANYONE
    accepts_from: tuple[str, ...] = ()  # organizations, addresses or GCIDs, with Accepts.LISTED
    may_include_services: bool = True
    document_access: tuple[DocumentAccess, ...] = ()
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    suspended: str = ""
    routing: Routing = Routing.STATIC
    returns: bool = False  # after it was in transit, the response is also delivered to it
    hosted: Hosting = Hosting.NONE
    whole_only: bool = False  # a delivery fails if its format cannot carry all of it
    as2: As2 | None = None  # with format as2
    release: Release | None = None  # None: deliveries do not wait for release
    open_to: tuple[str, ...] = ()  # organizations, addresses or GCIDs that may bind or attach to it; * means all
    validates: str = ""  # with hosted exchange: its schema that every message must meet
    batching: Batching | None = None  # with hosted batcher
    splitting: Splitting | None = None  # with hosted splitter
    indexes: tuple[SearchKey, ...] = ()  # the search keys of its messages

    @property
    def address(self) -> str:
        return f"{self.organization}/{self.name}"

    @property
    def names(self) -> tuple[str, str, str]:
        """Return the names by which lists refer to the service, in lower case: GCID, address and organization."""
        return self.gcid, self.address.casefold(), self.organization.casefold()
