"""The notifications API of the client: list, save, remove and test subscriptions.

    with Client(…) as network:
        network.notifications.save("Acme", "ops", channel="email", address="ops@acme.example", events=["dead-letter"])

Rule: the organization '' means the operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict
from urllib.parse import quote

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.responses import parser
from postroad.client.routing import list_items, load_existing, send_change
from postroad.client.steps import Talk
from postroad.core.resources.notifications import (
    EventKindPage,
    EventKindView,
    NotificationTestResult,
    SubscriptionPage,
    SubscriptionView,
)

WRITTEN = {"least_severity": "leastSeverity", "digest_minutes": "digestMinutes"}


class SubscriptionFields(TypedDict, total=False):
    """The optional fields of a subscription; without events, all that are meant for the reader."""

    events: Sequence[str]
    least_severity: str
    digest_minutes: int


class NotificationConversations:
    """The request sequences of the notifications API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def events(self) -> Talk[list[EventKindView]]:
        return list_items(self._talks, "/v1/notification-events", EventKindPage, 0)

    def list_subscriptions(self, organization: str) -> Talk[list[SubscriptionView]]:
        return list_items(self._talks, subscription_path(organization), SubscriptionPage, 0)

    def read(self, organization: str, name: str) -> Talk[SubscriptionView]:
        return self._talks.ask(requests.read(subscription_path(organization, name)), parser(SubscriptionView))

    def save(
        self, organization: str, name: str, channel: str, address: str, wanted: SubscriptionFields
    ) -> Talk[SubscriptionView]:
        """Create the subscription, or replace the one with its name."""
        path = subscription_path(organization, name)
        wish: dict[str, Any] = {"channel": channel, "address": address}
        wish |= {WRITTEN.get(field, field): value for field, value in wanted.items()}
        current = yield from load_existing(self._talks, path)
        request = send_change("PUT", path, wish, version=current["version"] if current else 0)
        return (yield from self._talks.ask(request, parser(SubscriptionView)))

    def remove(self, organization: str, name: str) -> Talk[None]:
        current = yield from self.read(organization, name)
        path = subscription_path(organization, name)
        yield from self._talks.value(send_change("DELETE", path, None, version=current.version))

    def test(self, organization: str, name: str) -> Talk[NotificationTestResult]:
        request = requests.change("POST", f"{subscription_path(organization, name)}/test", {})
        return self._talks.ask(request, parser(NotificationTestResult))


def subscription_path(organization: str, name: str = "") -> str:
    """Return the path of an organization's or the operators' subscriptions, or of one of them."""
    below = f"/organizations/{quote(organization, safe='')}" if organization else ""
    one = f"/{quote(name, safe='')}" if name else ""
    return f"/v1{below}/notifications{one}"
