"""A bench for bindings: which of them a message would meet, and what would go out.

Kept rules: nothing is stored, sent or counted; the bindings are asked by the very code that asks them about deliveries, and only
those that the one who tries may see.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import Field, model_validator

from postroad.api.resources.binding_views import explained
from postroad.api.resources.context import ApiContext
from postroad.api.resources.explanations import LIMITS
from postroad.core.admission.openness import is_open_to
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.configuration.bindings import BindingEntry, binding_of
from postroad.core.configuration.shapes import Line, Shape, Word
from postroad.core.exchange.bound import Selected
from postroad.core.exchange.header_items import header_items
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Message
from postroad.core.routing.forwards import NOT_OPEN
from postroad.errors import Refused
from postroad.flow import administration_bindings as bindings
from postroad.flow.administration import denied
from postroad.flow.administration_trying import stored_message
from postroad.flow.open_exchange import OpenExchange
from postroad.services.matching import Match, content_of, incoming, matches

CONTENT_CHARS = 100_000
TRIED = "tried"


class TriedBinding(BindingEntry):
    """A binding that is not made yet."""

    queue: Line = ""


class BindingTrial(Shape):
    """Exactly one of message and session; without a binding, all that you may see are tried."""

    message: Annotated[dict[str, Any] | None, Field(description="A message as it is posted in JSON")] = None
    session: Annotated[Word | None, Field(description="A message that was posted")] = None
    binding: TriedBinding | None = None

    @model_validator(mode="after")
    def has_one_message(self) -> Self:
        if (self.message is None) == (self.session is None):
            raise ValueError("try it on exactly one of message and session")
        return self


class TriedView(Shape):
    name: str
    queue: str
    outcome: Literal["goes", "fails"]
    explanation: str
    content_type: Annotated[str | None, Field(description="Of what the binding makes of the message")] = None
    content: Annotated[str | None, Field(description="Left out: it goes as it came")] = None
    error: str | None = None


class TrialResult(Shape):
    tried: Annotated[int, Field(description="How many bindings there are to meet")]
    items: Annotated[list[TriedView], Field(description="Those that say yes, and those that fail")]


async def tried(api: ApiContext, caller: Caller, exchange: Service, wish: BindingTrial) -> dict[str, Any]:
    message = await _message(api, caller, wish)
    if wish.binding is not None:
        binding = await _checked(api, caller, exchange, wish.binding)
        opened, seen = OpenExchange(api.network.exchanges.callables), [binding]
        opened.save(binding, api.network.directory)
    else:
        seen = bindings.bindings_seen(caller, api.network, exchange)
        if not seen:
            return {"tried": 0, "items": []}
        opened = await api.network.exchanges.opened(exchange.gcid)
    found = await _matches(api, caller, opened, message, {binding.name for binding in seen})
    found = [_unless_closed(api, exchange, one) for one in found]
    items = [_view(api, caller, opened, one) for one in sorted(found, key=lambda one: one.binding.name.casefold())]
    return {"tried": len(seen), "items": items}


async def _message(api: ApiContext, caller: Caller, wish: BindingTrial) -> Message:
    if wish.session is not None:
        return await stored_message(api.network, caller, wish.session)
    return JSON_FORM.decode_post(msgspec.json.encode(wish.message), LIMITS)


async def _checked(api: ApiContext, caller: Caller, exchange: Service, wish: TriedBinding) -> Binding:
    if caller.service is None and not caller.has_role(caller.organization, Role.DEVELOPER):
        raise denied("Only a person with the role developer, or a service, may try a binding that is not made yet")
    binding = binding_of(wish, exchange.gcid, TRIED, exchange.gcid)
    decider = bindings.known_decider(binding, api.network)
    await bindings.compiled(binding, decider, api.administration.judges)
    return binding


async def _matches(
    api: ApiContext, caller: Caller, opened: OpenExchange, message: Message, names: set[str]
) -> list[Match]:
    items = header_items(
        message.properties,
        topic=message.topic,
        sender=_sender(api, caller, message),
        type=message.type.value,
        handle=message.handle,
    )
    content = content_of(message.parts)
    found = await opened.selected(incoming(content, items))
    asked = [(binding, decider) for binding, decider in found.asked if binding.name in names]
    lacking = {decider.language for _, decider in asked} - set(api.administration.judges)
    if lacking:
        raise Refused("request.not-implemented", f"This network cannot run what is bound by {min(lacking).value}")
    selected = Selected([binding for binding in found.decided if binding.name in names], asked)
    return await matches(selected, content, items, api.administration.judges)


def _unless_closed(api: ApiContext, exchange: Service, one: Match) -> Match:
    """What is bound to an exchange that has been closed to it since does not go there."""
    queue = api.network.directory.services.get(one.binding.queue)
    if queue is not None and is_open_to(exchange, queue, api.network.directory):
        return one
    return Match(one.binding, error=NOT_OPEN)


def _sender(api: ApiContext, caller: Caller, message: Message) -> str:
    """As deliveries name it: by address, where the caller may know it."""
    if not message.sender:
        return caller.service.address if caller.service is not None else ""
    directory = api.network.directory
    service = directory.service(message.sender)
    known = service is not None and (caller.operator or directory.visible(service, caller.organization))
    return service.address if service is not None and known else message.sender


def _view(api: ApiContext, caller: Caller, opened: OpenExchange, one: Match) -> dict[str, Any]:
    binding, part = one.binding, one.part
    return {
        "name": binding.name,
        "queue": bindings.queue_shown(caller, binding, api.network.directory),
        "outcome": "fails" if one.error else "goes",
        "explanation": explained(binding, opened.explain(binding)),
        "contentType": part.content_type if part is not None else None,
        "content": part.data.decode(errors="replace")[:CONTENT_CHARS] if part is not None else None,
        "error": one.error or None,
    }
