"""Credentials and members that operators created and an organization's owners must confirm."""

from __future__ import annotations

from fastapi import APIRouter, Response

from postroad.api.resources.context import Api, Asking, answer, empty_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.resources.accounts import PendingList, PendingView
from postroad.core.resources.base import build_resource
from postroad.flow.administration import confirmations as confirming

router = APIRouter(route_class=GuardedRoute, tags=["organizations"])


@router.get("/v1/organizations/{organization}/confirmations", **returns(PendingList))
async def list_confirmations(api: Api, caller: Asking, organization: str) -> Response:
    """Credentials and members that operators have made, and that count once an owner has confirmed them."""
    found = confirming.list_pending(caller, api.network.directory, organization)
    items = [build_resource(PendingView, one) for one in found]
    return answer(PendingList(items=items))


@router.post("/v1/organizations/{organization}/confirmations/{credential}", status_code=204)
async def confirm(api: Api, caller: Asking, organization: str, credential: str) -> Response:
    """Confirm a credential (by id) or a member (by e-mail address); for owners. Removing it instead refuses it."""
    await confirming.confirm(api.administration, caller, organization, credential)
    return empty_answer()
