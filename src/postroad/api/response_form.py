"""Detects the format of a post, and chooses the codec of its response.

Rule: nothing is refused here. The error of an unrecognised post is passed on to the stage that authenticates the sender,
returned to the sender in their own format, and recorded like every other refusal.
"""

from __future__ import annotations

from postroad.api.external_messages import choose_answer_codec
from postroad.api.http.request import FastRequest
from postroad.api.message_headers import read_message_headers
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.native_formats import NativeForm, detect_native_form
from postroad.errors import Refused


def detect_post_form(request: FastRequest) -> NativeForm | Refused | None:
    """Return the native format of a post; None for an external format, or the refusal if it is in neither."""
    known = read_message_headers(request)
    try:
        return None if known.is_plain else detect_native_form(known.content_type, request.body)
    except Refused as refusal:
        return refusal


def choose_response_codec(request: FastRequest, own: NativeForm | Refused | None) -> Codec:
    """Return the codec for the response to a post."""
    if isinstance(own, NativeForm):
        return own.codec
    return choose_answer_codec(
        read_message_headers(request).accept, read_message_headers(request).content_type, request.body
    )
