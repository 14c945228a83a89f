"""The OpenAPI document: what FastAPI knows of the resources, what holds for all of them, and the message endpoints.

The message endpoints run outside FastAPI, so their items are written here, from the same shapes that their codec reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from postroad import __version__
from postroad.api.problem import CONTENT_TYPE
from postroad.api.resources.guarded import GuardedRoute, HealthRoute
from postroad.core.codecs.json_shapes import (
    JsonDeliveries,
    JsonPoll,
    JsonPost,
    JsonResult,
    JsonSettlement,
    JsonSettlementResult,
)
from postroad.core.model.polling import LEASE_MAX_S, POLL_MAX, TOKENS_MAX, WAIT_MAX_S
from postroad.core.model.refusals import REFUSALS

FAST_PATHS: dict[str, tuple[str, ...]] = {
    "/v1/messages": ("POST",),
    "/v1/messages/bulk": ("POST",),
    "/v1/poll": ("POST",),
    "/v1/ack": ("POST",),
    "/soap": ("GET", "POST"),
    "/soap/messages.xsd": ("GET",),
}
SHAPES = (JsonPost, JsonResult, JsonPoll, JsonDeliveries, JsonSettlement, JsonSettlementResult)
# What the codecs check beyond the shapes.
BOUNDS: dict[str, dict[str, dict[str, float]]] = {
    "JsonSettlement": {
        "tokens": {"minItems": 1, "maxItems": TOKENS_MAX},
        "delaySeconds": {"minimum": 0, "maximum": LEASE_MAX_S},
    },
    "JsonPoll": {
        "max": {"minimum": 1, "maximum": POLL_MAX},
        "waitSeconds": {"minimum": 0, "maximum": WAIT_MAX_S},
        "leaseSeconds": {"minimum": 0, "maximum": LEASE_MAX_S},
    },
}
SECURITY: list[dict[str, list[str]]] = [{"key": []}, {"password": []}, {"certificate": []}]
SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key of a service or a person: pr_…"},
    "password": {"type": "http", "scheme": "basic", "description": "GCID, address or e-mail, and a password or key"},
    "certificate": {"type": "mutualTLS", "description": "A registered client certificate of a service"},
}
XML = {"text/xml": {"schema": {"type": "string"}}, "application/soap+xml": {"schema": {"type": "string"}}}
ALWAYS = (400, 406, 429, 500, 503)
WITH_BODY = (413, 415, 422, 507)
GUARDED = (401, 403, 404)

PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "description": "RFC 9457 problem details.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": "Leads to the documentation of the code"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What went wrong, and what to do next"},
        "code": {"type": "string", "enum": sorted(REFUSALS), "description": "Stable; branch on this"},
        "pointer": {"type": "string", "description": "JSON pointer or XML path of the offending place"},
        "session": {"type": "string", "description": "The session that this speaks of"},
        "incident": {"type": "string", "description": "Tell us this when you report a problem of ours"},
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


def openapi_document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    document = get_openapi(
        title="postroad",
        version=__version__,
        summary="An open message interchange network",
        description="Post, route, poll and follow business messages. Every error is a problem with a stable code.",
        routes=routes,
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    components["responses"] = _problem_responses()
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM
    kinds = {
        (route.path_format, method.lower()): route
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _complete(operation, method, kinds[path, method])
    _add_messages(document)
    return document


def _complete(operation: dict[str, Any], method: str, route: APIRoute) -> None:
    """What holds for all operations of a kind: who may ask, and how it can fail."""
    operation["security"] = SECURITY if isinstance(route, GuardedRoute) else []
    operation["operationId"] = route.name
    statuses = set(ALWAYS if not isinstance(route, HealthRoute) else (406, 500, 503))
    responses = operation["responses"]
    responses.pop("422", None)
    if isinstance(route, GuardedRoute):
        statuses |= set(GUARDED)
    if "requestBody" in operation or method in ("post", "put", "delete"):
        statuses |= {409, *WITH_BODY}
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    if names:
        statuses |= {422}
    if "If-Match" in names:
        statuses |= {412, 428}
    if route.path.endswith(("/login", "/password")):
        statuses |= {401}
    if route.path.endswith("/apply"):
        statuses |= {412}
    if method == "get" and isinstance(route, GuardedRoute):
        responses["304"] = {"description": "Not changed since you read it (If-None-Match)"}
    responses |= _problems(statuses)


def _problems(statuses: set[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/Problem{status}"} for status in sorted(statuses)}


def _problem_responses() -> dict[str, Any]:
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    statuses = sorted({refusal.status for refusal in REFUSALS.values()})
    return {f"Problem{status}": {"description": "; ".join(_titles(status)), "content": content} for status in statuses}


def _spoken_problems(statuses: set[int]) -> dict[str, Any]:
    """Problems of endpoints that answer in the caller's own form: SOAP faults for SOAP."""
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}} | XML
    return {str(status): {"description": "; ".join(_titles(status)), "content": content} for status in sorted(statuses)}


def _titles(status: int) -> list[str]:
    return [refusal.title for refusal in REFUSALS.values() if refusal.status == status][:6]


def _add_messages(document: dict[str, Any]) -> None:
    found, components = msgspec.json.schema_components(SHAPES, ref_template="#/components/schemas/{name}")
    for shape, bounds in BOUNDS.items():
        for name, bound in bounds.items():
            components[shape]["properties"][name] |= bound
    document["components"]["schemas"] |= components
    shapes = dict(zip((shape.__name__ for shape in SHAPES), found, strict=True))
    for path, item in _message_items(shapes).items():
        document["paths"].setdefault(path, {}).update(item)


def _message_items(shapes: dict[str, Any]) -> dict[str, Any]:
    json_post = {"application/json": {"schema": shapes["JsonPost"]}}
    result = {"application/json": {"schema": shapes["JsonResult"]}}
    envelopes = {"application/vnd.postroad.envelopes+msgpack": {"schema": {"type": "string", "format": "binary"}}}
    lines = {"application/x-ndjson": {"schema": {"type": "string"}}, "multipart/mixed": {"schema": {"type": "string"}}}
    each = {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}}
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body gives the first answer again",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    }
    return {
        "/v1/messages": {
            "post": _operation("post_message", "Post a message; answered once it is durable.", json_post | XML, 202,
                               result, [key])
        },
        "/v1/messages/bulk": {
            "post": _operation("post_messages", "Post many messages in one call; each gets its own answer.",
                               envelopes | lines, 200, envelopes | lines | each)
        },
        "/v1/poll": {
            "post": _operation("poll_messages", "Lease what waits in your mailbox, waiting for the first if asked to.",
                               {"application/json": {"schema": shapes["JsonPoll"]}}, 200,
                               {"application/json": {"schema": shapes["JsonDeliveries"]}})
        },
        "/v1/ack": {
            "post": _operation("settle_deliveries", "Acknowledge deliveries, or give them back.",
                               {"application/json": {"schema": shapes["JsonSettlement"]}}, 200,
                               {"application/json": {"schema": shapes["JsonSettlementResult"]}})
        },
        "/soap/messages.xsd": {"get": _published("read_message_schema", "The XML Schema of messages.")},
        "/soap": {
            "get": _published("read_wsdl", "The WSDL of the SOAP address."),
            "post": _operation("soap", "Post, poll and acknowledge in SOAP 1.1 or 1.2.", XML, 200, XML),
        },
    }  # fmt: skip


def _published(name: str, text: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": text.rstrip("."),
        "tags": ["messages"],
        "security": [],
        "responses": {"200": {"description": text, "content": {"text/xml": {"schema": {"type": "string"}}}}}
        | _problems({400, 500, 503}),
    }


def _operation(
    name: str,
    text: str,
    body: dict[str, Any],
    status: int,
    answer: dict[str, Any],
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    statuses = {*ALWAYS, *WITH_BODY, 401, 403, 404, 409}
    problems = _spoken_problems(statuses) if "text/xml" in body else _problems(statuses)
    return {
        "operationId": name,
        "summary": text.rstrip("."),
        "description": text,
        "tags": ["messages"],
        "security": SECURITY,
        "parameters": parameters or [],
        "requestBody": {"required": True, "content": body},
        "responses": {str(status): {"description": text, "content": answer}} | problems,
    }
