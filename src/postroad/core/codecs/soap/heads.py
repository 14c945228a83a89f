"""Heads of posts that came before: a client repeats its head from post to post and changes only the handle.

A head is everything before the first part. It is cut around the text of its handle; when the rest is to the letter one that was
read before, it need not be read again. Kept rule: only heads that the canonical pattern has accepted are kept, and in those a
handle's tag cannot stand inside anything else, so the same cut means the same message.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import Message

HEADS_MOST = 256
HEAD_BYTES = 4_096


class Head(NamedTuple):
    """What a head says: the message but for its parts, and what the parts must go by."""

    message: Message
    prefixes: tuple[bytes, ...]
    soap: bytes
    prefix: bytes
    end: int
    limits: WireLimits  # under which it was read


class Cut(NamedTuple):
    before: bytes  # up to the handle's text; the whole head when it has none
    handle: bytes
    after: bytes

    @property
    def end(self) -> int:
        return len(self.before) + len(self.handle) + len(self.after)

    def fits(self, head: Head) -> bool:
        """Whether the cut was made where the head really ends and really has its handle."""
        in_place = not self.after or self.before.endswith(b"<%b:Handle>" % head.prefix)
        return self.end == head.end and self.handle.decode() == head.message.handle and in_place


def cut_head(utf8: bytes) -> Cut | None:
    """The head of a post, cut; None when it is too long to be worth it or has no part behind it."""
    part = utf8.find(b":Document", 0, HEAD_BYTES)
    if part < 0:
        return None
    end = utf8.rfind(b"<", 0, part)
    tag = utf8.find(b":Handle>", 0, end)
    if tag < 0:
        return Cut(utf8[: max(end, 0)], b"", b"")
    start = tag + len(b":Handle>")
    stop = utf8.find(b"<", start, end)
    return Cut(utf8[:start], utf8[start:stop], utf8[stop:end]) if stop > 0 else None


class KnownHeads:
    """A few hundred heads; forgetting them all when there are more costs less than keeping count of their use."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, bytes, bytes], Head] = {}

    def get(self, cut: Cut, namespace: str, limits: WireLimits) -> Head | None:
        head = self._heads.get((namespace, cut.before, cut.after))
        return head if head is not None and head.limits is limits else None

    def keep(self, cut: Cut, namespace: str, head: Head) -> None:
        if len(self._heads) >= HEADS_MOST:
            self._heads.clear()
        self._heads[namespace, cut.before, cut.after] = head
