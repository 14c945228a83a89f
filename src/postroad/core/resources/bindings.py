"""Bindings of exchanges: as they were saved, how they are evaluated, their counters, and trials of them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postroad.core.resources.base import Page, Resource, one_of


class BindingView(Resource, kw_only=True):
    name: str
    queue: Annotated[str, Meta(description="The service that receives matching messages, by address or GCID")]
    query: Annotated[str, Meta(description="XQuery that selects messages")]
    script: Annotated[str, Meta(description="Script that selects messages")]
    routing: Annotated[str, Meta(description="A query or script installed at the exchange, or in the network")]
    routing_key: Annotated[str, Meta(description="The topic of what is wanted; empty: any")]
    description: str
    enabled: bool
    version: int


class BindingState(Resource, kw_only=True):
    """How a binding is decided, and its counts on this node since its exchange was first used there."""

    standing: Annotated[str, Meta(description="shared, prefiltered, always, or none: it never matches")]
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
    condition: Annotated[
        str, Meta(description=("The condition that decides, or that must be true before the engine is asked"))
    ]
    reason: Annotated[str, Meta(description="Why the condition alone is not sufficient")]
    position: Annotated[int | None, Meta(description="Position in the query of that reason, starting at 1")] = None


class TriedBindingView(Resource, kw_only=True):
    name: str
    queue: str
    outcome: Annotated[str, one_of("goes", "fails")]
    explanation: str
    content_type: Annotated[str | None, Meta(description="Content type of the binding's result")] = None
    content: Annotated[str | None, Meta(description="Null: it goes as it came")] = None
    error: str | None = None


class TrialResult(Resource, kw_only=True):
    """The bindings that a message meets."""

    tried: Annotated[int, Meta(description="Number of bindings that were tested")]
    items: Annotated[list[TriedBindingView], Meta(description="Bindings that match, and bindings that fail")]
