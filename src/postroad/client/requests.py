"""What is sent for each thing a client can ask: method, path, headers and body. No I/O, and no decision when to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from postroad.client.exchange import Headers, Request
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message
from postroad.core.model.polling import PollRequest, Settlement

JSON: Headers = (("Content-Type", "application/json"), ("Accept", "application/json"))
ACCEPT_JSON: Headers = (("Accept", "application/json"),)


def post(message: Message, idempotency_key: str) -> Request:
    """The key makes a repeated post harmless, so every post has one."""
    headers = (*JSON, ("Idempotency-Key", idempotency_key))
    return Request(method="POST", path="/v1/messages", headers=headers, body=JSON_FORM.encode_post(message))


def post_many(messages: Sequence[Message], idempotency_key: str) -> Request:
    """The key counts for each message at its place: repeated with the same messages, it makes none of them come twice."""
    headers = (("Content-Type", ENVELOPES), ("Accept", ENVELOPES), ("Idempotency-Key", idempotency_key))
    return Request(method="POST", path="/v1/messages/bulk", headers=headers, body=ENVELOPE_FORM.encode_posts(messages))


def poll(request: PollRequest) -> Request:
    body = JSON_FORM.encode_poll(request)
    return Request(method="POST", path="/v1/poll", headers=JSON, body=body, wait_s=request.wait_s, interruptible=True)


def settle(settlement: Settlement) -> Request:
    return Request(method="POST", path="/v1/ack", headers=JSON, body=JSON_FORM.encode_settlement(settlement))


def trace(session: str) -> Request:
    return read(f"/v1/messages/{quote(session, safe='')}/trace")


def read(path: str, **query: str | int) -> Request:
    """A resource as JSON; empty query values are left out."""
    given = {name: value for name, value in query.items() if value != ""}
    return Request(method="GET", path=path + (f"?{urlencode(given)}" if given else ""), headers=ACCEPT_JSON)


def change(method: str, path: str, value: Any, *, version: str = "", doubles: bool = False) -> Request:
    """A resource that is made, replaced or removed."""
    headers = (*JSON, ("If-Match", version)) if version else JSON
    return Request(method=method, path=path, headers=headers, body=msgspec.json.encode(value), doubles=doubles)


def with_authorization(request: Request, authorization: str) -> Mapping[str, str]:
    """The headers as they go out."""
    headers = dict(request.headers)
    return headers | {"Authorization": authorization} if authorization else headers
