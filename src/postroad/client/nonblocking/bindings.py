"""The bindings API: bind queues to exchanges, list, try and remove bindings."""

from __future__ import annotations

import builtins
from typing import Unpack

from postroad.client.bindings import BindingConversations, BindingFields
from postroad.client.conversations import Conversations
from postroad.client.nonblocking.runner import AsyncRunConversation
from postroad.core.model.message import Message
from postroad.core.resources.bindings import BindingExplanation, BindingView, ListedBinding, TrialResult


class AsyncBindings:
    """The bindings of exchanges, as far as the caller may see them; ``client.bindings``."""

    def __init__(self, talks: Conversations, run: AsyncRunConversation) -> None:
        self._say = BindingConversations(talks)
        self._run = run

    async def list(self, exchange: str, *, queue: str = "") -> builtins.list[ListedBinding]:
        """Return the bindings; ``state`` shows how each is evaluated and its counts."""
        return await self._run(self._say.list_bindings(exchange, queue))

    listed = list  # deprecated name

    async def binding(self, exchange: str, name: str) -> BindingView:
        """Return one binding."""
        return await self._run(self._say.read(exchange, name))

    async def bind(self, exchange: str, queue: str, *, name: str = "", **wanted: Unpack[BindingFields]) -> BindingView:
        """Create the binding, or replace the one with its name; without a name, equal bindings are created only once."""
        return await self._run(self._say.bind(exchange, queue, name, wanted))

    async def switch(self, exchange: str, name: str, *, enabled: bool) -> BindingView:
        """Enable or disable a binding; nothing else changes."""
        return await self._run(self._say.switch(exchange, name, enabled))

    async def unbind(self, exchange: str, name: str) -> None:
        """Remove a binding."""
        await self._run(self._say.unbind(exchange, name))

    async def explain(self, exchange: str, name: str) -> BindingExplanation:
        """Return how a binding is decided: shared, prefiltered by what, or always evaluated."""
        return await self._run(self._say.explain(exchange, name))

    async def try_out(self, exchange: str, on: Message | str, **wanted: Unpack[BindingFields]) -> TrialResult:
        """Return the bindings that match a message or a posted session; with fields, tries an unsaved one."""
        return await self._run(self._say.try_out(exchange, on, wanted))
