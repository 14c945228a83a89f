"""Messages in external formats: the raw bytes with the network's header fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from postroad.client import responses
from postroad.client.steps import ApiRequest, RequestOutcome
from postroad.core.codecs.cloudevents import header_text
from postroad.core.mediation.header_fields import write_posted
from postroad.core.model.message import Message

NO_CONTENT = 204
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMessage:
    """A message in its service's external format: ``body``, content type and header fields."""

    body: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)  # names in lower case, values as they came

    def network_field(self, name: str) -> str:
        """Return a header field of the network, as in ``network_field("Topic")``; '' if it is missing."""
        return header_text(self.headers.get(f"postroad-{name.lower()}", "").partition(";")[0])

    said = network_field  # deprecated name

    @property
    def token(self) -> str:
        """The token for ``acknowledge`` and ``give_back``, and the reference of a response."""
        return self.network_field("Token")

    @property
    def session(self) -> str:
        return self.network_field("Session")

    @property
    def sender(self) -> str:
        return self.network_field("From")

    @property
    def topic(self) -> str:
        return header_text(self.headers.get("postroad-topic", ""))

    @property
    def handle(self) -> str:
        return header_text(self.headers.get("postroad-handle", ""))


def post(
    body: bytes, content_type: str, message: Message, headers: Mapping[str, str], idempotency_key: str
) -> ApiRequest:
    """Return a post of bytes in an external format; the message addresses it and has no documents."""
    if message.parts:
        raise ValueError("the body is the message; documents and attachments cannot be given beside it")
    fields = {"Content-Type": content_type, "Accept": "application/json", "Idempotency-Key": idempotency_key, **headers}
    for name, value in write_posted(message):
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return ApiRequest(method="POST", path="/v1/messages", headers=tuple(fields.items()), body=body)


def next_message(wait_s: float, lease_s: float) -> ApiRequest:
    path = f"/v1/messages/next?wait={wait_s:g}&lease={lease_s:g}"
    return ApiRequest(method="GET", path=path, wait_s=wait_s, interruptible=True)


def parse_message(outcome: RequestOutcome) -> PlainMessage | None:
    response = responses.require_success(outcome)
    if response.status == NO_CONTENT:
        return None
    headers = {name.lower(): value for name, value in response.headers.items()}
    return PlainMessage(body=response.body, content_type=headers.get("content-type", ""), headers=headers)
