"""The HTTP response to a push: an acknowledgment, or the response message itself.

Rule: an answer is a response only if it declares so, by its type in a native format or by ``Postroad-Type: response``
beside an external format. Any other body of a 2xx answer (most servers write something) means that the delivery was
acknowledged. A declared response that cannot be read is refused, never ignored. One case needs no declaration: a 200
with a SOAP envelope to a pushed SOAP request is its response, as SOAP servers answer.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.native_formats import codec_for, find_operation
from postroad.core.codecs.soap.external_envelope import read_external_envelope
from postroad.core.codecs.soap.recognition import version_of
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.model import Wire
from postroad.core.mediation.soap_root import ROOTED
from postroad.core.model.message import Delivered, Message, MessageType
from postroad.errors import Refused
from postroad.flow.stages.mediate import read_external_post
from postroad.flow.stages.posting import Posting

FORM = "push"  # in the place of a wire form
SAYS_TYPE = "postroad-type"


def read_response(answer: PushAnswer, delivered: Delivered, format: str) -> Posting | None:
    """Return the response message in the answer; None if there is none. Raises Refused if it is not valid."""
    wire = Wire(answer.headers or (("content-type", answer.content_type),), answer.body)
    posting: Posting | None
    if wire.header(SAYS_TYPE) == MessageType.RESPONSE.value:
        posting = read_external_post(wire)
    elif _is_soap_response(answer, wire, delivered, format):
        posting = _unless_silent(read_external_post(wire))
    else:
        posting = _own_response(answer)
    if posting is None:
        return None
    message = posting.message
    if message.reference not in ("", delivered.token):
        raise Refused("reference.invalid", "The response in the answer to a push refers to another delivery")
    return replace(posting, message=replace(message, type=MessageType.RESPONSE, reference=delivered.token))


def _is_soap_response(answer: PushAnswer, wire: Wire, delivered: Delivered, format: str) -> bool:
    """Whether the answer is a SOAP envelope that responds to a request."""
    if answer.status != 200 or format not in ROOTED:
        return False
    if delivered.type is not MessageType.REQUEST or delivered.in_transit or find_operation(wire.body):
        return False
    return detect_format(wire).format in ROOTED


def _unless_silent(posting: Posting) -> Posting | None:
    """Return None for an envelope with an empty Body, the usual SOAP acknowledgment."""
    parts = posting.message.parts
    if len(parts) != 1 or version_of(parts[0].data) is None:
        return posting
    return posting if read_external_envelope(parts[0].data).children else None


def _own_response(answer: PushAnswer) -> Posting | None:
    try:
        codec = codec_for(answer.content_type, answer.body)
    except Refused:
        return None
    if not _is_response(codec, answer.body):
        return None
    message: Message = codec.decode_post(answer.body)
    return Posting(message, len(answer.body), FORM) if message.type is MessageType.RESPONSE else None


def _is_response(codec: Codec, body: bytes) -> bool:
    if codec is JSON_FORM:
        return _json_type(body) == MessageType.RESPONSE.value
    return codec is ENVELOPE_FORM or find_operation(body) == "Post"


def _json_type(body: bytes) -> object:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value.get("type") if isinstance(value, dict) else None
