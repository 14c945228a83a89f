"""Every row of an index in a file, so that two indexes can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postroad.adapters.index.sqlite import SqliteReader
from postroad.core.projection.tables import TABLES

Tables = dict[str, list[Any]]


async def tables(data: Path) -> Tables:
    reader = SqliteReader(data / "index.sqlite")
    try:
        return {"position": [await reader.position()]} | {table: await reader.rows(table) for table in TABLES}
    finally:
        await reader.close()
