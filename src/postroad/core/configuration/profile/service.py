"""The profile of a service as people write it, and its conversion to and from ``Service``.

Field names are those of ``Service``; outside they are camelCase, and lengths of time say their unit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, StringConstraints, model_validator

from postroad.core.admission.policy import is_https, pushed_level
from postroad.core.configuration.profile.as2 import As2Profile
from postroad.core.configuration.profile.batching import BatchingProfile, batching_entry
from postroad.core.configuration.profile.push import BackupPushProfile, PushProfile, push_entry
from postroad.core.configuration.profile.search_keys import Indexes, indexes_entry, search_keys_of
from postroad.core.configuration.profile.splitting import SplittingProfile, splitting_entry
from postroad.core.configuration.shapes import Count, Line, PageUrl, Prose, Seconds, StrictShape, Url, Word, unique
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import STRENGTH
from postroad.core.model.directory import (
    Accepts,
    AuthenticationLevel,
    CredentialKind,
    DeliveryMode,
    Routing,
    Service,
    Transport,
    Visibility,
)
from postroad.core.model.formats import Format

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TimeOfDay = Annotated[StrictStr, StringConstraints(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]
Names = Annotated[tuple[Word, ...], Field(max_length=1_000), AfterValidator(unique)]
SECTION_OF = {Hosting.BATCHER: "batching", Hosting.SPLITTER: "splitting"}
NOT_IN_PROFILE = ("gcid", "organization", "name", "suspended")
MAX_WAITING = 10_000  # they are counted whenever one arrives


class ReleaseProfile(StrictShape):
    """What waits is released by whichever comes first; what has waited longer than it is kept expires."""

    every_s: Annotated[
        Seconds, Field(alias="everySeconds", description="Release when the oldest message has waited this long")
    ] = 0
    when_waiting: Annotated[
        StrictInt, Field(ge=0, le=MAX_WAITING, description="Release when this number of messages wait")
    ] = 0
    on_request: Annotated[
        StrictBool, Field(description="Release on request, unless another criterion is met first")
    ] = False
    keep_s: Annotated[Seconds, Field(alias="keepSeconds", description="Messages that have waited longer expire")] = 0

    @property
    def holds(self) -> bool:
        return bool(self.every_s or self.when_waiting or self.on_request)

    @model_validator(mode="after")
    def check_not_empty(self) -> Self:
        if not self.holds and not self.keep_s:
            raise ValueError(
                "is empty: set everySeconds, whenWaiting, onRequest: true or keepSeconds; or remove release"
            )
        return self

    @model_validator(mode="after")
    def check_releases(self) -> Self:
        """A period that is over only when everything has expired is a mistake, unless there is another way out."""
        if 0 < self.keep_s <= self.every_s and not self.when_waiting and not self.on_request:
            raise ValueError(
                "no message would ever be released: all expire before everySeconds; "
                "increase keepSeconds, or set onRequest: true"
            )
        return self


def check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is not a time zone; write it as Europe/Berlin or UTC") from None
    return name


TimeZone = Annotated[
    StrictStr,
    StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_+/-]*$"),
    AfterValidator(check_time_zone),
]


class WindowProfile(StrictShape):
    """A time of the day in which pushes may happen; may cross midnight."""

    days: Annotated[tuple[Day, ...], Field(min_length=1, max_length=7), AfterValidator(unique)] = DAYS
    opens: TimeOfDay = "00:00"
    closes: TimeOfDay = "24:00"

    @model_validator(mode="after")
    def check_opens(self) -> Self:
        if self.opens == self.closes or self.opens == "24:00":
            raise ValueError("this window never opens; it must close later than it opens")
        return self


SUFFICIENT_PUSHES = {
    AuthenticationLevel.KEY: "bearer, signature or certificate",
    AuthenticationLevel.CERTIFICATE: "signature or certificate",
}


class PolicyProfile(StrictShape):
    transport: Transport = Transport.ANY
    authentication: AuthenticationLevel = AuthenticationLevel.PASSWORD
    except_for: Annotated[Names, Field(description="Organizations, addresses or GCIDs that are exempt")] = ()


class ArgumentProfile(StrictShape):
    name: Word
    description: Prose = ""
    required: StrictBool = False


class DocumentAccessProfile(StrictShape):
    service: Word
    read: Names = ("*",)
    change: Names = ("*",)


class LimitsProfile(StrictShape):
    message_bytes: Count = 0
    queued_messages: Count = 0
    waiting_messages: Annotated[
        Count, Field(description="Maximum number of deliveries that wait for the service, from any sender")
    ] = 0


class ServiceProfile(StrictShape):
    """Everything that an owner decides about a service."""

    description: Prose = ""
    category: Line = ""
    operations: Names = ()
    visibility: Visibility = Visibility.PRIVATE
    authentication: Annotated[tuple[CredentialKind, ...], Field(min_length=1, max_length=3), AfterValidator(unique)] = (
        CredentialKind.KEY,
        CredentialKind.PASSWORD,
        CredentialKind.CERTIFICATE,
    )
    delivery: DeliveryMode = DeliveryMode.POLL
    push: PushProfile | None = None
    windows: Annotated[tuple[WindowProfile, ...], Field(max_length=50)] = ()
    time_zone: TimeZone = "UTC"
    format: Annotated[
        Format, Field(description="Format of deliveries to the service, independent of how messages arrived")
    ] = Format.JSON
    documentation_url: Url = ""
    arguments: Annotated[tuple[ArgumentProfile, ...], Field(max_length=200)] = ()
    provisioning_url: PageUrl = ""
    policy: PolicyProfile = PolicyProfile()
    logical_only: StrictBool = False
    default_expiration_s: Annotated[StrictInt, Field(alias="defaultExpirationSeconds", ge=1, le=31_536_000)] = 172_800
    accepts: Accepts = Accepts.ANYONE
    accepts_from: Names = ()
    may_include_services: StrictBool = True
    document_access: Annotated[tuple[DocumentAccessProfile, ...], Field(max_length=1_000)] = ()
    limits: LimitsProfile = LimitsProfile()
    routing: Routing = Routing.STATIC
    returns: StrictBool = False
    hosted: Hosting = Hosting.NONE
    whole_only: Annotated[
        StrictBool, Field(description="If true, deliveries that the format cannot carry completely fail")
    ] = False
    as2: As2Profile | None = None
    release: ReleaseProfile | None = None
    open_to: Annotated[Names, Field(description="Other organizations that may bind or attach; * means all")] = ()
    validates: Annotated[Line, Field(description="Name of the schema that every message to it must match")] = ""
    batching: Annotated[BatchingProfile | None, Field(description="Settings of a send port, with hosted: batcher")] = (
        None
    )
    splitting: Annotated[
        SplittingProfile | None, Field(description="Settings for incoming interchanges, with hosted: splitter")
    ] = None
    indexes: Indexes = Field(default_factory=dict)

    @model_validator(mode="after")
    def check_push_target(self) -> Self:
        if self.delivery is DeliveryMode.PUSH and self.push is None:
            raise ValueError("delivery by push needs push.url; or use delivery: poll")
        return self

    @model_validator(mode="after")
    def check_partner(self) -> Self:
        if (self.format is Format.AS2) is not (self.as2 is not None):
            raise ValueError("format: as2 and the section as2 require each other")
        if self.as2 is not None and self.push is None:
            raise ValueError("an AS2 partner needs delivery: push, with its AS2 URL in push.url")
        return self

    @model_validator(mode="after")
    def check_release(self) -> Self:
        if self.release is not None and self.release.holds and self.push is None:
            raise ValueError(
                "of release, only keepSeconds applies to a service that polls; remove the other settings, "
                "or use delivery: push with push.url"
            )
        return self

    @model_validator(mode="after")
    def check_push_policy(self) -> Self:
        if self.push is not None:
            self._check_pushes("push", self.push)
            if self.push.backup is not None:
                self._check_pushes("push.backup", self.push.backup)
        return self

    def _check_pushes(self, name: str, push: BackupPushProfile) -> None:
        if self.policy.transport is Transport.TLS and not is_https(push.url):
            raise ValueError(f"the policy requires TLS, so {name}.url must begin with https:")
        if STRENGTH[pushed_level(push.push())] < STRENGTH[self.policy.authentication]:
            fitting = SUFFICIENT_PUSHES[self.policy.authentication]
            raise ValueError(
                f"the policy requires at least {self.policy.authentication.value}, so {name}.url must begin with https: "
                f"and {name}.authentication must be {fitting}"
            )

    @model_validator(mode="after")
    def check_bindable(self) -> Self:
        if self.open_to and self.hosted not in (Hosting.EXCHANGE, Hosting.MODEL):
            raise ValueError("openTo needs `hosted: exchange` or `hosted: model`")
        if self.validates and self.hosted is not Hosting.EXCHANGE:
            raise ValueError("validates needs `hosted: exchange`; elsewhere, insert a service with `hosted: validate`")
        return self

    @model_validator(mode="after")
    def check_gather_or_split(self) -> Self:
        for hosting, section in ((Hosting.BATCHER, self.batching), (Hosting.SPLITTER, self.splitting)):
            if (self.hosted is hosting) is not (section is not None):
                raise ValueError(f"`hosted: {hosting.value}` and the section {SECTION_OF[hosting]} require each other")
        return self

    @model_validator(mode="after")
    def check_not_reserved(self) -> Self:
        if self.hosted is Hosting.PROVISIONING:
            raise ValueError("the network creates its own provisioning service; remove hosted")
        return self

    def service(self, *, gcid: str, organization: str, name: str, suspended: str = "") -> Service:
        """The directory's object for this profile."""
        alike = set(ServiceProfile.model_fields) - {"batching", "splitting", "indexes"}
        fields = self.model_dump(include=alike) | {"format": self.format.value}
        identity = {"gcid": gcid, "organization": organization, "name": name, "suspended": suspended}
        return replace(
            msgspec.convert(fields | identity, Service),
            batching=self.batching.batching() if self.batching else None,
            splitting=self.splitting.splitting() if self.splitting else None,
            indexes=search_keys_of(self.indexes),
        )


def profile_of(service: Service) -> dict[str, Any]:
    """The profile of a service as it is written outside, every field given."""
    fields = msgspec.to_builtins(service)
    for name in NOT_IN_PROFILE:
        del fields[name]
    return external_fields(ServiceProfile, fields) | {
        "push": push_entry(service.push) if service.push else None,
        "batching": batching_entry(service.batching) if service.batching else None,
        "splitting": splitting_entry(service.splitting) if service.splitting else None,
        "indexes": indexes_entry(service.indexes),
    }


def external_fields(shape: type[StrictShape], fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields under the names that people write, including nested ones."""
    return {_written(shape, name): _outside_value(shape, name, value) for name, value in fields.items()}


def _written(shape: type[StrictShape], name: str) -> str:
    return shape.model_fields[name].alias or name


NESTED_SHAPES: dict[str, type[StrictShape]] = {
    "windows": WindowProfile,
    "arguments": ArgumentProfile,
    "policy": PolicyProfile,
    "document_access": DocumentAccessProfile,
    "limits": LimitsProfile,
    "as2": As2Profile,
    "release": ReleaseProfile,
}


def _outside_value(shape: type[StrictShape], name: str, value: Any) -> Any:
    below = NESTED_SHAPES.get(name) if shape is ServiceProfile else None
    if below is None or value is None:
        return list(value) if isinstance(value, tuple) else value
    if isinstance(value, dict):
        return external_fields(below, value)
    return [external_fields(below, item) for item in value]
