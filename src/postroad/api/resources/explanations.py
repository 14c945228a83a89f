"""Explains the route of a message: of one that could be posted, or of one that was."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from postroad.api.resources.context import Api, Asking, read_message, run_for_copies, run_in_turn
from postroad.api.resources.explanation_views import DRAWN, explanation_response
from postroad.api.resources.openapi_problems import XML
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SESSION
from postroad.api.resources.route_guards import DOCUMENT_BYTES, ExplainedRoute, MessageRoute
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.limits import WireLimits
from postroad.core.resources.explanations import ExplanationView
from postroad.flow.administration.messages import explanations as explaining

router = APIRouter(route_class=ExplainedRoute, tags=["messages"])
asking = APIRouter(route_class=MessageRoute, tags=["messages"])

LIMITS = WireLimits(body_bytes=DOCUMENT_BYTES)
WIRE: dict[str, Any] = {
    "application/json": {"schema": {"$ref": "#/components/schemas/JsonPost"}},
    **XML,
    ENVELOPES: {"schema": {"type": "string", "format": "binary"}},
}


@asking.post(
    "/v1/explain",
    responses={200: {"content": DRAWN}},
    **returns(ExplanationView, requestBody={"required": True, "content": WIRE}),
)
async def explain_message(request: Request, api: Api, caller: Asking) -> Response:
    """The route that a message would take, and why; nothing is stored or sent. People set the sender in From."""
    kind = request.headers.get("content-type", "")
    message = await read_message(api, caller, kind, await request.body(), LIMITS)
    explanation = await explaining.explain_hypothetical(api.network, caller, message)
    return await run_in_turn(api, caller, lambda: explanation_response(request, explanation))


@router.get(SESSION + "/explanation", responses={200: {"content": DRAWN}}, **returns(ExplanationView))
async def read_explanation(request: Request, api: Api, caller: Asking, session: str) -> Response:
    """Why a posted message took its route: rules, the values they saw, and their effects. Reading it is recorded."""
    found = await explaining.explain_stored(api.network, caller, session)
    return await run_for_copies(api, caller, len(found.copies), lambda: explanation_response(request, found))
