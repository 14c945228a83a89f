"""The message endpoints in the OpenAPI document.

They run outside FastAPI, so their items are written here, from the same shapes that their codec reads.
"""

from __future__ import annotations

from typing import Any

import msgspec

from postroad.api.resources.openapi_problems import ALWAYS, PACKED, WITH_BODY, XML, problems, wire_problems
from postroad.core.codecs.json_shapes import (
    JsonDeliveries,
    JsonPoll,
    JsonPost,
    JsonResult,
    JsonSettlement,
    JsonSettlementResult,
)
from postroad.core.codecs.lexical import ROUTINGS
from postroad.core.model.polling import LEASE_MAX_S, POLL_MAX, TOKENS_MAX, WAIT_MAX_S

FAST_PATHS: dict[str, tuple[str, ...]] = {
    "/v1/messages": ("POST",),
    "/v1/messages/next": ("GET",),
    "/v1/messages/bulk": ("POST",),
    "/v1/poll": ("POST",),
    "/v1/ack": ("POST",),
    "/soap": ("GET", "POST"),
    "/soap/messages.xsd": ("GET",),
    "/as2": ("POST",),
    "/as2/{organization}": ("POST",),
    "/docs/errors": ("GET",),
}
LEASING = "/v1/messages/next"  # asking for it takes it, so there is no HEAD
SHAPES = (JsonPost, JsonResult, JsonPoll, JsonDeliveries, JsonSettlement, JsonSettlementResult)
# What the codecs check beyond the shapes.
BOUNDS: dict[str, dict[str, dict[str, Any]]] = {
    "JsonPost": {"routing": {"enum": ["", *ROUTINGS]}},
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
ANY: dict[str, Any] = {"*/*": {"schema": {"type": "string", "format": "binary"}}}
FIELDS = {
    "To": "Recipients of a message in an external format, whose body cannot contain them; separated by commas",
    "Type": "notification, request, response, acknowledgement or cancel",
    "Topic": "Topic of the message",
    "Handle": "The sender's own reference",
    "Reference": "For responses: the token of the delivery that it responds to",
    "Property": "name=value, or name=value;type=number",
}
SECONDS = {
    "wait": ("How long to wait for a message", WAIT_MAX_S),
    "lease": ("Lease: time until it is redelivered unless acknowledged; 0: the default", LEASE_MAX_S),
}
AS2_HEADERS = {
    "AS2-From": "The partner's AS2 name",
    "AS2-To": "The AS2 name of this network's side",
    "Message-ID": "The message's own ID, required; a repeated one is not delivered again",
    "Disposition-Notification-To": "Any value requests an MDN",
    "Disposition-Notification-Options": "How to sign the MDN",
    "Receipt-Delivery-Option": "Address for an asynchronous MDN; default: in the response",
}
SPEAK_JSON = (
    "post_messages",
    "receive_as2",
    "receive_as2_of_organization",
)  # about what went wrong, whatever they are sent
AS2_REQUIRED = ("AS2-From", "AS2-To")  # of messages and MDNs
SECURITY: list[dict[str, list[str]]] = [{"key": []}, {"password": []}, {"certificate": []}]


def add_messages(document: dict[str, Any]) -> None:
    """Add the message endpoints to a document."""
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
    others = XML | PACKED  # the answer's form is the question's
    lines = {"application/x-ndjson": {"schema": {"type": "string"}}, "multipart/mixed": {"schema": {"type": "string"}}}
    each = {"application/json": {"schema": {"type": "array", "items": {"type": "object"}}}}
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body returns the first response again",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    }
    for_each = key | {
        "description": "The same key with the same body returns the first results again, message by message"
    }
    post = _operation("post_message",
                      "Post a message as JSON, SOAP or an envelope, or in an external format; answered once it is durable.",
                      json_post | ANY, 202, result | PACKED, [key, *_fields()])  # fmt: skip
    post["responses"]["200"] = {"description": "The same, for posts in SOAP", "content": XML}
    poll = _operation("poll_messages", "Lease messages from your mailbox, optionally waiting for the first one.",
                      {"application/json": {"schema": shapes["JsonPoll"]}} | PACKED, 200,
                      {"application/json": {"schema": shapes["JsonDeliveries"]}, "multipart/mixed": {}} | others)  # fmt: skip
    poll["responses"]["204"] = {"description": "Nothing waits, for a service that has an external format"}
    return {
        "/v1/messages": {"post": post},
        "/v1/messages/next": {"get": _next()},
        "/v1/messages/bulk": {
            "post": _operation("post_messages", "Post many messages in one call; each has its own result.",
                               PACKED | lines, 200, PACKED | lines | each, [for_each])
        },
        "/v1/poll": {"post": poll},
        "/v1/ack": {
            "post": _operation("settle_deliveries", "Acknowledge deliveries, or give them back.",
                               {"application/json": {"schema": shapes["JsonSettlement"]}} | PACKED, 200,
                               {"application/json": {"schema": shapes["JsonSettlementResult"]}} | others)
        },
        "/soap/messages.xsd": {"get": _published("read_message_schema", "The XML Schema of messages.")},
        "/soap": {
            "get": _published("read_wsdl", "The WSDL of the SOAP address."),
            "post": _operation("soap", "Post, poll and acknowledge in SOAP 1.1 or 1.2.", XML, 200, XML),
        },
        "/as2": {"post": _as2()},
        "/as2/{organization}": {"post": _as2_of_organization()},
    }  # fmt: skip


def _as2() -> dict[str, Any]:
    """Describe the AS2 endpoint; the message itself authenticates the sender, so no credentials are required."""
    text = "Receive a message or an MDN from an AS2 partner; the response is the requested MDN."
    headers = _headers(AS2_HEADERS)
    for header in headers:
        if header["name"] in AS2_REQUIRED:
            header |= {"required": True, "schema": {"type": "string", "minLength": 1}}
    return _operation("receive_as2", text, ANY, 200, ANY, headers) | {"security": []}


def _as2_of_organization() -> dict[str, Any]:
    parameter = {
        "name": "organization",
        "in": "path",
        "required": True,
        "description": "The organization that the message is for",
        "schema": {"type": "string", "minLength": 1},
    }
    operation = _as2()
    text = f"{operation['summary']}, at the address of one organization."
    operation |= {"operationId": "receive_as2_of_organization", "summary": text.rstrip("."), "description": text}
    return operation | {"parameters": [parameter, *operation["parameters"]]}


def _headers(described: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in described.items()
    ]


def _fields() -> list[dict[str, Any]]:
    """The network's header beside a message in an external format; the reference page has all of its fields."""
    return _headers({f"Postroad-{name}": text for name, text in FIELDS.items()})


def _next() -> dict[str, Any]:
    text = "Lease the next message and receive it in the format of your service; its header has Postroad-* fields."
    parameters = [
        {"name": name, "in": "query", "description": f"{words}, in seconds",
         "schema": {"type": "number", "minimum": 0, "maximum": most}}
        for name, (words, most) in SECONDS.items()
    ]  # fmt: skip
    return {
        "operationId": "take_next_message",
        "summary": text.rstrip("."),
        "description": text,
        "tags": ["messages"],
        "security": SECURITY,
        "parameters": parameters,
        "responses": {"200": {"description": text, "content": ANY}, "204": {"description": "Nothing waits"}}
        | wire_problems({*ALWAYS, 401, 403}),
    }


def _published(name: str, text: str) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": text.rstrip("."),
        "tags": ["messages"],
        "security": [],
        "responses": {"200": {"description": text, "content": {"text/xml": {"schema": {"type": "string"}}}}}
        | problems({400, 500, 503}),
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
    failures = problems(statuses) if name in SPEAK_JSON else wire_problems(statuses)
    return {
        "operationId": name,
        "summary": text.rstrip("."),
        "description": text,
        "tags": ["messages"],
        "security": SECURITY,
        "parameters": parameters or [],
        "requestBody": {"required": True, "content": body},
        "responses": {str(status): {"description": text, "content": answer}} | failures,
    }
