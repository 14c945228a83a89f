"""Calls to Saxon's workers: one stylesheet or query, or many queries about one document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from postroad.adapters.confined.frames import OVERHEAD_BYTES

Setting = tuple[str, str]
Task = Literal["check", "transform", "query", "compile"]  # of these two check a source: a stylesheet, a query


class SaxonCall(msgspec.Struct, frozen=True, array_like=True, kw_only=True, tag=True):
    """One call. ``document`` is XML in UTF-8; ``source`` is the stylesheet or the query."""

    task: Task
    source: str
    document: bytes = b""
    parameters: dict[str, str] = {}
    output_limit: int = 0

    @property
    def weight(self) -> int:
        return 1

    @property
    def largest_outcome(self) -> int:
        return self.output_limit + OVERHEAD_BYTES


class QueryBatch(msgspec.Struct, frozen=True, array_like=True, kw_only=True, tag=True):
    """Many queries about one document. An item is the name of a simple type and a value's text, or ``xml`` and an element."""

    queries: tuple[str, ...]
    document: bytes
    is_json: bool = False
    items: dict[str, tuple[str, str]] = {}
    output_limit: int = 0

    @property
    def source(self) -> str:
        """The query to blame if the worker dies; empty while there are several."""
        return self.queries[0] if len(self.queries) == 1 else ""

    @property
    def weight(self) -> int:
        return len(self.queries)

    @property
    def largest_outcome(self) -> int:
        return self.output_limit + OVERHEAD_BYTES * len(self.queries)


read_work: Callable[[bytes], SaxonCall | QueryBatch] = msgspec.msgpack.Decoder(SaxonCall | QueryBatch).decode
