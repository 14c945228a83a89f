"""The notifications API: list, save, remove and test subscriptions."""

from __future__ import annotations

import builtins
from typing import Unpack

from postroad.client.conversations import Conversations
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.client.notifications import NotificationConversations, SubscriptionFields
from postroad.core.resources.notifications import EventKindView, NotificationTestResult, SubscriptionView


class AsyncNotifications:
    """The subscriptions of an organization, or of the operators (organization ''); ``client.notifications``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = NotificationConversations(talks)
        self._run = run

    async def events(self) -> builtins.list[EventKindView]:
        """Return the events that people can be notified of."""
        return await self._run(self._say.events())

    async def list(self, organization: str) -> builtins.list[SubscriptionView]:
        """Return the subscriptions, and the status of their channels."""
        return await self._run(self._say.list_subscriptions(organization))

    listed = list  # deprecated name

    async def subscription(self, organization: str, name: str) -> SubscriptionView:
        """Return one subscription."""
        return await self._run(self._say.read(organization, name))

    async def save(
        self, organization: str, name: str, *, channel: str, address: str, **wanted: Unpack[SubscriptionFields]
    ) -> SubscriptionView:
        """Create the subscription, or replace the one with its name."""
        return await self._run(self._say.save(organization, name, channel, address, wanted))

    async def remove(self, organization: str, name: str) -> None:
        """Remove a subscription; what has not been sent is dropped."""
        await self._run(self._say.remove(organization, name))

    async def test(self, organization: str, name: str) -> NotificationTestResult:
        """Send a test notification now; the result has the reason if it could not be sent."""
        return await self._run(self._say.test(organization, name))
