"""Batchers, started with the network and stopped in good order before its stores are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from postroad.bootstrap.settings import Settings
from postroad.flow.batching import BatchStage
from postroad.flow.network import Network


def gather_messages(
    settings: Settings, network: Network, leads: Callable[[], Awaitable[bool]], stack: AsyncExitStack
) -> None:
    """Have what comes to send ports gathered until the stack is closed, on the node that leads."""
    stage = BatchStage(
        network, leads=leads, message_bytes=settings.message_bytes, is_shared=settings.acceptance == "shared"
    )
    stack.push_async_callback(stage.close)
    stage.start()
