"""Fast path for a client that repeats the same request head on one connection.

Rule: only a request that is whole, stands alone and begins with the very bytes of a head that was read before is taken this
way, so nothing is understood here that the careful way would have understood otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.api.http.head import REMEMBERED_BYTES, RequestHead
from postroad.api.http.request import FastRoute


class RepeatedHead(NamedTuple):
    """The last request of a connection, as far as the next may repeat it: a client that posts alike sends the same head."""

    raw: bytes
    whole_bytes: int
    head: RequestHead
    route: FastRoute

    @classmethod
    def of(cls, raw: bytes, head: RequestHead, route: FastRoute) -> RepeatedHead | None:
        """None if the next request cannot reuse it: this one closes the connection, or a proxy sent it."""
        repeats = head.keep_alive and not head.forwarded and 0 < head.content_length <= route.max_body_bytes
        return (
            cls(raw, len(raw) + head.content_length, head, route) if repeats and len(raw) <= REMEMBERED_BYTES else None
        )
