"""What a receiver's answer to a push says besides yes: it may carry the response message itself.

Kept rule: an answer is a response only if it says so; whatever else stands in a 2xx answer (most servers write something) means
that the delivery was taken over. What says that it is a response and cannot be read as one is refused, never passed over.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.detect import codec_for
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.delivery.pushing import PushAnswer
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.errors import Refused

FORM = "push"  # in the place of a wire form
POST = re.compile(rb"<(?:[\w.-]+:)?Post[\s/>]")
POST_WITHIN = 8_192


def response_in(answer: PushAnswer, delivered: Delivered) -> Message | None:
    """The response that the answer carries, None when it carries none; raises Refused when it is not a good one."""
    try:
        codec = codec_for(answer.content_type, answer.body)
    except Refused:
        return None
    if not _says_response(codec, answer.body):
        return None
    message = codec.decode_post(answer.body)
    if message.type is not MessageType.RESPONSE:
        return None
    if message.reference not in ("", delivered.token):
        raise Refused("reference.invalid", "The response in the answer to a push refers to another delivery")
    return replace(message, reference=delivered.token)


def _says_response(codec: Codec, body: bytes) -> bool:
    if codec is JSON_FORM:
        return _json_type(body) == MessageType.RESPONSE.value
    return codec is ENVELOPE_FORM or POST.search(body, 0, POST_WITHIN) is not None


def _json_type(body: bytes) -> object:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value.get("type") if isinstance(value, dict) else None
