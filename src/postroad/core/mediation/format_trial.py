"""Tries a conversion: reads bytes in any form or format, and writes the message in another.

Rule: bytes are read and written by the code that reads posts and writes deliveries, so the result is what a receiver
would get, except for AS2 signatures and encryption, which need keys.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from postroad.core.codecs.json_syntax import UTF_8_MARK
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.native_formats import FORMS, decode_native_post, detect_native_form, form_of
from postroad.core.codecs.soap.names import NAMESPACE
from postroad.core.mediation.formats import decode_wire, encode_message, message_of
from postroad.core.mediation.model import OutgoingMessage, Wire
from postroad.core.mediation.wrapper import Wrapper
from postroad.core.model.formats import OWN, Format
from postroad.core.model.message import Message

SEED = b"tried"
_POSTED = {"to", "documents"}  # members that distinguish a post from a document
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class DecodedTrial(NamedTuple):
    """A decoded message, and the format in which it arrived."""

    message: Message
    format: str
    wrapper: Wrapper | None = None
    notes: tuple[str, ...] = ()  # what its reader let pass


class ConvertedMessage(NamedTuple):
    media_type: str
    headers: tuple[tuple[str, str], ...]
    data: bytes
    dropped: tuple[str, ...]  # what has no place in the format


def read_any_message(content_type: str, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> DecodedTrial:
    """A message in one of the network's native formats, or in an external format."""
    own = detect_native_form(content_type, body) if _is_ours(body) else None
    message = decode_native_post(own, body, limits, content_type)
    if own is not None and message is not None:
        return DecodedTrial(message, form_of(own.codec), notes=(own.note,) if own.note else ())
    wire = Wire([("content-type", content_type)] if content_type else [], body)
    taken = decode_wire(wire, limits)
    return DecodedTrial(message_of(wire, taken, limits), taken.format.value, taken.wrapper, taken.notes)


def _is_ours(body: bytes) -> bool:
    """Return True if the body looks like a post; everything else is a document, or a message in an external format."""
    unmarked = body.removeprefix(UTF_8_MARK)
    if unmarked.lstrip()[:1] == b"<":
        return NAMESPACE.encode() in unmarked
    try:
        return bool(_POSTED & _FIELDS.decode(unmarked).keys())
    except msgspec.MsgspecError:  # no JSON object
        return False


def convert_message(read: DecodedTrial, format: Format, now_us: int) -> ConvertedMessage:
    """Return the message as a service with this format would receive it."""
    message = read.message
    if format in OWN:
        codec = FORMS[format]
        return ConvertedMessage(codec.media_type, (), codec.encode_post(message), ())
    given = encode_message(
        OutgoingMessage(
            parts=message.parts,
            wrapper=read.wrapper,
            seed=SEED,
            sender=message.sender,
            topic=message.topic,
            handle=message.handle,
            posted_at_us=now_us,
            properties=message.properties,
        ),
        format,
    )
    return ConvertedMessage(given.media_type, given.headers, given.data, given.dropped)
