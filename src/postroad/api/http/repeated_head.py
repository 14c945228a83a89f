"""Fast path for a client that repeats the same request head on one connection.

Rule: this path is used only for a single complete request that begins with exactly the bytes of a head that was read
before, so the result is always the same as on the normal path.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.api.http.head import REMEMBERED_BYTES, RequestHead
from postroad.api.http.request import FastRoute


class RepeatedHead(NamedTuple):
    """The last request of a connection, as far as the next one may repeat it."""

    raw: bytes
    whole_bytes: int
    head: RequestHead
    route: FastRoute

    @classmethod
    def of(cls, raw: bytes, head: RequestHead, route: FastRoute) -> RepeatedHead | None:
        """Return the repeatable head; None if the request closes the connection or came through a proxy."""
        repeats = head.keep_alive and not head.forwarded and 0 < head.content_length <= route.max_body_bytes
        return (
            cls(raw, len(raw) + head.content_length, head, route) if repeats and len(raw) <= REMEMBERED_BYTES else None
        )
