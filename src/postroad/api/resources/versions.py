"""The versions that a configuration object ever had, from the journal's own record of them."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import Request, Response

from postroad.api.pagination import PageQuery
from postroad.api.resources.context import ApiContext, page_answer, paged
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import Shape
from postroad.core.configuration.written import written
from postroad.core.model.caller import Caller
from postroad.core.model.snapshot import KINDS
from postroad.core.projection.queries import QUERIES

NEWEST = 1 << 40


class VersionView(Shape):
    version: int
    at: str
    by: str
    reason: str
    removed: bool
    value: dict[str, Any] | None


class VersionPage(Shape):
    items: list[VersionView]
    next: str | None = None


async def version_answer(
    request: Request, api: ApiContext, caller: Caller, query: PageQuery, kind: str, key: str
) -> Response:
    await api.network.indexed()
    columns = QUERIES["object_versions"][1]
    rows = await api.network.index.query("object_versions", kind, key)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    page = paged(request, api, caller, query, found, lambda row: f"{NEWEST - row['version']:016d}")
    return page_answer(request, page._replace(items=[_view(kind, row) for row in page.items]))


def _view(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    value = msgspec.convert(msgspec.json.decode(row["value"]), KINDS[kind]) if row["value"] else None
    return {
        "version": row["version"],
        "at": write_time(row["at_us"]),
        "by": row["by"],
        "reason": row["reason"],
        "removed": not row["value"],
        "value": written(value) if value is not None else None,
    }
