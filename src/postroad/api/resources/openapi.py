"""Builds the OpenAPI document: FastAPI's resources, the rules common to all of them, and the message endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from postroad import __version__
from postroad.api.resources.openapi_messages import SECURITY, add_messages
from postroad.api.resources.openapi_problems import ALWAYS, PROBLEM, WITH_BODY, problem_responses, problems
from postroad.api.resources.openapi_resources import describe_resources
from postroad.api.resources.route_guards import GuardedRoute, HealthRoute

SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key of a service or a person: pr_…"},
    "password": {"type": "http", "scheme": "basic", "description": "GCID, address or e-mail, and a password or key"},
    "certificate": {"type": "mutualTLS", "description": "A registered client certificate of a service"},
}
GUARDED = (401, 403, 404)
# Conditions hold conditions without end: where they are a small part of something else, their schema is only referred to.
CONDITION = {"type": "object", "minProperties": 1, "maxProperties": 1}
CONDITIONS = ("last", "takes")


def openapi_document(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the whole document, OpenAPI 3.1."""
    document = get_openapi(
        title="postroad",
        version=__version__,
        summary="An open-source B2B message hub",
        description="Post, route, poll and follow business messages. Every error is a problem with a stable code.",
        routes=routes,
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    components["responses"] = problem_responses()
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = PROBLEM
    describe_resources(document)
    for name, schema in schemas.items():
        if name.startswith("BatchingProfile"):
            _refer_to_conditions(schema["properties"])
    kinds = {
        (route.path_format, method.lower()): route
        for route in routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _complete(operation, method, kinds[path, method])
    add_messages(document)
    return document


def _refer_to_conditions(properties: dict[str, Any]) -> None:
    for name in CONDITIONS:
        described = f"{properties[name]['description']}; written as the condition of a rule (ConditionEntry)"
        properties[name] = {"anyOf": [CONDITION, {"type": "null"}], "description": described}


def _complete(operation: dict[str, Any], method: str, route: APIRoute) -> None:
    """Add what applies to all operations of a kind: permissions and errors."""
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
        statuses |= {414, 422}
    if "If-Match" in names:
        statuses |= {412, 428}
    if route.path.endswith(("/login", "/password")):
        statuses |= {401}
    if route.path.endswith(("/resend", "/resume")):
        statuses |= {410}
    if "models" in route.tags:  # of a service that is none, or has no nodes yet
        statuses |= {409}
    if route.path.endswith("/billing/usage"):  # which no warehouse has counted yet
        statuses |= {409}
    if route.path.endswith("/apply"):
        statuses |= {412}
    if method == "get" and isinstance(route, GuardedRoute):
        responses["304"] = {"description": "Not changed since you read it (If-None-Match)"}
    responses |= problems(statuses)
