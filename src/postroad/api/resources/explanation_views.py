"""Explanations as API responses: JSON, text, or SVG."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from postroad.api.resources.context import answer
from postroad.api.resources.route_guards import SVG, TEXT, prefers
from postroad.core.audit.pictures.explanation_text import explanation_text
from postroad.core.audit.pictures.route_picture import explanation_svg
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.rule import RuleRole
from postroad.core.routing.explain.condition_text import ExplainedCondition
from postroad.core.routing.explain.explanation import (
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedService,
    RouteExplanation,
)

DRAWN: dict[str, Any] = {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}


class ToldView(StrictShape):
    """One condition: its text, whether it held (null: it was not evaluated), and the values that it saw."""

    text: str
    held: bool | None
    seen: list[str]
    conditions: list[ToldView]


class TriedRule(StrictShape):
    name: str
    version: int
    held: bool
    condition: ToldView | None
    did: list[str]


class TriedService(StrictShape):
    service: str
    gcid: str
    role: RuleRole
    invoker: str
    withheld: bool
    faults: list[str]
    rules: list[TriedRule]


class InvocationView(StrictShape):
    service: str
    gcid: str
    logical_only: bool
    rule: str
    arguments: dict[str, str]
    topic: str
    payer: str
    isolated: bool
    absorbs_errors: bool
    dynamic: bool
    redirected: bool
    invocations: list[InvocationView]


class RouteView(StrictShape):
    recipient: str
    code: str
    detail: str
    route: list[str]
    invocations: list[InvocationView]


class ExplanationView(StrictShape):
    """Why a message took its route, or would take it; ``session`` is empty for a message that was not posted."""

    session: str
    sender: str
    directory: int
    code: str
    detail: str
    forgotten: bool
    services: list[TriedService]
    copies: list[RouteView]


def explanation_view(explanation: RouteExplanation) -> dict[str, Any]:
    return {
        "session": explanation.session,
        "sender": explanation.sender,
        "directory": explanation.directory,
        "code": explanation.code,
        "detail": explanation.detail,
        "forgotten": explanation.forgotten,
        "services": [_service(one) for one in explanation.services],
        "copies": [_copy(one) for one in explanation.copies],
    }


def condition_view(told: ExplainedCondition) -> dict[str, Any]:
    return {
        "text": told.text,
        "held": told.held,
        "seen": told.seen,
        "conditions": [condition_view(one) for one in told.children],
    }


def _service(service: ExplainedService) -> dict[str, Any]:
    rules = [
        {
            "name": rule.name,
            "version": rule.version,
            "held": rule.held,
            "condition": condition_view(rule.told) if rule.told is not None else None,
            "did": rule.did,
        }
        for rule in service.rules
    ]
    return {
        "service": service.service,
        "gcid": service.gcid,
        "role": service.role,
        "invoker": service.invoker,
        "withheld": service.withheld,
        "faults": service.faults,
        "rules": rules,
    }


def _copy(copy: ExplainedCopy) -> dict[str, Any]:
    return {
        "recipient": copy.recipient,
        "code": copy.code,
        "detail": copy.detail,
        "route": copy.route,
        "invocations": [_invocation(one) for one in copy.tree],
    }


def _invocation(one: ExplainedInvocation) -> dict[str, Any]:
    return {
        "service": one.service,
        "gcid": one.gcid,
        "logicalOnly": one.place is None,
        "rule": one.rule,
        "arguments": {argument.name: argument.value for argument in one.arguments},
        "topic": one.topic,
        "payer": one.payer,
        "isolated": one.isolated,
        "absorbsErrors": one.absorbs,
        "dynamic": one.dynamic,
        "redirected": one.redirected,
        "invocations": [_invocation(child) for child in one.children],
    }


def explanation_response(request: Request, explanation: RouteExplanation) -> Response:
    """The explanation in the format that the client prefers; JSON by default."""
    headers = {"Vary": "Accept, Authorization"}
    if prefers(request, SVG):
        safe = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(explanation_svg(explanation), headers=headers | safe, media_type=SVG)
    if prefers(request, TEXT):
        return Response(explanation_text(explanation), headers=headers, media_type="text/plain; charset=utf-8")
    return answer(explanation_view(explanation), headers=headers)
