"""Cache of post envelopes: clients repeat theirs and change only the handle and the document.

A post with one inline document is cut into what stands before the handle's text, the handle, what stands between it and the
document, the document, and the end. When everything but handle and document is to the letter a post that was read before, only
those two need to be looked at. Rule: only posts that the canonical pattern has accepted are kept as shapes, and the document
must be well-formed by itself and mention none of the envelope's prefixes, so that it cannot reach out of its place.
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
    before: bytes  # the handle's text, or the document where there is no handle
    between: bytes  # it and the document
    tail: bytes
    namespace: str
    limits: WireLimits  # under which it was read


# What stands before the handle's text (or the document, without a handle), the handle, what stands between it and the
# document, and where the document begins. A bare tuple: one is made for every post.
Cut = tuple[bytes, bytes, bytes, int]


def cut_post(utf8: bytes) -> Cut | None:
    """The cut before the first inline document; None when there is none within reach."""
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
    """A few hundred shapes; forgetting them all when there are more costs less than keeping count of their use."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[str, bytes, bytes], PostShape] = {}
        self._latest: PostShape | None = None

    def again(self, utf8: bytes, namespace: str, limits: WireLimits) -> PostShape | None:
        """The shape of the post before this one, if this begins and ends like it; most do."""
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
