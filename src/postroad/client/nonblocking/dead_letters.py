"""The dead letters API: list, resend and drop, singly or by filter at a limited rate."""

from __future__ import annotations

import builtins
from typing import Unpack

from postroad.client.conversations import Conversations, Progress, ignore_progress
from postroad.client.dead_letters import (
    DeadLetterConversations,
    DeadLetterFilters,
    build_resend_wish,
    select_letters,
)
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.core.model.dead_letter_actions import DROP, RESEND
from postroad.core.resources.dead_letters import LetterCount, LetterDetails, LetterGroup, LetterResult, LetterView


class AsyncDeadLetters:
    """The dead letters of the caller's organization; ``client.dead_letters``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = DeadLetterConversations(talks)
        self._run = run

    async def list(self, **filters: Unpack[DeadLetterFilters]) -> builtins.list[LetterView]:
        """Return the letters that have not been handled, oldest first."""
        return await self._run(self._say.list_dead_letters(filters))

    listed = list  # deprecated name

    async def groups(self, **filters: Unpack[DeadLetterFilters]) -> builtins.list[LetterGroup]:
        """Return the number of letters at each service, by cause."""
        return await self._run(self._say.groups(filters))

    async def letter(self, delivery: int) -> LetterDetails:
        """Return one letter with its events and parts."""
        return await self._run(self._say.letter(delivery))

    async def count(self, **filters: Unpack[DeadLetterFilters]) -> LetterCount:
        """Return how many letters match, with a sample; a dry run of a resend or drop."""
        return await self._run(self._say.count(filters))

    async def resend(self, delivery: int, *, reason: str = "", expires_in_s: int = 0) -> int:
        """Resend a dead letter to where it failed; returns the new delivery number."""
        return await self._run(self._say.resend(delivery, build_resend_wish(reason, expires_in_s)))

    async def drop(self, delivery: int, reason: str) -> None:
        """Drop a dead letter; the message stays failed, and is no longer listed."""
        await self._run(self._say.drop(delivery, reason))

    async def resend_many(
        self,
        *,
        reason: str = "",
        expires_in_s: int = 0,
        rate: float = 0.0,
        progress: Progress = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> builtins.list[LetterResult]:
        """Resend all matching letters, oldest first, at most ``rate`` per second (0: unlimited)."""
        wish = select_letters(filters) | build_resend_wish(reason, expires_in_s)
        return await self._run(self._say.act_on_many(RESEND, wish, rate, progress))

    async def drop_many(
        self,
        reason: str,
        *,
        rate: float = 0.0,
        progress: Progress = ignore_progress,
        **filters: Unpack[DeadLetterFilters],
    ) -> builtins.list[LetterResult]:
        """Drop all matching letters, oldest first, at most ``rate`` per second (0: unlimited)."""
        return await self._run(
            self._say.act_on_many(DROP, select_letters(filters) | {"reason": reason}, rate, progress)
        )
