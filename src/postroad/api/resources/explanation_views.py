"""Explanations as API responses: JSON, text, or SVG."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from postroad.api.resources.context import answer
from postroad.api.resources.route_guards import SVG, TEXT, prefers
from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import explanation_svg
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
    ExplainedService,
    RouteExplanation,
)

DRAWN: dict[str, Any] = {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}


def explanation_view(explanation: RouteExplanation) -> ExplanationView:
    return ExplanationView(
        session=explanation.session,
        sender=explanation.sender,
        directory=explanation.directory,
        code=explanation.code,
        detail=explanation.detail,
        forgotten=explanation.forgotten,
        services=[_service(one) for one in explanation.services],
        copies=[_copy(one) for one in explanation.copies],
    )


def condition_view(told: ExplainedCondition) -> ToldView:
    conditions = [condition_view(one) for one in told.children]
    return ToldView(text=told.text, held=told.held, seen=list(told.seen), conditions=conditions)


def _service(service: ExplainedService) -> TriedService:
    return TriedService(
        service=service.service,
        gcid=service.gcid,
        role=service.role,
        invoker=service.invoker,
        withheld=service.withheld,
        faults=list(service.faults),
        rules=[
            TriedRule(
                name=rule.name,
                version=rule.version,
                held=rule.held,
                condition=condition_view(rule.told) if rule.told is not None else None,
                did=list(rule.did),
            )
            for rule in service.rules
        ],
    )


def _copy(copy: ExplainedCopy) -> RouteView:
    return RouteView(
        recipient=copy.recipient,
        code=copy.code,
        detail=copy.detail,
        route=list(copy.route),
        invocations=[_invocation(one) for one in copy.tree],
    )


def _invocation(one: ExplainedInvocation) -> InvocationView:
    return InvocationView(
        service=one.service,
        gcid=one.gcid,
        logical_only=one.place is None,
        rule=one.rule,
        arguments={argument.name: argument.value for argument in one.arguments},
        topic=one.topic,
        payer=one.payer,
        isolated=one.isolated,
        absorbs_errors=one.absorbs,
        dynamic=one.dynamic,
        redirected=one.redirected,
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
