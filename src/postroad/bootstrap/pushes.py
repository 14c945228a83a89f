"""Start pushes with the network, and stop them before its stores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from ipaddress import ip_address

from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.push_checker import PushChecker
from postroad.adapters.transport.resolver import SystemResolver
from postroad.adapters.transport.tls import TlsContexts
from postroad.bootstrap.settings import Settings
from postroad.core.model.directory import Service
from postroad.flow.network import Network
from postroad.flow.push.stage import PushStage
from postroad.flow.registries.as2_partners import As2Partners
from postroad.ports import Secrets

MAX_RESOLVE_S = 3.0


def build_push_checker(settings: Settings, secrets: Secrets) -> PushChecker:
    """Return the checker of push settings, with the settings and secrets of this server."""
    return PushChecker(_permission(settings), secrets)


def _permission(settings: Settings) -> Permission:
    return Permission.of(settings.push_allow_private, settings.push_allow_http)


async def find_unreachable_services(
    settings: Settings, secrets: Secrets, services: Iterable[Service]
) -> list[tuple[Service, str]]:
    """Return services whose push URL cannot be reached from here, with the reason; for operators only."""
    checker, permission, resolver = build_push_checker(settings, secrets), _permission(settings), SystemResolver()
    found: list[tuple[Service, str]] = []
    try:
        for service in services:
            errors = [fault.text for fault in checker.faults(service) if fault.is_error]
            if not errors and service.push is not None:
                errors = [await _unreachable(place.url, permission, resolver) for place in service.push.places]
            found += [(service, told) for told in errors if told]
    finally:
        resolver.close()
    return found


async def _unreachable(url: str, permission: Permission, resolver: SystemResolver) -> str:
    """Return why the URL cannot be reached; empty if it can, or if the check takes too long."""
    destination = Destination.of(url)
    try:
        async with asyncio.timeout(MAX_RESOLVE_S):
            addresses = await resolver.addresses(destination.host)
    except TimeoutError:
        return ""
    if not addresses:
        return f"{destination.host} has no address; check the name in push/url"
    try:
        permission.check(destination, [ip_address(one.partition("%")[0]) for one in addresses])
    except NoAnswer as error:
        return f"push/url: {error}"
    return ""


def start_pushing(
    settings: Settings, network: Network, secrets: Secrets, partners: As2Partners, stack: AsyncExitStack
) -> HttpPusher:
    """Push messages until the stack is closed; returns the pusher, which others may use too."""
    network.pushes.check_with(build_push_checker(settings, secrets).faults)
    pusher = HttpPusher(
        resolver=SystemResolver(),
        clock=network.clock,
        permission=_permission(settings),
        tls=TlsContexts(settings.push_authorities),
        answer_bytes=settings.push_answer_bytes,
    )
    stack.push_async_callback(pusher.close)
    stage = PushStage(network, pusher, secrets, timeout_s=settings.push_timeout_s, partners=partners)
    stack.push_async_callback(stage.close)
    stage.start()
    return pusher
