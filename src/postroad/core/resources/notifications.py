"""Subscriptions to notifications, the status of their channels, and the available events."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.model.subscription import Channel, Severity
from postroad.core.resources.base import Page, Resource, one_of


class ChannelState(Resource, kw_only=True):
    """How sending to a subscription goes."""

    sent_at: Annotated[str | None, Meta(description="When the latest notification was sent")]
    waiting: Annotated[int, Meta(description="Notifications that could not be sent yet")]
    failures: Annotated[int, Meta(description="Failed attempts at the oldest of them")]
    fault: Annotated[str, Meta(description="Why the latest attempt failed")]
    retry_at: Annotated[str | None, Meta(description="When it is tried again")]


class SubscriptionView(Resource, kw_only=True):
    name: str
    organization: Annotated[str, Meta(description="Empty: the operators")]
    channel: Annotated[str, one_of(*Channel)]
    address: Annotated[str, Meta(description="Of a service, an e-mail address, a URL, or a reference to a URL")]
    events: Annotated[list[str], Meta(description="Empty: all that are meant for the reader")]
    least_severity: Annotated[str, one_of(*Severity)]
    digest_minutes: Annotated[int, Meta(description="At most one notification of each event in this time")]
    secret: Annotated[str, Meta(description="Signs webhooks; only owners receive it, else it is empty")]
    state: ChannelState
    version: int


class SubscriptionPage(Page[SubscriptionView]):
    """Subscriptions, by name."""


class NotificationTestResult(Resource, kw_only=True):
    """The result of a test notification."""

    sent: bool
    fault: Annotated[str, Meta(description="Why it could not be sent; empty if it was")]


class EventKindView(Resource, kw_only=True):
    """An event that people can be notified of."""

    name: str
    severity: Annotated[str, one_of(*Severity)]
    audience: Annotated[str, one_of("organization", "operators")]
    meaning: str
    advice: str
    recovers: Annotated[bool, Meta(description="A last notification reports its end")]


class EventKindPage(Page[EventKindView]):
    """The events, in the order of their documentation."""
