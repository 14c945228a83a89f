"""Errors in the OpenAPI document: the problem schema, and the errors of each operation."""

from __future__ import annotations

from typing import Any

from postroad.api.problem import CONTENT_TYPE
from postroad.core.codecs.envelope import ENVELOPES
from postroad.core.model.refusals import REFUSALS

XML = {"text/xml": {"schema": {"type": "string"}}, "application/soap+xml": {"schema": {"type": "string"}}}
PACKED = {ENVELOPES: {"schema": {"type": "string", "format": "binary"}}}
ALWAYS = (400, 406, 429, 500, 503)
WITH_BODY = (413, 415, 422, 507)

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "RFC 9457 problem details.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": "URL of the documentation of the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What went wrong, and what to do next"},
        "code": {"type": "string", "enum": sorted(REFUSALS), "description": "Stable; branch on this"},
        "pointer": {"type": "string", "description": "JSON pointer or XML path of the error"},
        "session": {"type": "string", "description": "Session ID of the message"},
        "incident": {"type": "string", "description": "Quote this when you report an internal error"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "pointer": {"type": "string"},
                    "parameter": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}


OF_AS2 = ("as2.", "cms.")


def problems(statuses: set[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in sorted(statuses)}


def problem_responses() -> dict[str, Any]:
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    statuses = sorted({refusal.status for refusal in REFUSALS.values()})
    return {f"Problem{status}": {"description": "; ".join(_titles(status)), "content": content} for status in statuses}


def wire_problems(statuses: set[int]) -> dict[str, Any]:
    """Problems of endpoints that answer in the caller's native format: SOAP faults for SOAP, packed ones for envelopes."""
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}} | XML | PACKED
    return {str(status): {"description": "; ".join(_titles(status)), "content": content} for status in sorted(statuses)}


def _titles(status: int) -> list[str]:
    """Return example titles of the codes of a status; codes that concern only AS2 partners belong to the AS2 address."""
    usual = [refusal for code, refusal in REFUSALS.items() if not code.startswith(OF_AS2)]
    return [refusal.title for refusal in usual if refusal.status == status][:6]
