"""Bindings of exchanges: create, read, replace, remove and try, with how they are decided and their counts.

Open to people, and to services for their own queues.
"""

from __future__ import annotations

from typing import Annotated, Any, Self
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Query, Request, Response
from msgspec.structs import asdict
from pydantic import Field, model_validator

from postroad.api.pagination import PageQuery
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
from postroad.api.resources.context import (
    Api,
    ApiContext,
    Asking,
    answer,
    empty_answer,
    make_page,
    page_answer,
    time_or_none,
)
from postroad.api.resources.explanations import LIMITS
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute, TrialRoute
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.configuration.entries.bindings import BindingEntry, binding_of
from postroad.core.configuration.shapes import Line, Name, StrictShape, Word
from postroad.core.exchange.exchange import BoundExchange, describe_decision
from postroad.core.exchange.match.matcher import DecisionExplanation
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.exchange import Binding, binding_key
from postroad.core.model.message import Message
from postroad.core.resources.base import build_resource
from postroad.core.resources.bindings import (
    BindingExplanation,
    BindingPage,
    BindingState,
    BindingView,
    ListedBinding,
    TrialResult,
    TriedBindingView,
)
from postroad.flow.administration import bindings as changing
from postroad.flow.administration.base import find_visible_service
from postroad.flow.administration.try_out.rules import load_stored_message
from postroad.services.exchange import binding_trial

router = APIRouter(route_class=GuardedRoute, tags=["bindings"])
trying = APIRouter(route_class=TrialRoute, tags=["bindings"])

BINDINGS = SERVICE + "/bindings"
BINDING = BINDINGS + "/{name:binding}"


class NewBinding(BindingEntry):
    name: Annotated[Name | None, Field(description="Default: derived from the queue's name")] = None


class BindingQuery(PageQuery):
    queue: Annotated[Line, Field(description="Only bindings of this service, by GCID or address")] = ""


def version_of(api: ApiContext, binding: Binding) -> int:
    return api.network.directory.object_version("binding", binding_key(binding.exchange, binding.name))


def binding_view(api: ApiContext, caller: Caller, binding: Binding) -> BindingView:
    queue = changing.describe_queue(caller, binding, api.network.directory)
    return build_resource(BindingView, binding, queue=queue, version=version_of(api, binding))


def listed_view(api: ApiContext, caller: Caller, binding: Binding, exchange: BoundExchange) -> ListedBinding:
    state = state_view(exchange, binding, exchange.explain(binding))
    return ListedBinding(**asdict(binding_view(api, caller, binding)), state=state)


def state_view(exchange: BoundExchange, binding: Binding, found: DecisionExplanation | None) -> BindingState:
    tally = exchange.tally(binding)
    return BindingState(
        standing=found.standing.value if found is not None else "none",
        explanation=describe_decision(binding, found),
        matched=tally.matched,
        matched_at=time_or_none(tally.matched_at_us),
        errors=tally.errors,
        last_error=tally.last_error or None,
        last_error_at=time_or_none(tally.last_error_at_us),
    )


def explanation_view(exchange: BoundExchange, binding: Binding) -> BindingExplanation:
    found = exchange.explain(binding)
    return BindingExplanation(
        **asdict(state_view(exchange, binding, found)),
        condition="" if found is None else found.condition,
        reason="" if found is None else found.reason,
        position=None if found is None or found.position is None else found.position + 1,
    )


def _answer(api: ApiContext, caller: Caller, binding: Binding, status: int = 200, **headers: str) -> Response:
    view = binding_view(api, caller, binding)
    return answer(view, status, tag=tag_of(view.version), headers=headers)


CONTENT_CHARS = 100_000


class BindingTrial(StrictShape):
    """Exactly one of message and session; without a binding, all that you may see are tried."""

    message: Annotated[dict[str, Any] | None, Field(description="A message in JSON, as for a post")] = None
    session: Annotated[Word | None, Field(description="Session ID of a stored message")] = None
    binding: binding_trial.TriedBinding | None = None

    @model_validator(mode="after")
    def check_single_message(self) -> Self:
        if (self.message is None) == (self.session is None):
            raise ValueError("use exactly one of message and session")
        return self


async def run_binding_trial(api: ApiContext, caller: Caller, exchange: Service, wish: BindingTrial) -> TrialResult:
    message = await _message(api, caller, wish)
    found = await binding_trial.try_bindings(api.administration, caller, exchange, wish.binding, message)
    return TrialResult(tried=found.tried, items=[_view(one) for one in found.met])


async def _message(api: ApiContext, caller: Caller, wish: BindingTrial) -> Message:
    if wish.session is not None:
        return await load_stored_message(api.network, caller, wish.session)
    return JSON_FORM.decode_post(msgspec.json.encode(wish.message), LIMITS)


def _view(one: binding_trial.MatchedBinding) -> TriedBindingView:
    return TriedBindingView(
        name=one.name,
        queue=one.queue,
        outcome="fails" if one.error else "goes",
        explanation=one.explanation,
        content_type=one.part.content_type if one.part is not None else None,
        content=one.part.data.decode(errors="replace")[:CONTENT_CHARS] if one.part is not None else None,
        error=one.error or None,
    )


@router.get(BINDINGS, **returns(BindingPage))
async def list_bindings(
    request: Request, api: Api, caller: Asking, service: str, query: Annotated[BindingQuery, Query()]
) -> Response:
    """The bindings of an exchange: all of them for its owners, those of their own queues for others."""
    exchange = changing.find_exchange(caller, api.network, service)
    found = changing.list_visible_bindings(caller, api.network, exchange)
    if query.queue:
        queue = find_visible_service(caller, api.network.directory, query.queue).gcid
        found = [binding for binding in found if binding.queue == queue]
    page = make_page(request, api, caller, query, found, lambda binding: binding.name.casefold())
    if not page.items:
        return page_answer(request, page)
    opened = await api.network.exchanges.load(exchange.gcid)
    items = [listed_view(api, caller, one, opened) for one in page.items]
    return page_answer(request, page._replace(items=items))


@router.post(BINDINGS, **returns(BindingView, 201))
async def create_binding(api: Api, caller: Asking, service: str, wish: NewBinding) -> Response:
    """Bind a queue. Queries and scripts are compiled first; the binding applies from the next message on."""
    wanted = binding_of(wish, service, wish.name or "", wish.queue)
    made = await changing.bind(api.administration, caller, wanted)
    place = f"/v1/services/{made.exchange}/bindings/{quote(made.name)}"
    return _answer(api, caller, made, 201, Location=place)


@trying.post(BINDINGS + "/try", **returns(TrialResult))
async def try_bindings(api: Api, caller: Asking, service: str, wish: BindingTrial) -> Response:
    """Which bindings a message would match, why, and what would be sent; nothing is stored or sent."""
    return answer(await run_binding_trial(api, caller, changing.find_exchange(caller, api.network, service), wish))


@router.get(BINDING, **returns(BindingView))
async def read_binding(request: Request, api: Api, caller: Asking, service: str, name: str) -> Response:
    """One binding as it was saved."""
    binding = changing.find_binding(caller, api.network, service, name)
    return not_modified(request, tag_of(version_of(api, binding))) or _answer(api, caller, binding)


@router.get(BINDING + "/explanation", **returns(BindingExplanation))
async def explain_binding(api: Api, caller: Asking, service: str, name: str) -> Response:
    """How a binding is decided: shared with all others, prefiltered by what, or always evaluated; and its last error."""
    binding = changing.find_binding(caller, api.network, service, name)
    return answer(explanation_view(await api.network.exchanges.load(binding.exchange), binding))


@router.put(BINDING, **returns(BindingView))
async def replace_binding(
    api: Api, caller: Asking, service: str, name: str, wish: BindingEntry, if_match: IfMatch = None
) -> Response:
    """Replace a binding; omitted fields return to their defaults."""
    current = changing.find_binding(caller, api.network, service, name)
    seen = check_if_match(if_match, version_of(api, current))
    wanted = binding_of(wish, current.exchange, current.name, wish.queue)
    return _answer(api, caller, await changing.replace_binding(api.administration, caller, wanted, current, seen))


@router.delete(BINDING, status_code=204)
async def remove_binding(api: Api, caller: Asking, service: str, name: str, if_match: IfMatch = None) -> Response:
    """Unbind: from the next message on, nothing goes this way."""
    binding = changing.find_binding(caller, api.network, service, name)
    await changing.unbind(api.administration, caller, binding, check_if_match(if_match, version_of(api, binding)))
    return empty_answer()
