"""The configuration document: what people write in YAML, keep in version control, and apply.

Secrets are never part of it. A password or key is given by reference (``passwordFrom: env:NAME``); the command line
resolves the reference locally and sends the secret itself over its own connection. An exported credential has ``kept:
true``: it exists already and stays unchanged, so applying an export changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, StrictBool, StrictStr, ValidationError, model_validator

from postroad.core.configuration.entries.assets import AssetSections
from postroad.core.configuration.entries.billing_records import BillingEntry
from postroad.core.configuration.entries.bindings import BindingEntry
from postroad.core.configuration.entries.cookies import CookieEntry
from postroad.core.configuration.entries.rules import RuleEntry
from postroad.core.configuration.entries.subscriptions import SubscriptionEntry
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.configuration.shapes import (
    GCID,
    NAME,
    Count,
    Email,
    Gcid,
    Key,
    Line,
    Name,
    Password,
    Pem,
    Prose,
    Rate,
    RoleName,
    SecretFrom,
    StrictShape,
    Word,
)
from postroad.core.model.directory import CredentialKind, OrganizationLimits

_SHOULD = re.compile(r"^(?:Input|String|Tuple|List|Dictionary|Value) should ")
_INSTANCE = re.compile(r" or instance of \w+$")
_PLAIN = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not known here; check its spelling and its section",
    "Input should be a valid tuple": "must be a list",
    "Input should be a valid list": "must be a list",
    "Input should be a valid dictionary": "must be a section of names and values",
    "Input should be a valid string": "must be text; put values that look like a number, a date or true in quotes",
    "Input should be a valid integer": "must be a whole number, without quotes",
    "Input should be a valid number": "must be a number, without quotes",
    "Input should be a valid boolean": "must be true or false, without quotes",
    f"String should match pattern '{NAME}'": (
        "must begin with a letter or digit and continue with letters, digits, blanks and . & ( ) + - _, not ending in a blank"
    ),
    f"String should match pattern '{GCID}'": "must be a GCID: 16 digits of 0-9 and a-f",
}

PROOF_FIELDS = ("password", "password_from", "key", "key_from", "certificate", "kept")


class DocumentError(NamedTuple):
    """Something wrong in a document, and its place as a JSON pointer."""

    pointer: str
    detail: str


class CredentialEntry(StrictShape):
    """How a service authenticates; the label distinguishes its credentials."""

    label: Word
    kind: CredentialKind | None = None
    password: Annotated[Password | None, Field(description="Never written in a file: sent by the command line")] = None
    password_from: SecretFrom | None = None
    key: Annotated[Key | None, Field(description="Never written in a file: sent by the command line")] = None
    key_from: SecretFrom | None = None
    certificate: Annotated[Pem | None, Field(description="A certificate in PEM; public, so it may be written here")] = (
        None
    )
    challenge: Annotated[Line | None, Field(description="Never written in a file: sent by the command line")] = None
    signature: Annotated[
        StrictStr | None,
        Field(
            max_length=4_096,
            description="Signature of the challenge with the certificate's key; sent by the command line",
        ),
    ] = None
    kept: Annotated[StrictBool | None, Field(description="The credential exists and stays unchanged")] = None

    @model_validator(mode="after")
    def check_single_proof(self) -> Self:
        if sum(bool(getattr(self, name)) for name in PROOF_FIELDS) != 1:
            raise ValueError("needs exactly one of passwordFrom, keyFrom, certificate or kept: true")
        if self.kept and self.kind is None:
            raise ValueError("a kept credential needs its kind: password, key or certificate")
        if not self.kept and self.kind is not None and self.kind is not self.proof:
            raise ValueError(f"its kind is {self.proof.value}; correct it or omit it")
        return self

    @property
    def proof(self) -> CredentialKind:
        """The kind of credential in this entry."""
        if self.password or self.password_from:
            return CredentialKind.PASSWORD
        if self.key or self.key_from:
            return CredentialKind.KEY
        return self.kind or CredentialKind.CERTIFICATE


class ServiceEntry(ServiceProfile, AssetSections):
    gcid: Annotated[Gcid | None, Field(description="Drawn by the network; written by an export")] = None
    credentials: Annotated[tuple[CredentialEntry, ...] | None, Field(max_length=100)] = None
    rules: Annotated[tuple[RuleEntry, ...] | None, Field(max_length=1_000, description="In their order")] = None
    cookies: Annotated[
        tuple[CookieEntry, ...] | None,
        Field(max_length=10_000, description="Data that the service receives with a sender's messages"),
    ] = None
    bindings: Annotated[
        dict[Name, BindingEntry] | None,
        Field(max_length=100_000, description="For exchanges: which queue receives which messages"),
    ] = None


class PersonEntry(StrictShape):
    name: Line = ""
    role: RoleName = "viewer"


class OrganizationLimitsProfile(StrictShape):
    """Quotas of an organization's own posts; 0: the network's default. Set by operators."""

    message_bytes: Annotated[Count, Field(description="Maximum size of a message")] = 0
    stored_bytes: Annotated[Count, Field(description="Maximum bytes of messages that wait for delivery")] = 0
    queued_messages: Annotated[Count, Field(description="Maximum number of deliveries that wait")] = 0

    def limits(self) -> OrganizationLimits:
        """The directory's object for this profile."""
        return OrganizationLimits(**self.model_dump())


class OrganizationEntry(StrictShape):
    description: Prose = ""
    posts_per_s: Annotated[Rate | None, Field(alias="postsPerSecond", description="Default: unchanged")] = None
    limits: Annotated[OrganizationLimitsProfile | None, Field(description="Default: unchanged")] = None
    people: Annotated[dict[Email, PersonEntry], Field(max_length=10_000, default_factory=dict)]
    services: Annotated[dict[Name, ServiceEntry], Field(max_length=10_000, default_factory=dict)]
    notifications: Annotated[
        dict[Name, SubscriptionEntry] | None, Field(description="Who is notified of what; default: unchanged")
    ] = None


class NetworkDocument(StrictShape):
    """One whole configuration document."""

    postroad: Annotated[Literal[1], Field(description="The version of this format")]
    organizations: Annotated[dict[Name, OrganizationEntry], Field(max_length=10_000, default_factory=dict)]
    billing: Annotated[
        BillingEntry | None, Field(description="Billing settings, tariffs and records; for operators")
    ] = None
    notifications: Annotated[
        dict[Name, SubscriptionEntry] | None,
        Field(description="Who of the operators is notified of what; for operators"),
    ] = None


def read_document(content: Mapping[str, Any]) -> NetworkDocument | list[DocumentError]:
    """The document, or everything that is wrong with its form."""
    try:
        return NetworkDocument.model_validate(content)
    except ValidationError as error:
        return [
            DocumentError(pointer(*(str(step) for step in fault["loc"])), plain_error_text(fault["msg"]))
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]


def pointer(*steps: str | int) -> str:
    """A JSON pointer (RFC 6901) from its steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def plain_error_text(text: str) -> str:
    """Return a pydantic error message in plain words."""
    said = _PLAIN.get(_INSTANCE.sub("", text))
    return said or _SHOULD.sub("must ", text.removeprefix("Value error, "))


def document_schema() -> dict[str, Any]:
    """The JSON Schema of the document, for editors and for the documentation."""
    schema = NetworkDocument.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:postroad:schema:network:1",
        **schema,
    }
