"""Many posts in one call, each read for itself."""

from __future__ import annotations

from functools import lru_cache

from postroad.core.codecs.bulk import BulkPart, bulk_parts, decode_bulk
from postroad.core.codecs.detect import message_in, own_form
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import MULTIPART, media_type_of
from postroad.core.mediation.header_fields import has_fields
from postroad.core.mediation.nouns import Wire
from postroad.core.model.message import Message
from postroad.core.model.part_facts import Came
from postroad.errors import Refused
from postroad.flow.mediate import posting_of
from postroad.flow.posting import Posting

FORM = "bulk"  # in the place of an own form


def read_bulk(content_type: str, body: bytes, limits: WireLimits, message_bytes: int) -> list[Posting | Refused]:
    """Each post of a bulk, or why it was refused; a bulk may be larger than a message, and none in it may."""
    posts = _posts(content_type, body, limits)
    return posts if len(body) <= message_bytes else [_within(post, message_bytes) for post in posts]


def _within(post: Posting | Refused, message_bytes: int) -> Posting | Refused:
    if isinstance(post, Refused) or post.size <= message_bytes:
        return post
    return Refused("wire.too-large", f"the message has {post.size} bytes; at most {message_bytes} are allowed in each")


def _posts(content_type: str, body: bytes, limits: WireLimits) -> list[Posting | Refused]:
    """The parts of a multipart may be in plain formats."""
    if media_type_of(content_type) == MULTIPART:
        return [_read(part, limits) for part in bulk_parts(content_type, body, limits)]
    posts = decode_bulk(content_type, body, limits)
    return [post if isinstance(post, Refused) else posting(post) for post in posts]


def posting(message: Message, note: str = "") -> Posting:
    parts = message.parts
    size = len(parts[0].data) if len(parts) == 1 else sum([len(part.data) for part in parts])
    return Posting(message, size, FORM, came=Came(notes=(note,)) if note else None)


def _read(part: BulkPart | Refused, limits: WireLimits) -> Posting | Refused:
    if isinstance(part, Refused):
        return part
    (headers, content_type), content = part
    try:
        own = None if _has_fields(headers) else own_form(content_type, content)
        message = message_in(own, content, limits, content_type)
        if own is None or message is None:
            return posting_of(Wire(headers, content), limits)
        return posting(message, own.note)
    except Refused as refused:
        return refused


_has_fields = lru_cache(maxsize=64)(has_fields)  # parts of one body mostly have the same header
