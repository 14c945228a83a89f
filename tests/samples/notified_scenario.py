"""A scenario whose network sends notifications over a channel that the test controls."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from postroad.adapters.followers.cursors import MemoryCursors
from postroad.adapters.notifications.states import MemoryNotificationStore
from postroad.bootstrap.followers import BATCH_BYTES
from postroad.core.model.subscription import Subscription
from postroad.core.notifications.digests import Notification
from postroad.flow.followers import JournalFollower
from postroad.flow.notifications.service import FOLLOWER, NotificationChannels, NotificationService
from postroad.flow.notifications.sources import ConditionSource, build_network_sources
from postroad.flow.stages.expire import is_always_leader
from postroad.testing import Scenario
from postroad.testing.clocks import ManualClock
from tests.samples.subscriptions import subscription


class RecordingChannels:
    """Keeps what was sent; fails or hangs for the subscriptions that a test names."""

    def __init__(self) -> None:
        self.sent: list[Notification] = []
        self.faults: dict[str, str] = {}
        self.hanging: set[str] = set()
        self.errors: dict[str, Exception] = {}
        self.never = asyncio.Event()

    async def send(self, subscription: Subscription, notification: Notification) -> str:
        if subscription.name in self.hanging:
            await self.never.wait()
        if subscription.name in self.errors:
            raise self.errors[subscription.name]
        fault = self.faults.get(subscription.name, "")
        if not fault:
            self.sent.append(notification)
        return fault

    def told(self, name: str = "ops") -> list[tuple[str, int]]:
        return [(one.event, one.count) for one in self.sent if one.subscription == name]


async def unused() -> None:
    """A follower that is run by the test waits for nothing."""


class NotifiedScenario(Scenario):
    """Follows the journal when the test says so: ``advance`` moves the clock and does what a node does in that time."""

    def __init__(self, sources: list[ConditionSource] | None = None, **how: Any) -> None:
        self.manual = ManualClock()
        super().__init__(clock=self.manual, **how)
        self.channels: NotificationChannels | RecordingChannels = RecordingChannels()
        self.store, self.cursors = MemoryNotificationStore(), MemoryCursors()
        self.sources = sources

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        await self.service("Acme/Supply")
        await self.person("owner@acme.example", "Acme")
        await self.person("operator@network.example", operator=True)
        self.start_notifications()
        await self.follower.catch_up()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.notifications.close()
        await super().__aexit__(*error)

    def start_notifications(self) -> None:
        """Start as a node does, with what is stored; the second time it is a restart."""
        sources = build_network_sources(self.network) if self.sources is None else self.sources
        self.notifications = NotificationService(self.network, self.store, self.channels, sources, is_always_leader)
        self.network.notifications.serve(self.notifications)
        self.follower = JournalFollower(
            FOLLOWER,
            self.storage.journal,
            self.cursors,
            handle=self.notifications.handle,
            arrived=unused,
            leads=is_always_leader,
            is_needed=self.notifications.is_needed,
            batch_bytes=BATCH_BYTES,
        )

    @property
    def recorded(self) -> RecordingChannels:
        assert isinstance(self.channels, RecordingChannels)
        return self.channels

    async def subscribe(self, name: str = "ops", organization: str = "Acme", **fields: Any) -> Subscription:
        wanted = subscription(name, organization, **fields)
        await self.save(wanted)
        return wanted

    async def work(self) -> None:
        """Follow the journal to its end, and send what is due now."""
        await self.follower.catch_up()
        await self.notifications.tick()
        await self.notifications.settle()

    async def wait(self, seconds: float) -> None:
        """Let time pass, in which a node does its work a few times."""
        await self.work()
        for _ in range(4):
            self.manual.advance(seconds / 4)
            await self.work()
