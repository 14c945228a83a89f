"""Batches, seen from the client: what is gathered, why it has not gone, and releasing, holding, resuming or dropping it.

    with Client(…) as network:
        for batch in network.batches.listed(service="Acme/orders"):
            print(batch["id"], batch["members"], batch["nearest"]["told"])
        network.batches.release("01a1e1845d2ac5dc5867", reason="the truck leaves early")

Kept rule: the conversations are written once, and the two shells only run them. ``version`` is a batch's ETag: with it, only the
batch as it was read is acted on.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from postroad.client import requests
from postroad.client.conversations import Conversations
from postroad.client.dead_letters import AsyncRun, Run
from postroad.client.exchange import Talk
from postroad.client.routing import every, first

PATH = "/v1/batches"
Value = dict[str, Any]


class BatchTalks:
    """What is said, in which order."""

    def __init__(self, talks: Conversations) -> None:
        self._talks = talks

    def listed(self, service: str, state: str) -> Talk[list[Value]]:
        return every(self._talks, PATH, service=service, state=state)

    def batch(self, batch: str) -> Talk[Value]:
        found: Value = yield from self._talks.value(requests.read(_path(batch)))
        return found

    def members(self, batch: str, most: int) -> Talk[list[Value]]:
        return first(self._talks, f"{_path(batch)}/members", most)

    def steer(self, batch: str, action: str, reason: str, version: int) -> Talk[Value]:
        asked = requests.change(
            "POST", f"{_path(batch)}/{action}", {"reason": reason}, version=f'"{version}"' if version else ""
        )
        found: Value = yield from self._talks.value(asked)
        return found


def _path(batch: str) -> str:
    return f"{PATH}/{quote(batch, safe='')}"


class Batches:
    """The batches of the caller's batchers; ``client.batches``. Actions return the batch as it is then."""

    def __init__(self, talks: Conversations, run: Run) -> None:
        self._say = BatchTalks(talks)
        self._run = run

    def listed(self, service: str = "", state: str = "") -> list[Value]:
        """Those that are still to be sent, or those in a state (``all``: every one); newest first."""
        return self._run(self._say.listed(service, state))

    def batch(self, batch: str) -> Value:
        """One batch with what every criterion says, its interchange and what the partner says of that."""
        return self._run(self._say.batch(batch))

    def members(self, batch: str, *, most: int = 0) -> list[Value]:
        """All that ever joined it, in the order of arrival, or the first few."""
        return self._run(self._say.members(batch, most))

    def release(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """Close it now, and let it go if it was held back."""
        return self._run(self._say.steer(batch, "release", reason, version))

    def hold(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """It goes on gathering, and is not assembled before it is let go."""
        return self._run(self._say.steer(batch, "hold", reason, version))

    def let_go(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        return self._run(self._say.steer(batch, "let-go", reason, version))

    def resume(self, batch: str, *, reason: str = "", version: int = 0) -> Value:
        """Let a suspended one go on."""
        return self._run(self._say.steer(batch, "resume", reason, version))

    def drop(self, batch: str, reason: str, *, version: int = 0) -> Value:
        """A suspended one is not sent any more; its members become dead letters."""
        return self._run(self._say.steer(batch, "drop", reason, version))

    def take_out(self, batch: str, delivery: int, reason: str, *, version: int = 0) -> Value:
        """One member becomes a dead letter, the others go on."""
        return self._run(self._say.steer(batch, f"members/{delivery}/take-out", reason, version))


class AsyncBatches:
    """The same with asyncio."""

    def __init__(self, talks: Conversations, run: AsyncRun) -> None:
        self._say = BatchTalks(talks)
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
