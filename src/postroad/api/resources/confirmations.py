"""Credentials and members that operators created and an organization's owners must confirm."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from postroad.api.resources.context import Api, Asking, answer, empty_answer
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.configuration.shapes import StrictShape
from postroad.flow.administration import confirmations as confirming

router = APIRouter(route_class=GuardedRoute, tags=["organizations"])


class PendingView(StrictShape):
    id: Annotated[str, Field(description="ID of the credential, or the member's e-mail address")]
    kind: Annotated[str, Field(description="key, password, certificate or member")]
    name: str
    made_by: Annotated[str, Field(description="The operator")]


class PendingList(StrictShape):
    items: list[PendingView]


@router.get("/v1/organizations/{organization}/confirmations", response_model=PendingList)
async def list_confirmations(api: Api, caller: Asking, organization: str) -> Response:
    """Credentials and members that operators have made, and that count once an owner has confirmed them."""
    found = confirming.list_pending(caller, api.network.directory, organization)
    items = [{"id": one.id, "kind": one.kind, "name": one.name, "madeBy": one.made_by} for one in found]
    return answer({"items": items})


@router.post("/v1/organizations/{organization}/confirmations/{credential}", status_code=204)
async def confirm(api: Api, caller: Asking, organization: str, credential: str) -> Response:
    """Confirm a credential (by id) or a member (by e-mail address); for owners. Removing it instead refuses it."""
    await confirming.confirm(api.administration, caller, organization, credential)
    return empty_answer()
