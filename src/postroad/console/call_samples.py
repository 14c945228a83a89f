"""Sample calls of a service: one message in JSON, in SOAP and as a command, with this network's address.

Rule: samples are written by the codecs that read them, so their syntax is always valid.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP12
from postroad.core.model.directory import Service
from postroad.core.model.message import Argument, Message, MessageType, Part, Recipient

DOCUMENT = b'{"order": 4711, "items": [{"sku": "A-1", "quantity": 2}]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSamples:
    json: str
    soap: str
    curl: str
    command: str


def make_call_samples(service: Service, url: str) -> CallSamples:
    arguments = tuple([Argument(one.name, f"<{one.name}>") for one in service.arguments if one.required])
    message = Message(
        to=(Recipient(service.address, arguments),),
        type=MessageType.NOTIFICATION,
        handle="order-4711",
        parts=(Part(id="order", content_type="application/json", data=DOCUMENT),),
    )
    body = json.dumps(json.loads(JSON_FORM.encode_post(message)), indent=2, ensure_ascii=False)
    envelope = SOAP12.encode_post(message).decode().replace("><", ">\n<")
    return CallSamples(
        json=body,
        soap=envelope,
        curl=_curl(url, body),
        command=f"postroad post --to {shlex.quote(service.address)} --handle order-4711 order.json",
    )


def _curl(url: str, body: str) -> str:
    lines = (
        f"curl {url}/v1/messages",
        '-H "Authorization: Bearer $POSTROAD_KEY"',
        '-H "Content-Type: application/json"',
        f"--data {shlex.quote(body)}",
    )
    return " \\\n  ".join(lines)
