"""Build the HTTP request for each API operation: method, path, headers and body; pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from postroad.client.steps import ApiRequest, Headers
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Delivered, Message
from postroad.core.model.polling import PollRequest, Settlement

JSON: Headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
ACCEPT_JSON: Headers = (("Accept", "application/json"),)


def post(message: Message, idempotency_key: str) -> ApiRequest:
    """Return the request for one post; its key makes repetition harmless."""
    headers = (*JSON, ("Idempotency-Key", idempotency_key))
    return ApiRequest(method="POST", path="/v1/messages", headers=headers, body=JSON_FORM.encode_post(message))


def post_many(messages: Sequence[Message], idempotency_key: str) -> ApiRequest:
    """Return the request for a bulk post; its key prevents duplicates of each message when repeated."""
    headers = (("Content-Type", ENVELOPES), ("Accept", ENVELOPES), ("Idempotency-Key", idempotency_key))
    return ApiRequest(
        method="POST", path="/v1/messages/bulk", headers=headers, body=ENVELOPE_FORM.encode_posts(messages)
    )


def poll(request: PollRequest) -> ApiRequest:
    body = JSON_FORM.encode_poll(request)
    return ApiRequest(
        method="POST", path="/v1/poll", headers=JSON, body=body, wait_s=request.wait_s, interruptible=True
    )


def settle(settlement: Settlement) -> ApiRequest:
    return ApiRequest(method="POST", path="/v1/ack", headers=JSON, body=JSON_FORM.encode_settlement(settlement))


def list_tokens(messages: Iterable[Delivered | str]) -> tuple[str, ...]:
    """Return the tokens of messages; a token stands for itself."""
    return tuple(item if isinstance(item, str) else item.token for item in messages)


def trace(session: str) -> ApiRequest:
    return read(f"/v1/messages/{quote(session, safe='')}/trace")


def read(path: str, **query: str | int) -> ApiRequest:
    """Return the request for a resource as JSON; empty query values are left out."""
    given = {name: value for name, value in query.items() if value != ""}
    return ApiRequest(method="GET", path=path + (f"?{urlencode(given)}" if given else ""), headers=ACCEPT_JSON)


def change(method: str, path: str, value: Any, *, version: str = "", doubles: bool = False) -> ApiRequest:
    """Return the request that creates, replaces or removes a resource."""
    headers = (*JSON, ("If-Match", version)) if version else JSON
    return ApiRequest(method=method, path=path, headers=headers, body=msgspec.json.encode(value), doubles=doubles)


def add_authorization(request: ApiRequest, authorization: str) -> Mapping[str, str]:
    """Return the request's headers with the Authorization header."""
    headers = dict(request.headers)
    return headers | {"Authorization": authorization} if authorization else headers
