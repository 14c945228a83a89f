"""The batches API of the client: list, inspect, release, pause, resume and drop batches.

    with Client(…) as network:
        for batch in network.batches.listed(service="Acme/orders"):
            print(batch["id"], batch["members"], batch["nearest"]["told"])
        network.batches.release("01a1e1845d2ac5dc5867", reason="the truck leaves early")

Rule: the conversations exist once, and the two shells only run them. ``version`` is a batch's ETag; with it, an
action applies only to the version that was read.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.dead_letters import RunConversation, RunConversationAsync
from postroad.client.routing import list_all, list_first
from postroad.client.steps import Talk

PATH = "/v1/batches"
Value = dict[str, Any]


class BatchConversations:
    """The request sequences of the batches API."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def listed(self, service: str, state: str) -> Talk[list[Value]]:
        return list_all(self._talks, PATH, service=service, state=state)

    def batch(self, batch: str) -> Talk[Value]:
        found: Value = yield from self._talks.value(requests.read(_path(batch)))
        return found

    def members(self, batch: str, most: int) -> Talk[list[Value]]:
        return list_first(self._talks, f"{_path(batch)}/members", most)

    def steer(self, batch: str, action: str, reason: str, version: int) -> Talk[Value]:
        asked = requests.change(
            "POST", f"{_path(batch)}/{action}", {"reason": reason}, version=f'"{version}"' if version else ""
        )
        found: Value = yield from self._talks.value(asked)
        return found


def _path(batch: str) -> str:
    return f"{PATH}/{quote(batch, safe='')}"


class Batches:
    """The batches of the caller's batchers; ``client.batches``. Actions return the updated batch."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = BatchConversations(talks)
        self._run = run

    def listed(self, service: str = "", state: str = "") -> list[Value]:
        """Return the unsent batches, or those in a state (``all``: every one), newest first."""
        return self._run(self._say.listed(service, state))

    def batch(self, batch: str) -> Value:
        """Return one batch with its criteria, its interchange and the partner's acknowledgments."""
        return self._run(self._say.batch(batch))

    def members(self, batch: str, *, most: int = 0) -> list[Value]:
        """Return all members that ever joined, or the first ``most``, in order of arrival."""
        return self._run(self._say.members(batch, most))

    def release(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """Close the batch now, and resume it if it was paused."""
        return self._run(self._say.steer(batch, "release", reason, version))

    def hold(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """Pause the batch: it gathers messages but is not assembled."""
        return self._run(self._say.steer(batch, "hold", reason, version))

    def let_go(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return self._run(self._say.steer(batch, "let-go", reason, version))

    def resume(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """Resume a suspended batch."""
        return self._run(self._say.steer(batch, "resume", reason, version))

    def drop(self, batch: str, reason: str, *, version: int = 0) -> Value:
        """Drop a suspended batch; its members become dead letters."""
        return self._run(self._say.steer(batch, "drop", reason, version))

    def take_out(self, batch: str, delivery: int, reason: str, *, version: int = 0) -> Value:
        """Remove one member, which becomes a dead letter."""
        return self._run(self._say.steer(batch, f"members/{delivery}/take-out", reason, version))


class AsyncBatches:
    """The batches API with asyncio; see ``Batches``."""

    def __init__(self, talks: Conversations, run: RunConversationAsync) -> None:
        self._say = BatchConversations(talks)
        self._run = run

    async def listed(self, service: str = "", state: str = "") -> list[Value]:
        return await self._run(self._say.listed(service, state))

    async def batch(self, batch: str) -> Value:
        return await self._run(self._say.batch(batch))

    async def members(self, batch: str, *, most: int = 0) -> list[Value]:
        return await self._run(self._say.members(batch, most))

    async def release(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, "release", reason, version))

    async def hold(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, "hold", reason, version))

    async def let_go(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, "let-go", reason, version))

    async def resume(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, "resume", reason, version))

    async def drop(self, batch: str, reason: str, *, version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, "drop", reason, version))

    async def take_out(self, batch: str, delivery: int, reason: str, *, version: int = 0) -> Value:
        return await self._run(self._say.steer(batch, f"members/{delivery}/take-out", reason, version))
