"""The notifications of a network: absorbs events, makes what is due, and sends it.

Rules: the state is durable before the follower's cursor moves, and before anything is sent. A notification is removed from the
state after it was sent, so a crash sends at most one of a channel again, with the same id. Channels are independent: one that
does not respond delays no other, nor the journal. Only the leader sends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from postroad.core.model.subscription import Channel, Subscription
from postroad.core.notifications.catalog import TEST
from postroad.core.notifications.conditions import Condition, compare_conditions
from postroad.core.notifications.digests import Notification, NotificationLine
from postroad.core.notifications.failing_pushes import find_failing_pushes
from postroad.core.notifications.state import NotificationState, decode_state, encode_state
from postroad.errors import Unavailable
from postroad.flow.network import Network
from postroad.flow.notifications.journal_events import read_events
from postroad.flow.notifications.sources import ConditionSource
from postroad.ports import JournalBatch, NotificationStore

FOLLOWER = "notifications"
TICK_S = 5.0
CHANNELS_TOGETHER = 10
PUSH_FAILING = frozenset({"push.failing"})

log = logging.getLogger(__name__)


class NotificationChannels(Protocol):
    async def send(self, subscription: Subscription, notification: Notification) -> str: ...


class NotificationService:
    """Decides and sends the notifications of one network, on the leader."""

    def __init__(
        self,
        network: Network,
        store: NotificationStore,
        channels: NotificationChannels,
        sources: Sequence[ConditionSource],
        leads: Callable[[], Awaitable[bool]],
    ) -> None:
        self._network = network
        self._store = store
        self._channels = channels
        self._sources = list(sources)
        self._leads = leads
        self._state: NotificationState | None = None  # None: another node may have changed it
        self._saved = b""
        self._is_changed = False  # since it was saved, or it may be
        self._failing: list[Condition] | None = None  # the failing pushes that the state knows; None: see the state
        self._check_at_us: dict[int, int] = {}  # by source
        self._sending: dict[str, asyncio.Task[None]] = {}  # by subscription
        self._slots = asyncio.Semaphore(CHANNELS_TOGETHER)
        self._changing = asyncio.Lock()
        self._attempts = network.metrics.counters("notifications_total")
        network.metrics.on_read(self._report_waiting)

    def is_needed(self) -> bool:
        """Whether anyone subscribes to notifications; if not, journal entries need not be read."""
        return bool(self._network.directory.subscriptions)

    async def handle(self, batch: JournalBatch) -> None:
        """Add the events of a batch of entries; they are durable when this returns."""
        async with self._changing:
            state = await self._load()
            if batch.head.seq < state.seq:
                state.seq = 0  # the journal was restored to an earlier entry
            if self.is_needed():
                events = await read_events(batch.records, state, self._network)
                state.absorb(events, self._network.directory, self._network.clock.now_us())
                self._is_changed = True  # a push that fails or succeeds makes no event
                if events:
                    state.seq = batch.head.seq
                    await self._save()

    async def run(self) -> None:
        """Check conditions and send what is due, until cancelled."""
        while True:
            try:
                await self.tick()
            except Unavailable as error:
                log.warning("notifications.waiting: notifications cannot be sent now: %s", error)
            except Exception:
                log.exception("notifications.failed: notifications failed; trying again")
            await asyncio.sleep(TICK_S)

    async def tick(self) -> None:
        """Check the conditions that are due for a check, make due notifications, and start to send them."""
        if not await self._leads():
            async with self._changing:  # a batch that is being added is saved first
                self._forget()
            return
        directory, now_us = self._network.directory, self._network.clock.now_us()
        async with self._changing:
            state = await self._load()
            if not directory.subscriptions and not state.digests:
                return
            await self._check_conditions(state, now_us)
            known = set(state.digests)
            state.welcome(directory, now_us)
            made = state.make_due(directory, now_us)
            if self._is_changed or made or known != state.digests.keys():
                await self._save()
            for key in {key for key, _ in state.find_pending(now_us)} - self._sending.keys():
                self._sending[key] = asyncio.get_running_loop().create_task(self._send_all(key))

    async def _check_conditions(self, state: NotificationState, now_us: int) -> None:
        """Compare what is true now with what is known, if a source was due or other pushes fail than before."""
        failing = list(find_failing_pushes(state, self._network.directory, now_us))
        found, checked = list(failing), set(PUSH_FAILING)
        for number, source in enumerate(self._sources):
            if self._check_at_us.get(number, 0) <= now_us:
                self._check_at_us[number] = now_us + int(source.every_s * 1_000_000)
                conditions = await _find_conditions(source)
                if conditions is not None:
                    found += conditions
                    checked |= source.names
        if checked == PUSH_FAILING and failing == self._failing:
            return
        state.conditions, events = compare_conditions(state.conditions, found, checked, now_us)
        state.absorb(events, self._network.directory, now_us)
        self._failing, self._is_changed = failing, True

    async def _send_all(self, key: str) -> None:
        """Send everything that is pending for one subscription, one after the other."""
        try:
            for notification in await self._find_pending(key):
                subscription = self._network.directory.subscriptions.get(key)
                if subscription is None:
                    return
                async with self._slots:
                    fault = await self._send(subscription, notification)
                await self._record(key, notification, fault)
        except Exception:
            log.exception(
                "notifications.subscription_failed: notifications of the subscription %s failed; trying again", key
            )
        finally:
            del self._sending[key]

    async def _find_pending(self, key: str) -> list[Notification]:
        async with self._changing:
            state, now_us = await self._load(), self._network.clock.now_us()
            return [one for other, one in state.find_pending(now_us) if other == key]

    async def _send(self, subscription: Subscription, notification: Notification) -> str:
        """Send one notification; an error of a channel's program is a fault like others, and tried again later."""
        try:
            fault = await self._channels.send(subscription, notification)
        except Exception as error:
            log.exception("notifications.channel_failed: the channel of %s failed", subscription.key)
            fault = f"internal error ({type(error).__name__}); see the log of the server"
        self._attempts.of(subscription.channel.value, "failed" if fault else "sent").value += 1
        return fault

    def _report_waiting(self) -> None:
        """Set how many notifications wait for another attempt, by channel; none on a node that does not lead."""
        table, state = self._network.directory.subscriptions, self._state or NotificationState()
        waiting = Counter(table[key].channel for key in state.find_failing() if key in table)
        for channel in Channel:
            self._network.metrics.gauge("notifications_waiting", channel.value).set(waiting[channel])

    async def _record(self, key: str, notification: Notification, fault: str) -> None:
        async with self._changing:
            if not await self._leads():  # the next leader sends it again, with the same id
                self._forget()
                return
            state, now_us = await self._load(), self._network.clock.now_us()
            digest = state.digests.get(key, {}).get(notification.event)
            if digest is None or digest.pending is None or digest.pending.id != notification.id:
                return
            if fault:
                digest.record_failure(fault, now_us)
                log.warning(
                    "notifications.not_sent: the notification %s of %s could not be sent: %s",
                    notification.id,
                    key,
                    fault,
                )
            else:
                digest.record_success(now_us)
            await self._save()

    async def send_test(self, subscription: Subscription) -> str:
        """Send a test notification now; returns why it could not be sent, or an empty string."""
        now_us = self._network.clock.now_us()
        line = NotificationLine(
            subject=subscription.name, detail=TEST.meaning, count=1, first_at_us=now_us, last_at_us=now_us
        )
        test = Notification(
            id=self._network.randomness.bytes(16).hex(),
            event=TEST.name,
            organization=subscription.organization,
            subscription=subscription.name,
            severity=TEST.severity,
            at_us=now_us,
            count=1,
            lines=(line,),
        )
        return await self._channels.send(subscription, test)

    async def read_state(self) -> NotificationState:
        """Return the state as it was saved last, by whichever node leads."""
        return _decode(await self._store.load())

    async def settle(self) -> None:
        """Wait until everything that is being sent now has been sent, or has failed."""
        while self._sending:
            await asyncio.gather(*self._sending.values())

    async def close(self) -> None:
        for task in list(self._sending.values()):
            task.cancel()
        await asyncio.gather(*self._sending.values(), return_exceptions=True)

    async def _load(self) -> NotificationState:
        """Return the state; only while ``_changing`` is held, so that no one forgets it meanwhile."""
        if self._state is None:
            self._saved = await self._store.load() or b""
            self._state = _decode(self._saved)
        return self._state

    def _forget(self) -> None:
        """Read the state again before it is used, since another node leads and changes it."""
        self._state, self._failing, self._is_changed = None, None, False

    async def _save(self) -> None:
        """Save the state if it has changed; raises Unavailable if another node has saved since, which leads now."""
        self._is_changed = True  # until it is saved
        document = encode_state(self._state)
        if document != self._saved:
            if not await self._store.save(document, self._saved):
                self._forget()
                raise Unavailable("network.unavailable", "another node has changed the state of notifications")
            self._saved = document
        self._is_changed = False


async def _find_conditions(source: ConditionSource) -> list[Condition] | None:
    """Return the conditions of a source; None if it failed, which must not stop the others."""
    try:
        return await source.find()
    except Unavailable as error:
        log.warning("notifications.check_waiting: %s could not be checked: %s", ", ".join(sorted(source.names)), error)
    except Exception:
        log.exception("notifications.check_failed: %s could not be checked", ", ".join(sorted(source.names)))
    return None


def _decode(document: bytes | None) -> NotificationState:
    if not document:
        return NotificationState()
    try:
        return decode_state(document)
    except msgspec.DecodeError as error:  # a lost state repeats some notifications; a crash loop would lose all
        log.error("notifications.state_lost: the state of notifications cannot be read and begins empty: %s", error)
        return NotificationState()
