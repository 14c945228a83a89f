"""What is stored beside the journal, because it does not follow from it: cursors of followers, notifications, nodes."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from postroad.ports.journal import JournalHead


class FollowerCursors(Protocol):
    """The positions up to which followers have read the journal; not in the index, which can be rebuilt from it."""

    async def load(self, name: str) -> JournalHead | None:
        """Return the head after the last group that the follower has handled, or None for a new follower."""
        ...

    async def load_all(self) -> dict[str, JournalHead]:
        """Return the positions of all followers, by name."""
        ...

    async def save(self, name: str, head: JournalHead) -> None: ...

    async def close(self) -> None: ...


class NotificationStore(Protocol):
    """Keeps the document of what notifications remember; on a shared network for all nodes."""

    async def load(self) -> bytes | None:
        """Return the document as it was saved last, or None."""
        ...

    async def save(self, document: bytes, known: bytes) -> bool:
        """Replace the ``known`` document (empty: none), durably and as a whole; False if another node has replaced it."""
        ...

    async def close(self) -> None: ...


class NetworkNode(NamedTuple):
    """A process that serves the network, and the newest network level that it can read."""

    id: str  # empty: a version before levels, which registers nowhere
    host: str
    version: str
    level: int
    started_at_us: int = 0
    seen_at_us: int = 0


class NodeRegistry(Protocol):
    """The nodes of a network."""

    async def list_nodes(self) -> list[NetworkNode]:
        """Return the nodes that were seen in the last ten minutes, this one included."""
        ...

    async def close(self) -> None: ...
