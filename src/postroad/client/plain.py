"""Messages in plain formats in a program's hands: the bytes as they are, with the network's header beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from postroad.client import responses
from postroad.client.exchange import Outcome, Request
from postroad.core.codecs.cloudevents import header_text
from postroad.core.mediation.header_fields import write_posted
from postroad.core.model.message import Message

NO_CONTENT = 204


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMessage:
    """A message as its receiver wanted it: ``body`` in the format of its service, and what the network says of it."""

    body: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)  # names in lower case, values as they came

    def said(self, field: str) -> str:
        """What a field of the network's says, ``said("Topic")``; "" when it is not there."""
        return header_text(self.headers.get(f"postroad-{field.lower()}", "").partition(";")[0])

    @property
    def token(self) -> str:
        """For ``acknowledge`` and ``give_back``, and the reference of a response."""
        return self.said("Token")

    @property
    def session(self) -> str:
        return self.said("Session")

    @property
    def sender(self) -> str:
        return self.said("From")

    @property
    def topic(self) -> str:
        return header_text(self.headers.get("postroad-topic", ""))

    @property
    def handle(self) -> str:
        return header_text(self.headers.get("postroad-handle", ""))


def post(body: bytes, content_type: str, message: Message, headers: Mapping[str, str], idempotency_key: str) -> Request:
    """A post of bytes in a plain format; the message says where they go and has no documents of its own."""
    if message.parts:
        raise ValueError("the body is the message; documents and attachments cannot be given beside it")
    fields = {"Content-Type": content_type, "Accept": "application/json", "Idempotency-Key": idempotency_key, **headers}
    for name, value in write_posted(message):
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return Request(method="POST", path="/v1/messages", headers=tuple(fields.items()), body=body)


def next_message(wait_s: float, lease_s: float) -> Request:
    path = f"/v1/messages/next?wait={wait_s:g}&lease={lease_s:g}"
    return Request(method="GET", path=path, wait_s=wait_s, interruptible=True)


def handed(outcome: Outcome) -> PlainMessage | None:
    response = responses.answered(outcome)
    if response.status == NO_CONTENT:
        return None
    headers = {name.lower(): value for name, value in response.headers.items()}
    return PlainMessage(body=response.body, content_type=headers.get("content-type", ""), headers=headers)
