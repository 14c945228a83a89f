"""Pushes, started with the network and stopped before its stores are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack
from ipaddress import ip_address

from postroad.adapters.secrets import OperatorsSecrets
from postroad.adapters.transport.checking import PushChecker
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.adapters.transport.tls import TlsContexts
from postroad.bootstrap.settings import Settings
from postroad.core.model.directory import Service
from postroad.flow.as2_partners import Partners
from postroad.flow.network import Network
from postroad.flow.push import PushStage

SECRETS_FOLDER = "push-secrets"
RESOLVE_MOST_S = 3.0


def operators_secrets(settings: Settings) -> OperatorsSecrets:
    """What profiles may name as proof for pushes."""
    return OperatorsSecrets(settings.data / SECRETS_FOLDER, os.environ)


def push_checker(settings: Settings) -> PushChecker:
    """Checks push settings of services by the settings and secrets of this server."""
    return PushChecker(_permission(settings), operators_secrets(settings))


def _permission(settings: Settings) -> Permission:
    return Permission.of(settings.push_allow_private, settings.push_allow_http)


async def unreachable_services(settings: Settings, services: Iterable[Service]) -> list[tuple[Service, str]]:
    """Services with a push URL that cannot be reached from here, and why. It resolves names, so it is for operators alone."""
    checker, permission, resolver = push_checker(settings), _permission(settings), SystemResolver()
    found: list[tuple[Service, str]] = []
    try:
        for service in services:
            errors = [fault.told for fault in checker.faults(service) if fault.is_error]
            if not errors and service.push is not None:
                errors = [await _unreachable(place.url, permission, resolver) for place in service.push.places]
            found += [(service, told) for told in errors if told]
    finally:
        resolver.close()
    return found


async def _unreachable(url: str, permission: Permission, resolver: SystemResolver) -> str:
    """Why the URL cannot be pushed to from here; empty when it can, or when that cannot be found out in time."""
    destination = Destination.of(url)
    try:
        async with asyncio.timeout(RESOLVE_MOST_S):
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


def push_messages(settings: Settings, network: Network, partners: Partners, stack: AsyncExitStack) -> HttpPusher:
    """Have messages pushed to the services that want it so, until the stack is closed; what pushes them may push more."""
    network.pushes.check_with(push_checker(settings).faults)
    pusher = HttpPusher(
        resolver=SystemResolver(),
        clock=network.clock,
        permission=_permission(settings),
        tls=TlsContexts(settings.push_authorities),
        answer_bytes=settings.push_answer_bytes,
    )
    stack.push_async_callback(pusher.close)
    stage = PushStage(
        network, pusher, operators_secrets(settings), timeout_s=settings.push_timeout_s, partners=partners
    )
    stack.push_async_callback(stage.close)
    stage.start()
    return pusher
