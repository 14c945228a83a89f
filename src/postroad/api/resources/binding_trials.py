"""Request and response types for trying bindings; ``services.exchange.binding_trial`` runs the trials."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import Field, model_validator

from postroad.api.resources.context import ApiContext
from postroad.api.resources.explanations import LIMITS
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.configuration.shapes import StrictShape, Word
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Message
from postroad.flow.administration.try_out.rules import load_stored_message
from postroad.services.exchange import binding_trial as bench

CONTENT_CHARS = 100_000


class BindingTrial(StrictShape):
    """Exactly one of message and session; without a binding, all that you may see are tried."""

    message: Annotated[dict[str, Any] | None, Field(description="A message in JSON, as for a post")] = None
    session: Annotated[Word | None, Field(description="Session ID of a stored message")] = None
    binding: bench.TriedBinding | None = None

    @model_validator(mode="after")
    def has_one_message(self) -> Self:
        if (self.message is None) == (self.session is None):
            raise ValueError("use exactly one of message and session")
        return self


class TriedBindingView(StrictShape):
    name: str
    queue: str
    outcome: Literal["goes", "fails"]
    explanation: str
    content_type: Annotated[str | None, Field(description="Content type of the binding's result")] = None
    content: Annotated[str | None, Field(description="Default: the message unchanged")] = None
    error: str | None = None


class TrialResult(StrictShape):
    tried: Annotated[int, Field(description="Number of bindings that were tested")]
    items: Annotated[list[TriedBindingView], Field(description="Bindings that match, and bindings that fail")]


async def run_binding_trial(api: ApiContext, caller: Caller, exchange: Service, wish: BindingTrial) -> dict[str, Any]:
    message = await _message(api, caller, wish)
    found = await bench.try_bindings(api.administration, caller, exchange, wish.binding, message)
    return {"tried": found.tried, "items": [_view(one) for one in found.met]}


async def _message(api: ApiContext, caller: Caller, wish: BindingTrial) -> Message:
    if wish.session is not None:
        return await load_stored_message(api.network, caller, wish.session)
    return JSON_FORM.decode_post(msgspec.json.encode(wish.message), LIMITS)


def _view(one: bench.MatchedBinding) -> dict[str, Any]:
    return {
        "name": one.name,
        "queue": one.queue,
        "outcome": "fails" if one.error else "goes",
        "explanation": one.explanation,
        "contentType": one.part.content_type if one.part is not None else None,
        "content": one.part.data.decode(errors="replace")[:CONTENT_CHARS] if one.part is not None else None,
        "error": one.error or None,
    }
