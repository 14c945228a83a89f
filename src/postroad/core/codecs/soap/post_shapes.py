"""Cache of post envelopes: clients send the same envelope again with another handle and document.

A post with one inline document is split into the text before the handle, the handle, the text between handle and
document, the document, and the end. If everything except handle and document is identical to a post that was read before,
only those two have to be read. Rule: only posts that the canonical pattern has accepted are cached; the document must be
well-formed by itself and use none of the envelope's prefixes, so that it cannot affect the envelope.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import Message, Part

MAX_SHAPES = 256
HEAD_BYTES = 4_096
HANDLE_TAG, CONTENT_TAG = b":Handle>", b":Xml>"


class PostShape(NamedTuple):
    """A cached envelope: the message and its one part, without handle and data."""

    message: Message
    part: Part
    prefixes: tuple[bytes, ...]
    before: bytes  # everything before the handle's text, or before the document if there is no handle
    between: bytes  # everything between the handle's text and the document
    tail: bytes
    namespace: str
    limits: WireLimits  # under which it was read


# The text before the handle (or before the document, without a handle), the handle, the text between it and the
# document, and the position of the document. A plain tuple, because one is created for every post.
Cut = tuple[bytes, bytes, bytes, int]


def cut_post(utf8: bytes) -> Cut | None:
    """Return the cut before the first inline document; None if there is none within the search limit."""
    place = utf8.find(CONTENT_TAG, 0, HEAD_BYTES)
    if place < 0:
        return None
    document_at = place + len(CONTENT_TAG)
    tag = utf8.find(HANDLE_TAG, 0, place)
    if tag < 0:
        return utf8[:document_at], b"", b"", document_at
    start = tag + len(HANDLE_TAG)
    stop = utf8.find(b"<", start, place)
    return (utf8[:start], utf8[start:stop], utf8[stop:document_at], document_at) if stop > 0 else None


class KnownShapes:
    """A cache of a few hundred shapes; clearing it when it is full is cheaper than tracking use."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, bytes, bytes], PostShape] = {}
        self._latest: PostShape | None = None

    def again(self, utf8: bytes, namespace: str, limits: WireLimits) -> PostShape | None:
        """Return the shape of the previous post if this post starts and ends like it, as most do."""
        shape = self._latest
        if shape is None or shape.namespace is not namespace or shape.limits is not limits:
            return None
        return shape if utf8.startswith(shape.before) and utf8.endswith(shape.tail) else None

    def get(self, cut: Cut, namespace: str, limits: WireLimits) -> PostShape | None:
        shape = self._shapes.get((namespace, cut[0], cut[2]))
        if shape is None or shape.limits is not limits:
            return None
        self._latest = shape
        return shape

    def keep(self, shape: PostShape) -> None:
        if len(self._shapes) >= MAX_SHAPES:
            self._shapes.clear()
        self._shapes[shape.namespace, shape.before, shape.between] = shape
        self._latest = shape
