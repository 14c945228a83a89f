"""The PostgreSQL journal as a source, read by any number of workers through the adapter's own statements.

Rule: it only reads, so a role that may SELECT from ``journal_group`` and ``journal_head`` is enough. The address may hold
a password: it is in no message, and Spark masks options whose name ends in ``url``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postroad.adapters.journal.postgres import SQL
from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.postgres_group import group_from_row
from postroad.warehouse.sources.log_source import EntrySpan, RawRecord, split_evenly
from postroad.warehouse.sources.segments import raw_records

PAGE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresLog:
    """The journal of one database."""

    url: str = field(repr=False)
    kind: str = "postgres"

    @property
    def options(self) -> Mapping[str, str]:
        return {"database_url": self.url}

    def head(self) -> int:
        [row] = asyncio.run(self._fetch("head"))
        return int(row[0])

    def chain_at(self, seq: int) -> bytes:
        row, *_ = asyncio.run(self._fetch("read", seq - 1, 1))
        return group_from_row(row).head.chain

    async def _fetch(self, statement: str, *parameters: int) -> list[Any]:
        connections = await ConnectionPool.open(self.url, most=1, durable=False)
        try:
            return list(await connections.fetch(SQL[statement], *parameters))
        finally:
            await connections.close()

    def spans(self, span: EntrySpan, parts: int) -> list[EntrySpan]:
        return split_evenly(span, parts)

    def records(self, span: EntrySpan) -> Iterator[RawRecord]:
        with asyncio.Runner() as runner:
            connections = runner.run(ConnectionPool.open(self.url, most=1, durable=False))
            try:
                yield from self._pages(runner, connections, span)
            finally:
                runner.run(connections.close())

    def _pages(self, runner: asyncio.Runner, connections: ConnectionPool, span: EntrySpan) -> Iterator[RawRecord]:
        after = span.after
        while after < span.upto:
            rows = runner.run(connections.fetch(SQL["read"], after, PAGE_BYTES))
            for group in map(group_from_row, rows):
                yield from raw_records(group, span)
                after = group.head.seq
            if not rows:
                raise RuntimeError(f"entries {after + 1} to {span.upto} were there and cannot be read any more")
