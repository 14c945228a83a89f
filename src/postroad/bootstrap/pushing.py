"""Pushes, started with the network and stopped before its stores are."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from postroad.adapters.secrets import OperatorsSecrets
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.adapters.transport.resolver import SystemResolver
from postroad.adapters.transport.tls import TlsContexts
from postroad.bootstrap.settings import Settings
from postroad.flow.as2_partners import Partners
from postroad.flow.network import Network
from postroad.flow.push import PushStage

SECRETS_FOLDER = "push-secrets"


def operators_secrets(settings: Settings) -> OperatorsSecrets:
    """What profiles may name as proof for pushes."""
    return OperatorsSecrets(settings.data / SECRETS_FOLDER, os.environ)


def push_messages(settings: Settings, network: Network, partners: Partners, stack: AsyncExitStack) -> HttpPusher:
    """Have messages pushed to the services that want it so, until the stack is closed; what pushes them may push more."""
    pusher = HttpPusher(
        resolver=SystemResolver(),
        clock=network.clock,
        permission=Permission.of(settings.push_allow_private, settings.push_allow_http),
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
