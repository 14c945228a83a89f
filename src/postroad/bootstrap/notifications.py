"""Starts notifications and e-mail with the network, and stops them before its stores."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack

from postroad.adapters.journal.backup.shared_status import SharedBackupStatus
from postroad.adapters.mail.smtp import MailServer, SmtpMailer
from postroad.adapters.notifications.states import (
    FileNotificationStore,
    MemoryNotificationStore,
    PostgresNotificationStore,
)
from postroad.bootstrap.backup_age import find_old_backups, list_old
from postroad.bootstrap.expiry_warnings import list_expiring, prepare_all
from postroad.bootstrap.followers import FollowedStore, cursors_folder, start_follower
from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.settings import Settings
from postroad.core.identity.expiry import Expiring, due_warning, in_days
from postroad.core.model.subscription import Severity
from postroad.core.notifications.conditions import Condition
from postroad.flow.network import Network
from postroad.flow.notifications.channels import ChannelSender
from postroad.flow.notifications.service import FOLLOWER, NotificationService
from postroad.flow.notifications.sources import MINUTE_S, ConditionSource, build_network_sources
from postroad.ports import Clock, Mailer, NotificationStore, Pusher, Secrets

STATE_FILE = "notifications.json"
HOUR_S = 3_600.0
URGENT_DAYS = 1


async def start_notifications(
    settings: Settings,
    network: Network,
    store: FollowedStore,
    *,
    pusher: Pusher,
    secrets: Secrets,
    own: OwnAddress,
    stack: AsyncExitStack,
) -> NotificationService:
    """Follow the journal and send notifications until the stack is closed."""
    mailer = open_mailer(settings, network.clock)
    if mailer is not None:
        stack.push_async_callback(mailer.close)
        network.mail.serve(mailer, lambda: own.url)
    stack.push_async_callback(network.mail.close)
    states = await open_notification_store(settings)
    stack.push_async_callback(states.close)
    channels = ChannelSender(network, pusher, secrets, mailer, lambda: own.url)
    shared = await open_shared_status(settings, stack)
    sources = [*build_network_sources(network), *build_machine_sources(settings, network, secrets, shared)]
    service = NotificationService(network, states, channels, sources, store.leads)
    stack.push_async_callback(service.close)
    network.notifications.serve(service)
    start_follower(FOLLOWER, service.handle, settings, store, stack, service.is_needed)
    task = asyncio.get_running_loop().create_task(service.run(), name="notifications")
    stack.push_async_callback(_stop, task)
    return service


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def open_mailer(settings: Settings, clock: Clock) -> Mailer | None:
    """Return the mail server of the settings; None if there is none."""
    if not settings.smtp_url:
        return None
    server = MailServer.of(settings.smtp_url)
    return SmtpMailer(server, settings.smtp_from, clock, authorities=settings.smtp_authorities)


async def open_notification_store(settings: Settings) -> NotificationStore:
    """Open the store of what notifications remember: in PostgreSQL on a shared network, else beside the journal."""
    if settings.acceptance == "shared":
        return await PostgresNotificationStore.open(settings.postgres)
    if settings.index == "memory":
        return MemoryNotificationStore()
    return FileNotificationStore(cursors_folder(settings) / STATE_FILE)


async def open_shared_status(settings: Settings, stack: AsyncExitStack) -> SharedBackupStatus | None:
    """Open the status of a shared network's backups, which any of its nodes may make; None if there is one node."""
    if settings.acceptance != "shared":
        return None
    shared = await SharedBackupStatus.open(settings.postgres)
    stack.push_async_callback(shared.close)
    return shared


def build_machine_sources(
    settings: Settings, network: Network, secrets: Secrets, shared: SharedBackupStatus | None = None
) -> list[ConditionSource]:
    """Return the sources of conditions that are outside the journal: expiring certificates, the disk, and old backups."""

    async def expiring() -> list[Condition]:
        await prepare_all(network.directory, secrets)
        now_us = network.clock.now_us()
        things = await asyncio.to_thread(lambda: list(list_expiring(network.directory, settings, secrets)))
        return [found for thing in things if (found := expiry_condition(thing, now_us)) is not None]

    async def disk() -> list[Condition]:
        return await asyncio.to_thread(find_low_disk, settings)

    async def backups() -> list[Condition]:
        if shared is not None:
            return list(list_old(await shared.load(), network.clock.now_us()))
        return await asyncio.to_thread(find_old_backups, settings.data, network.clock.now_us())

    names = frozenset({"credential.expiring", "certificate.expiring"})
    sources = [ConditionSource(names=names, every_s=HOUR_S, find=expiring)]
    if settings.index != "memory" and settings.acceptance == "local":
        sources.append(ConditionSource(names=frozenset({"disk.low"}), every_s=MINUTE_S, find=disk))
    if settings.index != "memory":
        old = frozenset({"backup.old", "verify.old"})
        sources.append(ConditionSource(names=old, every_s=10 * MINUTE_S, find=backups))
    return sources


def expiry_condition(thing: Expiring, now_us: int) -> Condition | None:
    """Return the condition of something that expires soon; None if it does not."""
    days = due_warning(thing.expires_at_us, now_us)
    if days is None:
        return None
    name = "credential.expiring" if thing.is_credential else "certificate.expiring"
    text = in_days(thing.expires_at_us, now_us) if days else "has expired"
    severity = Severity.ERROR if days <= URGENT_DAYS else Severity.WARNING
    return Condition(name, thing.organization, thing.what, text, str(days), severity)


def find_low_disk(settings: Settings) -> list[Condition]:
    """Return a condition if less than twice the least free space is left in the data folder."""
    free = shutil.disk_usage(settings.data).free
    if free >= 2 * settings.least_free_bytes:
        return []
    text = f"{free >> 20} MiB are free, and posts are refused below {settings.least_free_bytes >> 20} MiB"
    return [Condition("disk.low", "", "data folder", text)]
