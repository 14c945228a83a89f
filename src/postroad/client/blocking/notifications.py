# Generated from nonblocking/notifications.py by `python -m scripts.blocking_client`; edit that file instead.
"""The notifications API: list, save, remove and test subscriptions."""

from __future__ import annotations

import builtins
from typing import Unpack

from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations
from postroad.client.notifications import NotificationConversations, SubscriptionFields
from postroad.core.resources.notifications import EventKindView, NotificationTestResult, SubscriptionView


class Notifications:
    """The subscriptions of an organization, or of the operators (organization ''); ``client.notifications``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = NotificationConversations(talks)
        self._run = run

    def events(self) -> builtins.list[EventKindView]:
        """Return the events that people can be notified of."""
        return self._run(self._say.events())

    def list(self, organization: str) -> builtins.list[SubscriptionView]:
        """Return the subscriptions, and the status of their channels."""
        return self._run(self._say.list_subscriptions(organization))

    listed = list  # deprecated name

    def subscription(self, organization: str, name: str) -> SubscriptionView:
        """Return one subscription."""
        return self._run(self._say.read(organization, name))

    def save(
        self, organization: str, name: str, *, channel: str, address: str, **wanted: Unpack[SubscriptionFields]
    ) -> SubscriptionView:
        """Create the subscription, or replace the one with its name."""
        return self._run(self._say.save(organization, name, channel, address, wanted))

    def remove(self, organization: str, name: str) -> None:
        """Remove a subscription; what has not been sent is dropped."""
        self._run(self._say.remove(organization, name))

    def test(self, organization: str, name: str) -> NotificationTestResult:
        """Send a test notification now; the result has the reason if it could not be sent."""
        return self._run(self._say.test(organization, name))
