"""Engines that evaluate queries and validate documents in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from postroad.core.schemas.schema import DocumentFault, Schema


class QueryVerdict(Struct, gc=False, frozen=True):
    """The result of one query on one message: no, yes unchanged, yes with new content, or no with an error."""

    goes: bool
    content: bytes | None = None  # None: unchanged
    media_type: str = ""  # of the new content
    error: str = ""


ItemValue = str | bool | int | float | Decimal | datetime | date | Sequence["ItemValue"]


class QueryEngine(Protocol):
    """Evaluates XQuery in a sandbox with time limits."""

    async def check(self, query: str) -> None:
        """Compile the query; raises Refused with ``query.invalid``, naming position and error, when that fails."""
        ...

    async def evaluate(
        self, queries: Sequence[str], content: bytes, media_type: str, items: Mapping[str, ItemValue]
    ) -> list[QueryVerdict]:
        """Return the results of all queries for one message, in their order; a failing query does not affect the others.

        ``items`` are the header items, properties and the routing key, each a variable of its name and type.
        """
        ...


class Validator(Protocol):
    """Validates documents against schemas in a sandbox. Raises Refused with ``validation.…`` if it cannot decide."""

    async def check(self, schema: Schema) -> None:
        """Compile the schema; raises Refused with ``schema.invalid``, naming line and error, when that fails."""
        ...

    async def validate(self, schema: Schema, document: bytes) -> tuple[DocumentFault, ...]:
        """Return the first errors of the document; empty if it is valid. Unreadable input is an error."""
        ...

    async def close(self) -> None:
        """Stop; running and later calls raise ``Unavailable``."""
        ...
