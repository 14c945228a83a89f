"""Explains the route of a message: of one that could be posted, or of one that was."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from postroad.api.resources.context import Api, Asking, answer, read_message, run_for_copies, run_in_turn
from postroad.api.resources.openapi_problems import XML
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SESSION
from postroad.api.resources.route_guards import DOCUMENT_BYTES, SVG, TEXT, ExplainedRoute, MessageRoute, prefers
from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import explanation_svg
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.codecs.limits import WireLimits
from postroad.core.resources.base import build_resource
from postroad.core.resources.explanations import (
    ExplanationView,
    InvocationView,
    RouteView,
    ToldView,
    TriedRule,
    TriedService,
)
from postroad.core.routing.explain.condition_text import ExplainedCondition
from postroad.core.routing.explain.explanation import (
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedRule,
    ExplainedService,
    RouteExplanation,
)
from postroad.flow.administration.messages import explanations as explaining

router = APIRouter(route_class=ExplainedRoute, tags=["messages"])
asking = APIRouter(route_class=MessageRoute, tags=["messages"])

LIMITS = WireLimits(body_bytes=DOCUMENT_BYTES)
WIRE: dict[str, Any] = {
    "application/json": {"schema": {"$ref": "#/components/schemas/JsonPost"}},
    **XML,
    ENVELOPES: {"schema": {"type": "string", "format": "binary"}},
}


DRAWN: dict[str, Any] = {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}


def explanation_view(explanation: RouteExplanation) -> ExplanationView:
    services = [_service(one) for one in explanation.services]
    return build_resource(
        ExplanationView, explanation, services=services, copies=[_copy(one) for one in explanation.copies]
    )


def condition_view(told: ExplainedCondition) -> ToldView:
    return build_resource(
        ToldView, told, seen=list(told.seen), conditions=[condition_view(one) for one in told.children]
    )


def _service(service: ExplainedService) -> TriedService:
    return build_resource(
        TriedService, service, faults=list(service.faults), rules=[_rule(one) for one in service.rules]
    )


def _rule(rule: ExplainedRule) -> TriedRule:
    condition = condition_view(rule.told) if rule.told is not None else None
    return build_resource(TriedRule, rule, condition=condition, did=list(rule.did))


def _copy(copy: ExplainedCopy) -> RouteView:
    return build_resource(RouteView, copy, route=list(copy.route), invocations=[_invocation(one) for one in copy.tree])


def _invocation(one: ExplainedInvocation) -> InvocationView:
    return build_resource(
        InvocationView,
        one,
        logical_only=one.place is None,
        arguments={argument.name: argument.value for argument in one.arguments},
        absorbs_errors=one.absorbs,
        invocations=[_invocation(child) for child in one.children],
    )


def explanation_response(request: Request, explanation: RouteExplanation) -> Response:
    """The explanation in the format that the client prefers; JSON by default."""
    headers = {"Vary": "Accept, Authorization"}
    if prefers(request, SVG):
        safe = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(explanation_svg(explanation), headers=headers | safe, media_type=SVG)
    if prefers(request, TEXT):
        return Response(explanation_text(explanation), headers=headers, media_type="text/plain; charset=utf-8")
    return answer(explanation_view(explanation), headers=headers)


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
