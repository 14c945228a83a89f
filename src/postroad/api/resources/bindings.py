"""Bindings of exchanges: create, read, replace, remove and try, with how they are decided and their counts.

Open to people, and to services for their own queues.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from postroad.api.pagination import PageQuery
from postroad.api.resources.binding_trials import BindingTrial, TrialResult, run_binding_trial
from postroad.api.resources.binding_views import (
    BindingExplanation,
    BindingPage,
    BindingView,
    NewBinding,
    binding_view,
    explanation_view,
    state_view,
    version_of,
)
from postroad.api.resources.conditional import IfMatch, check_if_match, not_modified, tag_of
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, make_page, page_answer
from postroad.api.resources.paths import SERVICE
from postroad.api.resources.route_guards import GuardedRoute, TrialRoute
from postroad.core.configuration.entries.bindings import BindingEntry, binding_of
from postroad.core.configuration.shapes import Line
from postroad.core.model.caller import Caller
from postroad.core.model.exchange import Binding
from postroad.flow.administration import bindings as changing
from postroad.flow.administration.base import find_visible_service

router = APIRouter(route_class=GuardedRoute, tags=["bindings"])
bench = APIRouter(route_class=TrialRoute, tags=["bindings"])

BINDINGS = SERVICE + "/bindings"
BINDING = BINDINGS + "/{name:binding}"


class BindingQuery(PageQuery):
    queue: Annotated[Line, Field(description="Only bindings of this service, by GCID or address")] = ""


def _answer(api: ApiContext, caller: Caller, binding: Binding, status: int = 200, **headers: str) -> Response:
    view = binding_view(api, caller, binding)
    return answer(view, status, tag=tag_of(view["version"]), headers=headers)


@router.get(BINDINGS, response_model=BindingPage)
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
    opened = await api.network.exchanges.opened(exchange.gcid)
    items = [binding_view(api, caller, one) | {"state": state_view(opened, one)} for one in page.items]
    return page_answer(request, page._replace(items=items))


@router.post(BINDINGS, status_code=201, response_model=BindingView)
async def create_binding(api: Api, caller: Asking, service: str, wish: NewBinding) -> Response:
    """Bind a queue. Queries and scripts are compiled first; the binding applies from the next message on."""
    wanted = binding_of(wish, service, wish.name or "", wish.queue)
    made = await changing.bind(api.administration, caller, wanted)
    place = f"/v1/services/{made.exchange}/bindings/{quote(made.name)}"
    return _answer(api, caller, made, 201, Location=place)


@bench.post(BINDINGS + "/try", response_model=TrialResult)
async def try_bindings(api: Api, caller: Asking, service: str, wish: BindingTrial) -> Response:
    """Which bindings a message would match, why, and what would be sent; nothing is stored or sent."""
    return answer(await run_binding_trial(api, caller, changing.find_exchange(caller, api.network, service), wish))


@router.get(BINDING, response_model=BindingView)
async def read_binding(request: Request, api: Api, caller: Asking, service: str, name: str) -> Response:
    """One binding as it was saved."""
    binding = changing.find_binding(caller, api.network, service, name)
    return not_modified(request, tag_of(version_of(api, binding))) or _answer(api, caller, binding)


@router.get(BINDING + "/explanation", response_model=BindingExplanation)
async def explain_binding(api: Api, caller: Asking, service: str, name: str) -> Response:
    """How a binding is decided: shared with all others, prefiltered by what, or always evaluated; and its last error."""
    binding = changing.find_binding(caller, api.network, service, name)
    return answer(explanation_view(await api.network.exchanges.opened(binding.exchange), binding))


@router.put(BINDING, response_model=BindingView)
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
