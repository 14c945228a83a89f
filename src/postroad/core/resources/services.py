"""Services in the directory: their releases, assets, cookies, provisionings, and the state of their pushes."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from postroad.core.model.asset import AssetKind
from postroad.core.model.trust import ProvisioningState
from postroad.core.resources.base import Page, Resource, one_of


class PublicService(Resource, kw_only=True):
    """A service as the directory shows it; its other fields are between it and the network."""

    gcid: str
    address: str
    organization: str
    name: str
    description: str
    category: str
    operations: list[str]
    visibility: str
    format: str
    documentation_url: str
    arguments: list[dict[str, Any]]
    provisioning_url: str
    policy: dict[str, str]
    accepts: str


class DirectoryPage(Page[PublicService]):
    """Services that the caller may see."""


class ReleaseView(Resource, kw_only=True):
    """The held messages that are being sent now."""

    service: str
    going: int
    not_before: str | None = None


class AssetView(Resource, kw_only=True):
    """An asset without its content."""

    kind: Annotated[str, one_of(*AssetKind)]
    name: str
    description: str
    digest: Annotated[str, Meta(description="The beginning of the content's SHA-256")]
    bytes: int
    version: int


class AssetPage(Page[AssetView]):
    """Assets of a service, without their contents."""


class CookieView(Resource, kw_only=True):
    sender: Annotated[str, Meta(description="GCID of the sender whose messages it is delivered with")]
    content: Annotated[str, Meta(description="Text or XML")]
    content_type: str


class CookiePage(Page[CookieView]):
    """Cookies of a service."""


class ProvisioningView(Resource, kw_only=True):
    service: str
    gcid: str
    provider: str
    provider_gcid: str
    state: Annotated[str, one_of(*ProvisioningState)]
    started_at: str | None
    expires_at: Annotated[str | None, Meta(description="Until when the provider may confirm")]
    confirmed_at: str | None
    revoked_at: str | None


class BegunProvisioning(ProvisioningView, kw_only=True):
    redirect: Annotated[str, Meta(description="Page to send the person to; contains the token, and is shown only once")]


class ProvisioningPage(Page[ProvisioningView]):
    """Provisionings that an organization has begun, or confirmed as a provider."""


class PauseView(Resource, kw_only=True):
    """Most pushes failed, so only one message a minute is pushed."""

    until: Annotated[str, Meta(description="When the next message is pushed")]
    failed: int
    of: Annotated[int, Meta(description="Number of the last pushes that are counted")]
    reason: str


class PushStateView(Resource, kw_only=True):
    """Whether pushes to a service are paused."""

    service: str
    paused: PauseView | None = None
    problems: Annotated[list[str], Meta(description="Problems of its push settings on this server")]


class TriedPushView(Resource, kw_only=True):
    """The result of an immediate push."""

    service: str
    outcome: Annotated[str, Meta(description="`delivered`, `failed`, or `nothing` when nothing was pushed")]
    session: Annotated[str | None, Meta(description="Session ID of the pushed message")] = None
    reason: Annotated[str, Meta(description="Why it failed, or why nothing was pushed")] = ""
