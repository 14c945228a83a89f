# Generated from nonblocking/bindings.py by `python -m scripts.blocking_client`; edit that file instead.
"""The bindings API: bind queues to exchanges, list, try and remove bindings."""

from __future__ import annotations

import builtins
from typing import Unpack

from postroad.client.bindings import BindingConversations, BindingFields
from postroad.client.blocking.runner import RunConversation
from postroad.client.conversations import Conversations
from postroad.core.model.message import Message
from postroad.core.resources.bindings import BindingExplanation, BindingView, ListedBinding, TrialResult


class Bindings:
    """The bindings of exchanges, as far as the caller may see them; ``client.bindings``."""

    def __init__(self, talks: Conversations, run: RunConversation) -> None:
        self._say = BindingConversations(talks)
        self._run = run

    def list(self, exchange: str, *, queue: str = "") -> builtins.list[ListedBinding]:
        """Return the bindings; ``state`` shows how each is evaluated and its counts."""
        return self._run(self._say.list_bindings(exchange, queue))

    listed = list  # deprecated name

    def binding(self, exchange: str, name: str) -> BindingView:
        """Return one binding."""
        return self._run(self._say.read(exchange, name))

    def bind(self, exchange: str, queue: str, *, name: str = "", **wanted: Unpack[BindingFields]) -> BindingView:
        """Create the binding, or replace the one with its name; without a name, equal bindings are created only once."""
        return self._run(self._say.bind(exchange, queue, name, wanted))

    def switch(self, exchange: str, name: str, *, enabled: bool) -> BindingView:
        """Enable or disable a binding; nothing else changes."""
        return self._run(self._say.switch(exchange, name, enabled))

    def unbind(self, exchange: str, name: str) -> None:
        """Remove a binding."""
        self._run(self._say.unbind(exchange, name))

    def explain(self, exchange: str, name: str) -> BindingExplanation:
        """Return how a binding is decided: shared, prefiltered by what, or always evaluated."""
        return self._run(self._say.explain(exchange, name))

    def try_out(self, exchange: str, on: Message | str, **wanted: Unpack[BindingFields]) -> TrialResult:
        """Return the bindings that match a message or a posted session; with fields, tries an unsaved one."""
        return self._run(self._say.try_out(exchange, on, wanted))
