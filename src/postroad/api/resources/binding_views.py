"""Response types of bindings: as written, how they are evaluated, and their counters on this node."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from postroad.api.resources.context import ApiContext, time_or_none
from postroad.core.configuration.entries.bindings import BindingEntry
from postroad.core.configuration.shapes import Name, StrictShape
from postroad.core.exchange.exchange import BoundExchange, describe_decision
from postroad.core.exchange.matching import DecisionExplanation
from postroad.core.model.caller import Caller
from postroad.core.model.exchange import Binding, binding_key
from postroad.flow.administration.bindings import describe_queue


class NewBinding(BindingEntry):
    name: Annotated[Name | None, Field(description="Default: derived from the queue's name")] = None


class BindingView(BindingEntry):
    name: str
    version: int


class BindingState(StrictShape):
    """How a binding is decided, and its counts on this node since its exchange was first used there."""

    standing: Annotated[str, Field(description="shared, prefiltered, always, or none: it never matches")]
    explanation: str
    matched: int
    matched_at: str | None = None
    errors: int
    last_error: str | None = None
    last_error_at: str | None = None


class ListedBinding(BindingView):
    state: BindingState


class BindingPage(StrictShape):
    items: list[ListedBinding]
    next: str | None = None


class BindingExplanation(BindingState):
    condition: Annotated[
        str, Field(description="The condition that decides, or that must be true before the engine is asked")
    ]
    reason: Annotated[str, Field(description="Why the condition alone is not sufficient")]
    position: Annotated[int | None, Field(description="Position in the query of that reason, starting at 1")] = None


def version_of(api: ApiContext, binding: Binding) -> int:
    return api.network.directory.object_version("binding", binding_key(binding.exchange, binding.name))


def binding_view(api: ApiContext, caller: Caller, binding: Binding) -> dict[str, Any]:
    return {
        "name": binding.name,
        "queue": describe_queue(caller, binding, api.network.directory),
        "query": binding.query,
        "script": binding.script,
        "routing": binding.routing,
        "routingKey": binding.routing_key,
        "description": binding.description,
        "enabled": binding.enabled,
        "version": version_of(api, binding),
    }


def state_view(exchange: BoundExchange, binding: Binding) -> dict[str, Any]:
    return _state(exchange, binding, exchange.explain(binding))


def explanation_view(exchange: BoundExchange, binding: Binding) -> dict[str, Any]:
    found = exchange.explain(binding)
    position = None if found is None or found.position is None else found.position + 1
    said = ("", "") if found is None else (found.condition, found.reason)
    return _state(exchange, binding, found) | {"condition": said[0], "reason": said[1], "position": position}


def _state(exchange: BoundExchange, binding: Binding, found: DecisionExplanation | None) -> dict[str, Any]:
    tally = exchange.tally(binding)
    return {
        "standing": found.standing.value if found is not None else "none",
        "explanation": describe_decision(binding, found),
        "matched": tally.matched,
        "matchedAt": time_or_none(tally.matched_at_us),
        "errors": tally.errors,
        "lastError": tally.last_error or None,
        "lastErrorAt": time_or_none(tally.last_error_at_us),
    }
