"""This node: its identity, which a restart keeps, and the registry of a network that has no other node."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from postroad import __version__
from postroad.adapters.system import SystemRandomness
from postroad.core.model.level import NEWEST
from postroad.ports import NetworkNode

ID_FILE = "node.id"
ONLY_ID = "local"  # of the only node of an embedded network


def describe_own_node(node_id: str, now_us: int = 0) -> NetworkNode:
    """Return this node as other nodes and operators see it."""
    return NetworkNode(
        id=node_id,
        host=socket.gethostname(),
        version=__version__,
        level=NEWEST,
        started_at_us=now_us,
        seen_at_us=now_us,
    )


def load_node_id(data: Path) -> str:
    """Return the ID of this node of a shared network. It is in the data folder, so an upgraded node keeps it."""
    path = data / ID_FILE
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        data.mkdir(parents=True, exist_ok=True)
        new = SystemRandomness().bytes(8).hex()
        path.write_text(new + "\n")
        return new


class LoneNode:
    """The registry of an embedded network: only its own process, which holds the lock of the journal, may write."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us

    async def list_nodes(self) -> list[NetworkNode]:
        return [describe_own_node(ONLY_ID, self._now_us())]

    async def close(self) -> None:
        return None
