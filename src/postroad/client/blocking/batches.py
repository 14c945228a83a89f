# Generated from nonblocking/batches.py by `python -m scripts.blocking_client`; edit that file instead.
"""The batches API: list, inspect, release, pause, resume and drop batches."""

from __future__ import annotations

import builtins

from postroad.client.batches import BatchConversations
from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations
from postroad.core.model.batch_actions import DROP, PAUSE, RELEASE, REMOVE, RESUME
from postroad.core.resources.batches import BatchDetails, BatchMemberView, BatchView


class Batches:
    """The batches of the caller's batchers; ``client.batches``. Actions return the updated batch."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = BatchConversations(talks)
        self._run = run

    def list(self, service: str = "", state: str = "") -> builtins.list[BatchView]:
        """Return the unsent batches, or those in a state (``all``: every one), newest first."""
        return self._run(self._say.list_batches(service, state))

    listed = list  # deprecated name

    def batch(self, batch: str) -> BatchDetails:
        """Return one batch with its criteria, its interchange and the partner's acknowledgments."""
        return self._run(self._say.batch(batch))

    def members(self, batch: str, *, most: int = 0) -> builtins.list[BatchMemberView]:
        """Return all members that ever joined, or the first ``most``, in order of arrival."""
        return self._run(self._say.members(batch, most))

    def release(self, batch: str, *, reason: str = "", version: int = 0) -> BatchDetails:
        """Close a batch now, even if its criteria are not met, and resume it if it was paused."""
        return self._run(self._say.act(RELEASE, batch, reason, version))

    def pause(self, batch: str, *, reason: str = "", version: int = 0) -> BatchDetails:
        """Pause a batch: it gathers messages and closes as usual, but is not sent until it is resumed."""
        return self._run(self._say.act(PAUSE, batch, reason, version))

    def resume(self, batch: str, *, reason: str = "", version: int = 0) -> BatchDetails:
        """Resume a paused or suspended batch; a suspended one with the same bytes if its members are unchanged."""
        return self._run(self._say.act(RESUME, batch, reason, version))

    def drop(self, batch: str, reason: str, *, version: int = 0) -> BatchDetails:
        """Drop a suspended batch: its members become dead letters, which can be resent."""
        return self._run(self._say.act(DROP, batch, reason, version))

    def remove(self, batch: str, delivery: int, reason: str, *, version: int = 0) -> BatchDetails:
        """Remove one message from a batch: it becomes a dead letter, and the others continue."""
        return self._run(self._say.act(REMOVE, batch, reason, version, delivery))

    hold, let_go, take_out = pause, resume, remove  # deprecated names
