"""Explanations as the API shows them: in JSON, told as text, or drawn."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from postroad.api.resources.context import answer
from postroad.api.resources.guarded import SVG, TEXT, prefers
from postroad.core.audit.drawing import explanation_svg
from postroad.core.audit.telling_routes import explanation_text
from postroad.core.configuration.shapes import Shape
from postroad.core.model.rule import RuleRole
from postroad.core.routing.explanation import (
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedService,
    Explanation,
)
from postroad.core.routing.telling import Told

DRAWN: dict[str, Any] = {TEXT: {"schema": {"type": "string"}}, SVG: {"schema": {"type": "string"}}}


class ToldView(Shape):
    """One condition: what it says, whether it held (null: it was not looked at), and what it saw."""

    text: str
    held: bool | None
    seen: list[str]
    conditions: list[ToldView]


class TriedRule(Shape):
    name: str
    version: int
    held: bool
    condition: ToldView | None
    did: list[str]


class TriedService(Shape):
    service: str
    gcid: str
    role: RuleRole
    invoker: str
    withheld: bool
    faults: list[str]
    rules: list[TriedRule]


class InvocationView(Shape):
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


class RouteView(Shape):
    recipient: str
    code: str
    detail: str
    route: list[str]
    invocations: list[InvocationView]


class ExplanationView(Shape):
    """Why a message took its route, or would take it; ``session`` is empty for one that was not posted.

    ``directory`` is 0 for members, because it counts the entries of the whole network.
    """

    session: str
    sender: str
    directory: int
    code: str
    detail: str
    forgotten: bool
    services: list[TriedService]
    copies: list[RouteView]


def explanation_view(explanation: Explanation) -> dict[str, Any]:
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


def told_view(told: Told) -> dict[str, Any]:
    return {
        "text": told.text,
        "held": told.held,
        "seen": told.seen,
        "conditions": [told_view(one) for one in told.children],
    }


def _service(service: ExplainedService) -> dict[str, Any]:
    rules = [
        {
            "name": rule.name,
            "version": rule.version,
            "held": rule.held,
            "condition": told_view(rule.told) if rule.told is not None else None,
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


def explained(request: Request, explanation: Explanation) -> Response:
    """In the form that the client prefers; JSON unless it says otherwise."""
    headers = {"Vary": "Accept, Authorization"}
    if prefers(request, SVG):
        safe = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
        return Response(explanation_svg(explanation), headers=headers | safe, media_type=SVG)
    if prefers(request, TEXT):
        return Response(explanation_text(explanation), headers=headers, media_type="text/plain; charset=utf-8")
    return answer(explanation_view(explanation), headers=headers)
