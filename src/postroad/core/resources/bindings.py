"""Bindings of exchanges: as they were saved, how they are evaluated, their counters, and trials of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Page, Resource, one_of


class BindingView(Resource, kw_only=True):
    name: str
    queue: Annotated[str, Meta(description="The service that gets what matches, by address or GCID")]
    query: Annotated[str, Meta(description="XQuery that decides")]
    script: Annotated[str, Meta(description="A script that decides")]
    routing: Annotated[str, Meta(description="A query or script installed at the exchange, or in the network")]
    routing_key: Annotated[str, Meta(description="The topic of what is wanted; empty: any")]
    description: str
    enabled: bool
    version: int


class BindingState(Resource, kw_only=True):
    """How a binding is decided, and its counts on this node since its exchange was first used there."""

    standing: Annotated[str, Meta(description="shared, prefiltered, always, or none: it takes part in nothing")]
    explanation: str
    matched: int
    matched_at: str | None = None
    errors: int
    last_error: str | None = None
    last_error_at: str | None = None


class ListedBinding(BindingView, kw_only=True):
    state: BindingState


class BindingPage(Page[ListedBinding]):
    """Bindings of an exchange, by name."""


class BindingExplanation(BindingState, kw_only=True):
    condition: Annotated[str, Meta(description="That decides, or without which the engine is not asked")]
    reason: Annotated[str, Meta(description="Why the condition alone does not decide")]
    position: Annotated[int | None, Meta(description="The character of the query where that shows, 1 is first")] = None


class TriedBindingView(Resource, kw_only=True):
    name: str
    queue: str
    outcome: Annotated[str, one_of("goes", "fails")]
    explanation: str
    content_type: Annotated[str | None, Meta(description="Of what the binding makes of the message")] = None
    content: Annotated[str | None, Meta(description="Null: it goes as it came")] = None
    error: str | None = None


class TrialResult(Resource, kw_only=True):
    """The bindings that a message meets."""

    tried: Annotated[int, Meta(description="How many bindings there are to meet")]
    items: Annotated[list[TriedBindingView], Meta(description="Those that say yes, and those that fail")]
