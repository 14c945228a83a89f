"""Cursor-based pagination: cursors are opaque, signed, and valid only for the query that produced them.

Rule: no offsets. A cursor contains the end of the last page, so additions and removals shift nothing, and every page
costs the same. The signature covers the caller and the query, so a cursor is useless to anyone else.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from hashlib import blake2b
from hmac import compare_digest
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from fastapi import Query, Request
from pydantic import BeforeValidator, Field

from postroad.core.configuration.shapes import StrictShape
from postroad.errors import Refused

MAX_LIMIT = 200
SIGNATURE_BYTES = 12

T = TypeVar("T")


def digits(value: Any) -> Any:
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError("must be a whole number")
    return value


Limit = Annotated[int, BeforeValidator(digits), Field(ge=1, le=MAX_LIMIT)]


class PageQuery(StrictShape):
    limit: Limit = 50
    cursor: Annotated[str, Field(max_length=500)] = ""


Paging = Annotated[PageQuery, Query()]  # unknown parameters are refused like unknown fields


class CursorPage(NamedTuple):
    items: Sequence[Any]
    next: str | None  # the next page's cursor


class Cursors:
    """Creates and verifies cursors with one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, asked: str, position: str) -> str:
        return base64.urlsafe_b64encode(self._signature(asked, position) + position.encode()).decode().rstrip("=")

    def read(self, asked: str, cursor: str) -> str:
        """Return the position in a cursor; empty for the first page."""
        if not cursor:
            return ""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            position = raw[SIGNATURE_BYTES:].decode()
        except (binascii.Error, UnicodeError, ValueError):
            raise _invalid() from None
        if not compare_digest(raw[:SIGNATURE_BYTES], self._signature(asked, position)):
            raise _invalid()
        return position

    def page(self, asked: str, query: PageQuery, items: Sequence[T], key: Callable[[T], str]) -> CursorPage:
        """Return one page of items that are sorted by their key."""
        after = self.read(asked, query.cursor)
        rest = [item for item in items if key(item) > after] if after else list(items)
        shown = rest[: query.limit]
        more = len(rest) > len(shown)
        return CursorPage(shown, self.write(asked, key(shown[-1])) if more else None)

    def _signature(self, asked: str, position: str) -> bytes:
        return blake2b(f"{asked}\0{position}".encode(), key=self._key[:64], digest_size=SIGNATURE_BYTES).digest()


def question_key(name: str, request: Request) -> str:
    """Return the key of a query without its position: caller, resource and every filter."""
    filters = sorted(
        (key, value) for key, value in request.query_params.multi_items() if key not in ("cursor", "limit")
    )
    return f"{name}\0{request.url.path}\0{urlencode(filters)}"


def link_to_next(request: Request, cursor: str) -> str:
    """Return the Link field (RFC 8288) to the next page."""
    query = [(key, value) for key, value in request.query_params.multi_items() if key != "cursor"]
    return f'<{quote(request.url.path)}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'


def _invalid() -> Refused:
    return Refused("cursor.invalid", "Use the cursor of a previous page, with the same filters, or none")
