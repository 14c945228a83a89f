"""The conditions that a network checks by itself: suspensions, limits, batches, pushes and the index.

A ``ConditionSource`` is checked at most once in its time. Others (certificates, disk, backups) are added where they are known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from postroad.core.model.batch import BatchState
from postroad.core.model.directory import DeliveryMode
from postroad.core.model.journal import decode
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import Severity
from postroad.core.notifications.conditions import Condition
from postroad.flow.network import Network

MINUTE_S = 60.0
STUCK_US = 3_600 * 1_000_000
BEHIND_US = 60 * 1_000_000
NEAR, FULL = 80, 100  # per cent of a limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionSource:
    """Finds the conditions of some events that are true now."""

    names: frozenset[str]  # of the events
    every_s: float
    find: Callable[[], Awaitable[list[Condition]]]


def build_network_sources(network: Network) -> list[ConditionSource]:
    """Return the sources of conditions that every network has."""

    def source(names: set[str], every_s: float, find: Callable[[], Awaitable[list[Condition]]]) -> ConditionSource:
        return ConditionSource(names=frozenset(names), every_s=every_s, find=find)

    async def suspensions() -> list[Condition]:
        return await asyncio.to_thread(lambda: list(list_suspensions(network.directory)))

    return [
        source({"organization.suspended", "service.suspended"}, MINUTE_S, suspensions),
        source({"push.paused"}, MINUTE_S, lambda: find_paused_pushes(network)),
        source({"batch.stuck"}, 5 * MINUTE_S, lambda: find_stuck_batches(network)),
        source({"limit.usage"}, 5 * MINUTE_S, lambda: find_used_limits(network)),
        source({"index.behind"}, MINUTE_S, lambda: find_index_delay(network)),
    ]


def list_suspensions(directory: Directory) -> Iterator[Condition]:
    """Yield the organizations and services that operators have suspended."""
    for organization in directory.organizations.values():
        if organization.suspended:
            yield Condition("organization.suspended", organization.name, organization.name, organization.suspended)
    for service in directory.services.values():
        if service.suspended:
            yield Condition("service.suspended", service.organization, service.address, service.suspended)


async def find_paused_pushes(network: Network) -> list[Condition]:
    """Return the services whose pushes are paused on this node; on a shared network, other nodes have their own pauses."""
    found = []
    for service in network.directory.services.values():
        pause = network.pushes.pause(service.gcid) if service.delivery is DeliveryMode.PUSH else None
        if pause is not None:
            found.append(Condition("push.paused", service.organization, service.address, pause.why))
    return found


async def find_stuck_batches(network: Network) -> list[Condition]:
    """Return the batches that are closed, not paused, and have not been sent for an hour."""
    before_us = network.clock.now_us() - STUCK_US
    found = []
    for (gcid,) in await network.index.query("gathering_services"):
        service = network.directory.services.get(gcid)
        for batch in await network.batches.list_unsettled(gcid) if service is not None else ():
            waits = batch.state in (BatchState.CLOSED, BatchState.ASSEMBLED) and not batch.held
            if waits and service is not None and batch.changed_at_us < before_us:
                subject = f"{service.address}, batch {batch.id}"
                found.append(Condition("batch.stuck", service.organization, subject, f"{batch.count} messages"))
    return found


async def find_used_limits(network: Network) -> list[Condition]:
    """Return the limits that are nearly or completely used, of organizations that are notified of it."""
    found = []
    for organization in list(network.directory.organizations.values()):
        limits = network.quota.limits(organization.name)
        if not (limits.stored_bytes or limits.queued_messages) or not _is_watched(network.directory, organization.name):
            continue
        used = await network.quota.usage(organization.name)
        pairs = (
            ("waiting bytes", used.stored_bytes, limits.stored_bytes),
            ("waiting deliveries", used.queued_messages, limits.queued_messages),
        )
        found += [
            _used(organization.name, what, amount, most)
            for what, amount, most in pairs
            if most and amount * 100 >= most * NEAR
        ]
    return found


def _is_watched(directory: Directory, organization: str) -> bool:
    """Whether anyone could be notified of the organization's limits."""
    named = any("limit.usage" in one.events for one in directory.subscriptions.of("").values())
    return named or bool(directory.subscriptions.of(organization.casefold()))


def _used(organization: str, what: str, amount: int, most: int) -> Condition:
    is_full = amount >= most
    level, severity = (str(FULL), Severity.ERROR) if is_full else (str(NEAR), Severity.WARNING)
    return Condition("limit.usage", organization, what, f"{amount} of {most} are used", level, severity)


async def find_index_delay(network: Network) -> list[Condition]:
    """Return a condition if the index has not applied an entry for longer than a minute."""
    position, head = await network.index.position(), await network.journal.head()
    if position.seq >= head.seq:
        return []
    batch = await network.journal.read(position.seq, 1)
    if not batch.records or decode(batch.records[0].facts).at_us > network.clock.now_us() - BEHIND_US:
        return []
    return [Condition("index.behind", "", "index", f"{head.seq - position.seq} entries are not applied")]
