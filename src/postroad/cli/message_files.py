"""Messages and documents in files, for commands that ask what would become of them.

A file is a message when it is written as one could be posted: a SOAP envelope, or JSON with the fields of a post. Anything else
is a document, and becomes a message with what the options say.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from postroad.core.codecs.detect import codec_for
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.json_shapes import JsonPost
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.model.ids import SESSION
from postroad.core.model.message import Message
from postroad.errors import Misconfigured

LOOK = 1_024
ENVELOPES = (SOAP_11.encode(), SOAP_12.encode())


def is_session(text: str) -> bool:
    return SESSION.match(text) is not None


def content_of(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def text_in(file: str) -> str:
    return text_of(content_of(file), file)


def text_of(content: bytes, file: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Misconfigured([f"{file}: this is not text in UTF-8"]) from None


def message_in(content: bytes) -> Message | None:
    """The message that this is, or None when it is only a document."""
    if any(namespace in content[:LOOK] for namespace in ENVELOPES):
        return codec_for("application/xml", content).decode_post(content)
    if content.lstrip()[:1] == b"{" and _is_post(content):
        return JSON_FORM.decode_post(content)
    return None


def _is_post(content: bytes) -> bool:
    """Whether every field is one of a post's; what the fields hold is for the codec to say."""
    try:
        fields = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    known = set(JsonPost.__struct_encode_fields__)
    return bool(fields) and set(fields) <= known
