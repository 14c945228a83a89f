"""The notifications of this network, for the parts that show and test them.

Rule: how a channel goes comes from the stored document, so every node of a shared network shows the same.
"""

from __future__ import annotations

from typing import Protocol

from postroad.core.model.subscription import Subscription
from postroad.core.notifications.state import ChannelHealth, NotificationState


class NotificationSender(Protocol):
    async def read_state(self) -> NotificationState: ...

    async def send_test(self, subscription: Subscription) -> str: ...


class NotificationControl:
    """Reads the state of channels, and tests them."""

    def __init__(self) -> None:
        self._sender: NotificationSender | None = None

    def serve(self, sender: NotificationSender) -> None:
        self._sender = sender

    async def read_state(self) -> NotificationState:
        """Return what notifications remember."""
        return await self._sender.read_state() if self._sender is not None else NotificationState()

    async def read_health(self, *keys: str) -> dict[str, ChannelHealth]:
        """Return how sending to each of these subscriptions goes."""
        state = await self.read_state()
        return {key: state.health(key) for key in keys}

    async def send_test(self, subscription: Subscription) -> str:
        """Send a test notification now; returns why it could not be sent, or an empty string."""
        return await self._sender.send_test(subscription) if self._sender is not None else "nothing is sent here"
